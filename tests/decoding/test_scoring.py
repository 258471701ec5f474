"""Scores of given translations: equality with searches, and refusals."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Options, ScoringResult, Translator
from cpunmt.decoding.scoring import LONGEST
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences


def pieces_of(translator, texts):
    return [translator.tokenize(text) for text in texts]


@given(
    st.integers(0, 400),
    st.integers(1, 5),
    st.sampled_from(["shortlist", "full"]),
    st.sampled_from([0.0, 0.6, 1.0]),
    st.sampled_from([0.0, -0.4]),
)
@settings(max_examples=15)
def test_a_translation_scores_what_its_search_said(student, first, beam, vocabulary, length_penalty, word_penalty):
    """Law 4."""
    texts = sentences(420)[first : first + 8]
    scored_by = {"vocabulary": vocabulary, "length_penalty": length_penalty, "word_penalty": word_penalty}
    translated = student.translate(texts, split="none", beam_size=beam, num_hypotheses=beam, **scored_by)
    for pieces, result in zip(pieces_of(student, texts), translated, strict=True):
        ended = [hypothesis for hypothesis in result.hypotheses if not hypothesis.truncated]
        targets = [list(hypothesis.pieces) for hypothesis in ended]
        scored = student.score_batch([pieces] * len(ended), targets, **scored_by)
        for one, hypothesis in zip(scored, ended, strict=True):
            assert one.tokens == [*hypothesis.pieces, "</s>"]
            assert one.score == pytest.approx(hypothesis.score, rel=1e-5, abs=1e-6)
            assert one.log_prob == pytest.approx(hypothesis.log_prob, rel=1e-5, abs=1e-5)


def test_to_the_last_bit(student):
    texts = sentences(60)
    for vocabulary in ("shortlist", "full"):
        options = {"split": "none", "vocabulary": vocabulary, "return_token_log_probs": True}
        translated = student.translate(texts, **options, beam_size=3)
        target = [list(result.pieces) for result in translated]
        scored = student.score_batch(pieces_of(student, texts), target, vocabulary=vocabulary)
        for result, score in zip(translated, scored, strict=True):
            if not result.truncated:
                assert (score.log_prob, score.score) == (result.log_prob, result.score)
                assert tuple(score.log_probs) == result.token_log_probs


def test_the_whole_vocabulary_is_the_default_and_the_shortlist_leaves_out(student):
    source = [student.tokenize("A man is riding a bicycle.")]
    target = [["▁Ein", "▁Wasser", "."]]
    (full,) = student.score_batch(source, target)
    assert full == student.score_batch(source, target, vocabulary="full")[0] and math.isfinite(full.log_prob)
    for options in (Options(), student.options):  # do not name a vocabulary
        assert student.score_batch(source, target, options=options)[0] == full
    asked = student.score_batch(source, target, vocabulary="shortlist")[0]
    assert asked == student.score_batch(source, target, options=Options(vocabulary="shortlist"))[0] != full
    (listed,) = student.score_batch(source, target, vocabulary="shortlist")
    assert listed.log_prob == listed.score == -math.inf and -math.inf in listed.log_probs
    assert math.isfinite(listed.log_probs[0])
    for options in (Options(), Options(max_batch_size=7), student.options):
        assert student.score_batch(source, target, options=options) == [full]
        assert student.score("A bicycle.", "Ein Wasser.", options=options) == student.score("A bicycle.", "Ein Wasser.")
        assert list(student.score_iterable(source, target, options=options)) == [full]
        assert student.score_batch(source, target, options=options, vocabulary="shortlist") == [listed]
    assert student.score_batch(source, target, options=Options(vocabulary="shortlist")) == [listed]
    assert student.score_batch(source, target, use_vmap=True) == [listed]  # CTranslate2's name
    assert student.score_batch(source, target, use_vmap=False) == student.score_batch(source, target) == [full]


def test_text_is_scored_as_its_pieces(student):
    texts, targets = ["A dog.", "Two men."], ["Ein Hund.", "Zwei Männer."]
    expected = student.score_batch(
        pieces_of(student, texts),
        [student.target_vocabulary.pieces(student.target_vocabulary.encode(text)[:-1]) for text in targets],
    )
    assert student.score(texts, targets) == expected
    assert [student.score(*pair) for pair in zip(texts, targets, strict=True)] == expected
    assert student.score([], []) == []


def test_the_end_may_be_given_or_not_but_not_before_the_end(student):
    source = [["▁A", "▁dog"]]
    assert student.score_batch(source, [["▁Ein", "</s>"]]) == student.score_batch(source, [["▁Ein"]])
    assert student.score_batch([["▁A", "▁dog", "</s>"]], [["▁Ein"]]) == student.score_batch(source, [["▁Ein"]])
    with pytest.raises(ValueError, match="^target 0 has </s> before its end"):
        student.score_batch(source, [["▁Ein", "</s>", "▁Hund"]])


def test_a_blank_source_has_one_translation_as_when_it_is_translated(student):
    assert student.score("", "") == ScoringResult(["</s>"], [0.0], 0.0, 0.0)
    assert student.score(" ", "Ja").log_prob == -math.inf
    assert student.score_batch([[]], [["▁Ja"]]) == [
        ScoringResult(["▁Ja", "</s>"], [-math.inf, 0.0], -math.inf, -math.inf)
    ]
    assert math.isfinite(student.score("Yes.", "").log_prob)


def test_an_offset_leaves_pieces_out(student):
    source, target = [["▁A", "▁dog", "."]], [["▁Ein", "▁Hund", "."]]
    (whole,) = student.score_batch(source, target)
    (rest,) = student.score_batch(source, target, offset=1, length_penalty=0.5)
    assert (rest.tokens, rest.log_probs) == (whole.tokens[1:], whole.log_probs[1:])
    assert rest.log_prob == pytest.approx(sum(whole.log_probs[1:]))
    assert rest.score == pytest.approx(rest.log_prob / 3**0.5)
    assert student.score_batch(source, target, offset=9) == [ScoringResult([], [], 0.0, 0.0)]
    with pytest.raises(ValueError, match="^offset is -1, expected 0 to "):
        student.score_batch(source, target, offset=-1)


def test_scores_do_not_depend_on_company_or_batches(student):
    texts = sentences(40)
    targets = [result.text for result in student.translate(texts)]
    expected = student.score(texts, targets)
    assert [student.score(*pair) for pair in zip(texts[:10], targets, strict=False)] == expected[:10]
    assert student.score(texts[::-1], targets[::-1], max_batch_size=3) == expected[::-1]
    with_threads = Translator(DIRECTORIES["int8"], inter_threads=2)
    assert with_threads.score(texts, targets) == expected
    pieces = pieces_of(student, texts), pieces_of(student, targets)
    waiting = student.score_batch(*pieces, asynchronous=True)
    assert [result.result() for result in waiting] == student.score_batch(*pieces)


def test_an_input_limit_drops_the_rest(student):
    source, target = [["▁A", "▁dog", "▁runs", "."]], [["▁Ein"]]
    assert student.score_batch(source, target, max_input_length=2) == student.score_batch([source[0][:2]], target)


def test_what_is_too_long_is_refused_by_number(student):
    long = ["▁dog"] * LONGEST
    for pair, name in ((([["▁A"], long], [["▁B"]] * 2), "source 1"), (([["▁A"]], [long]), "target 0")):
        with pytest.raises(ValueError, match=rf"^{name} \(counted from 0\) has 4096 pieces, expected at most 4095"):
            student.score_batch(*pair)
    (scored,) = student.score_batch([["▁dog"] * 300], [["▁Hund"] * 300])  # longer than one part of a translation
    assert len(scored.log_probs) == 301 and math.isfinite(scored.log_prob)


def test_wrong_calls(student):
    with pytest.raises(ValueError, match="^2 sources and 1 targets, expected as many of both$"):
        student.score(["a", "b"], ["c"])
    with pytest.raises(TypeError, match="^score takes two texts or two lists of texts, not one of each$"):
        student.score("a", ["b"])
    with pytest.raises(TypeError, match="^source 0 is 1, expected str; they are counted from 0$"):
        student.score([1], ["b"])
    with pytest.raises(TypeError, match="^target 0 is str, expected a list of pieces; translate and score take text$"):
        student.score_batch([["a"]], ["b"])
    with pytest.raises(
        TypeError, match="^sentence 0 is str, expected a list of pieces; translate and score take text$"
    ):
        student.score_batch(["a"], [["b"]])
    with pytest.raises(TypeError, match="^unknown option 'beam_size'"):
        student.score("a", "b", beam_size=2)
