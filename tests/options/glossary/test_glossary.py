"""A glossary from a mapping or a file: refusals, and shared use."""

import copy
import pickle

import pytest

from cpunmt import CpunmtError
from cpunmt.options.glossary import glossary as module
from cpunmt.options.glossary.glossary import Glossary, glossary_of


def test_of_a_mapping():
    terms = {" train  station ": " Bahnhof", "dog": "Hund"}
    glossary = Glossary(terms)
    terms["cat"] = "Katze"
    assert len(glossary) == 2 and dict(glossary) == {"train station": "Bahnhof", "dog": "Hund"}
    with pytest.raises(TypeError):
        glossary["cat"] = "Katze"
    assert repr(glossary) == "<Glossary of 2 terms: 'train station': 'Bahnhof', ...>"
    assert repr(Glossary({"a": "b"})) == "<Glossary of 1 term: 'a': 'b'>" and repr(Glossary({})) == "Glossary({})"


def test_equal_ones_are_one_key():
    one, other = Glossary({"a": "1", "b": "2"}), Glossary({"b": "2", "a": "1"})
    assert one == other and hash(one) == hash(other) and one != Glossary({"a": "1"}) and one != {"a": "1"}
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert again == one and again.matches("a b") == one.matches("a b")


def test_the_order_of_terms_does_not_matter():
    terms = {"us": "uns", "Us": "Wir", "uS": "Uns"}
    one, other = Glossary(terms), Glossary(dict(reversed(terms.items())))
    for text in ("US AND THEM", "Us and them", "us", "ALL OF US"):
        assert one == other and one.matches(text) == other.matches(text) != []


@pytest.mark.parametrize(
    ("terms", "error", "said"),
    [
        ([("a", "b")], TypeError, "glossary is list, expected a dict"),
        ({"a": None}, TypeError, "glossary has 'a': None, expected text for text"),
        ({1: "a"}, TypeError, "glossary has 1: 'a', expected text"),
        ({"": "a"}, ValueError, "a term is empty"),
        ({"a": " "}, ValueError, "the translation of 'a' is empty"),
        ({"a" * 401: "b"}, ValueError, "has 401 characters, expected at most 400"),
        ({"a": "b" * 401}, ValueError, "translation of 'a' has 401 characters"),
        ({"a-" * 33: "b"}, ValueError, "has 66 words, spaces and signs, expected at most 64"),
        ({"a\nb": "c"}, ValueError, r"'a\\nb' has the character U\+000A, expected one line"),
        ({"a": "b\tc"}, ValueError, r"the translation of 'a' has the character U\+0009"),
        ({"a": "b\0"}, ValueError, r"U\+0000"),
        ({"a": "b\u2028c"}, ValueError, r"U\+2028"),
        ({"a": "\ud800"}, ValueError, r"U\+D800"),
        ({"\udfff": "a"}, ValueError, r"U\+DFFF"),
        ({"a b": "c", "a  b": "d"}, ValueError, "has 'a  b' twice"),
        ({f"a{n}": "b" for n in range(200_001)}, ValueError, "200001 terms, expected at most 200000"),
    ],
    ids=lambda value: "" if isinstance(value, dict | list) else None,
)
def test_a_mapping_that_is_refused(terms, error, said):
    with pytest.raises(error, match=said) as raised:
        Glossary(terms)
    assert len(str(raised.value)) < 300 and "\n" not in str(raised.value)


def test_of_a_file(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufefftrain station\tBahnhof\r\n\n \ndog\tHund\ndog\tHund\nµ.*\t\u00a0x".encode())
    assert dict(Glossary.from_tsv(path)) == {"train station": "Bahnhof", "dog": "Hund", "µ.*": "x"}
    path.write_bytes(b"")
    assert len(Glossary.from_tsv(str(path))) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"dog Hund\n", "line 1 has 0 tabs, expected a term, a tab and its translation"),
        (b"\na\tb\tc\n", "line 2 has 2 tabs"),
        (b"a\tb\n\xff\tb\n", "line 2 is not UTF-8"),
        (b"a\tb\na\tc\n", "line 2: 'a' becomes 'c', but 'b' in line 1; keep one"),
        (b"a\t\n", "line 1: the translation of 'a' is empty"),
        (b"\ta\n", "line 1: a term is empty"),
        (b"a\tb\rc\n", r"line 1: the translation of 'a' has the character U\+000D"),
        (b"a\0\tb\n", r"line 1: 'a\\x00' has the character U\+0000"),
        (b"a" * 500 + b"\tb", "line 1: .* has 500 characters"),
        (b"\x1f\x8b\x08\x00" + b"\t" * 10, "line 1 is not UTF-8"),
    ],
)
def test_a_file_that_is_refused(content, said, tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(CpunmtError, match=f"terms.tsv: {said}"):
        Glossary.from_tsv(path)


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none", tmp_path, "a\0b"):
        with pytest.raises(CpunmtError, match="cannot read the glossary"):
            Glossary.from_tsv(path)
    large = tmp_path / "large"
    with open(large, "wb") as file:
        file.truncate((32 << 20) + 1)
    with pytest.raises(CpunmtError, match="more than 33554432 bytes"):
        Glossary.from_tsv(large)


def test_of_what_is_given(tmp_path):
    (tmp_path / "terms").write_text("a\tb\n")
    glossary = Glossary({"a": "b"})
    assert glossary_of(None) is None and glossary_of(glossary) is glossary
    assert (
        glossary_of({"a": "b"}) == glossary_of(tmp_path / "terms") == glossary_of(str(tmp_path / "terms")) == glossary
    )
    with pytest.raises(TypeError, match="glossary is 3, expected a dict of terms"):
        glossary_of(3)


def test_the_largest_glossaries(tmp_path, monkeypatch):
    path, two = tmp_path / "terms", b"a\tb\nc\td\n"
    path.write_bytes(two)
    monkeypatch.setattr(module, "MOST_BYTES", len(two))
    monkeypatch.setattr(module, "MOST_TERMS", 2)
    monkeypatch.setattr(module, "MOST_LETTERS", 3)
    assert Glossary.from_tsv(path) == Glossary({"a": "b", "c": "d"}) and Glossary({"abc": "def"})
    with pytest.raises(ValueError, match="'abcd' has 4 characters, expected at most 3$"):
        Glossary({"abcd": "e"})
    with pytest.raises(ValueError, match="^glossary has 3 terms, expected at most 2$"):
        Glossary(dict.fromkeys("abc", "x"))
    path.write_bytes(two + b"\n")
    with pytest.raises(CpunmtError, match="more than 8 bytes; wrong file"):
        Glossary.from_tsv(path)
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    path.write_bytes(two + b"e\tf\n")
    with pytest.raises(CpunmtError, match="line 3: glossary has more than 2 terms"):
        Glossary.from_tsv(path)
