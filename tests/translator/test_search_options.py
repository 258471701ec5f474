"""Options of the search, from text to results: n-best lists, forced prefixes, lengths, alignments.

Laws of any options are in tests/test_laws.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

SENTENCE = "A man is riding a bicycle in the park."


def long_text(student):
    """Returns a text longer than the model takes."""
    text = " ".join(sentences(40))
    assert len(student.tokenize(text)) > 2 * student.config.max_source_length
    return text


def test_a_beam_finds_at_least_what_greedy_finds_mostly(student):
    texts = sentences(100)
    options = {"vocabulary": "full", "length_penalty": 0.0}
    better = [
        beam.score - greedy.score
        for beam, greedy in zip(
            student.translate(texts, beam_size=6, **options), student.translate(texts, **options), strict=True
        )
    ]
    assert sum(difference >= -1e-5 for difference in better) >= 95 and max(better) > 0.5


def test_an_n_best_list(student):
    result = student.translate(SENTENCE, beam_size=4, num_hypotheses=4)
    assert len(result.hypotheses) == 4 and len({hypothesis.text for hypothesis in result.hypotheses}) == 4
    assert result.text == result.hypotheses[0].text
    for hypothesis in result.hypotheses:
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / (len(hypothesis.pieces) + 1), rel=1e-6)


def test_an_n_best_list_of_a_sentence_in_parts(student):
    result = student.translate(long_text(student), beam_size=3, num_hypotheses=3)
    assert len(result.hypotheses) == 3
    assert result.hypotheses[0] == student.translate(long_text(student), beam_size=3).hypotheses[0]


# Penalties and lengths


def test_penalties_are_those_of_the_score(student):
    (hypothesis,) = student.translate(SENTENCE, beam_size=2, word_penalty=0.3, length_penalty=0.7).hypotheses
    pieces = len(hypothesis.pieces) + 1
    assert hypothesis.score == pytest.approx((hypothesis.log_prob - 0.3 * pieces) / pieces**0.7, rel=1e-5)


def test_coverage_is_added(student):
    options = {"beam_size": 3, "return_alignments": True}
    plain = student.translate(SENTENCE, **options)
    covered = student.translate(SENTENCE, coverage_penalty=0.5, **options)
    assert covered.score < covered.log_prob / (len(covered.pieces) + 1)
    assert math.isfinite(covered.score) and plain.score == pytest.approx(plain.log_prob / (len(plain.pieces) + 1))


def test_a_least_length_is_reached(student):
    short = student.translate("Yes.")
    long = student.translate("Yes.", min_length=20)
    assert len(short.pieces) < 5 and len(long.pieces) >= 20
    assert student.translate("", min_length=20).text == ""
    exact = student.translate(SENTENCE, min_length=6, max_length=6)
    assert len(exact.pieces) == 6 and exact.truncated


def test_an_input_limit_drops_the_rest(student):
    pieces = student.tokenize(SENTENCE)
    cut = student.translate(SENTENCE, max_input_length=4)
    assert cut.text == student.translate(student.detokenize(pieces[:4])).text
    assert student.translate(SENTENCE, max_input_length=len(pieces)) == student.translate(SENTENCE)
    assert student.translate_batch([pieces], max_input_length=4) == student.translate_batch([pieces[:4]])


def test_a_loop_is_seen_where_there_is_one(student):
    looping = student.translate("Yes.", min_length=60)
    assert looping.repeats and looping.hypotheses[0].repeats
    assert not any(result.repeats for result in student.translate(sentences(20)))


# Forced prefixes


@given(st.integers(0, 300), st.integers(1, 4), st.integers(0, 6))
@settings(max_examples=20)
def test_a_prefix_is_kept_and_its_own_translation_is_found_again(student, number, beam, length):
    source = student.tokenize(sentences(310)[number])
    options = {"beam_size": beam, "num_hypotheses": beam, "return_scores": True}
    (free,) = student.translate_batch([source], **options)
    prefix = free.hypotheses[0][:length]
    (forced,) = student.translate_batch([source], [prefix], **options)
    assert all(hypothesis[: len(prefix)] == prefix for hypothesis in forced.hypotheses)
    if beam == 1:
        assert forced == free
    best = student.translate(sentences(310)[number], beam_size=beam, split="none").hypotheses[0]
    end = [] if best.truncated else ["</s>"]
    limit = {"max_length": len(best.pieces)} if best.truncated else {}
    (whole,) = student.translate_batch([source], [[*best.pieces, *end]], return_scores=True, **limit)
    assert whole.hypotheses == free.hypotheses[:1]
    assert whole.scores[0] == pytest.approx(free.scores[0], rel=1e-5, abs=1e-6)


def test_prefixes_of_texts(student):
    texts = [SENTENCE, "Two dogs.", SENTENCE]
    one_for_all = student.translate(texts, target_prefix="Der")
    assert all(result.text.startswith("Der") for result in one_for_all)
    mixed = student.translate(texts, target_prefix=["Ein Kerl", None, ""])
    assert mixed[0].text.startswith("Ein Kerl ") and mixed[1:] == student.translate(texts[1:])
    assert student.translate(SENTENCE, target_prefix="Ein Kerl") == mixed[0]
    assert student.translate(SENTENCE, target_prefix="") == student.translate(SENTENCE)
    assert list(student.translate_iterable(texts, ["Ein Kerl", None, ""])) == mixed


def test_a_prefix_is_never_cut(student):
    prefix = student.target_vocabulary.pieces(student.target_vocabulary.encode("Ein Mann fährt Fahrrad im Park.")[:-1])
    (cut,) = student.translate_batch([["▁Yes"]], [prefix], max_length=2)
    assert cut.hypotheses == [prefix]


def test_a_prefix_of_blank_text_is_kept_and_impossible(student):
    results = student.translate(["", SENTENCE, " "], target_prefix=["Ja", None, None])
    assert (results[0].text, results[0].log_prob) == ("Ja", -math.inf)
    assert results[1:] == student.translate([SENTENCE, " "])


def test_a_prefix_outside_the_shortlist_is_kept_and_impossible(student):
    listed = student.translate(SENTENCE, target_prefix="Das Wasser")
    assert listed.text.startswith("Das Wasser") and listed.log_prob == -math.inf
    assert math.isfinite(student.translate(SENTENCE, target_prefix="Das Wasser", vocabulary="full").log_prob)


def test_wrong_prefixes(student):
    with pytest.raises(ValueError, match="^target_prefix has 1 items, expected one for each of the 2 sentences$"):
        student.translate(["a", "b"], target_prefix=["c"])
    with pytest.raises(
        ValueError, match="^target_prefix has more than 1 items, expected one for each of the 1 sentences$"
    ):
        student.translate_batch([["a"]], [["b"], None])
    with pytest.raises(TypeError, match="positional argument"):  # it would begin the translation
        student.translate(SENTENCE, "de")
    with pytest.raises(TypeError, match="^target_prefix 0 is list, expected str or None; they are counted from 0$"):
        student.translate(SENTENCE, target_prefix=["Der"])
    with pytest.raises(
        TypeError, match="^target_prefix 0 is str, expected a list of pieces; translate and score take text$"
    ):
        student.translate_batch([["a"]], ["Der"])
    with pytest.raises(ValueError, match="^target_prefix 0 has </s> before its end; expected one at the end, or none$"):
        student.translate_batch([["a"]], [["</s>", "▁Der"]])
    with pytest.raises(ValueError, match="^target_prefix has 0 items"):
        list(student.translate_iterable(["a"], []))


# Other reports


def test_log_probabilities_of_pieces(student):
    for text in (SENTENCE, long_text(student)):
        for hypothesis in student.translate(
            text, beam_size=2, num_hypotheses=2, return_token_log_probs=True
        ).hypotheses:
            assert math.fsum(hypothesis.token_log_probs) == pytest.approx(hypothesis.log_prob, rel=1e-5)
            assert max(hypothesis.token_log_probs) <= 0
    assert student.translate(SENTENCE).token_log_probs is None
    told = student.translate(SENTENCE, return_token_log_probs=True)
    assert len(told.token_log_probs) == len(told.pieces) + 1  # </s> has one too


def test_alignments(student):
    for text in (SENTENCE, long_text(student), "", "Two\U0001f6b2 dogs."):
        result = student.translate(text, beam_size=2, num_hypotheses=2, return_alignments=True, protect="none")
        assert list(result.source_pieces) == student.tokenize(text)
        for hypothesis in result.hypotheses:
            attention = hypothesis.attention
            assert attention.shape == (len(hypothesis.pieces), len(result.source_pieces))
            assert attention.dtype == np.float32 and attention.min(initial=0) >= 0
            assert attention.sum(1).max(initial=0) <= 1 + 1e-5
            assert len(hypothesis.alignments) == (len(hypothesis.pieces) if text else 0)
    pairs = dict(student.translate("Two dogs.", return_alignments=True).alignments)
    assert pairs == {0: 0, 1: 1, 2: 2}
    assert student.translate(SENTENCE).alignments is None


def test_alignments_of_parts_are_those_of_each_part(student):
    text = long_text(student)
    whole = student.translate(text, return_alignments=True)
    half = len(whole.source_pieces) // 2
    ends = [s for s, t in whole.alignments if t >= len(whole.pieces) * 3 // 4]
    assert np.mean(ends) > half  # the last pieces come from the last parts
    assert np.array_equal(np.unique([t for _, t in whole.alignments]), np.arange(len(whole.pieces)))


def test_unknown_pieces_that_are_forced_are_replaced_if_asked_for(student):
    plain = student.translate("A man with a 🚲.", target_prefix="Ein Mann mit einem 🚲")
    assert "<unk>" in plain.pieces
    changed = student.translate("A man with a 🚲.", target_prefix="Ein Mann mit einem 🚲", replace_unknowns=True)
    assert "<unk>" not in changed.pieces and changed.attention is None
    place = plain.pieces.index("<unk>")
    assert changed.pieces[place] in student.tokenize("A man with a 🚲.")
    assert changed.pieces[:place] == plain.pieces[:place]
    (pieces,) = student.translate_batch([["▁A", "▁xyzzy"]], [["▁Ein", "nonsense"]], replace_unknowns=True)
    assert pieces.hypotheses[0][1] in ("▁A", "▁xyzzy")


def test_a_float_model_searches_alike(float_student, student):
    options = {"beam_size": 4, "num_hypotheses": 2}
    texts = sentences(40)
    pairs = zip(float_student.translate(texts, **options), student.translate(texts, **options), strict=True)
    assert sum(first.text == second.text for first, second in pairs) >= 28


def test_the_models_own_defaults_come_before_ours():
    translator = Translator(DIRECTORIES["int8"])
    assert translator.options.max_length_factor == translator.config.max_length_factor
    assert translator.translate(SENTENCE, max_length_factor=None) == translator.translate(SENTENCE)
