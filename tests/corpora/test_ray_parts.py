"""What an actor of `translate_parquet` does, without Ray: parts, once; and what is wrong as a row."""

import os
import shutil
import sys
import types

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpunmt import CpunmtError, TableTranslator
from cpunmt.corpora.parquet_parts import SUCCESS, planned
from cpunmt.corpora.ray_data import PartMaker, Translated, translate_parquet
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

LINES = sentences(10)


@pytest.fixture
def parts(tmp_path):
    """A table of three parts, as Ray hands them to an actor, and the parts."""
    pq.write_table(pa.table({"source": LINES}), tmp_path / "in.parquet")
    found = planned(str(tmp_path / "in.parquet"), 4)
    return pa.Table.from_pylist([part.__dict__ for part in found]), found


def test_parts_are_made_once(parts, tmp_path, student):
    table, found = parts
    translator = TableTranslator(DIRECTORIES["int8"])
    maker = PartMaker(translator, translator.model_digest(), str(tmp_path))
    assert maker(table).to_pylist() == [{"number": number, "said": None} for number in range(3)]
    texts = [text for part in found for text in pq.read_table(tmp_path / part.name)["translation"].to_pylist()]
    assert texts == [result.text for result in student.translate(LINES)]
    before = os.stat(tmp_path / found[0].name).st_mtime_ns
    os.unlink(tmp_path / found[1].name)
    assert maker(table.slice(0, 2)).num_rows == 2
    assert os.stat(tmp_path / found[0].name).st_mtime_ns == before and (tmp_path / found[1].name).exists()


def test_what_is_wrong_is_a_row(parts, tmp_path):
    table, _ = parts
    translator = TableTranslator(DIRECTORIES["int8"], column="text")
    said = PartMaker(translator, translator.model_digest(), str(tmp_path))(table)["said"].to_pylist()
    assert len(said) == 3 and all(one.startswith("the table has no column 'text'") for one in said)


def test_another_model_at_the_same_path_is_refused(parts, tmp_path):
    table, found = parts
    shutil.copytree(DIRECTORIES["int8"], tmp_path / "model")
    translator = TableTranslator(tmp_path / "model")
    maker = PartMaker(translator, translator.model_digest(), str(tmp_path))
    with open(tmp_path / "model" / "shortlist.bin", "ab") as file:
        file.write(b"\0")
    said = maker(table)["said"].to_pylist()
    assert all("the model has other files on a machine than where the run began" in one for one in said)
    assert not (tmp_path / found[0].name).exists()


def test_a_run_of_which_all_parts_are_made_is_finished_once(parts, tmp_path, monkeypatch):
    """What is left after a kill before `_SUCCESS` needs no cluster: these modules only stand for installed ones."""
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.data", types.ModuleType("ray.data"))
    translator, out = TableTranslator(DIRECTORIES["int8"]), tmp_path / "out"
    given = (tmp_path / "in.parquet", out, DIRECTORIES["int8"])
    with pytest.raises(AttributeError, match="is_initialized"):  # the plan is written, and parts are missing
        translate_parquet(*given, rows=4)
    maker = PartMaker(translator, translator.model_digest(), str(out))
    assert maker(parts[0])["said"].to_pylist() == [None] * 3
    assert translate_parquet(*given, rows=4) == Translated(10, 3, 0) and (out / SUCCESS).exists()
    before = os.stat(out / SUCCESS).st_mtime_ns
    os.unlink(out / parts[1][0].name)
    with pytest.raises(AttributeError, match="is_initialized"):
        translate_parquet(*given, rows=4)
    maker(parts[0])
    assert translate_parquet(*given, rows=4).made == 0 and os.stat(out / SUCCESS).st_mtime_ns == before


def test_without_ray_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not there, where it is
    with pytest.raises(CpunmtError, match=r"Ray is not installed, expected ray\[data\]: pip install 'cpunmt\[ray\]'"):
        translate_parquet(tmp_path, tmp_path / "out", DIRECTORIES["int8"])
    assert not (tmp_path / "out").exists()
