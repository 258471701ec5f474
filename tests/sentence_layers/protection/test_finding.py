"""The finder finds exactly the parts that must not be translated."""

import random
import re
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cpunmt.sentence_layers.protection.finding import KINDS, Finder, KeptPart, _is_word
from cpunmt.sentence_layers.protection.patterns import PATTERNS
from cpunmt.text.signs import has_no_codes, is_plain
from tests.support.speeds import slow_after


def found(text, **options):
    return [text[unit.begin : unit.end] for unit in Finder(**options).units(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://example.com/a_(b)?c=d. It is new", ["https://example.com/a_(b)?c=d"]),
        ("It is there (http://x.org/{id}).", ["http://x.org/{id}"]),
        ("Go to www.example.com or example.de/x now", ["www.example.com", "example.de/x"]),
        ("Write to a.b+c@mail.example.co.uk, please!", ["a.b+c@mail.example.co.uk"]),
        ("Hello {name} and {{ user.name }} here", ["{name}", "{{ user.name }}"]),
        ("Put %s in %1$s or %(x)s and %d or ${x} or $HOME", ["%s", "%1$s", "%(x)s", "%d", "${x}", "$HOME"]),
        ("The {width}px one of user_{id} now", ["{width}px", "user_{id}"]),
        ("{b}click here{/b} for %dMB of it", ["{b}", "{/b}", "%dMB"]),
        ("{0:.2f} and {x!r} and {} too", ["{0:.2f}", "{x!r}", "{}"]),
        ("{% if x %}yes{% endif %}", ["{% if x %}", "{% endif %}"]),
        (
            "There are {n, plural, one {# dog} other {{m, select, a {b} other {c}} dogs}} here",
            ["{n, plural, one {# dog} other {{m, select, a {b} other {c}} dogs}}"],
        ),
        ("Run `make all` or ``a b`` now", ["`make all`", "``a b``"]),
        ("Hi 👩‍👩‍👧 and 🇩🇪 or 1️⃣ or ❤️ or 👍🏽 there", ["👩‍👩‍👧", "🇩🇪", "1️⃣", "❤️", "👍🏽"]),
        ("Open /usr/local/bin and C:\\Win\\x or ~/x here", ["/usr/local/bin", "C:\\Win\\x", "~/x"]),
        ("Read config.json and src/a.py there", ["config.json", "src/a.py"]),
        ("Ask @jane about #python now", ["@jane", "#python"]),
        ("Use 3.11.2 or Python 3.8, Version 2.4, v1.2 and 1.2.3-rc1 here", ["3.11.2", "3.8", "2.4, v1.2", "1.2.3-rc1"]),
        ("On 2024-05-01 or 2024-05-01T10:20:30Z or (2024-05-01 10:20)", None),
        ("See 6ebd0e2 or 0xFF or 123e4567-e89b-12d3-a456-426614174000 here", None),
        (
            "Call +49 30 123456 or (030) 123456 or +1 212 555 0123 or 0800 123 4567 or +491701234567 or 212-555-0123",
            None,
        ),
        (
            "Open a.7z for v1.x with Python 3.x, call 212-555.0123 or (212) 555.0123",
            ["a.7z", "v1.x", "3.x", "212-555.0123", "(212) 555.0123"],
        ),
        (
            "Call 0049(0)30 123456 or 0049.30.123456 or ,0049 30 123456",
            ["0049(0)30 123456", "0049.30.123456", "0049 30 123456"],
        ),
        ("Use --include-untracked or --out=a/b.c. It is", ["--include-untracked", "--out=a/b.c"]),
        ("Call foo_bar() or map.find() or a_b or std::sort() here", None),
        ("Follow @ann@mastodon.social or <%= name %> or <% if %> or .gitignore.", None),
        ("Two, {a}, {b} and {c}", ["{a}, {b}", "{c}"]),
        (
            "Not 3.5 or 1.234.567 on 31.12.1999 or 1.5.24, +12 345 678 or 007 or 1998-2001, left--so or f () or"
            " a defaced facade, 1234567, 5+3, Lehrer_innen",
            [],
        ),
        ("100% sure, 5 % of $5, and/or 1/2 km/h, 3.5 at 10:30, e.g. Mr. Smith (U.S.), #1, a@ b, end.Then { a b }", []),
    ],
)
def test_kinds(text, expected):
    if expected is None:  # each word but "or" and the like
        expected = [one for one in re.split(r"^\w+ | or | here$|\.$", text) if one]
        expected = [one.strip("()") if one.startswith("(2024") else one for one in expected]
    assert found(text) == expected


def test_kinds_can_be_chosen():
    text = "Ask {name} at a@b.org 😀 here"
    assert found(text, kinds=["email"]) == ["a@b.org"]
    assert found(text, kinds=[]) == [] and Finder([]).is_clean(text)


def test_the_callers_patterns():
    assert found("The Acme Rocket 5 flies", patterns=[re.compile(r"Acme \w+")]) == ["Acme Rocket"]
    assert found("The cat flies", patterns=[re.compile("x*")]) == []  # empty matches are ignored


def test_the_callers_functions():
    text = "The cat sees 😀 here"
    assert found(text, functions=[lambda text: [(4, 7), (5, 7), (9, 9)]]) == ["cat", "😀"]
    assert found(text, functions=[lambda text: np.array([[4, 7]]), lambda text: ()]) == ["cat", "😀"]
    for wrong in ([(-1, 2)], [(2, 1)], [(0, 21)], [3], None, [(0, 1, 2)], ["ab"]):
        with pytest.raises(ValueError, match="protect: a function gave .*, expected spans"):
            found(text, functions=[lambda text, wrong=wrong: wrong])
    finder = Finder([], functions=[lambda text: [(0, 3)]])
    assert finder.units("<2de> The cat", 6) == [KeptPart(6, 9, False)]  # without the language


