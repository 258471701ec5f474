"""Samples, alternatives, penalties and suppression, from text and pieces to results; and refusals.

Tests against definitions are in tests/search, laws of any options in tests/test_laws.py.
"""

import itertools
import math

import pytest

from cpunmt import Options, Translator
from tests.sample_models import real_model
from tests.support.command_line import run, sentences

SENTENCE = "A man in a hat is riding a bicycle in the park."
DRAWN = {"sampling_topk": 0, "sampling_temperature": 1.5, "num_hypotheses": 4}


def texts(result):
    return [h.text for h in result.hypotheses]


def test_samples_are_sorted_and_of_their_seed(student):
    first = student.translate(SENTENCE, **DRAWN)
    assert len(first.hypotheses) == 4 and len(set(texts(first))) > 1
    scores = [h.score for h in first.hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert student.translate([SENTENCE, "Yes.", SENTENCE], **DRAWN)[::2] == [first, first]
    assert texts(student.translate(SENTENCE, **DRAWN, seed=1)) != texts(first)
    assert student.translate(SENTENCE, options=Options(**DRAWN)) == first


def test_a_models_own_beam_gives_way_to_samples(student):
    student = Translator(real_model.DIRECTORIES["int8"])
    student.options = Options(beam_size=6)
    assert student.translate(SENTENCE, **DRAWN) == student.translate(SENTENCE, beam_size=1, **DRAWN)


def test_samples_of_pieces_and_of_a_stream_are_those_of_the_text(student):
    pieces = [student.tokenize(line) for line in sentences(12)]
    expected = [[list(h.pieces) for h in r.hypotheses] for r in student.translate(sentences(12), split="none", **DRAWN)]
    assert [r.hypotheses for r in student.translate_batch(pieces, **DRAWN)] == expected
    assert [r.hypotheses for r in student.translate_iterable(iter(pieces), **DRAWN)] == expected
    one = {**DRAWN, "num_hypotheses": 1}
    (alone,) = student.translate_batch(pieces[:1], **one)
    del one["num_hypotheses"]
    steps = list(student.generate_tokens(pieces[0], return_log_prob=True, **one))
    assert [step.token for step in steps] == [*alone.hypotheses[0], "</s>"]


def test_scoring_a_sample_gives_its_log_probability(student):
    """Scores are the model's own, even if the options penalize or draw."""
    result = student.translate(SENTENCE, vocabulary="full", split="none", **DRAWN)
    for h in result.hypotheses:
        if not h.truncated:
            for options in (Options(), Options(sampling_topk=0, repetition_penalty=2.0)):
                (scored,) = student.score_batch([student.tokenize(SENTENCE)], [list(h.pieces)], options=options)
                assert scored.log_prob == h.log_prob


def test_alternatives_differ_behind_the_prefix(student):
    ways = {"return_alternatives": True, "num_hypotheses": 4}
    (found,) = student.translate_batch([student.tokenize(SENTENCE)], [["▁Ein"]], **ways)
    assert len({tuple(pieces[:2]) for pieces in found.hypotheses}) == 4
    assert {pieces[0] for pieces in found.hypotheses} == {"▁Ein"}
    for pieces in found.hypotheses:  # each continues greedily
        (alone,) = student.translate_batch([student.tokenize(SENTENCE)], [pieces[:2]])
        assert alone.hypotheses == [pieces]
    (greedy,) = student.translate_batch([student.tokenize(SENTENCE)], [["▁Ein"]])
    assert greedy.hypotheses[0] in found.hypotheses
    few = student.translate(SENTENCE, target_prefix="Ein", split="none", min_alternative_expansion_prob=0.3, **ways)
    assert few.pieces == tuple(greedy.hypotheses[0]) and len(few.hypotheses) < 4
    assert len(student.translate(SENTENCE, target_prefix="Ein", split="none", **ways).hypotheses) == 4
    likely = {"min_alternative_expansion_prob": 0.3}
    (told,) = student.translate_batch([student.tokenize(SENTENCE)], [["▁Ein"]], **likely, **ways)
    assert len(told) == len(few.hypotheses)  # without duplicates


def test_a_biased_prefix_may_be_followed(student):
    """More bias makes the prefix more frequent; sentences without a prefix do not change."""
    full = {"vocabulary": "full"}
    plain, forced = student.translate(SENTENCE, **full), student.translate(SENTENCE, target_prefix="Der Kerl", **full)
    assert plain.text.startswith("Ein Mann") and forced.text.startswith("Der Kerl")
    assert student.translate(SENTENCE, target_prefix="Der Kerl", prefix_bias_beta=0.001, **full).text == plain.text
    assert student.translate(SENTENCE, target_prefix="Der Kerl", prefix_bias_beta=0.99, **full).text == forced.text
    assert student.translate(SENTENCE, prefix_bias_beta=0.9, **full) == plain
    other, followed = student.translate([SENTENCE] * 2, target_prefix=[None, "Der Kerl"], prefix_bias_beta=0.99, **full)
    assert (other, followed.text) == (plain, forced.text)
    source, target = student.tokenize(SENTENCE), list(plain.pieces)
    scored = student.score_batch([source], [target], options=Options(prefix_bias_beta=0.9))
    assert scored == student.score_batch([source], [target])


def test_patience_keeps_the_beam_as_it_is(student):
    lines = sentences(60)
    few, many = (student.translate(lines, beam_size=4, patience=patience, vocabulary="full") for patience in (1, 4))
    better = [b.score - a.score for a, b in zip(few, many, strict=True)]
    assert min(better) >= -1e-6 and max(better) > 0  # more patience never finds worse translations
    assert student.translate(lines, patience=1) == student.translate(lines)  # a beam of one
    five = student.translate(lines[0], beam_size=4, num_hypotheses=4, patience=2)
    assert len({h.text for h in five.hypotheses}) == 4


def test_no_ngram_is_said_twice(student):
    plain = student.translate("Yes.", min_length=40)
    assert plain.repeats
    for size in (1, 2, 3):
        pieces = student.translate("Yes.", min_length=40, no_repeat_ngram_size=size).pieces
        grams = [pieces[begin : begin + size] for begin in range(len(pieces) - size + 1)]
        assert len(set(grams)) == len(grams)


def test_a_penalty_makes_repetitions_rarer(student):
    plain, penalized = (
        student.translate("Yes.", min_length=40, max_length=40, repetition_penalty=penalty).pieces
        for penalty in (1.0, 3.0)
    )
    assert len(set(penalized)) > 2 * len(set(plain))


def test_texts_and_pieces_are_suppressed(student):
    plain = student.translate(SENTENCE)
    assert "Mann" in plain.text and "Fahrrad" in plain.text
    for given in ("Mann,Fahrrad", ["Mann", ["▁Fahrrad"]], (text for text in ("Mann", "Fahrrad"))):
        changed = student.translate(SENTENCE, suppress_sequences=given)
        assert not {"▁Mann", "▁Fahrrad"} & set(changed.pieces)
    pair = list(plain.pieces[:2])
    (kept,) = student.translate_batch([student.tokenize(SENTENCE)], suppress_sequences=[pair])
    assert kept.hypotheses[0][0] == pair[0] and kept.hypotheses[0][1] != pair[1]
    assert student.translate(SENTENCE, suppress_sequences=[]) == plain


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            ["🚲"],
            ValueError,
            "suppress_sequences 0 has '🚲', which the target vocabulary has no piece for; expec",
        ),
        (
            [["▁Ein", "nonsense"]],
            ValueError,
            "suppress_sequences 0 has 'nonsense', which the target vocabulary has",
        ),
        (["Mann", ["</s>"]], ValueError, "suppress_sequences 1 has </s>, with which every translation ends; expected"),
        (["Mann", " "], ValueError, "suppress_sequences 1 is empty, expected text or pieces; they are counted from 0"),
        ([[]], ValueError, "suppress_sequences 0 is empty, expected"),
        (["Mann", "\u200b"], ValueError, "suppress_sequences 1 is '\\u200b', of which the target vocabulary leaves "),
        (["\u2581"], ValueError, "suppress_sequences 0 is '\u2581', of which the target vocabulary leaves nothing"),
        ("a,,b", ValueError, "suppress_sequences 1 is empty, expected"),
        (["a " * 101], ValueError, "suppress_sequences 0 has 101 pieces, expected at most 100"),
        (
            ["Mann", ["▁Ein"] * 101],
            ValueError,
            "suppress_sequences 1 has more than 100 pieces; give at most 100",
        ),
        (["a"] * 10_001, ValueError, "suppress_sequences has more than 10000 sequences; give at most 10000"),
        (7, TypeError, "suppress_sequences takes a list of texts and of lists of pieces, not int"),
        ({"a": 1}, TypeError, "suppress_sequences takes a list of texts and of lists of pieces, not dict"),
        ([7], TypeError, "suppress_sequences 0 is 7, expected a list of pieces"),
        ([[7]], TypeError, "suppress_sequences 0: piece 0 is 7, expected str"),
    ],
)
def test_what_cannot_be_suppressed_is_refused(student, given, error, message):
    with pytest.raises(error) as caught:
        student.translate(SENTENCE, suppress_sequences=given)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"suppress_sequences": itertools.repeat("Mann")},
            "suppress_sequences has more than 10000 sequences; give at most 10000",
        ),
        (
            {"suppress_sequences": [itertools.repeat("▁Ein")]},
            "suppress_sequences 0 has more than 100 pieces; give at most 100",
        ),
        ({"end_token": itertools.repeat("▁Ein")}, "end_token has more than 1000 pieces, expected 1 to 1000"),
        ({"protect": itertools.repeat("url")}, "protect has more than 1000 items; give at most 1000"),
    ],
)
def test_what_is_endless_is_read_as_far_as_its_bound(student, given, message):
    with pytest.raises(ValueError) as caught:
        student.translate(SENTENCE, **given)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling_topp": 0.5}, "sampling_topp is 0.5 and sampling_topk is 1; expected sampling_topk 0, which draws"),
        ({"sampling_temperature": 2}, "sampling_temperature is 2.0 and sampling_topk is 1; expected sampling_topk 0"),
        (
            {"seed": 7},
            "seed is 7 and sampling_topk is 1; expected sampling_topk 0, which draws from all pieces, or more",
        ),
        ({"sampling_topk": 5, "beam_size": 2}, "beam_size is 2 and sampling_topk is 5, expected 1: each of the"),
        ({"num_beam_groups": 2}, "num_beam_groups is 2 and beam_size is 1, expected a divisor of it"),
        (
            {"num_beam_groups": 2, "beam_size": 5, "diversity_penalty": 1},
            "num_beam_groups is 2 and beam_size is 5, expected a divisor of it",
        ),
        (
            {"num_beam_groups": 2, "beam_size": 4},
            "num_beam_groups is 2 and diversity_penalty is 0, expected more: all groups would be the same",
        ),
        (
            {"diversity_penalty": 0.5, "beam_size": 4},
            "diversity_penalty is 0.5 and num_beam_groups is 1; expected num_beam_groups, a divisor of beam_size",
        ),
        (
            {"num_beam_groups": 2, "diversity_penalty": 1, "sampling_topk": 0},
            "num_beam_groups is 2 and sampling_topk is 0, expected 1: samples and alternatives do not use a beam",
        ),
        (
            {"num_beam_groups": 2, "diversity_penalty": 1, "return_alternatives": True},
            "num_beam_groups is 2 and return_alternatives is True, expected 1: samples",
        ),
        ({"return_alternatives": True, "beam_size": 2}, "beam_size is 2 and return_alternatives is True, expected 1"),
        ({"return_alternatives": True, "sampling_topk": 5}, "return_alternatives is True and sampling_topk is 5, "),
        ({"sampling_topk": 5, "patience": 2}, "patience is 2.0, expected 1: samples and alternatives do not"),
        ({"beam_size": 4, "num_hypotheses": 4, "patience": 0.5}, "num_hypotheses is 4, beam_size 4 and patience 0.5, "),
        ({"min_alternative_expansion_prob": 0.5}, "min_alternative_expansion_prob is 0.5 and return_alternatives is "),
    ],
)
def test_options_that_contradict_each_other_are_refused(student, given, message):
    for ask in (lambda: student.translate(SENTENCE, **given), lambda: Options(**given)):
        with pytest.raises(ValueError) as caught:
            ask()
        assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_blank_and_long_texts(student):
    text = " ".join(sentences(40))
    assert len(student.tokenize(text)) > student.config.max_source_length
    for options in (DRAWN, {"return_alternatives": True, "num_hypotheses": 3}, {"no_repeat_ngram_size": 2}):
        blank, long = student.translate(["", text], split="none", **options)
        assert blank.text == "" and blank.log_prob == 0
        assert 1 <= len(long.hypotheses) <= 4 and math.isfinite(long.log_prob)


def test_from_the_shell(student):
    flags = ["--sampling-topk", "0", "--sampling-temperature", "1.5", "--seed", "5"]
    done = run("translate", *flags, stdin=SENTENCE.encode())
    expected = student.translate(SENTENCE, sampling_topk=0, sampling_temperature=1.5, seed=5)
    assert (done.returncode, done.stdout.decode()) == (0, f"{expected.text}\n")
    done = run("translate", "--suppress-sequences", "Mann, Fahrrad", stdin=SENTENCE.encode())
    assert done.stdout.decode() == student.translate(SENTENCE, suppress_sequences=["Mann", "Fahrrad"]).text + "\n"
    done = run("translate", "--alternatives", "--n-best", "3", stdin=SENTENCE.encode())
    ways = student.translate(SENTENCE, return_alternatives=True, num_hypotheses=3)
    assert [line.split(" ||| ")[1] for line in done.stdout.decode().splitlines()] == texts(ways)
    done = run("translate", "--sampling-topp", "0.5", stdin=SENTENCE.encode())
    assert done.returncode == 2 and b"sampling_topp is 0.5 and sampling_topk is 1; expected " in done.stderr
