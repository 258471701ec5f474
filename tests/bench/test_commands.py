"""Every command of bench/ runs end to end on tiny inputs, as a person starts it, and writes its figures."""

import importlib
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import row_products
from bench.papers import __main__ as papers
from bench.peers import __main__ as peers
from bench.sparse_product import __main__ as sparse_product
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.clusters_file import store_clusters
from cpunmt.formats.packed.packed_directory import read_directory, write_directory
from cpunmt.model.config import ModelConfig
from cpunmt.simd.tile_shapes import CODED_ROWS, MATRIX_ROWS
from cpunmt.text.shortlists.clusters import Clusters
from quantize.checkpoints.marian_export import write_marian_npz
from tests.golden.bergamot_int8 import alphas_of, write_intgemm
from tests.sample_models.packed_checkpoint import checkpoint_of
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.real_model import DIRECTORIES, ROOT, SENTENCES, SHIPPED
from tests.serve.serving import serving
from tests.support.built_programs import built_programs

FEW = ["--rounds", "1", "--sentences", "6"]
MODEL = ["--model", str(ROOT / "models" / "ende-tiny")]
# module -> its arguments, of which words in capitals are filled in: HOME, SET, PAIRS, CHECKPOINT, PROGRAMS and others
COMMANDS = {
    "bench.batch": [*FEW, *MODEL, "--test", "set=SET"],
    "bench.bounded_output": [*FEW, *MODEL],
    "bench.decode_step": [*MODEL, "--sentences", "6"],
    "bench.doubts": [*FEW, *MODEL, "--text", "set=SET", "--page", f"page={ROOT / 'README.md'}", "--examples", "2"],
    "bench.first_products": [*FEW, *MODEL],
    "bench.programs.first_start": ["--rounds", "1", "--programs", "PROGRAMS", *MODEL],
    "bench.fused_output": [
        *("--rounds", "1", "--vocabularies", "320", "--beams", "1", "2", "--batches", "1", "3", "--depth", "64"),
        *("--whole", "--sentences", "3"),
    ],
    "bench.glossary": ["PAIRS", "PAIRS", *MODEL, "--rounds", "1", "--count", "2"],
    "bench.html": ["--rounds", "1", str(ROOT / "README.md")],
    "bench.kernels": ["--rounds", "1", "--rows", "1", "28"],
    "bench.loops": [*MODEL, "--test", "set=SET", "--sentences", "5", "--rounds", "1"],
    "bench.many_languages": ["--model", "tiny"],
    "bench.marian_equality": [
        *("HOME/models/copy/model.npz", "--vocab", "HOME/data/vocab.deen.spm"),
        *("--python", "BERGAMOT", "--input", str(SENTENCES), "--sentences", "5"),
    ],
    "bench.numbers": ["--texts"],
    "bench.onnx": [*FEW, "--model", str(DIRECTORIES["float32"]), "--beam", "2"],
    "bench.papers": [
        *("--try", "--rounds", "1", "--test", "set=SET", "--text", str(SENTENCES), "--checkpoint", "CHECKPOINT"),
    ],
    "bench.papers.clusters2022": [
        *("--rounds", "1", "--size", "tiny11", "--vocabularies", "400", "--learned", "30", "--sentences", "5"),
        *("--count", "20", "--top", "3", "--shares", "0.5", "--zipf-shares", "0.5", "--most-lines", "20"),
        *("--trained", str(ROOT / "models" / "ende-deen"), "--text", str(SENTENCES), "--test", "SET"),
        *("--counts", "5", "--tops", "1", "3"),
        *("--direction", ">>de<<", str(SENTENCES), "SET", "--direction", ">>en<<", str(SENTENCES), "SET"),
    ],
    "bench.papers.devlin2017": [
        *("--rounds", "1", "--rows", "1", "4", "--sentences", "2", "--divisor", "16", "--vocabulary", "500"),
        *("--trained", "tiny=CHECKPOINT", "--trained", "two=CHECKPOINT,CHECKPOINT", "--test", "set=SET"),
    ],
    "bench.papers.gpu2018": [
        *("--rounds", "1", "--sentences", "6", "--vocabulary", "320", "--batches", "2", "4"),
        *("--trained", str(ROOT / "models" / "ende-tiny")),
    ],
    "bench.papers.wngt2019": [*FEW, "--size", "pilot", "--test", "set=SET"],
    "bench.peers": [*FEW, "--home", "HOME", "--beam", "2"],
    "bench.peers.figures": [*FEW, "--home", "HOME", *MODEL, "--sizes"],
    "bench.protection": [*MODEL, "--test", "set=SET"],
    "bench.reranking": [
        *(*MODEL, "--test", "set=SET", "--sentences", "4", "--rounds", "1", "--candidates", "3"),
        *("--backward", str(ROOT / "models" / "deen-student")),
    ],
    "bench.programs.portable": [*FEW, *MODEL, "--programs", "PROGRAMS"],
    "bench.row_products": [
        *("--rounds", "1", "--vocabularies", "320", "--depths", "64", "--counts", "20", "300", "--rows", "2"),
    ],
    "bench.scale.ray_actors": ["--rounds", "1", "--sentences", "1000", "--rows", "50"],
    "bench.scale.simulate": ["--words", "1e9", "--workers", "50", "--minutes", "1", "10"],
    "bench.schemes": [
        *("--rounds", "1", "--test", "set=SET", "--calibration", str(SENTENCES), "--sizes", "--simulated", "2"),
    ],
    "bench.sentences": ["SET", "--rounds", "1"],
    "bench.serve": [*FEW, *MODEL, "--clients", "3", "--rate", "4", "--seconds", "1"],
    "bench.serve.soak": [
        *(*MODEL, "--minutes", "0.05", "--clients", "3", "--texts", "10"),
        *("--connections", "2", "--kill", "1.5", "--pause", "0.01"),
    ],
    "bench.serve.mixed": [*MODEL, "--clients", "4", "--seconds", "1"],
    "bench.serve.hostile": [*MODEL, "--minutes", "0.02", "--each", "1"],
    "bench.serve.beside": [*FEW, *MODEL, "--port", "PORT", "--clients", "3", "--rate", "4", "--seconds", "1"],
    "bench.sparse_product": ["--rounds", "1", "--rows", "1", "16"],
    "bench.text_layers": [*FEW, *MODEL, "--test", "set=SET", "--test", "two=PAIRS"],
    "bench.threads": [*FEW, *MODEL],
    "bench.top_up": [*FEW, *MODEL, "--beam", "2", "--slots", "2"],
    "bench.translate": [*FEW, *MODEL],
    "bench.vocabularies": ["CLUSTERED", "--tsv", "set=SET", "--tsv", "two=PAIRS", "--timed", "2", "--rounds", "1"],
}

