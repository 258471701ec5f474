"""The scripts of docs/scale.md run, and a killed worker of Ray loses nothing: with Ray, Spark and Dask."""

import importlib.util
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documentation.code_blocks import APART, blocks_of, shows
from tests.documentation.conftest import readers_folder, registries
from tests.sample_models.real_model import DEFAULT, ROOT, SHIPPED
from tests.support.command_line import sentences

__all__ = ["readers_folder", "registries"]
BLOCKS = [block for block in blocks_of(ROOT / "docs" / "scale.md") if block.language in APART]
LINES = sentences(400)
# Spark's Snappy takes any machine with musl's loader, which tests/tools need, for one without glibc
CODEC = "gzip"
SPARK = f"--conf spark.sql.parquet.compression.codec={CODEC} pyspark-shell"


def names_of(block):
    """Returns a script's imports other than the standard library's and ours."""
    return [name for name in ("ray", "pyspark", "dask") if f"{name}." in block.body or f"import {name}\n" in block.body]


def needs(*names):
    """Fails without the packages: a skipped test proves nothing."""
    if missing := [name for name in names if importlib.util.find_spec(name) is None]:
        pytest.fail(f"{missing[0]} is not installed: run `make test-all`, or pip install -e '.[scale]'", pytrace=False)


def run(*command, **variables):
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", **variables}
    settings["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    return subprocess.run(
        [sys.executable, *command], env={**os.environ, **settings}, capture_output=True, text=True, timeout=600
    )


def test_the_scripts_can_be_read():
    assert [names_of(block) for block in BLOCKS] == [["ray"], ["ray"], ["pyspark"], ["dask"]]
    for block in BLOCKS:
        compile(block.body, f"scale.md:{block.line}", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line {block.line}")
def test_a_script_runs_and_every_row_is_there_once(block, readers_folder):
    needs(*names_of(block))
    (readers_folder / "english").mkdir()
    table = pa.table({"id": range(400), "source": LINES, "more": [n * 0.5 for n in range(400)]})
    for number in range(4):
        part = readers_folder / "english" / f"{number}.parquet"
        pq.write_table(table.slice(100 * number, 100), part, compression=CODEC)
    (readers_folder / "script.py").write_text(block.body, "utf-8")
    done = run("script.py", PYSPARK_SUBMIT_ARGS=SPARK)
    assert done.returncode == 0, done.stderr
    assert block.output is None or shows(block.output, done.stdout), done.stdout
    german = pq.read_table(readers_folder / "german").sort_by("id")
    assert german.drop(["translation"]).cast(table.schema) == table
    from cpunmt import Translator

    results = Translator(DEFAULT).translate(LINES)
    assert german["translation"].to_pylist() == [result.text for result in results]


RAY = """
import sys
import ray
from cpunmt import CpunmtError
from cpunmt.corpora.ray_data import translate_corpora
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
for column in sys.argv[4:]:
    try:
        done = translate_corpora(sys.argv[1], sys.argv[2], sys.argv[3], column=column, shard_rows=10)
        print(done.rows, done.parts, done.parts_there)
    except CpunmtError as error:
        print(error)
"""


@pytest.mark.slow
def test_ray_goes_on_where_it_was_and_tells_what_is_wrong(tmp_path):
    needs("ray")
    pq.write_table(pa.table({"source": LINES[:35], "number": range(35)}), tmp_path / "in.parquet")
    given = [str(tmp_path / "in.parquet"), str(tmp_path / "out"), str(SHIPPED)]
    first = run("-c", RAY, *given, "source")
    assert first.stdout.splitlines()[-1] == "35 4 0", first.stderr
    before = [(path.name, path.read_bytes()) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    (tmp_path / "out" / before[2][0]).unlink()
    again = run("-c", RAY, *given, "source", "number", "source")
    made, refused, nothing = again.stdout.splitlines()[-3:]
    assert (made, nothing) == ("10 1 3", "0 0 4"), again.stderr
    assert refused == f"{given[0]}: column 'number' has the type int64, expected string"
    assert [(path.name, path.read_bytes()) for path in sorted((tmp_path / "out").glob("*.parquet"))] == before


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(tmp_path):
    """The benchmark kills one, and compares all outputs byte for byte."""
    needs("ray")
    figures = tmp_path / "figures.json"
    done = run(
        "-m", "bench.scale.ray_actors", "--sentences", "3000", "--rows", "100", "--rounds", "1", "--json", figures
    )
    assert done.returncode == 0, done.stderr
    assert "a worker was killed (1): " in done.stdout and "all rows once, the same bytes" in done.stdout
    assert json.loads(figures.read_text("utf-8"))["killed"] > 0
