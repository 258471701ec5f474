"""HTML and protected spans as options of a Translator."""

import copy
import pickle
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import CpunmtError, Glossary, Pivot, Translator
from cpunmt.sentence_layers.numbers import agree
from tests.sample_models.real_model import GERMAN, SHIPPED
from tests.support.side_by_side import in_threads

MARKS = ["https://www.example.com/a?b=1&c=2", "{name}", "%(count)d", "`x = 1`", "me@example.com", "😀", "{{user.id}}"]
words = st.sampled_from(
    [
        "Two dogs",
        "a man",
        "A MAN AND TWO DOGS",
        "3.50",
        "1,000",
        "is",
        "in the snow.",
        "Where?",
        "<b>",
        "</b>",
        "&amp;",
        "<br>",
        "<i a=",
        "ѿ",
        *MARKS,
    ]
)
texts = st.lists(words, max_size=8).map(" ".join)


def test_html_is_translated_and_all_else_stays(student):
    script = '<!-- kept --><script>var a = "A man.";</script>'
    page = f'<p class="x">Two <b>dogs</b> are playing.</p>\n{script}<img alt="A man.">'
    found = student.translate(page, html=True)
    assert found.text.startswith('<p class="x">Zwei <b>Hunde</b> spielen.</p>\n<!-- kept --><script>var a = "A man.";')
    assert found.text.endswith('<img alt="Ein Mann.">') and not found.truncated and found.log_prob < 0
    assert found.pieces == () and found.num_source_characters == len(page)
    assert student.translate("<p></p>", html=True).text == "<p></p>"


@pytest.mark.parametrize("mark", MARKS)
def test_what_is_protected_comes_out_once_and_as_it_was(student, mark):
    text = f"Two dogs are playing with {mark} in the snow. A man is watching."
    found = student.translate(text, protect="all").text
    assert (found.count(mark) == 1 and found.endswith("zu.")) or "Mann" in found


def test_a_plain_sentence_is_the_models_alone(student):
    for text in ("Two dogs are playing in the snow.", "3 dogs", "Where is the dog?"):
        assert student.translate(text) == student.translate(text, split="none")


def test_what_is_kept_can_be_chosen(student):
    text = "Two dogs 😀 are playing with Rex5 at https://example.com/a in the snow."
    assert "Rex5" in student.translate(text, protect=[re.compile(r"[A-Z][a-z]+\d")]).text
    assert student.translate(text, protect="emoji").text.count("😀") == 1
    both = student.translate(text, protect=["emoji", "url", lambda text: [(0, 8)]]).text
    assert all(both.count(part) == 1 for part in ("Two dogs", "😀", "https://example.com/a"))
    assert student.translate(text, split="none") == student.translate(text, split="none", protect="none")
    assert student.translate(text, split="none", protect=["all"]).text.count("https://example.com/a") == 1


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (5, TypeError),
        (b"all", TypeError),
        ({"url": 1}, TypeError),
        ([5], TypeError),
        ([re.compile(b"x")], TypeError),
        ("urls", ValueError),
        (["url", "none"], ValueError),
        ("", ValueError),
    ],
)
def test_what_cannot_be_kept_is_refused(student, wrong, error):
    with pytest.raises(error, match="^protect (is|has) "):
        student.translate("A dog.", protect=wrong)


