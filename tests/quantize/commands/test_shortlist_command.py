"""`quantize shortlist`: its output is read back, its coverage is reported, and unusable inputs are refused."""

import gzip

import numpy as np
import pytest

from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.commands.cli import main
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes a folder with both.spm, other.spm, en and de (four lines each), pairs.tsv and years.tsv.gz."""
    folder = tmp_path_factory.mktemp("corpus")
    train_vocabulary(folder / "both.spm", 128)
    train_vocabulary(folder / "other.spm", 120)
    english, german = TEXT[::2], TEXT[1::2]
    (folder / "en").write_text("".join(f"{line}\n" for line in english), "utf-8")
    (folder / "de").write_text("".join(f"{line}\n" for line in german), "utf-8")
    rows = [f"{a}\t{b}\n" for a, b in zip(english, german, strict=True)]
    (folder / "pairs.tsv").write_text("".join(rows), "utf-8")
    (folder / "years.tsv.gz").write_bytes(gzip.compress("".join(f"08\t{row}" for row in rows).encode()))
    return folder


def build(files, out, *flags, text=("--tsv", "pairs.tsv"), vocab=("--vocab", "both.spm")):
    named = [files / part if not part.startswith("--") else part for part in (*text, *vocab)]
    return main(["shortlist", *map(str, named), "--out", str(out), *map(str, flags)])


def load(files, path, **options):
    vocabulary = Vocabulary(files / "both.spm")
    return Shortlist.load(path, vocabulary, vocabulary, **options)


def test_text_and_binary_hold_the_same(files, tmp_path, capsys):
    limits = ["--first", "20", "--best", "7"]
    for name in ("lex.s2t", "lex.s2t.gz", "lex.bin", "lex.bin.gz"):
        assert build(files, tmp_path / name, *limits) == 0
        printed = capsys.readouterr()
        assert printed.err == "" and printed.out.splitlines()[-1].endswith("pairs, first 20, best 7")
    made = [load(files, tmp_path / f"lex.{kind}", first=20, best=7) for kind in ("s2t", "s2t.gz", "bin", "bin.gz")]
    assert len({shortlist.to_bytes() for shortlist in made}) == 1
    lengths = np.diff(made[0].offsets)
    assert lengths.max() == 7 and lengths.min() == 0 and (made[0].first, made[0].best) == (20, 7)
    assert (tmp_path / "lex.bin.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_all_ways_to_give_the_pairs_are_one(files, tmp_path, capsys):
    ways = [("--tsv", "pairs.tsv"), ("--tsv", "years.tsv.gz:2,3"), ("--source", "en", "--target", "de")]
    for number, way in enumerate(ways):
        assert build(files, tmp_path / f"{number}.bin", text=way) == 0
    two = ("--source-vocab", "both.spm", "--target-vocab", "both.spm")
    assert build(files, tmp_path / "3.bin", vocab=two) == 0
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_the_threshold_cuts(files, tmp_path, capsys):
    for name, threshold in (("all", "0"), ("few", "0.05")):
        assert build(files, tmp_path / name, "--threshold", threshold) == 0
    lines = [set((tmp_path / name).read_text("utf-8").splitlines()) for name in ("all", "few")]
    assert lines[1] == {line for line in lines[0] if float(line.split()[2]) > 0.05} and 0 < len(lines[1]) < len(
        lines[0]
    )


def test_coverage_of_held_out_text_beside_another_list(files, tmp_path, capsys):
    other = tmp_path / "other.bin"
    assert build(files, other, "--first", "10", "--best", "1") == 0
    capsys.readouterr()
    flags = ["--first", "10", "--best", "100", "--held-out", files / "pairs.tsv", "--compare", other]
    assert build(files, tmp_path / "lex.bin", *flags) == 0
    heading, wide, narrow, _ = capsys.readouterr().out.splitlines()[-4:]
    assert heading.split()[:3] == ["held-out", "shortlist", "first"]
    assert wide.split()[:4] == ["pairs.tsv", "lex.bin", "10", "100"] and wide.split()[4:6] == ["100.00", "100.00"]
    assert narrow.split()[:4] == ["pairs.tsv", "other.bin", "10", "1"]
    assert float(narrow.split()[4]) < 100 and float(narrow.split()[6]) < float(wide.split()[6])


def test_an_existing_file_is_replaced_only_by_force(files, tmp_path, capsys):
    out = tmp_path / "lex.bin"
    out.write_bytes(b"mine")
    assert build(files, out) == 1
    printed = capsys.readouterr()
    assert f"{out}: exists" in printed.err and printed.out == "" and out.read_bytes() == b"mine"
    assert build(files, out, "--force") == 0
    assert load(files, out).ids.size and list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"text": ("--tsv", "none.tsv")}, "none.tsv: not found"),
        ({"text": ("--source", "en", "--target", "both.spm")}, "goes on; expected files of equal length"),
        ({"text": ("--tsv", "years.tsv.gz:1,4")}, "years.tsv.gz: line 1 has 3 columns, expected at least 4"),
        ({"vocab": ("--vocab", "en")}, "en: not a SentencePiece model"),
        ({"vocab": ("--vocab", "none")}, "none: vocabulary not found"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(files, tmp_path, capsys, options, expected):
    assert build(files, tmp_path / "lex.bin", **options) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and expected in printed.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_corpus_and_a_folder_that_is_missing(files, tmp_path, capsys):
    empty = tmp_path / "empty.tsv"
    empty.write_bytes(b"")
    arguments = ["shortlist", "--tsv", str(empty), "--vocab", str(files / "both.spm"), "--out"]
    assert main([*arguments, str(tmp_path / "lex.bin")]) == 1
    assert "empty.tsv: no sentence pair is left" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "no" / "lex.bin")]) == 1
    assert "does not exist; make it first" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [empty]


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--tsv", "a"],  # no vocabulary
        ["--tsv", "a", "--vocab", "v", "--source-vocab", "v", "--target-vocab", "v"],
        ["--tsv", "a", "--source-vocab", "v"],
        ["--vocab", "v"],  # no text
        ["--source", "a", "--vocab", "v"],
        ["--tsv", "a:1,1", "--vocab", "v"],
        ["--tsv", "a", "--vocab", "v", "--best", "0"],
        ["--tsv", "a", "--vocab", "v", "--threshold", "1"],
        ["--tsv", "a", "--vocab", "v", "--diagonal", "nan"],
        ["--tsv", "a", "--vocab", "v", "--compare", "l"],  # nothing to compare on
    ],
)
def test_wrong_usage_exits_with_two(flags, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["shortlist", "--out", str(tmp_path / "lex"), *flags])
    assert caught.value.code == 2 and "error: " in capsys.readouterr().err
