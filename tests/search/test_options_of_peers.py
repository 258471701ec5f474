"""Options shared with transformers and CTranslate2: the same results with the same model, for 100 sentences each.

`tests.golden.options` recorded theirs. Where searches differ, the definition, changed as docs/migrating.md describes,
returns their results.
"""

import gzip
import json

import numpy as np
import pytest

import tests.definitions.beam_search as definition
from cpunmt.formats.any_directory import read_model
from cpunmt.search.settings import Search, search_record
from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.definitions.restrictions import forbidden, penalized
from tests.golden.options import (
    CASES,
    DIVERSE,
    DRAWN,
    DRAWS,
    GOLDEN,
    LIMIT,
    SENTENCES,
    UNK,
    engine_of,
    equal,
    searched,
    sentences,
)
from tests.sample_models.packed_checkpoint import checkpoint_of

# (peer, case): number of sentences with equal best translations, and with equal lists; otherwise all of them
DIFFERENT = {
    ("ctranslate2", "beam, min_length=12"): (63, 39),  # forbidden pieces keep their share of the probability
    ("transformers", "beam, repetition_penalty=1.3"): (61, 30),  # the penalty applies to logits
    ("transformers", "beam, repetition_penalty=0.8"): (54, 20),
    ("ctranslate2", "beam, no_repeat_ngram_size=1"): (68, 24),
    ("ctranslate2", "beam, no_repeat_ngram_size=3"): (75, 64),
    ("ctranslate2", "beam, suppress_sequences"): (91, 74),
    ("ctranslate2", "beam, disable_unk"): (96, 93),
    ("transformers", "beam, target_prefix"): (51, 39),  # scores count the prefix
    ("ctranslate2", "beam, target_prefix"): (22, 21),
    ("ctranslate2", "beam, target_prefix, length_penalty=0"): (62, 61),
    ("ctranslate2", "beam, prefix_bias_beta=0.3"): (98, 98),
    ("transformers", "beam, no patience"): (72, 32),  # the beam shrinks
    ("ctranslate2", "beam, no patience"): (72, 32),
    ("ctranslate2", "return_alternatives, min_alternative_expansion_prob=0.05"): (92, 75),
    ("ctranslate2", "return_alternatives, target_prefix"): (17, 13),
    ("ctranslate2", "return_alternatives, beam"): (51, 26),
}


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """Returns engines without <unk>, and with it."""
    return [engine_of(tmp_path_factory.mktemp("model"), unknown) for unknown in (False, True)]


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """Returns the same models, in NumPy."""
    found = []
    for unknown in (False, True):
        folder = tmp_path_factory.mktemp("model")
        engine_of(folder, unknown)
        model = read_model(folder, "float32")
        found.append(Reference(model.config.changed(replace_unknowns=unknown), checkpoint_of(model)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_translations_are_theirs(engines, golden, name):
    case = CASES[name]
    ours = searched(engines[case.unknown], case)
    told = {peer: golden[peer][name] for peer in ("transformers", "ctranslate2") if name in golden[peer]}
    assert told
    for peer, theirs in told.items():
        assert len(theirs) == SENTENCES
        expected = DIFFERENT.get((peer, name), (SENTENCES, SENTENCES))
        assert equal(case, ours, theirs) == expected, peer
        if expected == (SENTENCES, SENTENCES) and "greedy" not in name and case.ordered:
            begun = "prefix" in name and not case.ours.get("prefix_bias_beta")  # they do not count the prefix
            ours_scores, scores = ([score for found in side for _, score in found] for side in (ours, theirs))
            assert begun or np.abs(np.subtract(ours_scores, scores)).max() < 1e-4


@pytest.mark.parametrize("name", DIVERSE)
def test_groups_of_a_beam_find_what_those_of_transformers_find(engines, golden, name):
    """Without duplicates. At the length limit it also keeps some that end there, like a single group."""
    case, theirs = DIVERSE[name], golden["diverse"][name]
    best, all_of_them = equal(case, searched(engines[0], case), theirs)
    assert best == SENTENCES and all_of_them >= SENTENCES - (name.startswith("beam_size=6, num_beam_groups=2"))
    assert sum(len({tuple(ids) for ids, _ in found}) > 2 for found in theirs) > SENTENCES / 3


class PenalizedLater(definition.Models):
    """Models with the repetition penalty on log-probabilities, as in transformers' beam search."""

    def step(self, said, candidates, vocabulary, penalty):
        log_probs, attention = super().step(said, candidates, vocabulary, 1)
        rows = zip(log_probs, said, strict=True)
        return np.stack([penalized(row, vocabulary, ids, penalty) for row, ids in rows]), attention


class ForbiddenBefore(definition.Models):
    """Models in which forbidden pieces have no share of the probability, as in CTranslate2."""

    search: Search

    def step(self, said, candidates, vocabulary, penalty):
        log_probs, attention = super().step(said, candidates, vocabulary, penalty)
        for row, ids in zip(log_probs, said, strict=True):
            row[forbidden(ids, self.search)] = -np.inf
            if len(ids) < self.search.min_length:
                row[0] = -np.inf
        return log_softmax(log_probs), attention


@pytest.mark.slow
@pytest.mark.parametrize("name", ["repetition_penalty=1.3", "repetition_penalty=0.8"])
def test_transformers_penalize_log_probabilities(references, golden, monkeypatch, name):
    check_changed(references, golden, monkeypatch, PenalizedLater, "transformers", f"beam, {name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["min_length=12", "no_repeat_ngram_size=1", "no_repeat_ngram_size=3", "suppress_sequences", "disable_unk"]
)
def test_ctranslate2_forbids_before_the_softmax(references, golden, monkeypatch, name):
    check_changed(references, golden, monkeypatch, ForbiddenBefore, "ctranslate2", f"beam, {name}")


def check_changed(references, golden, monkeypatch, models, peer, name):
    """Checks that our definition, with the scores of `models`, returns all of the peer's results."""
    case = CASES[name]
    models.search = search = Search(**case.ours)
    monkeypatch.setattr(definition, "Models", models)
    sources, _ = sentences()
    ours = []
    for source in sources:
        found = definition.beam_search(references[case.unknown], source, LIMIT, search)
        ours.append([[h.ids, h.score] for h in found])
    assert equal(case, ours, golden[peer][name]) == (SENTENCES, SENTENCES)


def first_logits(engine):
    """Returns float32 [sentences, pieces] of the first pieces; forbidden pieces have LOWEST."""
    sources, _ = sentences()
    made = engine.translate(sources, [1] * len(sources), Search(vocab_logits=True))
    found = np.concatenate([hypotheses[0].logits for hypotheses in made])
    found[:, UNK] = -3e38
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_pieces_are_drawn_from_what_theirs_are_drawn_from(engines, golden, program, name):
    """Compares with the probabilities of transformers' filters, and with a sample of CTranslate2's."""
    record, _kept = search_record(Search(**DRAWN[name]))
    surprise, count = 0.0, 0
    for logits, theirs, counts in zip(
        first_logits(engines[0]), golden["filtered"][name], golden["drawn"][name], strict=True
    ):
        weights = np.empty(len(logits), np.float32)
        bits = program.weigh_pieces(record, np.ascontiguousarray(logits), len(logits), weights)
        shares = np.where(weights > np.array([bits], np.int32).view(np.float32)[0], weights, 0).astype(np.float64)
        shares /= shares.sum()
        expected = np.zeros(len(logits))
        expected[[int(piece) for piece in theirs]] = list(theirs.values())
        assert np.abs(shares - expected).max() < 1e-5
        drawn = np.zeros(len(logits))
        drawn[[int(piece) for piece in counts]] = list(counts.values())
        assert drawn.sum() == DRAWS and not drawn[shares == 0].any()
        likely = shares > 5 / DRAWS
        surprise += (np.square(drawn - DRAWS * shares)[likely] / (DRAWS * shares * (1 - shares))[likely]).sum()
        count += likely.sum()
    assert abs(surprise / count - 1) < 0.2  # squares of standard normal numbers


def test_logits_are_those_of_ctranslate2(engines, golden):
    sources, _ = sentences()
    for source, theirs in zip(sources, golden["logits"], strict=False):
        made = engines[0].translate([source], [LIMIT], Search(vocab_logits=True))[0][0].logits
        theirs = np.array(theirs)
        assert made.shape == theirs.shape and np.abs(made - theirs).max() < 1e-3 and len(theirs) > 0
