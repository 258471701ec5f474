"""CTranslate2's vocabulary maps: the candidates of a sentence, and the files that are read, written and refused."""

import gzip
import tracemalloc
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.text.shortlists import vocabulary_map
from cpunmt.text.shortlists.vocabulary_map import MapFile, VocabularyMap
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.refusal import refusal

SIZE = 40
ids = st.integers(0, SIZE - 1)
keys = st.lists(ids, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "small.spm"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vmap.txt"


def stored(values) -> bytes:
    return array("i", values).tobytes()


def rules_of(found) -> dict:
    """Maps source ids to target ids."""
    as_ids = {key: np.frombuffer(value, np.int32).tolist() for key, value in found.rules.items()}
    return {tuple(np.frombuffer(key, np.int32).tolist()): value for key, value in as_ids.items()}


def line(vocabulary, source, target) -> str:
    return f"{' '.join(vocabulary.pieces(source))}\t{' '.join(vocabulary.pieces(target))}\n"


@given(st.lists(ids, max_size=5), st.lists(st.tuples(keys, st.lists(ids, max_size=5))), st.lists(ids, max_size=12))
def test_candidates_are_the_targets_of_all_ngrams(always, rules, source):
    found = VocabularyMap(always, {stored(key): stored(targets) for key, targets in rules})
    ngrams = {tuple(source[i:j]) for i in range(len(source)) for j in range(i + 1, len(source) + 1)}
    last = {tuple(key): targets for key, targets in rules}
    expected = sorted({*always, *(id_ for key in ngrams for id_ in last.get(key, ()))})
    candidates = found.candidates(source)
    assert candidates.dtype == np.int32 and candidates.tolist() == expected


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_file(compress, path, vocabulary):
    text = line(vocabulary, [], [50, 40]) + line(vocabulary, [9], [20, 30]) + line(vocabulary, [9, 10, 11], [60])
    text += line(vocabulary, [12], [70]) + line(vocabulary, [12], [71, 70, 71]).replace("\n", "\r\n")  # the last counts
    text += line(vocabulary, [13], []) + f"{vocabulary.pieces([14])[0]}\tnowhere\n"
    text += f"nowhere\t{vocabulary.pieces([80])[0]}\n<unk>\t{vocabulary.pieces([81])[0]}\n"
    text += f"</s>\t{vocabulary.pieces([82])[0]}"
    path.write_bytes(compress(text.encode()))
    found = MapFile(path, (7,)).opened(vocabulary, vocabulary)
    assert rules_of(found) == {(9,): [20, 30], (9, 10, 11): [60], (12,): [70, 71], (13,): [], (14,): [1]}
    assert found.always.tolist() == [0, 1, 7, 40, 50]
    assert found.candidates([9, 10, 11, 0]).tolist() == [0, 1, 7, 20, 30, 40, 50, 60]


def test_it_is_written_as_it_is_read(path, vocabulary):
    found = VocabularyMap([0, 1, 33], {stored([9]): stored([20, 30]), stored([9, 8]): stored([])})
    path.write_bytes(found.to_text(vocabulary, vocabulary))
    again = VocabularyMap.read(path, vocabulary, vocabulary)
    assert rules_of(again) == rules_of(found) and again.always.tolist() == [0, 1, 33]


EXPECTED = (
    "expected 'source pieces<TAB>target pieces' (at most 3 lines of less than 100 bytes, 64 source pieces of a line, "
    "and 4 target pieces of all)"
)


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (b"a\tb\nno tab\n", 2),
        (b"\n", 1),
        (b"a\tb\tc\n", 1),
        (b"a \t" + 97 * b"b", 1),  # too long
        (b"a \t" + 97 * b"b" + b"\tb\n", 1),  # and what is left is a rule
        (b"a\t<unk> <s> </s> b\nb\t</s> <unk>\n", 2),  # too many, of which one is missing
        (65 * b" " + b"\tb\n", 1),
        (4 * b"a\tb\n", 4),
        (b"\xff\x00" * 9, 1),
    ],
)
def test_other_lines_are_refused(content, number, path, vocabulary, monkeypatch):
    monkeypatch.setattr(vocabulary_map, "_MAX_LINES", 3)
    monkeypatch.setattr(vocabulary_map, "_MAX_LINE", 100)
    monkeypatch.setattr(vocabulary_map, "_MAX_TARGETS", 4)
    path.write_bytes(content)
    message = refusal(VocabularyMap.read, path, vocabulary, vocabulary)
    assert f"line {number} is b" in message and EXPECTED in message and "\n" not in message
    assert message.endswith("make it anew, or move it away: it is used only on request")


def test_lines_of_the_limits_are_read(path, vocabulary, monkeypatch):
    monkeypatch.setattr(vocabulary_map, "_MAX_LINE", 14)
    monkeypatch.setattr(vocabulary_map, "_MAX_TARGETS", 3)
    path.write_bytes(b"\t<unk> <unk>\n\t</s> <unk>")  # 14 bytes, and 12 without a newline at the end of the file
    VocabularyMap.read(path, vocabulary, vocabulary)


def test_a_repeated_ngram_takes_little_memory():
    found = VocabularyMap([0], {stored([9]): stored(range(10_000))})
    tracemalloc.start()
    try:
        assert len(found.candidates([9] * 1000)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_files_that_cannot_be_read(path, vocabulary):
    assert "not found" in refusal(VocabularyMap.read, path, vocabulary, vocabulary)
    path.touch()
    assert "vocabulary map is empty" in refusal(VocabularyMap.read, path, vocabulary, vocabulary)
    path.write_bytes(gzip.compress(bytes(f"a\t{list(range(999))}\n", "ascii"))[:-20])
    assert "not a complete gzip file" in refusal(VocabularyMap.read, path, vocabulary, vocabulary)
