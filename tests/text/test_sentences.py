"""Sentence splitting by each script's rules, complete and in linear time."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.text.language_rules import rules
from cpunmt.text.sentence_marks import LINE_ENDS, ZERO_WIDTH
from cpunmt.text.sentences import sentence_spans
from tests.support.speeds import slow_after

CASES = Path(__file__).with_name("sentences.txt").read_text("utf-8").split("\n# ")[1:]
SCRIPTS = {name: cases for name, *cases in (part.rstrip("\n").split("\n") for part in CASES)}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def unescape(text):
    return re.sub(r"\\u(....)|\\x(..)|\\([nrt])", lambda m: ESCAPES.get(m[3]) or chr(int(m[1] or m[2], 16)), text)


def read_case(line):
    """Parses the language, whether lines end sentences, the text, and its marked sentences."""
    language, marked = line.split("\t")
    marked = unescape(marked)
    sentences = [part.split("¦")[-1].strip() for part in marked.split("‖")]
    sentences = [sentence.strip(ZERO_WIDTH) for sentence in sentences]
    newline = not language.endswith("+")
    return language.strip("-+") or None, newline, re.sub("[‖¦]", "", marked), [part for part in sentences if part]


@pytest.mark.parametrize("script", SCRIPTS)
def test_cases(script):
    wrong, cases = [], set(filter(None, SCRIPTS[script]))
    for line in cases:
        language, newline, text, expected = read_case(line)
        found = [text[begin:end] for begin, end in sentence_spans(text, language, newline)]
        wrong += [(line, found)] if found != expected else []
    assert wrong == []
    assert len(cases) >= 40 or script == list(SCRIPTS)[-1]


def test_there_are_ten_scripts_and_more():
    assert len(SCRIPTS) == 11


BLANK_LINE = re.compile(rf"(?:\r\n|(?!\r\n)[{LINE_ENDS}])\s*[{LINE_ENDS}]")
ANY_TEXT = st.text(st.characters(exclude_categories=()))
HARD = "A a B 1 2 . . . ? ! : ; … 。 」 ” \" ' » « ( ) [ ] - – * > # • _ = ། ॥ ፡ ។ 😀 م 한 漢 ि é ß \ud800 \0"  # noqa: RUF001
HARD_TEXT = st.text(
    st.sampled_from(HARD.split())
    | st.sampled_from(" \t\n\r\u00a0\u2028\u2029\x0b\x0c\x85\u200b\ufeff\u00ad\u200f\u202e"),
    max_size=60,
)
LANGUAGES = st.sampled_from([None, "en", "de", "el", "hy", "ru", "ja", "ko", "nl", "xx", "pt-BR", "zh_Hant", ""])


def is_blank(text):
    return not text.strip().strip(ZERO_WIDTH).strip()


def check_law(text, spans, newline):
    """Checks that sentences and gaps make up the text, and that only sentences have content."""
    end_before, gaps = 0, []
    for begin, end in spans:
        assert end_before <= begin < end <= len(text)
        for character in (text[begin], text[end - 1]):
            assert not is_blank(character)
        assert "\u2029" not in text[begin:end]
        assert not (set(LINE_ENDS) & set(text[begin:end]) if newline else BLANK_LINE.search(text[begin:end]))
        gaps.append(text[end_before:begin])
        end_before = end
    gaps.append(text[end_before:])
    for gap in gaps:
        assert all(len(word) <= 3 and (word.isdecimal() or len(word) == 1) for word in re.findall(r"[^\W_]+", gap))


@pytest.mark.parametrize("count", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_sentences_and_gaps_make_up_the_text(count):
    @given(ANY_TEXT | HARD_TEXT, LANGUAGES, st.booleans())
    @settings(max_examples=count, database=None)
    def check(text, language, newline):
        check_law(text, sentence_spans(text, language, newline), newline)

    check()


@given(HARD_TEXT, HARD_TEXT, LANGUAGES, st.booleans())
def test_what_a_blank_line_separates_does_not_depend_on_each_other(first, second, language, newline):
    joined = f"{first}\n\n{second}"
    shift = len(first) + 2
    behind = [(begin + shift, end + shift) for begin, end in sentence_spans(second, language, newline)]
    assert sentence_spans(joined, language, newline) == sentence_spans(first, language, newline) + behind


WORDS = st.sampled_from(["Aaa", "bbb", "Cc5", "dd", '"Eee', "(fff", "ЖЖЖ", "жжж"])
STOPS = st.sampled_from(["", "", ".", "?", "!", "...", "?!", '."', ".)", ".[1]", "! 😀", ","])
GAPS = st.sampled_from([" ", "  ", "\u00a0", "\n", " \r\n", "\n\n", "\r\n \t\r\n"])


@given(st.lists(st.tuples(WORDS, STOPS, GAPS), max_size=12), st.booleans())
def test_plain_texts_are_split_as_they_were_made(parts, newline):
    text, expected, begin = "", [], 0
    for number, (word, stop, gap) in enumerate(parts):
        text += word + stop
        following = parts[number + 1][0] if number + 1 < len(parts) else "A"
        stops = stop.strip(",") and not following.strip('"(').islower()
        lines = gap.count("\n")
        if stops or lines > 1 or (newline and lines) or number + 1 == len(parts):
            expected.append((begin, len(text)))
            begin = len(text) + len(gap)
        text += gap
    assert sentence_spans(text, "xx", newline) == expected


@pytest.mark.parametrize("language", [None, "", "xx", "DE", "de_AT", "de-DE-1996", "no", "\0", "é"])
def test_any_language_is_accepted(language):
    assert sentence_spans("Es regnet. Wir bleiben.", language) == [(0, 10), (11, 23)]
    assert rules(language).kinds["Dr"] == rules("en").kinds["Dr"]


def test_what_is_not_known_of_a_language_is_what_all_share():
    assert rules("xx") == rules("yy") != rules(None)
    assert rules("no") is rules("nb") is rules("nn_NO")


def test_what_is_blank_after_a_closing_mark_is_between_sentences():
    text = '0"\u1361?"\u200b 0'
    assert [text[begin:end] for begin, end in sentence_spans(text)] == ['0"\u1361?"', "0"]


HOSTILE = Path(__file__).with_name("hostile.txt").read_text("utf-8").replace("\n", "|")
HOSTILE = sorted(set(HOSTILE.split("|")) - {""})


def hostile_texts(pattern, length):
    pattern = unescape(pattern)
    repeated = pattern * (length // len(pattern))
    return repeated, repeated[: length // 2] + "x" + repeated[length // 2 :], f"Aa. {repeated}x"


def seconds_of(text, language, newline):
    began = time.process_time()
    check_law(text, sentence_spans(text, language, newline), newline)
    return time.process_time() - began


@pytest.mark.parametrize("patterns", slow_after(1, [HOSTILE[::9], HOSTILE]), ids=len)
def test_no_text_takes_long(patterns):
    """50 KB in a second; quadratic time would be a minute."""
    for pattern in patterns:
        for text in hostile_texts(pattern, 50_000):
            for newline in (True, False):
                assert seconds_of(text, "de", newline) < 1, pattern


@pytest.mark.slow
def test_time_is_linear():
    """1 MB of each, with all rules in use."""
    for pattern in HOSTILE:
        for text in hostile_texts(pattern, 1_000_000)[:2]:
            assert seconds_of(text, None, False) < 8, pattern


@pytest.mark.slow
def test_ten_megabytes_in_one_line():
    line = "He met Mr. Smith on Jan. 5 (see No. 7). " * 250_000
    assert seconds_of(line, "en", True) < 20
    assert seconds_of(line.replace(".", ","), "en", True) < 5
