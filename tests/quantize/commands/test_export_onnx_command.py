"""`quantize export-onnx`: its files and output; an unsupported model is one clear error."""

import subprocess
import sys

import pytest

from quantize.checkpoints.marian_export import write_marian_npz as write_recurrent_npz
from quantize.commands.cli import main
from quantize.onnx.export import FILES
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.random_models import random_tensors
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.sample_models.recurrents import make_config


@pytest.fixture
def checkpoint(tmp_path):
    write_marian_npz(tmp_path / "model.npz", 5)
    return str(tmp_path / "model.npz")


def test_a_checkpoint_becomes_a_directory(checkpoint, tmp_path, capsys):
    out = tmp_path / "graphs"
    assert main(["export-onnx", checkpoint, str(out)]) == 0
    assert {file.name for file in out.iterdir()} == FILES
    assert capsys.readouterr().out.startswith(f"{out}: 6 files, ")
    assert main(["export-onnx", checkpoint, str(out)]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["export-onnx", checkpoint, str(out), "--force", "--positions", "50"]) == 0
    assert capsys.readouterr().out.endswith("for up to 50 pieces\n")


@pytest.mark.parametrize("source, said", [(DIRECTORIES["int8"], "packed as int16, int8"), ("nowhere.npz", "not found")])
def test_what_cannot_be_exported_is_one_error(source, said, tmp_path, capsys):
    assert main(["export-onnx", str(source), str(tmp_path / "graphs")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("cpunmt-quantize: error: ") and error.count("\n") == 1 and said in error
    assert list(tmp_path.iterdir()) == []


def test_a_recurrent_network_is_refused(tmp_path, capsys):
    """It was a traceback."""
    config = make_config(vocab_size=128, encoder_dim=48)
    write_recurrent_npz(tmp_path / "model.npz", config, random_tensors(config, 1))
    assert main(["export-onnx", str(tmp_path / "model.npz"), str(tmp_path / "graphs")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("cpunmt-quantize: error: recurrent networks are not exported as ONNX, only Transformers")
    assert error.count("\n") == 1 and not (tmp_path / "graphs").exists()


@pytest.mark.parametrize("value", ["0", "65537", "many"])
def test_wrong_usage_exits_with_two(value, checkpoint, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["export-onnx", checkpoint, str(tmp_path / "graphs"), "--positions", value])
    assert caught.value.code == 2 and "--positions" in capsys.readouterr().err


def test_without_onnx_it_says_what_to_install(checkpoint, tmp_path):
    code = (
        "import sys; sys.modules['onnx'] = None; from quantize.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "export-onnx", checkpoint, str(tmp_path / "graphs")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "pip install 'cpunmt[onnx]'" in done.stderr
