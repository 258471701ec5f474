"""`translate_corpora` with a Ray that runs each task at once, in this process; test_scale_page has the real one."""

import json
import shutil
import sys
from types import SimpleNamespace

import pytest

from cpunmt import CpunmtError, translate_shard
from cpunmt.corpora import ray_data
from cpunmt.corpora.batch import Totals
from cpunmt.corpora.ray_data import translate_corpora
from tests.corpora.running import content
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

LINES = sentences(10)


class RayError(Exception):
    """Ray's error for a dead process."""


class AtOnce:
    """A minimal Ray with `cores` cores; `lost`: tasks whose process dies."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, cores=2, lost=()):
        self.cores, self.lost, self.asked, self.most, self.waiting, self.inits = cores, set(lost), [], 0, 0, 0

    def remote(self, **settings):
        assert settings == {"num_cpus": 1, "max_retries": 2}
        return lambda function: SimpleNamespace(remote=lambda *given: self._later(function, given))

    def _later(self, function, given):
        number = len(self.asked)
        self.asked.append(function.__name__)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        return number, lambda: function(*given)

    def put(self, value):
        return value

    def wait(self, references, num_returns):
        return references[:num_returns], references[num_returns:]

    def get(self, reference):
        number, call = reference
        self.waiting -= 1
        if number in self.lost:
            raise RayError
        return call()

    def is_initialized(self):
        return self.inits > 0

    def init(self):
        self.inits += 1

    def cluster_resources(self):
        return {"CPU": self.cores}


@pytest.fixture
def ray(monkeypatch):
    def use(*given, **named):
        monkeypatch.setitem(sys.modules, "ray", made := AtOnce(*given, **named))
        monkeypatch.setattr(ray_data, "_LAST", [])
        return made

    return use


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"source": line}) + "\n" for line in LINES))
    return path


def test_parts_and_sidecars_are_those_of_cpunmt_batch(ray, source, tmp_path, student):
    one, out, model = ray(3), tmp_path / "out", DIRECTORIES["int8"]
    given = {"into": "german", "with_score": True, "filters": {"min_score": -0.5}, "beam_size": 2}
    assert translate_corpora(source, out, model, shard_rows=3, **given).parts == 4
    assert one.asked == ["_ready", *["cpunmt_part"] * 4] and one.most == 3 and one.inits == 1
    rows = [json.loads(line) for part in content(out).values() for line in part.decode().splitlines()]
    assert [row["german"] for row in rows] == [found.text for found in student.translate(LINES, beam_size=2)]
    (tmp_path / "3.jsonl").write_text("".join(source.read_text().splitlines(True)[:3]))
    alone = translate_shard(tmp_path / "3.jsonl", tmp_path / "alone.jsonl", model, **given)
    told = json.loads((out / "_in.00000.jsonl.json").read_text())
    assert {**told, "seconds": 0} == {**alone, "seconds": 0}
    assert (tmp_path / "alone.jsonl").read_bytes() == (out / "in.00000.jsonl").read_bytes()
    (out / "in.00001.jsonl").unlink()
    words, flagged = sum(len(line.split()) for line in LINES[3:6]), sum(bool(row["flags"]) for row in rows[3:6])
    again = translate_corpora([source], out, model, shard_rows=3, **given)
    assert again == Totals(1, 3, words, 3, flagged, 3, 7)
    assert translate_corpora([source], out, model, shard_rows=3, workers=1, **given).parts_there == 4


@pytest.mark.parametrize("workers, most", [(None, 2), (1, 1), (9, 4)])
def test_as_many_parts_are_made_at_once_as_there_are_workers(ray, source, tmp_path, workers, most):
    one = ray(2)
    translate_corpora(source, tmp_path / "out", DIRECTORIES["int8"], shard_rows=3, workers=workers)
    assert one.most == most


@pytest.mark.parametrize(
    "lost, lines, said",
    [
        (
            (2,),
            LINES,
            "in.jsonl, rows from 4 on: 3 workers ended at them, the last one by RayError; is there",
        ),
        ((), [*LINES[:4], 7, *LINES[5:]], "in.jsonl: line 5: 'source' is a int, expected text or null"),
    ],
)
def test_what_was_begun_is_done_before_an_error(ray, source, tmp_path, lost, lines, said):
    ray(2, lost)
    source.write_text("".join(json.dumps({"source": line}) + "\n" for line in lines))
    with pytest.raises(CpunmtError, match=said):
        translate_corpora(source, tmp_path / "out", DIRECTORIES["int8"], shard_rows=3)
    assert list(content(tmp_path / "out")) == ["in.00000.jsonl", "in.00002.jsonl"]


def test_a_model_that_is_another_one_where_a_task_runs_is_refused(ray, source, tmp_path, monkeypatch):
    ray()
    shutil.copytree(DIRECTORIES["int8"], tmp_path / "model")
    made = ray_data.work_of

    def changed(*given):
        work = made(*given)
        with open(tmp_path / "model" / "config.json", "a") as file:
            file.write("\n")
        return work

    monkeypatch.setattr(ray_data, "work_of", changed)
    with pytest.raises(CpunmtError, match="/model: the model was changed while the run was on; start it again"):
        translate_corpora(source, tmp_path / "out", tmp_path / "model")
    assert content(tmp_path / "out") == {}


@pytest.mark.parametrize(
    "given, kind, said",
    [
        ({"beam_size": 0}, CpunmtError, "beam_size is 0"),
        ({"shard_rows": 0}, ValueError, "shard_rows is 0, expected 1 to"),
        ({"workers": 0}, ValueError, "workers is 0, expected 1 to"),
        ({"column": 7}, TypeError, "column is 7, expected the name of a column"),
        ({"into": "source"}, ValueError, "have equal names"),
        ({"filters": {"min_score": "x"}}, TypeError, "min_score"),
    ],
)
def test_wrong_arguments_make_no_part(ray, source, tmp_path, given, kind, said):
    ray()
    with pytest.raises(kind, match=said):
        translate_corpora(source, tmp_path / "out", DIRECTORIES["int8"], **given)


def test_without_ray_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not there, where it is
    with pytest.raises(CpunmtError, match=r"Ray is not installed, expected ray\[data\]: pip install 'cpunmt\[ray\]'"):
        translate_corpora(tmp_path, tmp_path / "out", DIRECTORIES["int8"])
    assert not (tmp_path / "out").exists()
