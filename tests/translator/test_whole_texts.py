"""Texts of several sentences: each is translated as if alone, and everything between them stays."""

import json
import re
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import Sentence, Translator
from cpunmt.results.results import Hypothesis
from cpunmt.results.sentence import SentencePart as Part
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.command_line import run
from tests.support.linear_time import takes_linear_time
from tests.support.speeds import slow_after

SHIPPED = ROOT / "models" / "ende-tiny"
TEXT = "Where is the dog? He is in the garden. I see him."
SENTENCES = ["One man.", "Where is the dog?", "I see him!", "Two dogs play, and a cat", "Yes", "He said: no. Really?"]
GAPS = [" ", "  ", "\t", "\n", "\r\n", "\n\n\t- ", "\n\n> ", "\u2028", " \u200b", "\n\n12 ...\n\n", " \u202e", "\0 "]
BATCH = 25

# a text as one sentence, with all default layers
ALONE = {"split": "none", "protect": "all", "copy_numbers": True, "lower_capitals": True}


@pytest.fixture(scope="module")
def shipped():
    return Translator(SHIPPED)


def texts():
    part = st.sampled_from(SENTENCES) | st.sampled_from(GAPS) | st.text(max_size=6)
    return st.lists(part, max_size=8).map("".join)


def between(text, spans):
    """Returns the text before, between and after the spans."""
    ends = [0, *[place for span in spans for place in span], len(text)]
    return [text[begin:end] for begin, end in list(pairwise(ends))[::2]]


def test_no_sentence_is_lost(shipped):
    assert shipped.translate(TEXT).text == "Wo ist der Hund? Er ist im Garten. Ich sehe ihn."
    assert shipped.translate(TEXT, split="none").text != shipped.translate(TEXT).text
    finished = run("translate", "-m", SHIPPED, stdin=f"{TEXT}\n\n  {TEXT}\n".encode())
    whole = shipped.translate(TEXT).text
    assert finished.stdout.decode() == f"{whole}\n\n  {whole}\n" and finished.stderr == b""
    assert run("translate", "-m", SHIPPED, "--split", "none", TEXT).stdout.decode() != f"{whole}\n"


def check_the_law(text, made, alone):
    """Checks that all text between sentences stays, and that each sentence has the bits of its separate translation."""
    sentences = made.sentences
    gaps = between(text, [s.source for s in sentences])
    for number, gap in enumerate(between(made.text, [s.target for s in sentences])):
        # a space is inserted if the source's script does not use spaces
        added = 0 < number < len(sentences) and text[sentences[number - 1].source[1] - 1] in "\u3002\uff0e\uff01\uff1f"
        assert gap == gaps[number] or (added and (gaps[number], gap) == ("", " "))
    assert len(gaps) == len(sentences) + 1
    ends = [place for s in sentences for place in s.source]
    assert ends == sorted(ends)
    assert [in_a_line(made.text[slice(*s.target)]) for s in sentences] == [result.text for result in alone]
    assert [(s.score, s.log_prob, s.truncated, s.repeats) for s in sentences] == [
        (result.score, result.log_prob, result.truncated, result.repeats) for result in alone
    ]
    assert made.pieces == tuple(piece for result in alone for piece in result.pieces)
    assert made.num_source_pieces == sum(result.num_source_pieces for result in alone)


def sentences_of(text, made):
    """Returns the translated sentences, with blanks for line breaks."""
    return [in_a_line(text[slice(*sentence.source)]) for sentence in made.sentences]


def in_a_line(text):
    return re.sub("[\n\r\f\u2028\u2029]", " ", text)


