"""Representations of results and of a Translator: short reprs, JSON, a notebook table that texts cannot break."""

import json
import math
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from cpunmt import (
    ExecutionStats,
    GenerationStepResult,
    Hypothesis,
    Options,
    Result,
    ScoringResult,
    TranslationResult,
    Translator,
)
from cpunmt.results.attention_table import MOST, attention_table
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import DIRECTORIES

ATTENTION = np.array([[0.75, 0.25], [0.25, 0.5]], np.float32)
FIRST = Hypothesis("Ein Mann.", -0.51234567, -1.5, False, ("▁Ein", "▁Mann."), (-0.5, -math.inf), (ATTENTION,))
SECOND = Hypothesis("Mann", -math.inf, -math.inf, True, ("▁Mann",))
RESULT = Result((FIRST, SECOND), ("▁A", "▁man."))


def test_a_repr_is_one_short_line():
    assert repr(FIRST) == "Hypothesis('Ein Mann.', score=-0.5123)"
    assert repr(SECOND) == "Hypothesis('Mann', score=-inf, truncated=True)"
    assert repr(RESULT) == "Result('Ein Mann.', score=-0.5123, hypotheses=2)"
    assert repr(Result((SECOND,))) == "Result('Mann', score=-inf, truncated=True)"
    assert repr(TranslationResult([["▁Ein"], []])) == "TranslationResult(hypotheses=[['▁Ein'], []])"
    whole = TranslationResult([["▁Ein"], []], [-0.123456, -2.0], [[[0.5, 0.25, 0.25]], []])
    assert repr(whole) == (
        "TranslationResult(hypotheses=[['▁Ein'], []], scores=[-0.1235, -2], attention=[1 x 3, 0 x 0])"
    )
    scored = ScoringResult(["▁Ein", "</s>"], [-0.123456, -1.0], -1.123456, -0.561728)
    assert repr(scored) == "ScoringResult(tokens=['▁Ein', '</s>'], log_probs=[-0.1235, -1], score=-0.5617)"


def test_a_long_text_is_cut_and_a_hostile_one_stays_a_line():
    long = Hypothesis("Wort\n" * 1000, 0.0, 0.0, False, ())
    assert len(repr(Result((long,)))) < 450 and "\n" not in repr(long) and repr(long).count("...") == 1
    assert "\x1b" not in repr(Hypothesis("\x1b[31m\ud800", 0.0, 0.0, False, ()))


def test_a_translator_shows_its_model(tmp_path):
    translator = Translator(DIRECTORIES["int8"], inter_threads=2)
    shown = f"<Translator {str(DIRECTORIES['int8'])!r}: int8, 'en' to 'de', inter_threads=2, loaded>"
    assert repr(translator) == shown
    translator.unload_model()
    assert repr(translator) == shown.replace("loaded", "not loaded")
    path = KINDS["marian npz"](tmp_path / "model").path
    assert repr(Translator(path)) == f"<Translator {str(path)!r}: int8, loaded>"  # its languages are unknown
    (path / "metadata.json").write_text('{"sourceLanguage": "e\\u001b[31m", "targetLanguage": "de"}')
    assert "\x1b" not in repr(Translator(path)) and "'e\\x1b[31m' to 'de'" in repr(Translator(path))


def test_a_result_as_json():
    assert RESULT.to_dict() == {
        "text": "Ein Mann.",
        "score": -0.51234567,
        "log_prob": -1.5,
        "truncated": False,
        "repeats": False,
        "pieces": ["▁Ein", "▁Mann."],
        "token_log_probs": [-0.5, None],
        "alignments": [[0, 0], [1, 1]],
        "source_pieces": ["▁A", "▁man."],
        "sentences": [],
        "alternatives": [
            {"text": "Mann", "score": None, "log_prob": None, "truncated": True, "repeats": False, "pieces": ["▁Mann"]}
        ],
    }
    made = TranslationResult([["▁Ein"]], [-math.inf], [[[0.5]]])
    assert made.to_dict() == {"hypotheses": [["▁Ein"]], "scores": [None], "attention": [[[0.5]]]}
    scored = ScoringResult(["▁Ein"], [-math.inf], -math.inf, -1.0)
    assert scored.to_dict() == {"tokens": ["▁Ein"], "log_probs": [None], "log_prob": None, "score": -1.0}
    step = GenerationStepResult(0, 0, 7, 0, "▁Ein", -math.inf, False)
    assert step.to_dict()["token"] == "▁Ein" and step.to_dict()["log_prob"] is None
    assert ExecutionStats(3, 1, 0.5).to_dict() == {"num_tokens": 3, "num_examples": 1, "total_time_in_ms": 0.5}


@pytest.mark.parametrize("options", [{}, {"beam_size": 3, "num_hypotheses": 3, "return_alignments": True}])
def test_real_results_go_through_json(student, options):
    """Strict JSON: without NaN and Infinity, which other programs do not read, and without NumPy's numbers."""
    whole = [
        *student.translate(["A dog.", "", "Two men."], target_prefix="Ein", return_token_log_probs=True, **options)
    ]
    whole += student.translate_batch([["▁A"]], return_scores=True, return_attention=True)
    whole += student.score(["A dog.", ""], ["Ein Hund.", "Ja."])
    whole += student.translate(["A dog.", "\ud800"], target_prefix="Wasser", vocabulary="shortlist", **options)
    for result in whole:
        found = result.to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found


# In a notebook