def test_a_glossary_in_all_its_forms(student, tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("dogs\tKöter\n", encoding="utf-8")
    text = "Two dogs are playing in the snow. Two dogs are running. A man is here."
    found = student.translate(text, glossary={"dogs": "Köter"})
    assert found == student.translate(text, glossary=str(path)) == student.translate(text, glossary=path)
    assert found.text.count("Köter") == 2 and len(found.glossary.applied + found.glossary.already) == 2
    assert found.to_dict()["glossary"]["applied"] == [["dogs", "Köter"]] * len(found.glossary.applied)
    assert (
        student.translate("<p>Two <b>dogs</b></p>", glossary=path, html=True).glossary
        == student.translate("Two dogs", glossary=path).glossary
    )
    assert student.translate(text).glossary is None and "glossary" not in student.translate(text).to_dict()
    path.write_text("dogs\tHunde\n", encoding="utf-8")
    assert "Köter" not in student.translate(text, glossary=path).text  # read again for each call
    with pytest.raises(TypeError, match="glossary is 5"):
        student.translate(text, glossary=5)
    with pytest.raises(CpunmtError, match="cannot read the glossary"):
        student.translate(text, glossary=tmp_path / "none")


def test_alternatives_have_the_terms_too(student):
    found = student.translate("Two dogs are playing.", glossary={"dogs": "Köter"}, beam_size=4, num_hypotheses=4)
    assert len(found.hypotheses) > 1 and all("Köter" in hypothesis.text for hypothesis in found.hypotheses)


def test_numbers_and_capitals(student):
    text = "TWO DOGS ARE PLAYING IN THE SNOW."
    raised = student.translate(text).text
    assert raised.isupper() and raised == student.translate(text.capitalize()).text.upper()
    assert student.translate(text, lower_capitals=False) == student.translate(text, split="none")
    numbers = [f"There are {number} dogs in the snow." for number in (1947, 20380, 714.5, 60999, 31337)]
    free, copied = (student.translate(numbers, copy_numbers=choice) for choice in (False, True))
    assert [result.text for result in copied] == [student.translate(number).text for number in numbers]
    assert all(a == b or agree(n, b.text) for n, a, b in zip(numbers, free, copied, strict=True))


KEPT = [None, "all", "none", "url,emoji", [re.compile("dogs?"), "email"], lambda text: [(0, len(text) // 3)]]
TERMS = {"dogs": "Köter", "two dogs": "ein Paar Hunde", "man": "Kerl"}
options_of_texts = st.fixed_dictionaries(
    {},
    optional={
        "html": st.booleans(),
        "protect": st.sampled_from(KEPT),
        "copy_numbers": st.sampled_from([None, True, False]),
        "lower_capitals": st.sampled_from([None, True, False]),
        "glossary": st.sampled_from([None, TERMS, Glossary(TERMS)]),
        "split": st.sampled_from(["sentence", "none", "paragraph", "line"]),
        "beam_size": st.sampled_from([1, 2]),
        "return_alignments": st.booleans(),
    },
)


@given(st.lists(texts, min_size=2, max_size=5), options_of_texts)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_result_depends_on_its_text_alone(student, given_texts, options):
    together = student.translate(given_texts, **options)
    assert [student.translate(text, **options) for text in given_texts] == together
    assert student.translate(given_texts[::-1], **options) == together[::-1]
    assert list(student.translate_iterable(given_texts, **options)) == together
    assert all(found == together for found in in_threads(2, lambda _: student.translate(given_texts, **options)))
    kept = options.get("protect") == "all" or (options.get("protect") is None and options.get("split") != "none")
    for text, result in zip(given_texts, together, strict=True):
        assert (result.glossary is None) == (options.get("glossary") is None)
        if kept and not options.get("html"):
            assert all(result.text.count(mark) == text.count(mark) for mark in MARKS)


@pytest.mark.parametrize(
    "own",
    [re.compile("dogs"), lambda text: [(text.index("dogs"), text.index("dogs") + 4)]],
    ids=["pattern", "function"],
)
def test_what_a_caller_keeps_is_kept_by_a_translator_that_kept_nothing_before(own):
    text = "Two dogs are playing."  # nothing is kept by default
    first = Translator(SHIPPED).translate([text], protect=own)[0]
    assert "dogs" in first.text and first == Translator(SHIPPED).translate(text, protect=own)
    page = Translator(SHIPPED).translate(f"<p>{text}</p>", protect=own, html=True).text
    assert page == f"<p>{first.text}</p>"
    assert "dogs" in Pivot([SHIPPED, GERMAN]).translate(text, protect=own).text


class Spans:
    """A callable that equals others, and so cannot be a key."""

    def __init__(self, *spans):
        self.spans = spans

    def __eq__(self, other):
        return isinstance(other, Spans) and self.spans == other.spans

    __hash__ = None

    def __call__(self, text):
        return self.spans


def test_functions_that_can_be_no_keys():
    text = "Two dogs are playing."
    for translator in (Translator(SHIPPED), Translator(SHIPPED, sentence_cache=10)):
        assert "dogs" in translator.translate(text, protect=Spans((4, 8))).text
        assert "Two" in translator.translate([text], protect=["emoji", Spans((0, 3))])[0].text
        assert translator.translate(text, split=Spans((0, 8))).text.endswith(" are playing.")
        assert translator.translate(text, split=Spans((9, 21))).text.startswith("Two dogs ")


def test_a_forced_beginning_is_the_engines_alone(student):
    texts = ["Two dogs in {x}.", "Two dogs in {x}."]
    free, forced = student.translate(texts, target_prefix=[None, "Ein paar"], protect="all")
    assert free == student.translate(texts[0], protect="all") and forced.text.startswith("Ein paar")
    assert forced == student.translate(texts[1], target_prefix="Ein paar")
    with pytest.raises(ValueError, match="target_prefix is given, and html is True"):
        student.translate("<p>A dog.</p>", target_prefix="Ein", html=True)
    with pytest.raises(ValueError, match="num_hypotheses is 3, and html is True: a document has one"):
        student.translate("<p>Two dogs.</p>", html=True, num_hypotheses=3, beam_size=3)


def test_pieces_have_no_marks(student):
    with pytest.raises(TypeError, match="unknown option 'html'"):
        student.translate_batch([["▁A", "▁dog"]], html=True)
    with pytest.raises(ValueError, match="protect is given, but the items are lists of pieces"):
        list(student.translate_iterable([["▁A", "▁dog"]], protect="all"))
    with pytest.raises(ValueError, match="protect is 'some', expected 'all', 'none', or a list of kinds"):
        student.translate("A dog.", protect="some")


def test_a_translator_that_has_protected_something_can_be_pickled(student):
    text = "Ask {name} about it."
    student.translate(text, protect=lambda text: [(0, 3)])  # cannot be pickled; stays in its call
    expected = student.translate(text, protect="all")
    for other in (pickle.loads(pickle.dumps(student)), copy.copy(student), copy.deepcopy(student)):
        assert other.translate(text, protect="all") == expected


@pytest.mark.parametrize("text", ["A man is riding 😀 a bicycle.", "Ask {name} about it. A dog."])
@pytest.mark.parametrize("split", ["sentence", "none"])
def test_there_is_one_span_for_each_piece(student, text, split):
    found = student.translate(text, protect="all", split=split, return_alignments=True)
    assert len(found.hypotheses[0].spans) == len(found.pieces)
    assert len(found.source_spans) == len(found.source_pieces)
    assert all(0 <= begin <= end <= len(found.text) for begin, end in found.hypotheses[0].spans)
    assert all(0 <= begin <= end <= len(text) for begin, end in found.source_spans)
