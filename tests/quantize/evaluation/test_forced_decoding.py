"""Choices under forced decoding: equal to a translation for each place, and to the search's definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.options.options import make_options
from cpunmt.search.settings import Search
from quantize.evaluation.forced_decoding import choices, log_probs
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.definitions.forced_decoding import choices_reference
from tests.sample_models.random_models import engine_of, random_checkpoint, random_shortlist, random_sources

VOCAB = 96
FULL, SHORT = make_options({"vocabulary": "full"}), make_options({"vocabulary": "shortlist"})


@pytest.fixture(scope="module")
def checkpoint():
    return random_checkpoint(3)


@pytest.fixture(scope="module")
def engines(checkpoint):
    """Returns int8 and float32 engines, with a shortlist."""
    shortlist = random_shortlist(4, VOCAB)
    return {scheme: engine_of(*checkpoint, scheme, shortlist) for scheme in ("int8", "float32")}


def random_targets(generator, count, longest=12):
    """Returns random targets, some of which end with </s>; with pieces outside a shortlist, and <unk>."""
    lengths = generator.integers(0, longest, count)
    return [generator.integers(1, VOCAB, n).tolist() + [0] * int(generator.integers(n == 0, 2)) for n in lengths]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["int8", "float32"]), st.sampled_from([FULL, SHORT]))
@settings(max_examples=25)
def test_any_target_gets_the_choices_of_one_translation_a_place(engines, seed, scheme, options):
    generator = np.random.default_rng(seed)
    texts = random_sources(seed, VOCAB, 4)
    targets = random_targets(generator, 4)
    expected = choices_reference(engines[scheme], texts, targets, options)
    assert choices(engines[scheme], texts, targets, options) == expected
    assert [len(found) for found in expected] == [len(target) for target in targets]


@pytest.mark.parametrize("options", [FULL, SHORT])
def test_the_translation_of_another_model_and_what_is_known_beforehand(engines, options):
    texts = random_sources(1, VOCAB, 30)
    search, limits = Search(full=options is FULL), [2 * len(text) for text in texts]
    theirs = [h[0].ids for h in engines["float32"].translate(texts, limits, search)]
    ours = [h[0].ids for h in engines["int8"].translate(texts, limits, search)]
    assert sum(a != b for a, b in zip(ours, theirs, strict=True)) >= 3
    assert choices(engines["float32"], texts, theirs, options, theirs) == theirs
    expected = choices_reference(engines["int8"], texts, theirs, options)
    assert choices(engines["int8"], texts, theirs, options, ours) == expected
    assert choices(engines["int8"], texts, theirs, options) == expected
    shorter = [ids[: len(ids) // 2] for ids in ours]  # of a search with a lower limit
    assert choices(engines["int8"], texts, theirs, options, shorter) == expected
    longer = [[*ids, 5, 6] for ids in theirs]
    assert choices(engines["float32"], texts, theirs, options, longer) == theirs


def test_choices_and_probabilities_are_those_of_the_definition(checkpoint, engines):
    config, tensors = checkpoint
    reference, compared = Reference(config, tensors), 0
    texts = random_sources(2, VOCAB, 5, longest=6)
    targets = [[*target, 0] for target in ([], [7], [9, 8, 7], [40, 41, 42, 43], [3, 3])]
    made = choices(engines["float32"], texts, targets, FULL)
    scored = log_probs(engines["float32"], texts, targets, FULL)
    for text, target, chosen, terms in zip(texts, targets, made, scored, strict=True):
        whole = beam_search(reference, text, len(target), prefix=target)[0]
        assert np.allclose(terms, whole.token_log_probs, atol=1e-4)
        for place, piece in enumerate(chosen):
            best, second = beam_search(reference, text, place + 1, Search(2, 2), prefix=target[:place])
            if best.log_prob - second.log_prob > 1e-3:
                assert piece == best.ids[place]
                compared += 1
    assert compared >= 10


def test_a_piece_outside_the_shortlist_has_no_probability(engines):
    texts = [[50, 0]]
    (terms,) = log_probs(engines["int8"], texts, [[95, 94, 0]], SHORT)
    assert terms[0] == -np.inf and terms[2] > -np.inf
    (terms,) = log_probs(engines["int8"], texts, [[95, 94, 0]], FULL)
    assert min(terms) > -np.inf


def test_nothing_gives_nothing(engines):
    assert choices(engines["int8"], [], [], FULL) == [] and log_probs(engines["int8"], [], [], FULL) == []
    assert choices(engines["int8"], [[5, 0]], [[]], FULL) == [[]]
