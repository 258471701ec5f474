"""HTML and protected spans as options of a Translator."""

import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.side_by_side import in_threads

MARKS = ["https://www.example.com/a?b=1&c=2", "{name}", "%(count)d", "`x = 1`", "me@example.com", "😀", "{{user.id}}"]
words = st.sampled_from(
    ["Two dogs", "a man", "is", "in the snow.", "Where?", "<b>", "</b>", "&amp;", "<br>", "<i a=", "ѿ", *MARKS]
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


def test_nothing_is_protected_by_itself(student):
    text = "Two dogs are playing in the snow."
    assert student.translate(text, protect="all") == student.translate(text)


@given(st.lists(texts, min_size=2, max_size=5), st.booleans(), st.sampled_from(["all", "none"]))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_result_depends_on_its_text_alone(student, given_texts, html, protect):
    options = {"html": html, "protect": protect}
    together = student.translate(given_texts, **options)
    assert [student.translate(text, **options) for text in given_texts] == together
    assert student.translate(given_texts[::-1], **options) == together[::-1]
    assert all(found == together for found in in_threads(2, lambda _: student.translate(given_texts, **options)))
    for text, result in zip(given_texts, together, strict=True):
        if protect == "all" and not html:
            assert all(result.text.count(mark) == text.count(mark) for mark in MARKS)


def test_a_forced_beginning_is_the_engines_alone(student):
    texts = ["Two dogs in {x}.", "Two dogs in {x}."]
    free, forced = student.translate(texts, [None, "Ein paar"], protect="all")
    assert free == student.translate(texts[0], protect="all") and forced.text.startswith("Ein paar")
    assert forced == student.translate(texts[1], "Ein paar")
    with pytest.raises(ValueError, match="target_prefix is given, and html is True"):
        student.translate("<p>A dog.</p>", "Ein", html=True)


def test_pieces_have_no_marks(student):
    with pytest.raises(TypeError, match="unknown option 'html'"):
        student.translate_batch([["▁A", "▁dog"]], html=True)
    with pytest.raises(ValueError, match="protect is given, but the items are lists of pieces"):
        list(student.translate_iterable([["▁A", "▁dog"]], protect="all"))
    with pytest.raises(ValueError, match="protect is 'some', expected 'all', 'none', or a list of kinds"):
        student.translate("A dog.", protect="some")


def test_a_translator_that_has_protected_something_can_be_pickled(student):
    text = "Ask {name} about it."
    expected = student.translate(text, protect="all")
    assert pickle.loads(pickle.dumps(student)).translate(text, protect="all") == expected


@pytest.mark.parametrize("text", ["A man is riding 😀 a bicycle.", "Ask {name} about it. A dog."])
@pytest.mark.parametrize("split", ["sentence", "none"])
def test_there_is_one_span_for_each_piece(student, text, split):
    found = student.translate(text, protect="all", split=split, return_alignments=True)
    assert len(found.hypotheses[0].spans) == len(found.pieces)
    assert len(found.source_spans) == len(found.source_pieces)
    assert all(0 <= begin <= end <= len(found.text) for begin, end in found.hypotheses[0].spans)
    assert all(0 <= begin <= end <= len(text) for begin, end in found.source_spans)
