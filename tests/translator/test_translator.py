"""Text in, text out: streams, pieces, lengths; each wrong call is one clear error. The laws: tests/test_laws.py."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Hypothesis, Result, TranslationResult, Translator
from cpunmt.decoding.splitting import split_pieces
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.command_line import sentences
from tests.support.streams import broken, taken

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ende_student_greedy.json").read_text("utf-8"))
ODD = [
    "", " ", "\t", "\n", "\0", "a\0b", "\ud800", "x\udfffy", "\u2028", "one\ntwo\r\nthree", "\ufeffA dog.",
    "👩‍👩‍👧‍👦 🚲", "مرحبا بالعالم", "שלום", "e\u0301\u0301\u0301", "▁", "</s>", "<unk>",
    "A <unk> dog </s> runs.", "我们走。",
    "\x1b[0m", "%s {} \\n", "A man", "A man.", "a" * 300, "\u00ad\u200b",
    "ﬁ ½ ™", "İıſ", "\U0010ffff", "-" * 200,
]  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "\t \n", "\u3000", "\u200b"])
def test_blank_text_stays_as_it_is(student, text):
    assert student.translate(text) == Result((Hypothesis(text, 0.0, 0.0, False, ()),))
    assert student.translate(text, split="none") == Result((Hypothesis("", 0.0, 0.0, False, ()),))
    assert str(student.translate(text)) == text and student.translate(text).sentences == ()


def test_an_empty_list_gives_an_empty_list(student):
    assert student.translate([]) == []
    assert student.translate_batch([]) == []
    assert list(student.translate_iterable([])) == []


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["src"][:20])
def test_float32_gives_the_published_translations(float_student, case):
    result = float_student.translate(case["src"], vocabulary="full", max_length_factor=3)
    assert result.text == case["text"]
    assert result.log_prob == pytest.approx(case["log_prob"], abs=1e-3)
    assert result.score == pytest.approx(result.log_prob / len(case["ids"]), rel=1e-6)
    assert result.truncated == (case["ids"][-1] != 0)
    assert len(result.pieces) == len(case["ids"]) - (not result.truncated)
    assert str(result) == result.text


def test_int8_gives_most_of_them_too(student):
    results = student.translate([case["src"] for case in GOLDEN], vocabulary="full")
    same = [result.text == case["text"] for result, case in zip(results, GOLDEN, strict=True)]
    assert sum(same) >= 0.7 * len(GOLDEN)


def test_any_iterable_of_texts_is_a_list(student):
    texts = ["A dog.", "", "A man."]
    expected = student.translate(texts)
    assert student.translate(tuple(texts)) == student.translate(iter(texts)) == expected


def test_options_are_checked_before_anything_is_translated(student):
    for call in (student.translate, student.translate_iterable, student.translate_batch):
        with pytest.raises(TypeError, match="unknown option 'beams'"):
            call([None], beams=2)
        with pytest.raises(ValueError, match="^max_length is 0"):
            call([None], max_length=0)


# Streams


def test_a_stream_reads_no_further_than_it_must(student):
    taken = []

    def endless():
        while True:
            taken.append(len(taken))
            yield f"Number {len(taken)}."

    results = student.translate_iterable(endless())
    assert taken == []
    for count in range(1, 20):
        next(results)
        assert len(taken) < 2 * count + 1


def test_one_text_is_no_stream(student):
    with pytest.raises(TypeError, match="^translate_iterable takes texts, not one text"):
        student.translate_iterable("A dog.")
    with pytest.raises(TypeError, match="^translate_iterable takes an iterable of texts, or of .* not NoneType$"):
        student.translate_iterable(None)  # raised by the call, not by the first result
    with pytest.raises(TypeError, match="^target_prefix takes an iterable with an item for each sentence, not int$"):
        student.translate_iterable(["A dog."], 5)


def test_a_stream_refuses_what_is_not_text_when_it_comes(student):
    results = student.translate_iterable(["A dog.", 7])
    assert next(results).text
    with pytest.raises(TypeError, match="^text 1 is 7, expected str"):
        next(results)
    with pytest.raises(TypeError, match="^text 2 is list, expected str"):
        list(student.translate_iterable(["One.", "Two.", ["▁Three"]]))


# Pieces


def test_a_batch_of_pieces_gives_what_text_gives(student):
    texts = [text for text in ODD if student.source_vocabulary.encode(text) != [0]] + sentences(30)
    pieces = [student.source_vocabulary.pieces(student.source_vocabulary.encode(text)[:-1]) for text in texts]
    expected = student.translate(texts, split="none")
    assert not any("\n" in result.text or "\ud800" in result.text for result in expected)
    for made, result in zip(student.translate_batch(pieces, return_scores=True), expected, strict=True):
        assert made == TranslationResult([list(result.pieces)], [result.score])
    assert [made.hypotheses for made in student.translate_iterable(pieces)] == [[[*r.pieces]] for r in expected]
    ended = [[*sentence, "</s>"] for sentence in pieces]
    assert student.translate_batch(ended) == student.translate_batch(pieces)


def test_no_pieces_give_no_pieces(student):
    assert student.translate_batch([[], ["▁A"], []], return_scores=True)[0] == TranslationResult([[]], [0.0])
    assert student.translate_batch([["</s>"]])[0] == TranslationResult([[]])


def test_pieces_may_be_any_iterable(student):
    """Includes arrays, which have no truth value, and iterators, which can be read only once."""
    pieces, options = ["▁A", "▁dog"], {"replace_unknowns": True, "return_attention": True}
    (expected,) = student.translate_batch([pieces], **options)
    for same in (np.array(pieces), iter(pieces), tuple(pieces)):
        assert student.translate_batch([same], **options) == [expected]
    for same in (np.array(pieces), iter(pieces)):
        assert list(student.translate_iterable([same], **options)) == [expected]


def test_text_is_no_list_of_pieces(student):
    with pytest.raises(
        TypeError, match="^sentence 0 is str, expected a list of pieces; translate and score take text$"
    ):
        student.translate_batch(["A dog."])


# Length


def test_a_long_sentence_is_split_and_nothing_is_lost(student):
    """As one sentence it is cut where sentences end, and its parts are translated like separate lines."""
    sentence = "A man is riding a bicycle in the park."
    room = student.config.max_source_length - 1
    fit = room // len(student.source_vocabulary.encode(sentence)[:-1])
    assert fit > 3
    parts = [" ".join([sentence] * count) for count in (fit, fit, fit, 2)]
    made, expected = (student.translate(some, split="none") for some in (" ".join(parts), parts))
    assert made.text == " ".join(result.text for result in expected)
    assert made.pieces == tuple(piece for result in expected for piece in result.pieces)
    assert made.log_prob == pytest.approx(sum(result.log_prob for result in expected))
    assert made.score == pytest.approx(np.average([r.score for r in expected], weights=[fit, fit, fit, 2]))
    assert not made.truncated and all(result.text for result in expected)
    cut = student.translate(
        " ".join([*parts, "Yes."]), max_length=20, split="none"
    )  # the last part ends earlier than the others
    assert cut.truncated


@given(st.integers(1, 700), st.sampled_from(["a", "dog ", "dogs, ", "1.5 ", "Yes. ", "走", "\u0301"]))
@settings(max_examples=25)
def test_every_length_is_translated(student, count, word):
    """All pieces of the source are translated: the result joins parts that make up the whole."""
    vocabulary = student.source_vocabulary
    pieces = vocabulary.pieces(vocabulary.encode(word * count)[:-1])
    cuts = [0, *split_pieces(pieces, student.config.max_source_length - 1, vocabulary.mark), len(pieces)]
    parts = [pieces[begin:end] for begin, end in itertools.pairwise(cuts)]
    translated = student.translate_batch(parts, max_length=4)
    result = student.translate(word * count, max_length=4, split="none")
    assert list(result.pieces) == [piece for part in translated for piece in part.hypotheses[0]]


def test_a_length_limit_cuts_and_says_so(student):
    whole = student.translate("A man is riding a bicycle in the park.")
    assert not whole.truncated and len(whole.pieces) > 4
    cut = student.translate("A man is riding a bicycle in the park.", max_length=4)
    assert cut.truncated and cut.pieces == whole.pieces[:4]
    assert cut.score == pytest.approx(cut.log_prob / 4)
    assert whole.text.startswith(cut.text)
    enough = student.translate("A man is riding a bicycle in the park.", max_length=len(whole.pieces) + 1)
    assert enough == whole


def test_a_length_factor_limits_by_the_source(student):
    text = "A man is riding a bicycle in the park."
    length = len(student.source_vocabulary.encode(text))
    for factor in (0.1, 0.5):
        result = student.translate(text, max_length_factor=factor)
        assert result.truncated and len(result.pieces) == -(-length * factor // 1)
    assert student.translate(text, max_length_factor=3.0) == student.translate(text)


# Start


def test_a_warm_start_imports_no_compiler(student):
    """The fixture `student` ensures that the program is compiled."""
    code = (
        "import sys; from cpunmt import Translator; text = Translator(sys.argv[1]).translate('A dog.').text; "
        "print(text, 'numba' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, DIRECTORIES["int8"]], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert run.stdout == f"{student.translate('A dog.').text} False\n"
    assert run.stderr == ""


# Streams that end badly


@pytest.fixture(scope="module")
def threaded():
    return Translator(DIRECTORIES["int8"], inter_threads=3)


@pytest.fixture(params=["ordered", "one thread", "three threads"])
def stream(request, student, threaded):
    """Returns a function that translates a stream, and returns its results by number and its final error."""
    if request.param == "ordered":
        return lambda items: taken(student.translate_iterable(items))

    def by_number(items):
        translator = student if request.param == "one thread" else threaded
        found, error = taken(translator.translate_iterable(items, ordered=False))
        assert sorted(number for number, _ in found) == list(range(len(found)))
        return [result for _, result in sorted(found)], error

    return by_number


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_what_was_read_before_the_source_raised_is_translated(student, stream, count):
    texts, error = sentences(count), OSError("the disk is gone")
    assert stream(broken(texts, error)) == (student.translate(texts), error)
    pieces = [student.tokenize(text) for text in texts]
    assert stream(broken(pieces, error)) == (student.translate_batch(pieces), error)


def test_what_comes_before_a_wrong_item_is_translated(student, stream):
    texts = sentences(20)
    pieces = [student.tokenize(text) for text in texts]
    for good, bad, message in (
        (texts, 7, "text 20 is 7, expected str; they are counted from 0"),
        (texts, ["▁A"], "text 20 is list, expected str; they are counted from 0"),
        (pieces, "A dog.", "sentence 20 is str, expected a list of pieces; translate and score take text"),
        (pieces, [7], "sentence 20: piece 0 is 7, expected str; they are counted from 0"),
    ):
        found, error = stream([*good, bad, good[0]])
        assert len(found) == 20 and (type(error), str(error)) == (TypeError, message)


def test_ctrl_c_of_the_source_ends_the_stream(stream):
    with pytest.raises(KeyboardInterrupt):
        stream(broken(sentences(2), KeyboardInterrupt))


def test_prefixes_of_a_stream(student):
    texts = sentences(5)
    expected = student.translate(texts, target_prefix="Ein")
    assert list(student.translate_iterable(texts, "Ein")) == expected  # not one letter for each
    assert list(student.translate_iterable(iter(texts), itertools.repeat("Ein"))) == expected
    found, error = taken(student.translate_iterable(texts, itertools.repeat("Ein", 3)))
    assert found == expected[:3] and str(error) == "target_prefix has 3 items, expected one for each sentence"
    found, error = taken(student.translate_iterable(texts, ["Ein"] * 3))
    assert found == expected[:3] and str(error) == "target_prefix has 3 items, expected one for each sentence"
    found, error = taken(student.translate_iterable(texts, broken(["Ein"] * 3, KeyError("prefix"))))
    assert found == expected[:3] and isinstance(error, KeyError)
    found, error = taken(student.translate_iterable([["▁A"]] * 2, "Ein"))
    expected_there = "an iterable with an item for each sentence"
    assert found == [] and str(error) == f"target_prefix takes {expected_there}, not str"


def test_a_stream_is_not_translated_after_ctrl_c(student):
    found = []
    with pytest.raises(KeyboardInterrupt):
        for result in student.translate_iterable(broken(sentences(2), KeyboardInterrupt)):
            found.append(result)
    assert len(found) == 1