class Reader(HTMLParser):
    """A parser that collects the tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_table_of_the_attention(student):
    result = student.translate("A dog.", return_alignments=True)
    page = Reader(result._repr_html_())
    assert page.texts[0] == "Ein Hund."
    assert page.texts[1:4] == ["A", "dog", "."]  # the columns: source pieces
    assert [text for text in page.texts[4:] if not text.isdigit()] == ["Ein", "Hund", "."]
    assert [tag for tag, _ in page.tags].count("td") == 9 and [tag for tag, _ in page.tags].count("b") == 3
    assert student.translate("A dog.")._repr_html_() is None  # then a notebook shows the repr
    assert RESULT._repr_html_().count("<b>75</b>") == 1


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "' onmouseover='x", '"><img src=x>', "&lt;b&gt;"])
def test_text_is_never_markup(hostile):
    best = Hypothesis(hostile, 0.0, 0.0, False, (hostile, "\x1b\ud800\u202e"), None, (ATTENTION,))
    page = Result((best,), (hostile, "]]>"))._repr_html_()
    page.encode()
    read = Reader(page)
    assert [text for text in read.texts if text == hostile] == [hostile] * 3
    assert {tag for tag, _ in read.tags} <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b"}
    assert {name for _, names in read.tags for name in names} == {"style"}
    assert "\u202e" not in page and "\x1b" not in page


def test_a_table_is_small_and_says_what_it_leaves_out(student):
    result = student.translate("dog " * 60, return_alignments=True, max_length=50)
    page = result._repr_html_()
    assert page.count("<td") <= MOST * MOST and len(page) < 300_000
    assert f"The first {MOST} pieces of {len(result.source_pieces)} source and {len(result.pieces)} target" in page
    joined = Result((replace(FIRST, text="می‌خواهم 👩‍🚀"),), RESULT.source_pieces)
    assert "می‌خواهم 👩‍🚀" in joined._repr_html_()
    for text in ("10\u202f000\u00a0€", "Donau\u00addampf", "\u200eabc", "a\u3000b", "🏴\U000e0067\U000e007f"):
        assert f"<p>{text}</p>" in Result((replace(FIRST, text=text),), RESULT.source_pieces)._repr_html_()
    for control in "\x07\u2028\u202a\u202e\u2066\u2069\ud800":
        assert "<p>a\ufffdb</p>" in Result((replace(FIRST, text=f"a{control}b"),), RESULT.source_pieces)._repr_html_()
    blank = student.translate("", return_alignments=True)
    assert Reader(blank._repr_html_()).texts == []


# Options as an argument


def test_options_replace_the_models_defaults_and_keywords_win(student):
    text = "Two dogs are playing in the snow."
    assert student.translate(text, options=Options(beam_size=4)) == student.translate(text, beam_size=4)
    both = student.translate(text, options=Options(beam_size=4, num_hypotheses=4), num_hypotheses=2)
    assert both.hypotheses == student.translate(text, beam_size=4, num_hypotheses=2).hypotheses
    pieces = [student.tokenize(text)]
    for call in (
        lambda **given: student.translate_batch(pieces, **given),
        lambda **given: list(student.translate_iterable([text], **given)),
        lambda **given: list(student.translate_iterable(pieces, **given)),
    ):
        assert call(options=Options(max_length=3)) == call(max_length=3) != call()
    for call in (
        lambda **given: student.score(text, "Zwei Hunde.", **given),
        lambda **given: student.score_batch(pieces, [["▁Zwei"]], **given),
        lambda **given: list(student.score_iterable([text], ["Zwei Hunde."], **given)),
    ):
        assert call(options=Options(length_penalty=0.0)) == call(length_penalty=0.0) != call()
        assert call(options=Options(length_penalty=0.0, vocabulary="full")) == call(length_penalty=0.0)
    steps = list(student.generate_tokens(pieces[0], options=Options(max_length=3)))
    assert len(steps) == 3 and steps == list(student.generate_tokens(pieces[0], max_length=3))


def test_options_are_taken_as_a_whole(tmp_path):
    """`Options()` sets a beam of 1, although the model's own default is another."""
    path = KINDS["bergamot"](tmp_path / "model").path
    translator = Translator(path)
    translator.options = replace(translator.options, max_length=2)
    translator._default = translator.call_settings({}, translator.options)
    text = "A dog."
    assert len(translator.translate(text).pieces) <= 2
    kept = replace(translator.options, beam_size=2)
    assert translator.call_settings({}, kept).options.max_length == 2
    assert translator.call_settings({}, Options(beam_size=2)).options.max_length is None
    assert translator.call_settings({"beam_size": 2}, None).options.max_length == 2


@pytest.mark.parametrize(
    ("wrong", "error", "expected"),
    [({"beam_size": 2}, TypeError, ""), (4, TypeError, ""), ("beam", ValueError, "'argos', ")],
)
def test_what_is_no_options_is_refused(student, wrong, error, expected):
    for call in (student.translate, student.translate_batch):
        told = f"^options is .*, expected {expected}cpunmt.Options, or keywords: beam_size=4$"
        with pytest.raises(error, match=told):
            call(["A dog."] if call == student.translate else [["A"]], options=wrong)


@pytest.mark.parametrize(
    ("sources", "targets", "cut"),
    [(MOST, MOST, ""), (MOST + 1, MOST, "The first 40 pieces of 41 source"), (MOST, MOST + 1, "of 40 source and 41 ")],
)
def test_a_table_is_cut_beyond_its_most_pieces(sources, targets, cut):
    page = attention_table("x", ["a"] * sources, ["b"] * targets, np.zeros((targets, sources)))
    assert page.count("<td") == MOST * MOST and cut in page and ("<p>The first" in page) == bool(cut)


@pytest.mark.parametrize(("share", "shown"), [(0.0049, ""), (0.005, "0"), (0.006, "1"), (1.0, "100")])
def test_small_shares_are_not_shown(share, shown):
    assert f">{shown}</td>" in attention_table("x", ["a", "b"], ["c"], np.array([[share, 2.0]]))
