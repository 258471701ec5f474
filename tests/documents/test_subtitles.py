"""Subtitles: cues of one sentence are joined and divided again, everything else stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.cues import Cue, shared_out, wrapped
from cpunmt.documents.formats.subtitles import read_srt, read_vtt
from tests.documents.laws import document_of, keeps_every_byte, render, rewritten, shown, upper, words
from tests.support.linear_time import takes_linear_time

SRT = """1
00:00:01,000 --> 00:00:03,000
{\\an8}A man is riding

2
00:00:03,100 --> 00:00:05,000 X1:10
<i>his bicycle home.</i>

3
00:00:06,000 --> 00:00:07,000
- Who is <b>that</b>?
- A dog.

4
00:00:08,000 --> 00:00:09,000
12 34

5
00:00:10,000 --> 00:00:12,000
Look <i>at</i> it.
"""
VTT = """WEBVTT - words

STYLE
::cue { color: red }

NOTE this stays

intro
00:01.000 --> 00:02.000 line:0
<v Bob>Tom &amp; Jerry

00:02.500 --> 00:03.000
go home.
"""


def units(read, text):
    return [shown(unit) for unit in document_of(read, text).units]


@pytest.mark.parametrize(("read", "text"), [(read_srt, SRT), (read_vtt, VTT), (read_srt, SRT.replace("\n", "\r\n"))])
def test_a_file(read, text):
    keeps_every_byte(read, text.encode())
    made = render(read, text, upper)
    stays = {"-->", "WEBVTT", "STYLE", "::cue", "NOTE"}
    for before, after in zip(text.split("\n"), made.split("\n"), strict=True):
        if any(word in before for word in stays):
            assert after == before
        else:
            assert after.lower() == before.lower()
    assert "{\\an8}A MAN IS RIDING" in made or "<v Bob>TOM &amp; JERRY" in made


def test_units():
    assert units(read_srt, SRT) == [
        'A man is riding <x n="1"/>his bicycle home.',
        'Who is <g n="1">that</g>?',
        "A dog.",
        'Look <g n="1">at</g> it.',
    ]
    assert units(read_vtt, VTT) == ['<x n="1"/>Tom & Jerry', "go home."]


def cue(begin, end, text="words"):
    return Cue(begin, end, (0, 0), text, len(text))


@pytest.mark.parametrize(
    ("translation", "ends", "parts"),
    [
        ('eins zwei <x n="1"/>drei vier', [1000, 1000], ["eins zwei", "drei vier"]),
        ('<x n="1"/>eins zwei drei vier', [1000, 1000], ["eins", "zwei drei vier"]),
        ('a b c d e f g <x n="1"/>h', [1000, 9000], ["a b c d", "e f g h"]),
        ('eins<x n="1"/><x n="2"/>', [1, 1, 1], ["eins", "\u2026", "\u2026"]),
        ('猫は家で<x n="1"/>寝ている', [1000, 1000], ["猫は家で", "寝ている"]),
    ],
)
def test_a_translation_is_shared_out(translation, ends, parts):
    group, begin = [], 0
    for duration in ends:
        group.append(cue(begin, begin + duration))
        begin += duration
    assert shared_out(words(translation), group, "\n") == parts


WORDS = st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=40)


@given(WORDS, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5000)), min_size=2, max_size=8))
def test_no_word_is_lost_or_said_twice(said, cues):
    marks = sorted((min(at, len(said)), number) for number, (at, _) in enumerate(cues[1:], 1))
    parts = list(said)
    for at, number in reversed(marks):
        parts.insert(at, f'<x n="{number}"/>')
    made = shared_out(words(" ".join(parts)), [cue(0, duration) for _, duration in cues], "\n")
    assert len(made) == len(cues) and all(made)
    assert ("\u2026" in made) == (len(said) < len(cues))  # each cue has a word, if there are enough
    assert " ".join(made).replace("\u2026", "").split() == said


@given(WORDS, st.integers(10, 60))
def test_lines_are_as_few_and_as_short_as_can_be(words, width):
    lines = wrapped(" ".join(words), width, "\n").split("\n")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)
    assert all(len(first) + len(second) >= width for first, second in zip(lines[::2], lines[1::2], strict=False))


PARTS = st.sampled_from(
    [
        *("1\n", "00:00:01,000 --> 00:00:02,000\n", "00:02.000 --> 00:03.000 line:0\n", "\n", "\r\n", "word"),
        *("Two dogs.", " ", "<i>", "</i>", "<b>", "{\\an8}", "- ", "NOTE", "WEBVTT\n", "&amp;", "&", "<", ">"),
        *("\x00", "...", "♪", "-->"),
    ]
)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=30).map("".join)))
def test_every_byte_stays(text):
    content = text.encode("utf-8", "replace")
    keeps_every_byte(read_srt, content)
    keeps_every_byte(read_vtt, content)


@pytest.mark.parametrize(
    "part",
    ["<i>", "</i>", "{a", "<a ", "a ", "a\n", "\u266a", "- a\n", "\n1\n00:00:01,000 --> 00:00:02,000\na", "1\n\n"],
)
def test_time_is_linear(part):
    takes_linear_time(
        lambda text: rewritten(read_srt, text),
        lambda count: "00:00:01,000 --> 00:00:02,000\n" + part * (count // len(part)) + "word",
        5_000,
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{\\an8}- who?\n- a man.", "{\\an8}- WHO?\n- A MAN."),
        ("<i>- who is there?</i>\n<i>- a man.</i>", "<i>- WHO IS THERE?</i>\n<i>- A MAN.</i>"),
        ("a bicycle.\n- who?\nwhere?", "A BICYCLE.\n- WHO? WHERE?"),
        ("one of two\nlines", "ONE OF TWO LINES"),
    ],
)
@pytest.mark.parametrize("read", [read_srt, read_vtt])
def test_a_dash_begins_what_another_one_says(read, text, made):
    head = "00:00:01,000 --> 00:00:02,000\n"
    assert render(read, head + text, upper) == head + made


@given(st.lists(st.sampled_from(["-", "-->", ">", "--", " ", "00:00:01,000", "a", "&", "\u266a"]), max_size=8))
def test_no_translation_becomes_a_cue(pieces):
    for read in (read_srt, read_vtt):
        text = "WEBVTT\n\n00:00:01,000 --> 00:00:02,000\nOne.\n\n00:00:03,000 --> 00:00:04,000\nTwo.\n"
        document = document_of(read, text)
        made = document.rendered(["".join(pieces), "Two."]).decode()
        assert made.count("-->") == 2 and made.count("Two.") == 1


def test_numbers_stay_where_no_line_is_blank():
    cue = "00:00:0{},000 --> 00:00:0{},500\n{}\n"
    text = "".join(f"{n}\n" + cue.format(n, n, word) for n, word in enumerate(["one.", "two.\n12 b", "7", "four."], 1))
    assert render(read_srt, text, upper) == text.upper().replace("TWO.\n12", "TWO. 12")
    keeps_every_byte(read_srt, text.encode())


@pytest.mark.parametrize(
    ("gap", "units"), [(-2, 2), (-1, 1), (0, 1), (2900, 1), (2990, 1), (3000, 1), (3001, 2), (3010, 2)]
)
def test_a_sentence_goes_on_up_to_a_gap(gap, units):
    """An overlap of a millisecond is due to rounding; a longer one means another speaker."""
    begin = 2500 + gap
    times = f"00:00:{begin // 1000:02},{f'{begin % 1000:03}'.rstrip('0') or '0'} --> 00:00:09,000"
    text = f"1\n00:00:00,000 --> 00:00:02,5\nA man is\n\n2\n{times}\nriding.\n"
    assert len(document_of(read_srt, text).units) == units


def cues(*texts):
    return "".join(f"00:00:{n:02},000 --> 00:00:{n:02},500\n{text}\n\n" for n, text in enumerate(texts, 1))


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["go"] * 8, 1),
        (["go"] * 9, 2),
        (["a man...", "is"], 1),
        (["a man\u2026", "is"], 1),
        (["a man..", "is"], 1),
        (["a man.", "is"], 2),
        (["a man...", "Is"], 2),
        (['a man."', "is"], 2),
        (["a man", "Is"], 1),
        (["a man", "1 2", "is"], 1),
        (["a man", "x <b>is</b>", "go"], 3),
        (["<b>" * 8 + "a man", "<b>is" + "</b>" * 9], 1),
        (["<b>" * 9 + "a man", "<b>is" + "</b>" * 10], 2),  # of tags that are left open, the last 8 count
    ],
)
def test_where_a_sentence_ends(texts, count):
    assert len(document_of(read_srt, cues(*texts)).units) == count


@pytest.mark.parametrize(
    ("source", "translation", "lines"),
    [
        ("go", "a" * 30 + " " + "b" * 11, ["a" * 30 + " " + "b" * 11]),
        ("go", "a" * 30 + " " + "b" * 12, ["a" * 30, "b" * 12]),
        ("go" * 30, "a" * 30 + " " + "b" * 29, ["a" * 30 + " " + "b" * 29]),
        ("go" * 30, "a" * 30 + " " + "b" * 30, ["a" * 30, "b" * 30]),
    ],
)
def test_lines_have_42_characters_or_those_of_the_longest_in_the_source(source, translation, lines):
    document = document_of(read_srt, cues(source))
    assert document.rendered([translation]).decode().splitlines()[1:-1] == lines


@pytest.mark.parametrize(
    ("read", "text", "units_found"),
    [
        (read_srt, "word", ["word"]),
        (read_srt, "NOTE word\n\nNOTES\n\nSTYLE\n\nSTYLE a", ["NOTES", "STYLE a"]),
        (read_vtt, "word", []),
        (read_srt, cues("a &amp; b"), ["a &amp; b"]),
        (read_srt, "00:00:01,0 --> 00:00:02,0\na\nb.\n00:00:03,0 --> 00:00:04,0\nc\n", ["a b.", "c"]),
        (read_srt, "00:59:59,0 --> 00:59:59,9\na\n\n01:00:00,0 --> 01:00:01,0\nb\n", ['a <x n="1"/>b']),
        (read_srt, "59:59,0 --> 59:59,9\na\n\n1:00:03,0 --> 1:00:04,0\nb\n", ["a", "b"]),
        (read_srt, cues("<i>a man</i>"), ["a man"]),
        (read_srt, cues("<i>a man<i>"), ['<x n="1"/>a man<x n="2"/>']),
        (read_srt, cues("</i>a man</i>"), ['<x n="1"/>a man<x n="2"/>']),
        (read_srt, cues("<i>a man"), ["a man"]),
        (read_srt, cues("<i>a man", "is", "here</i>"), ['a man <x n="1"/>is <x n="2"/>here']),
        (read_srt, cues("<i><b>a man</b>", "is</i>"), ['a man <x n="1"/>is']),
        (read_srt, cues("<i>a man", "<b>is</i>"), ["a man", '<x n="1"/>is<x n="2"/>']),
        (read_srt, cues("<i>a man", "</i>is"), ["a man", '<x n="1"/>is']),
        (read_srt, cues("a</i> man"), ['a<x n="1"/> man']),
        (read_srt, cues("<i><b>a man</b></i>"), ["a man"]),
        (read_srt, cues("\u266a a man \u266a"), ["a man"]),
        (read_srt, cues("a {\\i1}man"), ['a <x n="1"/>man']),
        (read_srt, cues("- a man\n- 12\n- is"), ["a man", "is"]),
        (read_srt, cues("1 - 2", "-a man\nis"), ["-a man is"]),
    ],
)
def test_what_is_a_text(read, text, units_found):
    assert units(read, text) == units_found
