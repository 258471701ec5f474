"""`return_logits_vocab`: the logits of the pieces in results. Their values are tested in tests/search."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cpunmt.translator.piece_translator as interface
from cpunmt import Translator
from cpunmt.options.options import TEXT_ONLY
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences
from tests.support.option_values import consistent_options

SENTENCE = "A man is riding a bicycle in the park."
ASKED = {"return_logits_vocab": True}


def rows(logits):
    return [array.tobytes() for array in logits]


def test_each_hypothesis_has_a_row_for_each_piece_and_its_end(student):
    source = [student.tokenize(text) for text in (SENTENCE, "", "Two dogs.")]
    options = {"beam_size": 3, "num_hypotheses": 3, "return_scores": True}
    made, plain = student.translate_batch(source, **options, **ASKED), student.translate_batch(source, **options)
    assert made == plain and [one.logits for one in plain] == [[], [], []]
    size = student.target_vocabulary.size
    for one in made:
        blank = not one.hypotheses[0]
        expected = [(0 if blank else len(pieces) + 1, size) for pieces in one.hypotheses]
        assert [array.shape for array in one.logits] == expected and len(one.logits) == 3
        assert all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in one.logits)


@pytest.mark.parametrize("vocabulary", ["shortlist", "full"])
def test_their_softmax_is_what_scores_are_made_of(student, vocabulary):
    (made,) = student.translate_batch([student.tokenize(SENTENCE)], **ASKED, vocabulary=vocabulary)
    told = student.translate(SENTENCE, split="none", return_token_log_probs=True, vocabulary=vocabulary)
    assert list(told.pieces) == made.hypotheses[0]
    ids = [*student.target_vocabulary.ids(told.pieces), student.target_vocabulary.eos_id]
    logits = made.logits[0].astype(np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert np.allclose(log_probs[range(len(ids)), ids], told.token_log_probs, atol=1e-5)
    assert np.isfinite(logits).all() == (vocabulary == "full")
    assert (logits.argmax(axis=1) == ids).all()


def test_parts_of_a_long_sentence_follow_each_other(student):
    source = student.tokenize(" ".join(sentences(40)))
    assert len(source) > student.config.max_source_length
    (made,) = student.translate_batch([source], **ASKED)
    told = student.translate(" ".join(sentences(40)), split="none", return_token_log_probs=True)
    assert len(made.logits[0]) == len(told.token_log_probs) > len(made.hypotheses[0]) + 1


def test_with_a_callback_that_stops(student):
    source = [student.tokenize(SENTENCE)] * 2
    whole, _ = student.translate_batch(source, **ASKED)
    made, other = student.translate_batch(source, callback=lambda step: step.batch_id == 0 and step.step == 2, **ASKED)
    assert len(made.hypotheses[0]) == 3 and rows([whole.logits[0][:3]]) == rows(made.logits)
    assert rows(other.logits) == rows(whole.logits)


@given(consistent_options(), st.integers(0, 280), st.randoms(use_true_random=False))
@settings(max_examples=15, suppress_health_check=list(HealthCheck), database=None)
def test_law_2_with_any_options(student, options, first, generator):
    options = {name: value for name, value in options.items() if name not in TEXT_ONLY} | ASKED
    source = [student.tokenize(text) for text in [*sentences(300)[first : first + 8], "", SENTENCE]]
    expected = [student.translate_batch([one], **options)[0] for one in source]
    order = generator.sample(range(len(source)), len(source))
    made = student.translate_batch([source[i] for i in order], **options)
    assert made == [expected[i] for i in order]
    assert [rows(one.logits) for one in made] == [rows(expected[i].logits) for i in order]
    assert all(len(one.logits) == len(one.hypotheses) for one in made)


def test_threads_and_asynchronous_calls_give_the_same(student):
    source = [student.tokenize(text) for text in sentences(60)]
    expected = [rows(one.logits) for one in student.translate_batch(source, **ASKED)]
    translator = Translator(DIRECTORIES["int8"], inter_threads=2)
    assert [rows(one.logits) for one in translator.translate_batch(source, **ASKED)] == expected
    promised = translator.translate_batch(source, asynchronous=True, **ASKED)
    assert [rows(one.result().logits) for one in promised] == expected


def test_more_than_memory_should_hold_is_one_error_before_anything_is_done(student, monkeypatch):
    source = [student.tokenize(SENTENCE)] * 10
    pieces = 10 * 3 * int(student.config.max_length_factor) * (len(source[0]) + 1)
    size = student.target_vocabulary.size
    monkeypatch.setattr(interface, "MOST_LOGITS", 4 * pieces * size)
    assert len(student.translate_batch(source, num_hypotheses=3, **ASKED)) == 10
    monkeypatch.setattr(interface, "MOST_LOGITS", 4 * pieces * size - 1)
    message = (
        f"^return_logits_vocab is True, and 10 sentences may get {pieces} pieces, each with {size} logits: "
        f"{4 * pieces * size} bytes, expected at most {4 * pieces * size - 1}; give fewer sentences to a call, or a "
        "smaller max_length$"
    )
    with pytest.raises(ValueError, match=message):
        student.translate_batch(source, num_hypotheses=3, **ASKED)
    assert len(student.translate_batch(source, num_hypotheses=3, max_length=5, **ASKED)) == 10


def test_other_calls_refuse_them_by_name(student):
    message = "^return_logits_vocab is True, which is not supported here; expected False, .*translate_batch has it"
    for refused in (
        lambda: student.translate(SENTENCE, **ASKED),
        lambda: list(student.translate_iterable([["▁A"]], **ASKED)),
        lambda: student.generate_tokens(["▁A"], **ASKED),
        lambda: student.translate_file("in", "out", **ASKED),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
    for wrong in (1, "yes", None):
        with pytest.raises(TypeError, match="^return_logits_vocab is "):
            student.translate_batch([["▁A"]], return_logits_vocab=wrong)
