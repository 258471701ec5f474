"""Parts of Parquet files: together they are the files' rows, in order; a plan that was begun is gone on with."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import CpunmtError
from cpunmt.corpora.parquet_parts import PLAN, SUCCESS, begin, finish, planned, read_part, waiting, write_part

JOB = {"model": "m", "column": "source", "to": "translation", "score": None, "options": {}}


def write(folder, counts, group=4):
    """Files of so many rows, in row groups of so many; all rows."""
    folder.mkdir(exist_ok=True)
    rows = pa.table({"id": range(sum(counts)), "source": [f"row {n}" for n in range(sum(counts))]})
    first = 0
    for number, count in enumerate(counts):
        pq.write_table(rows.slice(first, count), folder / f"{number:02d}.parquet", row_group_size=group)
        first += count
    return rows


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 40))
def test_parts_are_all_rows_in_order(tmp_path_factory, counts, group, most):
    folder = tmp_path_factory.mktemp("rows")
    rows = write(folder / "in", counts, group)
    parts = planned(str(folder / "in"), most)
    tables = [read_part(part) for part in parts]
    assert pa.concat_tables(tables) == rows
    assert [part.number for part in parts] == list(range(len(parts)))
    assert max(table.num_rows for table in tables) <= most
    sizes = [-(-count // most) or 1 for count in counts]
    assert len(parts) == sum(sizes)  # no more than it takes; one of a file without rows
    out = str(folder / "out")
    begin(parts, out, JOB)
    for part, table in zip(parts, tables, strict=True):
        assert part in waiting(parts, out)
        write_part(part, table, out)
    assert waiting(parts, out) == [] and finish(parts, out) == sum(counts)
    assert pq.read_table(out) == rows  # the marks beside the parts are none to readers
    assert [pq.read_table(os.path.join(out, part.name)) for part in parts] == tables


@pytest.fixture
def begun(tmp_path):
    write(tmp_path / "in", [10])
    parts = planned(str(tmp_path / "in"), 4)
    begin(parts, str(tmp_path / "out"), JOB)
    return parts, str(tmp_path / "out")


def test_the_same_plan_is_gone_on_with(begun):
    parts, out = begun
    write_part(parts[1], read_part(parts[1]), out)
    begin(parts, out, JOB)
    assert waiting(parts, out) == [parts[0], parts[2]]


@pytest.mark.parametrize("changed", ["model", "column", "to", "score", "options", "parts"])
def test_another_plan_is_refused(begun, changed):
    parts, out = begun
    given_parts, job = (parts[:-1], JOB) if changed == "parts" else (parts, JOB | {changed: "other"})
    with pytest.raises(CpunmtError, match=f"{out}: was begun with other {changed}, see {PLAN}"):
        begin(given_parts, out, job)


def test_a_folder_of_other_files_is_refused(begun, tmp_path):
    parts, _ = begun
    with pytest.raises(CpunmtError, match=r"in: holds other files \(00.parquet\); choose another folder"):
        begin(parts, str(tmp_path / "in"), JOB)
    assert os.listdir(tmp_path / "in") == ["00.parquet"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_broken_plan_is_one_error(begun, content):
    parts, out = begun
    with open(os.path.join(out, PLAN), "wb") as file:
        file.write(content)
    with pytest.raises(CpunmtError, match=f"{PLAN}: cannot be read"):
        begin(parts, out, JOB)


def test_nothing_is_complete_before_all_rows_are_there(begun):
    parts, out = begun
    for part in parts[:-1]:
        write_part(part, read_part(part), out)
    with pytest.raises(CpunmtError, match=r"part-000002.parquet: cannot be read as Parquet"):
        finish(parts, out)
    write_part(parts[-1], read_part(parts[0]).slice(1), out)
    with pytest.raises(CpunmtError, match="part-000002.parquet has [0-9] rows, expected [0-9]; remove it"):
        finish(parts, out)
    assert not os.path.exists(os.path.join(out, SUCCESS))
    write_part(parts[-1], read_part(parts[-1]), out)
    left = os.path.join(out, ".part-000001.parquet.0a0b0c0d.part")  # of a process that was killed
    open(left, "w").close()
    assert finish(parts, out) == 10 and not os.path.exists(left) and os.path.exists(os.path.join(out, SUCCESS))


def test_files_that_are_no_parquet_are_one_error(tmp_path):
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(CpunmtError, match=r"a.parquet: cannot be read as Parquet"):
        planned(str(tmp_path / "a.parquet"), 5)
    with pytest.raises(CpunmtError, match=r"none: cannot be read as Parquet"):
        planned(str(tmp_path / "none"), 5)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CpunmtError, match=r"empty: has no \*.parquet, expected a Parquet file or a folder"):
        planned(str(tmp_path / "empty"), 5)


def test_a_file_that_became_shorter_is_one_error(begun, tmp_path):
    parts, _ = begun
    write(tmp_path / "in", [5])
    with pytest.raises(CpunmtError, match="has 5 rows, expected those up to 10: it was changed meanwhile"):
        read_part(parts[-1])