SAID = {  # output of commands with more than a speed
    "bench.batch": "lines 4 times",
    "bench.bounded_output": "left of the vocabulary: median" if CODED_ROWS else "bounds are not used",
    "bench.decode_step": "int8_panels",
    "bench.papers": "python -m bench.schemes --sizes --simulated 1 --rounds 1",
    "bench.papers.clusters2022": ">>en<<       of its own",
    "bench.papers.devlin2017": "+ merged states",
    "bench.kernels": "% of matrix peak" if MATRIX_ROWS else "% of int8 peak",
    "bench.row_products": "320 x 64 (0 MB), 2 at a time; in order",
    "bench.text_layers": "plain ",
    "bench.sparse_product": "2048 x 512, 16 at a time, 100 % positive",
    "bench.many_languages": "int8: load ",
    "bench.marian_equality": "5 of 5 texts are the same, 100.00 %",
    "bench.serve": "every answer is that of a Translator",
    "bench.serve.soak": '"wrong": 0',
    "bench.serve.mixed": "p99 of lists / p99 of sentences",
    "bench.serve.hostile": '"wrong": 0',
    "bench.serve.beside": "words of the translations  cpunmt 46, other 46",
    "bench.scale.ray_actors": "all rows once, the same bytes",
    "bench.scale.simulate": "26.5 core-hours",
    "bench.threads": "same bits",
    "bench.fused_output": "whole translations, 320 pieces",
    "bench.loops": "no_repeat_ngram_size=3",
    "bench.doubts": "ende-tiny, page: ",
    "bench.first_products": "the first products once more",
    "bench.papers.gpu2018": "top-up, fused",
    "bench.schemes": "Kim et al.: mean +- 7 sigma",
    "bench.top_up": "top-up at once",
    "bench.protection": "kept as addresses are",
    "bench.reranking": "3 topp 0.9, mbr-chrf",
    "bench.vocabularies": "all together, 6 lines",
}
QUICK = (
    "bench.batch",
    "bench.glossary",
    "bench.html",
    "bench.loops",
    "bench.peers",
    "bench.programs.first_start",
    "bench.programs.portable",
    "bench.reranking",
    "bench.scale.simulate",
    "bench.sentences",
    "bench.serve",
    "bench.serve.soak",
    "bench.serve.beside",
    "bench.text_layers",
    "bench.threads",
    "bench.vocabularies",
)