def test_words_without_pieces(student):
    vocabulary = student.source_vocabulary
    finder = Finder(knows=lambda text: vocabulary.unk_id not in vocabulary.encode(text))
    text = "I like 東京 大学 and Москва or naïve caf\u0065\u0301 5 + 6"
    assert [text[u.begin : u.end] for u in finder.units(text)] == ["東京 大学", "Москва", "naïve", "+"]
    assert [text[u.begin : u.end] for text in ["It costs £1,5.", "It costs 5,50€ now"] for u in finder.units(text)] == [
        "£1,5",
        "5,50€",
    ]
    assert finder.is_clean("Zürich, „ja“ don\u2019t") and not finder.is_clean("naïve")
    assert Finder([kind for kind in KINDS if kind != "unknown"], knows=lambda text: False).is_clean("Zürich")


SIGNS = [
    *"abX10 ./:@#$%{}()`~\\_-+,[é",
    "com",
    "py",
    "://",
    "mailto",
    "www",
    "😀",
    "©",
    "\ufe0f",
    "\u20e3",
    "{a, plural",
    "Python ",
    "v1",
    "2024",
    "05",
    "0x",
    "+49",
    "--",
    "()",
    "<%",
    "%>",
    "0800",
    "123",
    "abcdef",
]


class Thorough(Finder):
    """A finder that runs every search everywhere."""

    def is_clean(self, text):
        return False


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_what_looks_clean_has_nothing(count):
    quick, thorough, generator = Finder(), Thorough(), random.Random(count)
    for _ in range(count):
        text = "".join(generator.choices(SIGNS, k=generator.randint(1, 9)))
        assert quick.units(text) == thorough.units(text), text


BEFORE = st.sampled_from(
    ["", "a ", "Two dogs ", "(", "5", ",", ".", "-", "a-", "a.", "v", "x", "Python ", "C# ", "\xe9"]
)
BEHIND = st.sampled_from(["", " it", ".", " 5", ")", "a", ".5", "-5555", ".x", "/a", "e", "%"])


@pytest.mark.parametrize("examples", slow_after(1, [15, 150]))
@pytest.mark.parametrize("kind", PATTERNS)
def test_what_looks_clean_has_nothing_of_each_kind(kind, examples):
    quick, thorough = Finder(), Thorough()

    @given(BEFORE, st.from_regex(re.compile(PATTERNS[kind]), fullmatch=True), BEHIND)
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    def check(before, part, behind):
        text = before + part + behind
        assert quick.units(text) == thorough.units(text)

    check()


PLAIN_PARTS = [*"ab10 -fAFxv'", "--", "2024", "-05", "0800", "123 ", "abcdef", "ABCD-", "0x", " 0xF", "+49", "The "]


@given(st.lists(st.sampled_from(PLAIN_PARTS)).map("".join))
@example("The 0xFF1C man")
@example("The A1B2C3D4-E5F6-A7B8-C9D0-E1F2A3B4C5D6 file")
@example("The ABCDEFAB-ABCD-ABCD-ABCD-ABCDEFABCDEF file")
@settings(max_examples=1000)
def test_a_plain_text_with_something_to_keep_is_seen_to_have_it(text):
    assert not has_no_codes(text) or (is_plain(text) and not Finder().units(text))


@pytest.mark.parametrize("kind", PATTERNS)
def test_a_plain_text_with_something_of_each_kind_is_seen_to_have_it(kind, request):
    """Such a text is not translated in the fast way, alone as little as beside others."""
    count = 100 if request.config.getoption("--thorough") else 10

    @given(st.sampled_from(["The ", "Python ", "A, "]), st.from_regex(re.compile(PATTERNS[kind], re.A), fullmatch=True))
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    def check(before, part):
        plain = before + re.sub(r"[^A-Za-z0-9 ,'-]", "", part)
        assert not has_no_codes(plain) or not Finder().units(plain)

    check()


def test_where_no_word_is_left_all_is_kept():
    assert found("{a} - {b}!") == ["{a} - {b}!"]


def test_marks_and_joiners_are_parts_of_words():
    assert all(map(_is_word, "a5\u0301\u0903\u200d")) and not any(map(_is_word, " -'.$"))


HOSTILE = [
    "{",
    "}",
    "%",
    "http://",
    "@",
    "`",
    "{a,plural,",
    "#",
    "a.",
    "a/",
    "`a",
    "www.",
    "{{",
    "a@",
    "😀",
    "a.b@",
    "(",
    "{ ",
]
HOSTILE += [
    "%(",
    "1%%",
    "://",
    "~/",
    "\\",
    "東",
    "東a ",
    "$a",
    "a-",
    "x:",
    "\u200d",
    "1\u20e3",
    "a",
    " ",
    "http://)",
    "\ud800",
    "1.",
    "1.2",
    "--a",
    "-",
    "a_",
    "_",
    "0",
    "+1 23",
    "01 2345",
    "0x",
    "a1",
    "abcdef",
    "2024-05-",
    "a()",
    "a.a",
    "a::",
    "<%",
    "<%= ",
    "@a@a.",
    "v1.",
]


@pytest.mark.parametrize("unit", slow_after(12, HOSTILE))
def test_hostile_text_takes_linear_time(unit):
    finder = Finder(knows=str.isascii)
    text = unit * (50_000 // len(unit))
    began = time.process_time()
    finder.units(text)
    assert time.process_time() - began < 5  # it takes a tenth of a second to one
