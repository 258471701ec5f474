"""Every code block of the README is run: Python as one script, each shell block as a shell would."""

import ast
import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpunmt.text.vocabulary import Vocabulary
from tests.golden.bergamot_int8 import alphas_of, write_intgemm
from tests.golden.bergamot_models import STUDENT, checkpoint
from tests.registry.http_server import serving
from tests.registry.shapes import firefox_records, serve_firefox, serve_opus, sha256
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.command_line import statistics

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
SHELL = [body for language, body in BLOCKS if language == "sh"]
PYTHON = [body for language, body in BLOCKS if language == "python"]
PLAIN = [body for language, body in BLOCKS if not language]


def _run(command, folder, **variables):
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": bin_folder + os.pathsep + os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_kind_of_block_is_covered():
    assert {language for language, _ in BLOCKS} == {"sh", "python", ""}
    assert len(SHELL) == 5 and len(PYTHON) == 2 and len(PLAIN) == 2


def test_python_block():
    printed = _run([sys.executable, "-c", PYTHON[0]], ROOT).split("\n")
    assert "Fahrrad" in printed[0]
    score, log_prob = map(float, printed[1].split())
    assert log_prob < score < 0


def test_python_block_of_options():
    *_, loops, forced, scored = lines = _run([sys.executable, "-c", PYTHON[1]], ROOT).splitlines()
    assert len(lines) == 5
    texts, pairs = ast.literal_eval(lines[0]), ast.literal_eval(lines[1])
    assert len(set(texts)) == 4 and "Hunde spielen" in texts[0]
    assert len(pairs) > 3 and all(0 <= source < 10 and 0 <= target < 10 for source, target in pairs)
    assert loops == "False" and forced.startswith("Ein paar Hunde")
    log_probs = ast.literal_eval(scored)
    assert len(log_probs) > 3 and max(log_probs) < 0 and sum(log_probs) > -10


@pytest.mark.slow
def test_start_block_works_on_a_clean_copy(tmp_path):
    # the two commands of the start, where nothing is installed yet; `make test` itself runs this suite, so here
    # it only has to set up and collect
    copy = tmp_path / "cpunmt"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    commands = [line.split("#")[0].strip() for line in SHELL[0].strip().split("\n")]
    assert commands == ["make demo", "make test"]
    printed = _run(["make", "demo"], copy)
    assert "Fahrrad" in printed
    collected = _run(["make", "test"], copy, PYTEST_ADDOPTS="--collect-only", PYTHONPATH="")
    assert "tests/test_readme.py::test_python_block" in collected


def test_shell_block_of_the_commands():
    printed = _run(["bash", "-euc", SHELL[1]], ROOT)
    assert "Hunde" in printed
    assert "int8" in printed


def _firefox_model(folder):
    """What `serve_firefox` serves: the weights of the shipped model, as Firefox would have them."""
    config, tensors = checkpoint(STUDENT)
    vocabulary, shortlist = (DIRECTORIES["int8"] / name for name in ("vocabulary.spm", "shortlist.bin"))
    source = Vocabulary(vocabulary).encode("A man is riding a bicycle.")
    write_intgemm(folder / "model", config, tensors, alphas_of(config, tensors, [source], [None]))
    records, attachments = firefox_records("en", "de", "2.0", architecture="tiny")
    for record, path in zip(records, (folder / "model", shortlist, vocabulary), strict=True):
        content, attachment = path.read_bytes(), record["attachment"]
        attachment |= {"size": len(content), "hash": sha256(content)}
        attachments[attachment["location"]] = content
    return records, attachments


def test_shell_block_of_models_that_are_there_already(tmp_path):
    """From a registry on this machine: listed, fetched, verified, described, converted, and both translate alike."""
    with serving() as server:
        variables = {"CPUNMT_FIREFOX_REGISTRY": serve_firefox(server, _firefox_model(tmp_path)), "no_proxy": "*"}
        variables |= {
            "CPUNMT_OPUS_REGISTRY": serve_opus(server, {"en-fr/opus-2020-02-26.zip": b""}),
            "CPUNMT_HF_REGISTRY": server.url,
        }
        variables |= {"CPUNMT_MODELS_DIR": str(tmp_path / "models"), "CPUNMT_OFFLINE": ""}
        lines = _run(["bash", "-euc", SHELL[2]], tmp_path, **variables).splitlines()
    assert lines[1].split() == ["firefox:ende", "en", ">", "de", "tiny", "7.4", "MB", "no"]
    assert lines[2] == str(tmp_path / "models" / "firefox" / "ende")
    assert "Fahrrad" in lines[3] and lines[-1] == lines[3]
    told = statistics("\n".join(lines[4:-2]))
    assert told["weights"].startswith("int8 in the file, with calibrated activation scales; used as int8")
    assert (told["shortlist"], told["name"], told["targetLanguage"]) == ("yes", "firefox:ende", "de")
    assert lines[-2] == "converted: int8, 7.5 MB"


def test_shell_block_of_packing(tmp_path):
    train_vocabulary(tmp_path / "vocab.spm")
    vocabulary = Vocabulary(tmp_path / "vocab.spm")
    write_marian_npz(tmp_path / "model.npz", seed=1, vocab=vocabulary.size)
    piece = vocabulary.pieces([5])[0]
    (tmp_path / "lex.s2t.gz").write_bytes(gzip.compress(f"{piece} {piece} 0.5\n".encode()))
    (tmp_path / "input.txt").write_text("a b c\n\nd\n", encoding="utf8")
    (tmp_path / "test.tsv").write_text("a b c\ta c\nd\td\n" * 10, encoding="utf8")
    _run(["bash", "-euc", SHELL[3]], tmp_path)
    assert (tmp_path / "output.txt").read_text(encoding="utf8").count("\n") == 3
    reported = _run(["bash", "-euc", SHELL[4].replace("bleu=0.5", "bleu=100")], tmp_path)  # random weights
    assert "BLEU lost" in reported and "kept" in reported


def test_benchmark_commands_exist():
    commands = re.findall(r"python -m (bench[.\w]+)", PLAIN[0])
    assert len(commands) == 8
    for module in commands:
        printed = _run([sys.executable, "-m", module, "--help"], ROOT)
        assert module in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["bench.translate", "--model", "models/ende-tiny", "--sentences", "5", "--rounds", "2"],
        ["bench.kernels", "--rounds", "1", "--rows", "1"],
        ["bench.decode_step", "--sentences", "5"],
        ["bench.threads", "--sentences", "50", "--rounds", "1"],
    ],
    ids=lambda command: command[0],
)
def test_benchmarks_run(command):
    """But for bench.peers, which needs the other engines."""
    printed = _run([sys.executable, "-m", *command], ROOT)
    expected = {
        "bench.translate": "words/s",
        "bench.kernels": "% of int8 peak",
        "bench.decode_step": "int8_linear",
        "bench.threads": "same bits",
    }
    assert expected[command[0]] in printed
