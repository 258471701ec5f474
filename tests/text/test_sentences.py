"""Sentences are found as each script's rules have it, every character is kept, and no text takes long."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.text.abbreviations import rules
from cpunmt.text.sentence_marks import LINE_ENDS, ZERO_WIDTH
from cpunmt.text.sentences import sentence_spans

CASES = Path(__file__).with_name("sentences.txt").read_text("utf-8").split("\n# ")[1:]
SCRIPTS = {name: cases for name, *cases in (part.rstrip("\n").split("\n") for part in CASES)}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_case(line):
    """Language, whether lines end sentences, text, and its sentences as they are marked."""
    language, marked = line.split("\t")
    marked = re.sub(r"\\u(....)|\\x(..)|\\([nrt])", lambda m: ESCAPES.get(m[3]) or chr(int(m[1] or m[2], 16)), marked)
    sentences = [part.split("¦")[-1].strip() for part in marked.split("‖")]
    sentences = [sentence.strip(ZERO_WIDTH) for sentence in sentences]
    newline = not language.endswith("+")
    return language.strip("-+") or None, newline, re.sub("[‖¦]", "", marked), [part for part in sentences if part]


@pytest.mark.parametrize("line", [f"{name}: {line}" for name, lines in SCRIPTS.items() for line in lines if line])
def test_cases(line):
    language, newline, text, expected = read_case(line.split(": ", 1)[1])
    assert [text[begin:end] for begin, end in sentence_spans(text, language, newline)] == expected


def test_there_are_forty_cases_of_each_script():
    enough = {name for name, cases in SCRIPTS.items() if len(set(filter(None, cases))) >= 40}
    assert len(enough) == 10 == len(SCRIPTS) - 1
