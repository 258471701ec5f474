"""From clones to files of pairs."""

import gzip
import subprocess

import numpy as np
import pytest

from models.train.collection.collecting import Collection, file_of, table, with_stand_ins, write
from models.train.collection.git_files import GitFiles
from models.train.collection.sifting import sifted
from models.train.collection.sources import Found, Pair, read_sources
from models.train.commands.collect import SOURCES


def test_all_kinds_of_sources(clones):
    found = {one.name: list(one.pairs) for one in read_sources(clones / "sources.yaml", clones)}
    assert found == {
        "manual": [
            Pair("docs/one.md", "Two dogs", "Zwei Hunde"),
            Pair("docs/one.md", "They run home.", "Sie laufen nach Hause."),
            Pair("docs/two.md", "A cat sleeps.", "Eine Katze schläft."),
        ],
        "app": [Pair("x/m.properties", "One dog", "Ein Hund")],
        "office": [Pair("po/de/a.po", "Open a file.", "Öffnen Sie eine Datei.")],
        "phrases": [Pair("Go.", "Go.", "Geh."), Pair("Run.", "Run.", "Lauf.")],
    }


def test_what_is_wrong_is_told(clones):
    (clones / "sources.yaml").write_text("books: {}\n")
    with pytest.raises(ValueError, match="has books; expected only pages, messages, catalogues, tables"):
        list(read_sources(clones / "sources.yaml", clones))
    with pytest.raises(FileNotFoundError, match="not a git repository; expected a clone, bare or not"):
        GitFiles(clones / "nothing")


@pytest.mark.parametrize(
    ("content", "told"),
    [("Go.\tGeh.\nRun.\n", "data/deu.txt, line 2: has no tab"), (None, "has no data/other.txt")],
)
def test_a_table_that_is_not_one_is_told(clones, content, told):
    if content:
        (clones / "a+phrases" / "data" / "deu.txt").write_text(content)
        subprocess.run(
            ["git", "-C", clones / "a+phrases", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "x"],
            check=True,
        )
    name = "deu" if content else "other"
    (clones / "sources.yaml").write_text(f"tables: {{x: {{licence: CC0, file: 'a/phrases:data/{name}.txt'}}}}\n")
    (found,) = read_sources(clones / "sources.yaml", clones)
    with pytest.raises((ValueError, FileNotFoundError), match=told):
        list(found.pairs)


def test_the_shipped_description_names_a_licence_for_each(tmp_path):
    for found in read_sources(SOURCES, tmp_path):
        assert found.licence and found.kind


def test_pages_are_held_out_as_a_whole():
    sections = [Pair(f"page{n}", "x", "y").section for n in range(10_000)]
    assert 60 < sections.count("test") < 140 and 60 < sections.count("development") < 140
    assert len({Pair("one page", str(n), "y").section for n in range(100)}) == 1


def test_repetitions_and_bad_pairs_are_left_out():
    collection = Collection()
    pairs = [
        Pair("a", "Two dogs.", "Zwei Hunde."),
        Pair("b", "two dogs", "zwei hunde!"),
        *(Pair("c", f"Error {n}", f"Fehler {n}") for n in range(9)),
        Pair("d", "1.2", "1,2"),
        Pair("e", "A cat", "x" * 200),
    ]
    found = collection.add(Found("a", "pages", "MIT", iter(pairs)))
    assert [pair.source for pair in found.pairs] == ["Two dogs.", "Error 0", "Error 1", "Error 2"]
    assert found.faults == {"occurs twice": 7, "no words": 1, "lengths do not fit": 1}
    assert collection.add(Found("b", "pages", "MIT", iter(pairs[:1]))).pairs == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Call `a` of x.py.", "Rufen Sie `a` aus x.py auf.", ("Call Tom of Peter.", "Rufen Sie Tom aus Peter auf.")),
        ("Tom calls `b`!", "Tom ruft `b`.", ("Tom calls Peter!", "Tom ruft Peter.")),
        ("Call `a` now.", "Rufen Sie `b` auf.", None),
        ("Call `a` and `a`.", "Rufen Sie `a` und `a` auf.", None),
        ("Call it now.", "Rufen Sie es jetzt auf.", None),
    ],
)
def test_what_the_engine_replaces_is_replaced(source, target, expected):
    assert with_stand_ins(Pair("p", source, target))[1:] == (expected or (source, target))


def test_one_pair_in_four_keeps_its_code():
    kept = [with_stand_ins(Pair("p", f"Call `a{n}`.", f"Rufen Sie `a{n}` auf."))[1] for n in range(1000)]
    assert 200 < sum("`" in source for source in kept) < 300


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("tables", "Two dogs run home.", "phrases"),
        ("pages", "Two dogs run home.", "sentences"),
        ("pages", "Do “two dogs run home?”", "sentences"),
        ("pages", "Two dogs run home", "labels"),
        ("pages", "Two dogs.", "labels"),
    ],
)
def test_where_a_pair_is_written(kind, text, expected):
    assert file_of(kind, text) == expected


def test_files_have_all_pairs_and_are_the_same_bytes_each_time(tmp_path, clones):
    collection = Collection()
    found = [collection.add(one) for one in read_sources(clones / "sources.yaml", clones)]
    for name in ("one", "two"):
        write(found, tmp_path / name)
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    lines = [line for content in files.values() for line in gzip.decompress(content).decode().splitlines()]
    assert len(lines) == sum(len(one.pairs) for one in found) == 7
    assert "train\toffice\tpo/de/a.po\tOpen a file.\tÖffnen Sie eine Datei." in lines
    assert table(found).splitlines()[2] == "| manual | MIT | 3 | 0 |"


def test_pairs_with_other_words_are_left_out():
    """Texts of an invented language, word by word, some with the words of another text."""
    random = np.random.default_rng(1)
    sources = [[f"w{n}" for n in random.integers(0, 100, random.integers(4, 9))] for _ in range(2000)]
    targets = [[word.replace("w", "v") for word in source] for source in sources]
    wrong = set(range(0, 2000, 20))
    for n in wrong:
        targets[n] = [f"v{m}" for m in random.integers(0, 100, len(sources[n]))]
    passes = sifted(*([" ".join(text) for text in texts] for texts in (sources, targets)))
    assert sum(not passes[n] for n in wrong) >= 0.85 * len(wrong)
    assert passes.mean() > 0.9
    assert sifted(["Firefox"] * 30, ["Firefox"] * 30).all()
