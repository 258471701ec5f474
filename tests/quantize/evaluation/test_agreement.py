"""Agreement of two models: counted by hand, on whole sentences, at each place, and in probabilities."""

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.options.options import make_options
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.evaluation import agreement as module
from quantize.evaluation.agreement import agreement, translated
from tests.definitions.forced_decoding import choices_reference
from tests.sample_models.model_pairs import SENTENCES
from tests.sample_models.random_models import engine_of, random_checkpoint
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.command_line import sentences

OPTIONS = make_options({})
PHRASES = sentences(1330)[1290:]  # 40 short ones: the shipped int8 model says six of them otherwise


@pytest.fixture(scope="module")
def students():
    """Returns the shipped model as int8 and as float32."""
    return load_model(DIRECTORIES["int8"]), load_model(DIRECTORIES["float32"])


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "spm", 128))


def random_model(vocabulary, scheme, **changes) -> LoadedModel:
    config, tensors = random_checkpoint(7, vocab=128)
    config = config.changed(**changes)
    return LoadedModel(config, {}, vocabulary, vocabulary, engine_of(config, tensors, scheme))


def compared(pair, lines, options=OPTIONS):
    results = tuple(translated(model, lines, options) for model in pair)
    return agreement(pair, (options, options), results), results


def test_translations_are_those_of_a_translator(students, monkeypatch):
    monkeypatch.setattr(module, "WINDOW", 7)
    lines, done = [*sentences(18), " "], []
    found = translated(students[0], lines, OPTIONS, done.append)
    assert found.texts == [result.text for result in Translator(DIRECTORIES["int8"]).translate(lines, split="none")]
    assert done == [7, 7, 5] and len(found.parts) == len(found.found) == 18


def test_a_model_agrees_with_itself(students):
    found, _ = compared((students[1], students[1]), sentences(10))
    assert found.identical == [True] * 10 and found.sentences == found.tokens == 1
    assert found.log_prob_difference == found.outside == 0


@pytest.mark.parametrize("vocabulary_of", ["shortlist", "full"])
def test_int8_against_float32_counted_by_hand(students, vocabulary_of):
    options = make_options({"vocabulary": vocabulary_of})
    found, (ours, theirs) = compared(students, PHRASES, options)
    same = [a == b for a, b in zip(ours.texts, theirs.texts, strict=True)]
    assert found.identical == same and 0.5 < found.sentences == sum(same) / len(PHRASES) < 1
    targets = [hypothesis.ids for hypothesis in theirs.found]
    sources = [part.ids for part in theirs.parts]
    chosen = choices_reference(students[0].engine, sources, targets, options)
    agreeing = sum(a == b for pair in zip(chosen, targets, strict=True) for a, b in zip(*pair, strict=True))
    assert found.places == sum(map(len, targets)) and found.tokens == agreeing / found.places < 1
    translator = Translator(DIRECTORIES["int8"])
    pieces = [translator.target_vocabulary.pieces(ids[:-1]) for ids in targets]
    texts = [translator.tokenize(line) for line in PHRASES]
    scored = translator.score_batch(texts, pieces, vocabulary=vocabulary_of)
    expected = sum(a.log_prob - b.log_prob for a, b in zip(scored, theirs.found, strict=True)) / found.places
    assert found.log_prob_difference == pytest.approx(expected, abs=1e-6) and found.log_prob_difference != 0


def test_models_that_split_elsewhere_are_compared_on_the_parts_of_the_baseline(vocabulary):
    lines = [" ".join(SENTENCES)]
    whole, split = random_model(vocabulary, "float32"), random_model(vocabulary, "float32", max_source_length=20)
    found, (ours, theirs) = compared((split, whole), lines)
    assert len(ours.parts) > len(theirs.parts) and len(found.identical) == 1
    assert found.places == sum(len(hypothesis.ids) for hypothesis in theirs.found)
    assert found.tokens == 1 and found.log_prob_difference == 0


def test_a_lower_limit_of_length_does_not_change_the_choices(vocabulary):
    baseline = random_model(vocabulary, "float32")
    shorter = random_model(vocabulary, "float32", max_length_factor=0.1)
    found, (ours, theirs) = compared((shorter, baseline), SENTENCES)
    assert sum(len(h.ids) for h in ours.found) < sum(len(h.ids) for h in theirs.found)
    assert not all(found.identical) and found.tokens == 1 and found.log_prob_difference == 0


@pytest.mark.parametrize("turned", [False, True])
def test_reversed_models_are_compared_in_the_order_in_which_they_speak(vocabulary, turned):
    pair = tuple(random_model(vocabulary, scheme, right_to_left=turned) for scheme in ("int8", "float32"))
    itself, (_, theirs) = compared((pair[1], pair[1]), SENTENCES)
    assert itself.tokens == 1 and itself.log_prob_difference == 0
    assert {hypothesis.truncated for hypothesis in theirs.found} == {False, True}
    found, _ = compared(pair, SENTENCES)
    assert 0.5 < found.tokens < 1 and 0 < abs(found.log_prob_difference) < 1


def test_with_a_beam_the_choices_of_both_are_compared(students):
    options = make_options({"beam_size": 4})
    itself, (_, theirs) = compared((students[1], students[1]), PHRASES, options)
    assert itself.tokens == 1 and itself.log_prob_difference == pytest.approx(0, abs=1e-12)
    greedy = translated(students[1], PHRASES, OPTIONS)
    assert [h.ids for h in greedy.found] != [h.ids for h in theirs.found]  # or the case would not arise
    found, _ = compared(students, PHRASES, options)
    assert 0.95 < found.tokens < 1


def test_pieces_outside_the_shortlist_are_counted_and_left_out(students):
    full, short = make_options({"vocabulary": "full"}), make_options({"vocabulary": "shortlist"})
    pair = students[1], students[1]
    results = translated(students[1], PHRASES, short), translated(students[1], PHRASES, full)
    found = agreement(pair, (short, full), results)
    assert 0 < found.outside < 0.05 * found.places and np.isfinite(found.log_prob_difference)
    assert 0.95 < found.tokens <= 1 - found.outside / found.places
    assert found.log_prob_difference > 0  # the same logits, and fewer of them


def test_blank_sentences_are_identical_and_have_no_place(students):
    found, (ours, _) = compared(students, [" ", ""])
    assert ours.texts == ["", ""] and found.identical == [True, True]
    assert (found.tokens, found.places, found.log_prob_difference) == (1, 0, 0)
