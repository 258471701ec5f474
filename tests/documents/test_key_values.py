"""Texts of programs as keys and values: .strings of Apple, .properties of Java."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.key_values import read_properties, read_strings
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, shown, upper
from tests.support.linear_time import takes_linear_time

STRINGS = """/* "Two" = "dogs"; */
// cats
"a \\"b\\"" = "Two \\"dogs\\" %@\\nplay";
b.c="12" ; "d" = cat;
"e" =
  "Caf\\U00e9";
"""
PROPERTIES = """# Two = dogs
! cats
a=Two dogs
b.c : A {0} isn''t\\
      here
d e
f\\ g\\:h=Caf\\u00e9
i
j=
k=12
l   =   a\\tman
"""


def texts(read, text):
    return [shown(unit) for unit in document_of(read, text).units]


def test_strings():
    keeps_every_byte(read_strings, STRINGS.encode())
    assert texts(read_strings, STRINGS) == ['Two "dogs" <k n="1"/>', "play", "Café"]
    made = STRINGS.replace('Two \\"dogs\\" %@\\nplay', 'TWO \\"DOGS\\" %@\\nPLAY').replace("Caf\\U00e9", "CAFÉ")
    assert render(read_strings, STRINGS, upper) == made


def test_properties():
    keeps_every_byte(read_properties, PROPERTIES.encode())
    assert texts(read_properties, PROPERTIES) == ["Two dogs", 'A <k n="1"/> isn\'there', "e", *("Café", "a", "man")]
    made = (
        PROPERTIES.replace("a=Two dogs", "a=TWO DOGS")
        .replace("A {0} isn''t\\\n      here", "A {0} ISN''THERE")
        .replace("d e", "d E")
        .replace("Caf\\u00e9", "CAF\\u00c9")
        .replace("a\\tman", "A\\tMAN")
    )
    assert render(read_properties, PROPERTIES, upper) == made
    assert render(read_properties, "é=a", lambda word: "ü") == "é=ü"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_stay(ends):
    text = "a=one\\\n two\nb=three\n".replace("\n", ends)
    assert render(read_properties, text, upper) == "a=ONETWO\nb=THREE\n".replace("\n", ends)


WORDS = st.text(st.sampled_from(list("ab \n\\'\"=:#!é1\t😀\f")), max_size=30)


@given(WORDS)
def test_a_value_is_read_as_it_was_written(text):
    """Whatever a translation has, the file has it."""
    for read, source in ((read_strings, '"k" = "word";'), (read_properties, "k=word"), (read_properties, "é=word")):
        written = document_of(read, source).rendered([f"{text}b"])
        (value,) = document_of(read, written).values
        assert value.messages[0].text == f"{text}b"


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("Use '{0}' as {1}", None),
        ("Set '{'dog'}' to {0}", "SET '{'DOG'}' TO {0}"),
        ("{0,date,yyyy-MM-dd'T'HH} isn''t", "{0,date,yyyy-MM-dd'T'HH} ISN''T"),
        ("Can't {0} dog", "CAN'T {0} DOG"),
        ("It isn't {0}, can't {1}", "IT ISN'T {0}, CAN'T {1}"),
        ("The 'dog' {0}", "THE 'DOG' {0}"),
        ("It isn't", "IT ISN'T"),
        ("It isn''t", "IT ISN''T"),
        ("50% of dogs", "50% OF DOGS"),
    ],
)
def test_apostrophes_of_message_format(value, made):
    made = made or value.replace("Use", "USE").replace("as", "AS")
    assert render(read_properties, f"k={value}\n", upper) == f"k={made}\n"
    document = document_of(read_properties, "k=dog {0}")
    (unit,) = document.units
    assert render(read_properties, "k=dog {0}", lambda word: "it's") == "k=it''s {0}" and unit.words


def test_where_keys_and_values_begin():
    assert render(read_properties, "a\xa0b=dog", upper) == "a\xa0b=DOG"
    assert render(read_strings, '"a" = "dog";', lambda word: " cat") == '"a" = " cat";'
    text = '"dog";\nb;\n"c" = "dog\\101";'
    assert render(read_strings, text, upper) == text


def test_what_is_no_entry_is_named():
    with pytest.raises(CpunmtError, match='line 2: cannot be read as an entry, expected "key" = "value";'):
        document_of(read_strings, '"a" = "b";\n"c" "d"')


@pytest.mark.parametrize("read", [read_strings, read_properties])
@pytest.mark.parametrize("part", ["\\", '"', "a", "a=", "/*", "\\\n", " ", '"a"="b";', "#", "\\\r\n", "="])
def test_time_is_linear(read, part):
    def attempt(text):
        with contextlib.suppress(CpunmtError):
            document_of(read, text)

    takes_linear_time(attempt, lambda count: part * (count // len(part)), 5_000)
