"""What must not be translated is found, and nothing else."""

import random
import re
import time

import numpy as np
import pytest

from cpunmt.translation.protection.finding import KINDS, Finder, Unit


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
        ("Two, {a}, {b} and {c}", ["{a}, {b}", "{c}"]),
        ("100% sure, 5 % of $5, and/or 1/2 km/h, 3.5 at 10:30, e.g. Mr. Smith (U.S.), #1, a@ b, end.Then { a b }", []),
    ],
)
def test_kinds(text, expected):
    assert found(text) == expected


def test_kinds_can_be_chosen():
    text = "Ask {name} at a@b.org 😀 here"
    assert found(text, kinds=["email"]) == ["a@b.org"]
    assert found(text, kinds=[]) == [] and Finder([]).is_clean(text)


def test_the_callers_patterns():
    assert found("The Acme Rocket 5 flies", patterns=[re.compile(r"Acme \w+")]) == ["Acme Rocket"]
    assert found("The cat flies", patterns=[re.compile("x*")]) == []  # what is empty is nothing


def test_the_callers_functions():
    text = "The cat sees 😀 here"
    assert found(text, functions=[lambda text: [(4, 7), (5, 7), (9, 9)]]) == ["cat", "😀"]
    assert found(text, functions=[lambda text: np.array([[4, 7]]), lambda text: ()]) == ["cat", "😀"]
    for wrong in ([(-1, 2)], [(2, 1)], [(0, 21)], [3], None, [(0, 1, 2)], ["ab"]):
        with pytest.raises(ValueError, match="protect: a function gave .*, expected spans"):
            found(text, functions=[lambda text, wrong=wrong: wrong])
    finder = Finder([], functions=[lambda text: [(0, 3)]])
    assert finder.units("<2de> The cat", 6) == [Unit(6, 9, False)]  # without the language


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
]


class Thorough(Finder):
    """It looks for everything everywhere."""

    def is_clean(self, text):
        return False


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_what_looks_clean_has_nothing(count):
    quick, thorough, generator = Finder(), Thorough(), random.Random(count)
    for _ in range(count):
        text = "".join(generator.choices(SIGNS, k=generator.randint(1, 9)))
        assert quick.units(text) == thorough.units(text), text


def test_where_no_word_is_left_all_is_kept():
    assert found("{a} - {b}!") == ["{a} - {b}!"]


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
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_takes_linear_time(unit):
    finder = Finder(knows=str.isascii)
    text = unit * (200_000 // len(unit))
    began = time.process_time()
    finder.units(text)
    assert time.process_time() - began < 5  # quadratic time would be minutes
