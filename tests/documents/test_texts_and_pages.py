"""Plain texts and pages as documents: the units, the parts that stay, and encodings."""

import re
import textwrap
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpunmt.documents.document import DocumentError, Encoding, Recoded, Source, Unit, read_source
from cpunmt.documents.formats.plain_text import read_plain_text, read_web_page
from cpunmt.documents.translate import translated, translated_content
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, echo, keeps_every_byte, render, shown, upper, words

TEXTS = st.lists(
    st.sampled_from(
        ["\n", "\r\n", "\r", " ", "\t", "\0", "\x0b", "\x85", "\u2028", "Two dogs.", "a", "12", "é", "🙂", "…"]
    ),
    max_size=30,
).map("".join)
PAGES = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<b>", "</b>", "<br/>", "<!-- c -->", "<script>a<b</script>", "<a href='x'>", "</a>", "&amp;",
         "&eacute;", "<", ">", "\r\n", " ", "Two dogs.", "a", "<pre>", "</pre>", "<ul><li>", "<td", '"', "\0"]
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(TEXTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_a_text_keeps_every_byte(text, encoding):
    if encoding == "utf-16" and text.startswith("\0"):  # begins like UTF-32, and is refused
        text = f"a{text}"
    keeps_every_byte(read_plain_text, text.encode(encoding))


@given(PAGES)
def test_a_page_keeps_every_byte(page):
    keeps_every_byte(read_web_page, page.encode())


def test_paragraphs_are_handed_over_and_nothing_else():
    text = "  Two dogs.\r\nA man.\r\n\r\n12 %\r\n\r\n\r\nOne."
    assert [shown(unit) for unit in document_of(read_plain_text, text).units] == ["Two dogs.\r\nA man.", "One."]
    assert render(read_plain_text, text, upper) == "  TWO DOGS.\r\nA MAN.\r\n\r\n12 %\r\n\r\n\r\nONE."
    assert render(read_web_page, "<p class='a'>Two <b>dogs</b>.</p>", upper) == "<p class='a'>TWO <b>DOGS</b>.</p>"


def _paragraphs(random):
    """Some paragraphs of some sentences of words."""

    def sentence():
        words = random.choices(["dogs", "the", "two", "playing", "Man", "some-what"], k=random.randint(4, 12))
        return " ".join(words).capitalize() + "."

    return [" ".join(sentence() for _ in range(random.randint(4, 9))) for _ in range(random.randint(2, 4))]


@given(st.integers(0, 1 << 32).map(Random), st.integers(45, 100), st.sampled_from(["\n", "\r\n"]))
def test_lines_that_were_full_are_put_together(random, width, line_end):
    """The units are the texts before the standard library broke them; translations are broken in the same way."""
    paragraphs = _paragraphs(random)

    def broken(texts):
        lines = [textwrap.wrap(text, width, break_on_hyphens=False) for text in texts]
        return "\n\n".join("\n".join(one) for one in lines).replace("\n", line_end)

    text = broken(paragraphs)
    widest = max(map(len, text.splitlines()))
    document = document_of(read_plain_text, text)
    within = [line[0].islower() for one in text.split(line_end * 2) for line in one.split(line_end)[1:]]
    assume(2 * sum(within) >= len(within) > 0)  # otherwise too few lines show the width
    assert [shown(unit) for unit in document.units] == paragraphs
    assert document.notes != ()
    made = document.rendered([text.upper() for text in paragraphs]).decode()
    assert made.split() == text.upper().split()
    assert max(map(len, made.splitlines())) <= widest
    assert len(re.findall(r"\r?\n\r?\n", made)) == len(paragraphs) - 1


@pytest.mark.parametrize(
    "text",
    [
        "Two dogs are playing in the snow outside,\nAnd a man is riding his bicycle by a lake,\nThe end.",
        "A dog.\na cat and a man with a long coat who rides a bicycle\nTwo.\n",
        "short lines\nthat are\nno paragraph",
        "one " * 40 + "\n" + "two " * 40,
    ],
)
def test_verses_and_lists_and_lines_without_end_stay_lines(text):
    document = document_of(read_plain_text, text)
    assert document.notes == () and [shown(unit) for unit in document.units] == [text.strip()]


@pytest.mark.parametrize(
    ("begin", "written"),
    [
        ('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">', "T&#220;R"),
        ("<!doctype html><html><META CHARSET = 'windows-1252'>", "T&#220;R"),
        ("<?xml version='1.0' encoding='US-ASCII'?>", "T&#220;R"),
        ("<meta charset=utf-8>", "TÜR"),
        ("<meta charset=UTF8>", "TÜR"),
        ("<meta name=x content=charset>", "TÜR"),
        ("<!-- ü --><meta charset=utf-16>", "TÜR"),
        (f"<!-- {' ' * 1100} --><meta charset=cp1252>", "TÜR"),
    ],
)
def test_a_page_of_ascii_that_declares_another_encoding_gets_references(begin, written):
    made = render(read_web_page, f"{begin}<p>door</p>", lambda word: "TÜR")
    assert made == f"{begin}<p>{written}</p>"


@pytest.mark.parametrize("around", ["====", "_" * 72, "> A man rides\n> a bicycle and sings", "| a dog |\n+----+"])
def test_rulers_quotations_and_tables_stay_beside_paragraphs(around):
    wrapped = textwrap.fill("there are two dogs that are playing in the snow with a man and a cat. " * 4, 72)
    text = f"Notes\n{around}\n{wrapped}\n{around}\n"
    document = document_of(read_plain_text, text)
    assert document.notes and wrapped.replace("\n", " ") in map(shown, document.units)
    assert render(read_plain_text, text, upper) == text.upper()


@pytest.mark.parametrize(
    "end", ["Best regards\nBob\n--\nSent from my phone", "Bob Smith\nHead of Sales\n12 Long Street", "Yours\nBob"]
)
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_short_lines_below_a_wrapped_paragraph_stay_lines(end, between):
    wrapped = textwrap.fill(
        "there are two dogs that are playing in the snow with a man and a cat. " * 6 + "they run.", 72
    )
    text = f"{wrapped}{between}{end}\n"
    units = texts_of(text)
    assert units == [wrapped.replace("\n", " "), *(line for line in end.splitlines() if line != "--")]
    assert render(read_plain_text, text, upper) == text.upper()


def test_a_narrower_paragraph_is_joined_too():
    wide, narrow = (
        textwrap.fill("There are two dogs in the Snow with Anna and a Cat. " * 4, width) for width in (72, 48)
    )
    assert texts_of(f"{wide}\n\n{narrow}\n") == [" ".join(text.split()) for text in (wide, narrow)]


@pytest.mark.parametrize(("width", "is_joined"), [(39, False), (40, True), (120, True), (121, False)])
def test_the_width_of_a_column_has_bounds(width, is_joined):
    line = f"Two {'x' * (width - 9)} dogs"
    assert len(line) == width
    assert (document_of(read_plain_text, f"{line}\nplay.").notes != ()) == is_joined


def test_that_lines_are_joined_is_told(tmp_path, caplog):
    text = "There are two dogs that are playing in the snow with a man\nwho is riding a bicycle by the lake.\n"
    (tmp_path / "a.txt").write_text(text)
    made = echo(upper).translate_document(tmp_path / "a.txt")
    assert made.read_text() == text.upper()
    assert caplog.messages == [f"{tmp_path}/a.txt: its lines end where they are full: they are joined to paragraphs, "
                               "and broken again"]  # fmt: skip
    assert Recoded(text.encode(), "latin-1", lambda content: document_of(read_plain_text, content)).notes != ()


def test_tabs_stay():
    text = "Name:\tTwo dogs\n\n1.\tA man\t\ta cat \tx.\nOne\n"
    assert texts_of(text) == ["Name:", "Two dogs", "A man", "a cat", "x.", "One"]
    assert render(read_plain_text, text, upper) == text.upper()


def texts_of(text):
    return [shown(unit) for unit in document_of(read_plain_text, text).units]


def test_equal_units_are_translated_once_and_each_form_in_its_way():
    translator, told = echo(upper), []
    translator.sentences.clear()
    marked = Unit(words('<g n="1">One</g> dog.'))
    units = [Unit("One man."), marked, Unit("One man."), Unit("<p>A cat.</p>", True)]
    made = translated(units, translator, {}, told.append)
    assert made == ["ONE MAN.", words('<g n="1">ONE</g> DOG.'), "ONE MAN.", "<p>A CAT.</p>"]
    assert translator.sentences.count("One man.") == 1 and sum(told) == 3


@pytest.mark.parametrize(
    "content, said",
    [
        (b"a\ncaf\xe9", "line 2, byte 6 of the file: is not UTF-8"),
        (b"\xff\xfea", "is not UTF-16"),
        (b"\xff\xfe\0\0a\0\0\0", "is UTF-32"),
    ],
)
def test_other_encodings_are_one_clear_error(content, said):
    with pytest.raises(CpunmtError, match="expected UTF-8") as refused:
        read_source(content)
    assert said in str(refused.value)


def recoded(content, encoding):
    return Recoded(content, encoding, lambda content: document_of(read_plain_text, content))


@pytest.mark.parametrize("encoding", ["cp1252", "iso-8859-2", "shift_jis", "utf-32-le", "koi8-r", "cp437"])
@given(text=st.text())
def test_another_encoding_keeps_every_byte(encoding, text):
    content = text.encode(encoding, "ignore")
    document = recoded(content, encoding)
    assert document.rendered([unit.words for unit in document.units]) == content


def test_another_encoding_is_written_again():
    assert recoded("Café.\r\n".encode("cp1252"), "cp1252").rendered(["Käse."]) == "Käse.\r\n".encode("cp1252")
    with pytest.raises(DocumentError, match="'ł' of the translation does not exist in cp1252; convert"):
        recoded(b"A.", "cp1252").rendered(["Głos"])


@pytest.mark.parametrize(
    ("content", "encoding", "said"),
    [
        (b"\x81", "cp1252", "is not cp1252"),
        (b"a", "no-such", "'no-such' is not known, expected a name such as cp1252"),
        (b"a", "rot13", "is not known"),
        (b"a", "hex", "is not known"),
        (b"xn--a", "idna", "is not known"),
        (b"+AGE-", "utf-7", "is not known"),
        (b"a", "a\0b", "is not known"),
        (b"\x1b(B\x1b(Ba", "iso2022_jp", "would not keep its bytes"),
        (b"PK\x03\x04", "cp1252", "this is not a text file"),
    ],
)
def test_encodings_that_cannot_be(content, encoding, said):
    with pytest.raises(DocumentError, match=said):
        recoded(content, encoding)


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_named(name):
    with pytest.raises(CpunmtError, match=f"looks like UTF-16 .* name its encoding .encoding={name}"):
        read_source("Two dogs run in the park.".encode(name))
    assert read_source(b"T\0" * 7 + b"T") == Source("T\0" * 7 + "T", Encoding())  # too short to detect
    with pytest.raises(CpunmtError, match="looks like UTF-16"):
        read_source(b"T\0" * 8)
    assert read_source(b"\0" * 99).encoding == Encoding()


@pytest.mark.parametrize(
    ("options", "message"), [({"html": True}, "html is given, and its format decides"), ({}, "select='x'")]
)
def test_wrong_options_of_a_content_are_told_before_it_is_read(options, message):
    """As of a file's name; the server and corpora have no name."""
    with pytest.raises(ValueError, match=message):
        translated_content(echo(upper), b"\xff\xfe\0", "a.unknown", options, select="" if options else "x")
