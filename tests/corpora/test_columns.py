"""Rows of JSON and Parquet keep what they have, and get new columns."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.corpora.inputs.json_rows import read_json_lines, write_json_lines
from cpunmt.corpora.inputs.parquet_rows import count_rows, parquet_shards, read_parquet, write_parquet
from cpunmt.corpora.inputs.rows import Made
from cpunmt.corpora.job import Filters, Job
from cpunmt.errors import CpunmtError
from tests.corpora.running import sizes

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
FLAGGED = Job(filters=Filters(min_score=0), with_score=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.builds(
    lambda fields, text: {**fields, "source": text},
    st.dictionaries(
        st.text(max_size=4).filter(lambda name: name not in ("translation", "score", "flags")), VALUES, max_size=4
    ),
    st.none() | st.text(max_size=9),
)


def made_of(rows):
    texts = [None if text is None else text[::-1] for text in rows.texts]
    flags = [("score",) if n % 3 == 1 else () for n in range(len(texts))]
    return Made({"translation": texts, "score": [-0.5] * len(texts)}, flags, len(set(texts)))


@pytest.mark.parametrize("target", [None, "de"])
@pytest.mark.parametrize("with_score", [False, True])
@pytest.mark.parametrize("filters", [Filters(), Filters(min_score=0)])
@pytest.mark.parametrize("drop", [False, True])
def test_a_row_that_has_what_is_added_is_refused(target, with_score, filters, drop):
    job = Job(target=target, with_score=with_score, filters=filters, drop=drop)
    added = {
        "translation": target is None,
        "score": with_score or target is not None,
        "flags": filters != Filters() and not drop,
    }
    for name, is_added in added.items():
        line = json.dumps({"source": "a", "de": "b", name: 1}).encode()
        if is_added:
            with pytest.raises(CpunmtError, match=f"line 1: has '{name}' already"):
                read_json_lines(line, job, "a", 1)
        else:
            assert read_json_lines(line, job, "a", 1).texts == ["a"]


@given(st.lists(OBJECTS), st.booleans(), st.sampled_from([None, (",", ":")]))
def test_objects_keep_their_bytes(objects, ascii_only, separators):
    lines = [json.dumps(one, ensure_ascii=ascii_only, separators=separators) for one in objects]
    rows = read_json_lines("".join(f"{line}\n" for line in lines).encode(errors="replace"), FLAGGED, "", 1)
    made = made_of(rows)
    written = write_json_lines(rows, made, FLAGGED).decode()
    assert written.count("\n") == len(objects)
    for n, (line, new) in enumerate(zip(lines, written.split("\n"), strict=False)):
        assert new.startswith(line.encode(errors="replace").decode()[:-1])
        fields = json.loads(new)
        assert list(fields)[-3:] == ["translation", "score", "flags"] and fields["flags"] == list(made.flags[n])
        if made.columns["translation"][n] is not None:
            assert fields["translation"] == made.columns["translation"][n].encode(errors="replace").decode()
    dropping = Job(filters=Filters(min_score=0), with_score=True, drop=True)
    dropped = write_json_lines(rows, made, dropping).decode().split("\n")[:-1]
    assert [json.loads(line)["source"] for line in dropped] == [
        text for text, flags in zip(rows.texts, made.flags, strict=True) if not flags
    ]


@pytest.mark.parametrize(
    "line, said",
    [
        ("[1]", "line 2: is a JSON list"),
        ('{"source": "x"', "line 2: is not JSON"),
        ("[" * 100_000, "line 2: has too many arrays and objects within each other"),
        ('{"text": "x"}', "line 2: has no 'source'; there is 'text'; name the column .column=NAME."),
        (json.dumps(dict.fromkeys("abcdefghijk", 1)), "line 2: has no 'source'; there is 'a', .*'i', 'j'; name the"),
        ('{"source": 7}', "line 2: 'source' is a int"),
        ('{"source": "x", "translation": ""}', "line 2: has 'translation' already"),
        ('{"source": %s}' % ("9" * 5000), "line 2: 'source' is a int"),
    ],
)
def test_a_line_that_is_wrong_is_named(line, said):
    with pytest.raises(CpunmtError, match=f"^a.jsonl: {said}"):
        read_json_lines(f'{{"source": "x"}}\n{line}\n'.encode(), Job(), "a.jsonl", 1)


def test_blank_lines_stay_where_they_are():
    rows = read_json_lines(b'\n {"source": "ab" }\r\n  \n', Job(), "", 1)
    assert rows.texts == ["ab"]
    assert write_json_lines(rows, Made({"translation": ["ba"]}, None, 1), Job()) == (
        b'\n {"source": "ab", "translation": "ba"}\n\n'
    )


@given(st.lists(st.none() | st.text(max_size=9), max_size=40), st.integers(1, 9), st.integers(1, 9))
def test_tables_are_cut_and_keep_their_columns(tmp_path_factory, texts, group, size):
    path = str(tmp_path_factory.mktemp("parquet") / "a.parquet")
    texts = [None if text is None else text.encode(errors="replace").decode() for text in texts]
    table = pa.table({"id": pa.array(range(len(texts)), pa.int32()), "source": pa.array(texts, pa.string())})
    table = table.replace_schema_metadata({"a": "b"})
    pq.write_table(table, path, row_group_size=group)
    shards = list(parquet_shards(path, size))
    count = len(texts)
    assert [shard.rows for shard in shards] == sizes(count, size)
    assert count_rows(path) == count
    parts, flags = [], []
    for shard in shards:
        rows = read_parquet(shard.payload, FLAGGED, path, shard.first)
        made = made_of(rows)
        assert write_parquet(rows, made, FLAGGED) == write_parquet(rows, made, FLAGGED)
        parts.append(pq.read_table(io.BytesIO(write_parquet(rows, made, FLAGGED))))
        flags += [list(one) for one in made.flags]
    whole = pa.concat_tables(parts)
    assert whole.select(["id", "source"]).equals(table) and whole.schema.metadata == {b"a": b"b"}
    assert whole.column("translation").to_pylist() == [None if text is None else text[::-1] for text in texts]
    assert whole.column_names == ["id", "source", "translation", "score", "flags"]
    assert whole.column("flags").to_pylist() == flags
    dropped = pq.read_table(io.BytesIO(write_parquet(rows, made, Job(filters=Filters(min_score=0), drop=True))))
    assert dropped.num_rows == sum(not one for one in made.flags) and "flags" not in dropped.column_names


def test_kinds_of_text_are_read_and_others_refused(tmp_path):
    path = str(tmp_path / "a.parquet")
    for column in (pa.array(["a", "a"]).dictionary_encode(), pa.array(["a", "a"], pa.large_string())):
        pq.write_table(pa.table({"text": column}), path)
        (shard,) = parquet_shards(path, 9)
        assert read_parquet(shard.payload, Job(column="text"), path, 1).texts == ["a", "a"]
    with pytest.raises(CpunmtError, match="has no column 'source'; there is 'text'; name the column .column=NAME."):
        read_parquet(shard.payload, Job(), path, 1)
    pq.write_table(pa.table({f"c{number}": ["a"] for number in range(11)}), path)
    (shard,) = parquet_shards(path, 9)
    with pytest.raises(CpunmtError, match="there is 'c0', .*, 'c8', 'c9'; name the column"):  # ten are enough
        read_parquet(shard.payload, Job(), path, 1)
    pq.write_table(pa.table({"source": [1], "translation": ["x"]}), path)
    (shard,) = parquet_shards(path, 9)
    with pytest.raises(CpunmtError, match="has a column 'translation' already"):
        read_parquet(shard.payload, Job(), path, 1)
    with pytest.raises(CpunmtError, match="column 'source' has the type int64, expected string"):
        read_parquet(shard.payload, Job(into="german"), path, 1)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(CpunmtError, match="a.parquet: cannot read the Parquet file"):
        list(parquet_shards(path, 9))


KINDS = [pa.string(), pa.large_string(), *([pa.string_view()] if hasattr(pa, "string_view") else [])]


@pytest.mark.parametrize("kind", [*KINDS, pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_texts_that_are_not_utf_8_are_one_error_of_the_column(tmp_path, kind):
    path = str(tmp_path / "a.parquet")
    for data in ("café".encode(), b"caf\xe9"):
        text = pa.Array.from_buffers(pa.string(), 1, pa.array([data], pa.binary()).buffers())  # whatever it holds
        if pa.types.is_dictionary(kind):
            column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), text)
        else:
            column = pa.concat_arrays([pa.array([data, data], pa.binary()).cast(_binary(kind)).view(kind)])
        table = pa.table({"source": column, "de": ["x", "y"]})
        with io.BytesIO() as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
            payload = sink.getvalue()
        if data == "café".encode():
            assert read_parquet(payload, Job(), path, 1).texts == ["café", "café"]
            continue
        for job in (Job(), Job(column="de", target="source")):
            with pytest.raises(CpunmtError, match="a.parquet: column 'source': .*expected valid UTF-8") as caught:
                read_parquet(payload, job, path, 1)
            assert "\n" not in str(caught.value)


def _binary(kind):
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    return pa.binary() if pa.types.is_string(kind) else pa.binary_view()


def test_views_of_strings_are_read_from_files_and_written(tmp_path):
    path = str(tmp_path / "a.parquet")
    for kind in KINDS:
        pq.write_table(pa.table({"source": pa.array(["ab", None, "a longer one than is kept inline"], kind)}), path)
        (shard,) = parquet_shards(path, 9)
        rows = read_parquet(shard.payload, Job(), path, 1)
        assert rows.texts == ["ab", None, "a longer one than is kept inline"]
        written = write_parquet(rows, Made({"translation": rows.texts}, None, 3), Job())
        assert pq.read_table(io.BytesIO(written)).column("translation").to_pylist() == rows.texts


def test_a_column_that_is_there_twice_is_said_to_be(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["source", "source"])
    pq.write_table(table, tmp_path / "a.parquet")
    (shard,) = parquet_shards(str(tmp_path / "a.parquet"), 9)
    with pytest.raises(CpunmtError, match="a.parquet: has 2 columns 'source', expected one"):
        read_parquet(shard.payload, Job(), "a.parquet", 1)


def test_without_pyarrow_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(CpunmtError, match=r"run: pip install 'cpunmt\[parquet\]'"):
        list(parquet_shards("a.parquet", 1))