def modules() -> set[str]:
    """Returns the modules that can be started."""
    found = set()
    for path in (ROOT / "bench").rglob("*.py"):
        if re.search(r"^def main\(", path.read_text("utf-8"), re.M):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.add(".".join(part for part in parts if part != "__main__"))
    return found


def test_every_command_is_tested_and_named_in_the_documentation():
    assert modules() == set(COMMANDS)
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    told = "".join(path.read_text("utf-8") for path in documents)
    assert {name for name in COMMANDS if f"python -m {name}" not in told} == set()


@pytest.mark.parametrize("rows", ["0", "3", "128", "-1"])
def test_sparse_product_takes_numbers_of_rows_that_it_has_memory_for(rows, capsys):
    """Without rows compiled code would loop for ever; with others it would leave its memory."""
    with pytest.raises(SystemExit):
        sparse_product.main(["--rows", rows])
    assert "argument --rows: " in capsys.readouterr().err


def test_row_products_take_depths_that_kernels_can_multiply(capsys):
    """Others would leave the rows' memory."""
    with pytest.raises(SystemExit):
        row_products.main(["--depths", "64", "72"])
    assert "argument --depths: [64, 72]: expected multiples of 16" in capsys.readouterr().err


@pytest.mark.parametrize("module", COMMANDS)
def test_a_number_with_which_nothing_would_be_measured_is_one_error(module, capsys):
    place = ROOT.joinpath(*module.split("."))
    place = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    source = place.read_text("utf-8")
    taken = re.findall(r'add_argument\("(--[a-z-]+)", type=(?:positive|hypotheses)\b', source)
    taken += [f"--{name}" for name in re.findall(r"\b(rounds|sentences)=", re.findall(r"command\(.*", source)[0])]
    assert source.count("type=int") == source.count("choices=shares") and bool(taken) == (
        module not in ("bench.many_languages", "bench.numbers", "bench.protection")
    )
    if module == "bench.onnx":
        pytest.importorskip("onnxruntime")
    name = f"{module}.__main__" if place.name == "__main__.py" else module
    main = importlib.import_module(name).main
    for option, wrong in itertools.product(taken, ("0", "-1", "x")):
        with pytest.raises(SystemExit):
            main([option, wrong])
        *_, line = capsys.readouterr().err.splitlines()
        assert f"error: argument {option}: {wrong!r} is not a number from 1 to " in line