@pytest.mark.parametrize("count", slow_after(1, [25, 150]))
@pytest.mark.parametrize("split", ["sentence", "paragraph", "line"])
def test_the_law_of_texts(shipped, split, count):
    @given(texts(), st.booleans())
    @settings(max_examples=count, database=None)
    def check(text, align):
        (made,) = shipped.translate([text], split=split, return_alignments=align)
        check_the_law(text, made, shipped.translate(sentences_of(text, made), **ALONE))
        again = shipped.translate(text, split=split)
        assert (again.text, again.score, again.pieces) == (made.text, made.score, made.pieces)

    check()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Makes a random model that translates 100,000 texts in minutes."""
    folder = tmp_path_factory.mktemp("tiny")
    write_marian_npz(folder / "model.npz", 7, vocab=128, d=32, f=32, enc=1, dec=1)
    train_vocabulary(folder / "vocab.spm")
    return Translator(folder)


@pytest.mark.parametrize("count", slow_after(1, [500, 100_000]))
def test_the_law_of_many_texts(tiny, count):
    """Random texts in batches, with all values of `split`."""

    @given(st.lists(texts(), min_size=BATCH, max_size=BATCH), st.sampled_from(["sentence", "paragraph", "line"]))
    @settings(max_examples=count // BATCH, database=None, suppress_health_check=list(HealthCheck))
    def check(some, split):
        made = tiny.translate(some, split=split)
        sentences = [sentences_of(text, one) for text, one in zip(some, made, strict=True)]
        alone = iter(tiny.translate([sentence for one in sentences for sentence in one], **ALONE))
        for text, one, own in zip(some, made, sentences, strict=True):
            check_the_law(text, one, list(islice(alone, len(own))))
        checked.append(len(some))

    checked = []
    check()
    assert sum(checked) >= count


@given(st.text(st.characters().filter(lambda c: not c.isalpha()), max_size=60))
@settings(max_examples=200)
def test_text_without_letters_stays_as_it_is(student, text):
    made = student.translate(text, return_token_log_probs=True, return_alignments=True)
    assert (made.text, made.score, made.pieces, made.sentences) == (text, 0.0, (), ())
    assert made.source_pieces == () and made.alignments == [] and made.token_log_probs == (0.0,)


@pytest.mark.parametrize("text", ["A man is riding a bicycle.", "Yes", "Two dogs, e.g. poodles, play in the snow"])
def test_one_sentence_is_what_it_was(student, text):
    for options in ({}, {"beam_size": 3, "num_hypotheses": 3}, {"return_alignments": True}, {"max_input_length": 3}):
        made, whole = student.translate(text, **options), student.translate(text, **ALONE, **options)
        assert made == whole and made.sentences == whole.sentences
        assert made.sentences[0].source == (0, len(text)) and made.sentences[0].target == (0, len(made.text))


def test_a_paragraph_of_wrapped_lines(shipped):
    text = "  Two dogs are playing\n  in the snow. One man\r\nis riding a bicycle.\n\nA dog."
    made = shipped.translate(text, split="paragraph")
    assert made.text == "  Zwei Hunde spielen im Schnee. Ein Mann fährt Fahrrad.\n\nEin Hund."
    assert [text[slice(*s.source)] for s in made.sentences][1] == "One man\r\nis riding a bicycle."
    assert len(shipped.translate(text).sentences) == 5


def test_alignments_by_characters(shipped):
    text = "\n  Two dogs are playing.\n\nOne man. "
    made = shipped.translate(text, return_alignments=True)
    said = [[(text[slice(*a)], made.text[slice(*b)]) for a, b in s.alignments] for s in made.sentences]
    assert said == [
        [("Two", "Zwei"), ("dogs", "Hunde"), ("playing", "spielen"), (".", ".")],
        [("One", "Ein"), ("man", "Mann"), (".", ".")],
    ]
    words = [
        (text[slice(*made.source_spans[i])], made.text[slice(*made.hypotheses[0].spans[k])]) for i, k in made.alignments
    ]
    assert words == [pair for sentence in said for pair in sentence]
    assert [text[slice(*span)] for span in made.source_spans] == [piece.strip("\u2581") for piece in made.source_pieces]
    plain = shipped.translate(text)
    assert plain.sentences[0].alignments is None and plain.hypotheses[0].spans is None


def test_alignments_change_nothing_else(shipped):
    lines = [TEXT, "One man.", "", "\tA dog.  A cat. ", "a, " * 200]
    for options in ({}, {"beam_size": 2, "num_hypotheses": 2}):
        plain = shipped.translate(lines, **options)
        told = shipped.translate(lines, return_alignments=True, **options)
        for one, other in zip(plain, told, strict=True):
            assert one.hypotheses == other.hypotheses and one.num_source_pieces == other.num_source_pieces


def test_what_a_result_tells(shipped):
    made = shipped.translate("One man. " + TEXT, max_length=4)
    assert [s.truncated for s in made.sentences] == [False, True, True, True] and made.truncated
    assert made.sentences[0] == Sentence(
        (0, 8), (0, 9), made.sentences[0].score, made.sentences[0].log_prob, False, False
    )
    told = json.loads(json.dumps(made.to_dict()))
    assert [sentence["source"] for sentence in told["sentences"]] == [list(s.source) for s in made.sentences]
    assert told["sentences"][1]["truncated"] is True
    aligned = shipped.translate("One man. Yes.", return_alignments=True).to_dict()
    assert aligned["sentences"][1]["alignments"] == [[[9, 10], [10, 12]], [[12, 13], [12, 13]]]


def test_each_sentence_tells_how_sure_its_pieces_are(shipped):
    asked = {"return_alignments": True, "return_token_log_probs": True}
    made = shipped.translate("One man. " + TEXT, **asked)
    for sentence in made.sentences:
        spans = [span for span, _ in sentence.token_log_probs]
        alone = shipped.translate(("One man. " + TEXT)[slice(*sentence.source)], **asked)
        assert [value for _, value in sentence.token_log_probs] == list(alone.token_log_probs[:-1])
        assert [made.text[slice(*span)] for span in spans] == [piece.strip("▁") for piece in alone.pieces]
    told = json.loads(json.dumps(made.to_dict()))["sentences"][0]["token_log_probs"]
    assert told == [[list(span), value] for span, value in made.sentences[0].token_log_probs]
    assert shipped.translate("One man.", return_alignments=True).sentences[0].token_log_probs is None
    assert shipped.translate("One man.", return_token_log_probs=True).sentences[0].token_log_probs is None


def test_pieces_of_a_sentence_in_several_parts():
    """Each part has an </s>, which is not a piece; if one lacks it, its part is unknown."""
    rows, spans = (np.ones((2, 3), np.float32), np.ones((1, 3), np.float32)), ((0, 1), (2, 3), (4, 5))
    for terms, told in (
        ((-1.0, -2.0, -9.0, -3.0, -8.0), [((5, 6), -1.0), ((7, 8), -2.0), ((9, 10), -3.0)]),
        ((-1.0, -2.0, -9.0, -3.0), None),
    ):
        best = Hypothesis("a b c", sum(terms), sum(terms), told is None, ("a", "b", "c"), terms, rows, spans)
        assert Part((0, 9), (5, 10), best, None).sentence().token_log_probs == told


def test_options_hold_for_each_sentence(shipped):
    """Tests ranks of n-best lists, prefixes and limits."""
    several = shipped.translate("One man. Two dogs.", beam_size=3, num_hypotheses=3, return_token_log_probs=True)
    parts = shipped.translate(["One man.", "Two dogs."], beam_size=3, num_hypotheses=3, return_token_log_probs=True)
    for rank, found in enumerate(several.hypotheses):
        one, two = (part.hypotheses[rank] for part in parts)
        assert (
            found.text == f"{one.text} {two.text}"
            and found.token_log_probs == one.token_log_probs + two.token_log_probs
        )
    forced = shipped.translate("One man. One man.", target_prefix="Der")
    assert forced.text.startswith("Der ") and forced.text.endswith(" Ein Mann.")
    assert forced.sentences[1].score == shipped.translate("One man.").score
    assert shipped.translate([" 12 ", " "], target_prefix="Der")[0].text.strip().startswith("Der")
    limited = shipped.translate("One man is here. Two dogs are there.", max_input_length=2)
    assert limited.num_source_pieces == 4 and len(limited.sentences) == 2


def test_pieces_are_not_split(student):
    pieces = student.tokenize(TEXT)
    whole = student.translate_batch([pieces])[0].hypotheses[0]
    assert whole == list(student.translate(TEXT, split="none").pieces)
    with pytest.raises(TypeError, match="^unknown option 'split'"):
        student.translate_batch([pieces], split="sentence")
    with pytest.raises(ValueError, match="^split is given, but the items are lists of pieces"):
        list(student.translate_iterable([pieces], split="line"))
    assert next(student.translate_iterable([TEXT], split="line")).sentences[0].source == (0, len(TEXT))


def hostile(size):
    return {
        "one line": "A man is here. " * (size // 15),
        "no letter": "?! " * (size // 3),
        "blank": " \t" * (size // 2),
        "zeros": "\0" * size,
        "surrogates": "\ud800 " * (size // 2),
        "directions": "\u202e\u2066a. " * (size // 5),
        "stops": "A. " * (size // 3),
        "lines": "\n" * size,
    }


@pytest.mark.parametrize("name", slow_after(2, hostile(0)))
def test_hostile_texts_take_linear_time(shipped, name):
    """Untranslated text stays."""

    def use(text):
        made = shipped.translate(text, max_length=3)
        sources, targets = [s.source for s in made.sentences], [s.target for s in made.sentences]
        assert between(text, sources) == between(made.text, targets)

    takes_linear_time(use, lambda size: hostile(size)[name], 2_000)


@pytest.mark.slow
def test_ten_megabytes_in_one_line(shipped):
    count = (10 << 20) // 16
    made = shipped.translate("Yes. No! Where? " * count)
    alone = "".join(f"{shipped.translate(text).text} " for text in ("Yes.", "No!", "Where?"))
    assert len(made.sentences) == 3 * count and made.text == alone * count


def test_what_several_layers_change_has_a_place_for_each_of_its_pieces(shipped):
    """Digits are copied, which joins their pieces, in a sentence with a kept sign."""
    made = shipped.translate("Yes 777 \u202eOne man.", split="line", return_alignments=True)
    assert made.text.startswith("Ja 777 \u202e") and made.text.count("7") == 3 and made.pieces.count("7") == 3
    assert [len(one.spans) for one in made.hypotheses] == [len(one.pieces) for one in made.hypotheses]
    assert len(made.source_spans) == len(made.source_pieces) and made.sentences[0].alignments
