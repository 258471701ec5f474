"""Limits that `quantize pack` holds a model to before it is written."""

import pytest

from cpunmt.formats.packed.packed_directory import verify
from quantize.commands.cli import main
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.small_vocabulary import train_vocabulary


@pytest.fixture
def files(tmp_path):
    """A folder with model.npz, both.spm and set.tsv."""
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    train_vocabulary(tmp_path / "both.spm", 128)
    (tmp_path / "set.tsv").write_text("A small dog runs.\tA dog.\nThe water is cold.\tCold.\n" * 3, "utf-8")
    (tmp_path / "outs").mkdir()
    return tmp_path


def pack(files, *flags):
    command = ["pack", str(files / "model.npz"), str(files / "outs" / "model"), "--vocab", str(files / "both.spm")]
    return main([*command, "--test", str(files / "set.tsv"), *flags])


def test_a_model_that_breaks_a_limit_is_not_written(files, capsys):
    assert pack(files, "--gate", "size=0.05,sqnr=60") == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    out = files / "outs" / "model"
    assert told.err.startswith(f"cpunmt-quantize: error: {out}: not written, limits are broken: weights against the ")
    assert "expected at most 0.05; lowest SQNR in dB (" in told.err
    assert list(out.parent.iterdir()) == []


def test_a_model_that_keeps_its_limits_is_written_alone(files):
    assert pack(files, "--gate", "size=0.6,bleu=100,agreement@set=0") == 0
    assert [path.name for path in (files / "outs").iterdir()] == ["model"] and verify(files / "outs" / "model")


def test_a_limit_on_a_set_that_is_not_there_is_refused_before_the_work(files, capsys):
    assert pack(files, "--gate", "agreement@news=0.5") == 1
    assert "gate: no test set is called 'news'; there are set" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        pack(files, "--test", str(files / "set.tsv"), "--gate", "size=1")
    assert "two sets are called 'set'" in capsys.readouterr().err