@pytest.fixture
def home(tmp_path):
    """Makes the files of `bench.peers` from the shipped student's float32 weights; no peer is installed there."""
    folder = tmp_path / "home"
    for name in ("data", "models/copy"):
        (folder / name).mkdir(parents=True)
    packed = read_directory(DIRECTORIES["float32"])
    config, tensors = packed.config, checkpoint_of(packed)
    write_marian_npz(folder / "models" / "copy" / "model.npz", config, tensors)
    sources = random_sources(1, config.source_size, 4, longest=8)
    alphas = alphas_of(config, tensors, sources, [None] * len(sources))
    write_intgemm(folder / "models" / "copy" / "model.intgemm.alphas.bin", config, tensors, alphas)
    for ours, name in (("vocabulary.spm", "vocab.deen.spm"), ("shortlist.bin", "lex.50.50.ende.s2t.bin")):
        shutil.copy(DIRECTORIES["int8"] / ours, folder / "data" / name)
    shutil.copy(SENTENCES, folder / "data" / "wmt14.en")
    return folder


@pytest.fixture
def checkpoint(tmp_path):
    """Writes a recurrent checkpoint of random weights, with the shipped vocabulary."""
    config = ModelConfig.of(
        "config",
        "recurrent",
        **dict.fromkeys(("model_dim", "encoder_dim", "decoder_dim"), 32),
        vocab_size=8000,
    )
    packed = packed_tensors(config, random_tensors(config, 1), "float32")
    write_directory(tmp_path / "checkpoint", *packed, vocabulary=DIRECTORIES["int8"] / "vocabulary.spm")
    return tmp_path / "checkpoint"


@pytest.fixture
def clustered(tmp_path):
    """Copies the shipped model with some clusters beside its shortlist."""
    packed = read_directory(DIRECTORIES["int8"])
    centroids = np.random.default_rng(1).normal(size=(3, packed.config.architecture.model_dim)).astype(np.float32)
    ids = np.tile(np.arange(2000, dtype=np.int32), 3)
    clusters = Clusters(centroids, np.arange(4) * 2000, ids, packed.config.vocab_size, packed.config.eos_id)
    store_clusters(DIRECTORIES["int8"], {"": clusters}, tmp_path / "clustered", False)
    return tmp_path / "clustered"


@pytest.fixture
def programs():
    """Builds the programs of this machine's paths, as in a wheel."""
    return str(built_programs())


@pytest.fixture
def port():
    """Starts a server on this machine, ours in place of the other one."""
    with serving(str(SHIPPED)) as server:
        yield server.url.rpartition(":")[2]


