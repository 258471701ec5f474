"""Files of lines are cut at the right places, and come back unchanged."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.corpora.inputs import lines
from cpunmt.corpora.inputs.formats import KINDS, corpora_of, packed
from cpunmt.corpora.inputs.rows import Made
from cpunmt.corpora.inputs.text_rows import read_text, read_tsv, write_text, write_tsv
from cpunmt.corpora.job import Job
from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import zstd_module
from tests.corpora.running import sizes

# Python's line breaks, and the only one here.
TEXTS = st.text(st.sampled_from("ab \t\r\x0b\x0c\x1c\x85\u2028\u2029é🙂\x00\n"), max_size=60)
ENDINGS = st.sampled_from(["", ".gz", ".zst"])


@given(TEXTS, st.integers(1, 7), ENDINGS)
def test_shards_are_cut_by_number_alone_and_lose_nothing(tmp_path_factory, text, rows, ending):
    path = tmp_path_factory.mktemp("lines") / f"a.txt{ending}"
    path.write_bytes(packed(text.encode(), path.name) if text else b"")
    shards = list(lines.line_shards(str(path), rows))
    assert b"".join(shard.payload for shard in shards) == text.encode()
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    assert [shard.rows for shard in shards] == sizes(count, rows)
    assert [shard.first for shard in shards] == [1 + rows * n for n in range(len(shards))]
    assert lines.count_lines(str(path)) == count
    for shard in shards:
        assert len(read_text(shard.payload, Job(), "", shard.first).texts) == shard.rows


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=9)), st.booleans()
)
def test_lines_are_read_and_written_as_they_are(texts, windows):
    end = "\r\n" if windows else "\n"
    rows = read_text("".join(f"{text}{end}" for text in texts).encode(), Job(), "", 1)
    assert rows.texts == texts
    assert write_text(rows, Made({"t": rows.texts}, None, 0), Job()) == "".join(f"{text}\n" for text in texts).encode()


def test_a_flagged_line_is_empty():
    made = Made({"t": ["a", "b\nc", ""]}, [("score",), (), ()], 3)
    assert write_text(None, made, Job()) == b"\nb c\n\n"


def test_pairs_keep_their_further_columns():
    rows = read_tsv(b"a\tb\tc\n\t\r\n", Job(target="target"), "", 1)
    assert (rows.texts, rows.targets) == (["a", ""], ["b", ""])
    blank = read_tsv(b"\n \na\tb\n", Job(target="target"), "", 1)
    assert (blank.texts, blank.targets) == (["", " ", "a"], ["", "", "b"])
    made = Made({"score": [0.5, 0.0]}, [(), ("score",)], 2)
    scored = Made({"score": [0.0, 0.0, 0.5]}, [(), (), ()], 3)
    assert write_tsv(blank, scored, Job()) == b"\t\t0\n \t\t0\na\tb\t0.5\n"
    assert (
        write_tsv(rows, made, Job()) == b"a\tb\tc\t0.5\n\n"
        and write_tsv(rows, made, Job(drop=True)) == b"a\tb\tc\t0.5\n"
    )
    with pytest.raises(CpunmtError, match="^x.tsv: line 8 has no tab"):
        read_tsv(b"a\tb\nc\n", Job(target="target"), "x.tsv", 7)


def test_a_line_has_a_bound_and_a_shard_too(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n" + b"x" * lines.MOST_LINE + b"\n")
    assert [shard.rows for shard in lines.line_shards(str(path), 10)] == [2]
    path.write_bytes(b"a\n" + b"x" * lines.MOST_LINE)
    assert [shard.rows for shard in lines.line_shards(str(path), 10)] == [2]
    for end in (b"y", b"y\n", b"yyy"):
        path.write_bytes(b"a\n" + b"x" * lines.MOST_LINE + end)
        with pytest.raises(CpunmtError, match="a.txt: line 2 has more than 1048576 bytes"):
            list(lines.line_shards(str(path), 10))
    monkeypatch.setattr(lines, "MOST_SHARD", 5)
    path.write_bytes(b"12\n34\n56\n\n\n\n\n\n7")
    assert [shard.rows for shard in lines.line_shards(str(path), 10)] == [2, 3, 4]
    path.write_bytes(b"1234\n5\n")
    assert [shard.rows for shard in lines.line_shards(str(path), 10)] == [1, 1]


def test_a_bomb_costs_no_memory(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    with pytest.raises(CpunmtError, match="line 1 has more than"):
        list(lines.line_shards(str(path), 10))


@pytest.mark.slow
def test_memory_does_not_grow_with_files(tmp_path):
    """14 MB of lines are packed to some KB; memory holds one shard, and the decoder's buffer."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a line of text\n" * 1_000_000))
    list(lines.line_shards(str(path), 100_000))  # imports on first use
    tracemalloc.start()
    counts = [shard.rows for shard in lines.line_shards(str(path), 1000)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts == [1000] * 1000 and peak < 1_000_000


@pytest.mark.parametrize("ending, pack", [(".gz", gzip.compress), (".zst", zstd_module().compress)])
def test_a_file_that_is_cut_off_or_damaged_is_one_error(tmp_path, ending, pack):
    path = tmp_path / f"a.txt{ending}"
    whole = pack(b"a line\n" * 1000)
    for broken in (whole[:-5], whole + b"more", whole[:12] + b"\xff" * 9 + whole[21:]):
        path.write_bytes(broken)
        with pytest.raises(CpunmtError, match="a.txt.* not a complete"):
            list(lines.line_shards(str(path), 10))


def test_bad_bytes_are_named():
    with pytest.raises(CpunmtError, match="^f: line 12 is not UTF-8: byte 3 of it is 0xff; convert"):
        read_text(b"ok\nok\nab\xff\n", Job(), "f", 10)


def test_members_of_packed_files_are_one_file_and_have_no_date():
    for name in ("a.gz", "a.zst", "a.txt"):
        assert packed(b"x\n" * 99, name) == packed(b"x\n" * 99, name)
    data = b"".join(b"%d dogs\n" % (n * n) for n in range(999))
    assert packed(data, "a.gz") == gzip.compress(data, 6, mtime=0)
    assert gzip.decompress(packed(b"a\n", "a.gz") + packed(b"b\n", "a.gz")) == b"a\nb\n"
    assert zlib.decompress(packed(b"", "a.gz"), 31) == b""


def test_inputs_are_refused_before_any_work(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").touch()
    out, text = str(tmp_path / "out"), str(tmp_path / "one" / "a.txt")
    with pytest.raises(CpunmtError, match="would be called a.00000.txt, as those of"):
        corpora_of([text, str(tmp_path / "two" / "a.txt")], out, False)
    with pytest.raises(CpunmtError, match="lies in"):
        corpora_of([text], str(tmp_path / "two" / ".." / "one"), False)
    with pytest.raises(CpunmtError, match="does not exist"):
        corpora_of([out], out, False)
    with pytest.raises(CpunmtError, match="is not a file"):
        corpora_of([str(tmp_path)], out, False)
    with pytest.raises(CpunmtError, match=".tsv is for cpunmt batch --score"):
        (tmp_path / "a.tsv").touch()
        corpora_of([str(tmp_path / "a.tsv")], out, False)
    with pytest.raises(CpunmtError, match="pairs to score are in"):
        corpora_of([text], out, True)
    found = corpora_of([text, str(tmp_path / "a.tsv")][:1], out, False)
    assert [(one.kind, one.part(7)) for one in found] == [("text", "a.00007.txt")] and KINDS["text"].has_rows is False
