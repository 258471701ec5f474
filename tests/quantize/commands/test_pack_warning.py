"""`quantize pack` tells of matrices that lost more than their scheme should, and what to do."""

import pytest

from cpunmt.formats.packed.packed_directory import read_directory
from quantize.commands.cli import main
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.small_vocabulary import train_vocabulary


@pytest.fixture
def warning(tmp_path, capsys):
    """What stderr says when a small model is packed with some options."""
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    train_vocabulary(tmp_path / "both.spm", 128)

    def pack(*flags):
        command = ["pack", str(tmp_path / "model.npz"), str(tmp_path / "model"), "--force"]
        assert main([*command, "--vocab", str(tmp_path / "both.spm"), *flags]) == 0
        return capsys.readouterr().err

    return pack


@pytest.mark.parametrize("flags", [[], ["--range", "sigma"], ["--range", "mse"]])
@pytest.mark.parametrize("scheme", ["int8", "int16", "log4", "code4", "float16", "float32"])
def test_no_scheme_loses_too_much_of_ordinary_weights(warning, scheme, flags):
    assert warning("--scheme", scheme, *flags) == ""


def test_what_loses_too_much_is_told_with_what_to_do(warning, tmp_path):
    lost = warning("--sigmas", "1.5")
    matrices = read_directory(tmp_path / "model").metadata["quantization"]["matrices"].items()
    decibels, worst = min((matrix["sqnr_db"], name) for name, matrix in matrices)
    assert decibels < 25 and lost.count("\n") == 1 and f"{worst}: {decibels:.1f} dB" in lost
    assert lost.startswith("cpunmt-quantize: warning: 21 of 21 matrices") and "--range max or mse" in lost
    assert "--calibration TEXT" in lost and "--keep" in lost and "quantize report" in lost