@pytest.fixture
def bergamot(tmp_path):
    """Returns an interpreter with bergamot: $BERGAMOT_PYTHON, or a new one if Python 3.10 is there."""
    if python := os.environ.get("BERGAMOT_PYTHON"):
        return python
    found = sorted(Path.home().glob(".pyenv/versions/3.10.*/bin/python3"))
    interpreter = found[0] if found else shutil.which("python3.10")
    if interpreter is None:
        pytest.skip("Python 3.10 is missing, the only one that bergamot 0.4.5 has a wheel for")
    subprocess.run([interpreter, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    installed = subprocess.run([python, "-m", "pip", "install", "-q", "bergamot==0.4.5"])
    if installed.returncode:
        pytest.skip("bergamot cannot be installed here")
    return str(python)


@pytest.mark.parametrize(
    "module", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS]
)
def test_a_command_runs_end_to_end(module, tmp_path, request):
    if module == "bench.scale.ray_actors" and importlib.util.find_spec("ray") is None:
        pytest.fail("Ray is not installed: run `make test-all`, or pip install -e '.[scale]'", pytrace=False)
    lines = SENTENCES.read_text("utf-8").split("\n")[:4]
    (tmp_path / "set.tsv").write_text("".join(f"{line}\tEin Satz.\n" for line in lines), "utf-8")
    (tmp_path / "pairs.tsv").write_text("Women run.\tFrauen laufen.\nTwo women.\tZwei Frauen.\n", "utf-8")
    given = " ".join(COMMANDS[module])
    filled = {"SET": str(tmp_path / "set.tsv"), "PAIRS": str(tmp_path / "pairs.tsv")}
    filled |= {
        word: str(request.getfixturevalue(word.lower()))
        for word in ("HOME", "CHECKPOINT", "CLUSTERED", "BERGAMOT", "PROGRAMS", "PORT")
        if word in given
    }
    arguments = [re.sub("|".join(filled), lambda word: filled[word[0]], argument) for argument in COMMANDS[module]]
    command = [sys.executable, "-m", module, *arguments, "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) >= 2 and SAID.get(module, "") in done.stdout
    assert "machine" in json.loads((tmp_path / "figures.json").read_text("utf-8"))


PARSED_IN_MAIN = ("bench.fused_output", "bench.schemes")  # the slow test of bench.papers runs them


@pytest.mark.parametrize(
    "one", [one for one in papers.MEASUREMENTS.values() if one.module not in PARSED_IN_MAIN], ids=lambda one: one.module
)
def test_sizes_of_papers_measurements_are_options_of_their_commands(one):
    parse = importlib.import_module(f"{one.module}.__main__").parse
    extra = ["--text", "x", "--test", "y=x"] if one.needs else []
    for sizes in (one.sizes, one.tiny):
        assert parse([*sizes.split(), "--rounds", "1", *extra]).rounds == 1


def test_papers_measurements_that_lack_files_are_left_out(tmp_path, capsys):
    papers.main(["--only", "sweep", "schemes", "--text", "x", "--json", str(tmp_path / "figures.json")])
    assert "\npython -m bench.schemes: left out, for it takes --test\n" in capsys.readouterr().out
    found = json.loads((tmp_path / "figures.json").read_text("utf-8"))["measurements"]
    assert {name: one["missing"] for name, one in found.items()} == {"sweep": ["--test"], "schemes": ["--test"]}


def test_a_measurement_of_papers_that_fails_is_named(tmp_path, capfd):
    """The others run, and the figures have its exit status."""
    with pytest.raises(SystemExit, match="^python -m bench.papers: error: failed: sweep; see above"):
        papers.main(
            ["--only", "sweep", "--text", "x", "--test", f"{tmp_path}/none", "--json", str(tmp_path / "figures.json")]
        )
    assert "none: " in capfd.readouterr().err
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["measurements"]["sweep"]["exit status"] == 1


@pytest.mark.slow
def test_recurrent_networks_say_in_float32_what_marian_says(home, bergamot, tmp_path, capsys):
    (home / "venv-bergamot").symlink_to(Path(bergamot).absolute().parents[1])
    figures = tmp_path / "figures.json"
    peers.main([*FEW, "--home", str(home), "--recurrent", "64", "--beam", "2", "--json", str(figures)])
    workloads = json.loads(figures.read_text("utf-8"))["workloads"]
    single = workloads["whole lines float32"]["single"]
    assert single["same"] == {"cpunmt": 6, "bergamot float32 1024": 6}
    for workload in workloads.values():
        assert len(set(workload["single"]["pieces"].values())) == 1  # the same work
    assert {"bergamot int8 400", "bergamot int8shiftAll 1024"} <= workloads["whole lines int8"]["bulk"][
        "seconds"
    ].keys()
    assert "6 of 6 texts as cpunmt's" in capsys.readouterr().out


def test_a_home_without_the_files_is_one_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        peers.main(["--home", str(tmp_path)])
    shown = capsys.readouterr().err
    assert f"--home {tmp_path}: lacks data/wmt14.en, data/vocab.deen.spm, " in shown


@pytest.mark.parametrize("module", ["bench.top_up", "bench.first_products", "bench.papers.gpu2018"])
def test_a_text_that_is_not_there_is_one_error(module, tmp_path):
    place = ROOT.joinpath(*module.split("."))
    main = importlib.import_module(f"{module}.__main__" if place.is_dir() else module).main
    trained = ["--trained", str(DIRECTORIES["int8"])] if "gpu2018" in module else []
    with pytest.raises(SystemExit, match=f"^python -m {module}: error: {tmp_path}/none: .*not found"):
        main(["--input", str(tmp_path / "none"), "--sentences", "2", *trained])
