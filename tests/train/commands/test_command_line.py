"""The commands without other tests, and their refusals."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models.train.__main__ import command_line, main
from models.train.network.network import initial_tensors
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.commands.cli import main as quantize
from tests.sample_models.marian_model import read_marian_npz
from tests.sample_models.real_model import DIRECTORIES
from tests.support.speeds import slow_after

ROOT = Path(__file__).parents[3]


def options(toy):
    return ["--data", str(toy.folder), "--corpora", str(toy.corpora)]


def test_check_tells_clean_data_from_leaks(toy, capsys):
    assert main(["check", *options(toy)]) == 0
    assert "in training 0 and 0" in capsys.readouterr().out


def test_evaluate(toy, capsys):
    toy.trainer("evaluated", updates=3).run()
    assert main(["evaluate", str(toy.folder / "evaluated" / "best"), *options(toy), "--most", "3"]) == 0
    assert "\nphrases          BLEU" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shape", "flags", "told"),
    [
        ("tiny", ["--initial", "INITIAL/model.npz"], "model.npz: cannot begin a tiny: model_dim is 32"),
        ("tiny", ["--initial", "INITIAL/best"], "best: cannot begin a tiny: model_dim is 32"),
        ("smoke", ["--imitate", "FLOAT"], "float32: cannot be imitated: its vocabulary has 8000 pieces, .* 60"),
        (
            "smoke",
            ["--initial", "INITIAL/best", "--fresh", "nothing"],
            "--fresh nothing: no parameter is called so; there",
        ),
        ("smoke", ["--fresh", "*"], "--fresh is of --initial"),
        ("smoke", ["--initial-vocabulary", "x"], "--initial-vocabulary is of --initial"),
    ],
)
def test_what_cannot_be_begun_is_one_error(toy, tmp_path, shape, flags, told):
    toy.trainer("initial", updates=3).run()
    arguments = ["train", shape, *options(toy), "--vocabulary", str(toy.vocabulary), "--out", str(tmp_path / "run")]
    filled = {"INITIAL": str(toy.folder / "initial"), "FLOAT": str(DIRECTORIES["float32"])}
    flags = [re.sub("INITIAL|FLOAT", lambda word: filled[word[0]], flag) for flag in flags]
    with pytest.raises(ValueError, match=told):
        main([*arguments, *flags])
    with pytest.raises(FileNotFoundError, match="has no checkpoints"):
        main(["average", str(tmp_path), "--vocabulary", str(toy.vocabulary), "--out", str(tmp_path / "out")])


def test_a_model_may_begin_with_another_vocabulary(toy, tmp_path, capsys):
    toy.trainer("spoken", updates=3).run()
    assert main(["vocabulary", *options(toy), "--size", "75", "--out", str(tmp_path / "v.spm")]) == 0
    arguments = ["train", "smoke", *options(toy), "--vocabulary", str(tmp_path / "v.spm"), "--updates", "1"]
    arguments += ["--initial", str(toy.folder / "spoken" / "model.npz"), "--out", str(tmp_path / "run")]
    with pytest.raises(ValueError, match="vocab_size is 60 in the model to begin with and 75"):
        main(arguments)
    assert main([*arguments, "--initial-vocabulary", str(toy.vocabulary)]) == 0
    config, _ = read_float_checkpoint(tmp_path / "run" / "model.npz")
    assert config.vocab_size == 75


def test_pairs_are_collected_from_clones(clones, tmp_path, capsys):
    arguments = ["collect", "--clones", str(clones), "--sources", str(clones / "sources.yaml")]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "manual: 3 pairs; left out: none\n" in told and "| office | MPL 2.0 | " in told
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "labels.tsv.gz",
        "phrases.tsv.gz",
        "sentences.tsv.gz",
    ]


def test_some_parameters_may_begin_anew(toy, tmp_path):
    toy.trainer("begun", updates=3).run()
    arguments = ["train", "smoke", *options(toy), "--vocabulary", str(toy.vocabulary), "--out", str(tmp_path / "run")]
    arguments += ["--initial", str(toy.folder / "begun" / "model.npz"), "--updates", "1", "--peak-rate", "1e-12"]
    assert main([*arguments, "--validate-every", "1", "--fresh", "*.cell.[!n]*"]) == 0
    (_, trained), (_, found) = (
        read_marian_npz(folder / "model.npz") for folder in (toy.folder / "begun", tmp_path / "run")
    )
    fresh = initial_tensors(toy.config, 1)
    anew = {name for name in found if ".cell." in name and ".norm." not in name}
    assert len(anew) == 3
    for name, array in found.items():
        expected = fresh[name].numpy() if name in anew else trained[name]
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-7, err_msg=name)


def test_four_bits_begin_where_rounding_left_them_and_imitate_the_float_model(toy, tmp_path):
    """Begun with a packed log4 model, training without updates changes nothing of it."""
    toy.trainer("imitated", updates=3).run()
    student, packed = toy.folder / "imitated" / "best", tmp_path / "packed"
    assert quantize(["pack", str(student), str(packed), "--scheme", "log4"]) == 0
    arguments = ["train", "smoke", "--log4", *options(toy), "--vocabulary", str(toy.vocabulary)]
    arguments += ["--out", str(tmp_path / "run"), "--initial", str(packed), "--imitate", str(student)]
    assert main([*arguments, "--updates", "1", "--validate-every", "1", "--peak-rate", "1e-12"]) == 0
    _, expected = read_float_checkpoint(packed, rounded=True)
    _, found = read_float_checkpoint(tmp_path / "run" / "best")
    for name, weights in expected.items():
        np.testing.assert_allclose(found[name], weights, rtol=1e-5, atol=1e-7, err_msg=name)


def test_distil_writes_a_corpus(toy, tmp_path):
    toy.trainer("distiller", updates=3).run()
    out = tmp_path / "distilled.tsv.gz"
    teacher = ["--teacher", str(toy.folder / "distiller" / "best"), "--beam-size", "2"]
    assert main(["distil", *options(toy), *teacher, "--out", str(out)]) == 0
    rows = [line.split("\t") for line in gzip.decompress(out.read_bytes()).decode().splitlines()]
    examples = [example for corpus in toy.data.train for example in corpus.examples]
    assert [(row[0], row[2]) for row in rows] == [(e.sources[0], e.targets[0]) for e in examples]


def test_no_command(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "which command" in capsys.readouterr().err


def test_what_is_wrong_is_one_line(toy, tmp_path, monkeypatch, capsys):
    given = ["train", "smoke", *options(toy), "--vocabulary", str(toy.vocabulary), "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", ["models.train", *given, "--imitate", str(tmp_path / "none")])
    assert command_line() == 1
    told = capsys.readouterr().err
    assert told.startswith("models.train: error: ") and "none: model not found" in told and told.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("table", "rows"), slow_after(1, [("devlin2017", 5), ("wngt2019", 9)]))
def test_an_experiment_trains_and_judges_every_row(toy, tmp_path, table, rows, capsys):
    given = ["experiment", table, *options(toy), "--vocabulary", str(toy.vocabulary), "--out", str(tmp_path / "out")]
    given += ["--updates", "1", "--teachers", "1", "--beam-size", "1", "--try", "--train", "--longest 50"]
    assert main(given) == 0
    found = json.loads((tmp_path / "out" / "table.json").read_text())
    assert found["options"][-2:] == ["--longest", "50"] and len(found["rows"]) == rows
    for row in found["rows"]:
        assert row["updates"] == 1 and row["bleu"].keys() == {"phrases"} and 20 < row["paper"] < 40
    if table == "devlin2017":
        assert len(found["rows"][-1]["models"]) == 2
        capsys.readouterr()
        assert main(given) == 0  # goes on: nothing is left to train
        assert json.loads((tmp_path / "out" / "table.json").read_text()) == found
    with pytest.raises(ValueError, match="experiments are from en to de, not from de to de"):
        main([*given, "--source", "de"])


def test_a_missing_package_is_named_in_one_line():
    """In a process of its own: here PyTorch is imported already."""
    program = "import sys; sys.modules['torch'] = None; from models.train.__main__ import command_line; command_line()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert run.stderr == "models.train: error: torch is not installed; run: pip install -e '.[train]'\n"
