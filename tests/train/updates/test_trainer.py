"""A run: its files, and that stopping and resuming changes nothing."""

import json
import signal

import numpy as np
import pytest
import torch

from cpunmt import Translator
from models.train.__main__ import main as train
from models.train.updates import checkpoint, updates
from models.train.updates.configs import model_config
from models.train.updates.validation import validate
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.commands.cli import main as quantize
from tests.sample_models.marian_model import read_marian_npz


def test_what_a_run_leaves(toy):
    assert toy.trainer("left", keep=1).run()
    folder = toy.folder / "left"
    lines = [json.loads(line) for line in (folder / "curve.jsonl").read_text("utf-8").splitlines()]
    assert [line["update"] for line in lines] == [3, 6]
    assert (folder / "curve.png").read_bytes()[:4] == b"\x89PNG"
    best = max(lines, key=lambda line: line["mean_bleu"])
    (kept,) = (folder / "checkpoints").iterdir()
    assert kept.stem == str(best["update"])
    config, tensors = read_marian_npz(folder / "model.npz")
    assert config == toy.config
    assert all(np.array_equal(tensors[name], array) for name, array in read_marian_npz(kept)[1].items())
    assert Translator(folder / "best").translate("the dog sees the cat").text is not None
    scores = validate(folder / "best", toy.data.development, most=5)
    assert {name: round(score.bleu, 2) for name, score in scores.items()} == best["bleu"]


@pytest.mark.parametrize("log4", [False, True])
def test_a_run_that_was_interrupted_ends_like_one_that_was_not(toy, monkeypatch, log4):
    monkeypatch.setattr(updates, "_FOLLOWED", 2)  # scales of 4 bits move before the interruption and after it
    names = [name + "-log4" * log4 for name in ("whole", "parts")]
    toy.trainer(names[0], log4, dropout=0.2).run()
    toy.trainer(names[1], log4, dropout=0.2, updates=3, cooldown=0.0)  # nothing is written before there is anything
    interrupted = toy.trainer(names[1], log4, dropout=0.2)
    plain = interrupted.updates.update

    def update_and_interrupt(batches):
        if interrupted.updates.done == 4:
            signal.raise_signal(signal.SIGTERM)
        return plain(batches)

    interrupted.updates.update = update_and_interrupt
    assert not interrupted.run()
    assert checkpoint.load(toy.folder / names[1]).state["update"] == 5
    assert toy.trainer(names[1], log4, dropout=0.2).run()
    whole, parts = (checkpoint.load(toy.folder / name) for name in names)
    assert bool(whole.tensors["scales"]) == log4
    assert whole.state["place"] == parts.state["place"] and torch.equal(whole.random, parts.random)
    for kind, tensors in whole.tensors.items():
        assert all(torch.equal(parts.tensors[kind][name], tensor) for name, tensor in tensors.items()), kind


@pytest.mark.parametrize(
    "shape, marian", [("smoke-recurrent", False), pytest.param("smoke-marian", True, marks=pytest.mark.slow)]
)
def test_a_recurrent_run_goes_on_and_its_models_are_read(toy, shape, marian):
    """Its limit keeps the numbers of matrices small; without such models in Marian, there are directories."""
    options = {"shape": shape, "weight_limit": 0.25, "keep": 2, "row_bits": 2}
    name = f"parts-{shape}"
    assert toy.trainer(f"whole-{shape}", **options).run()
    toy.trainer(name, **options, updates=3).run()
    assert toy.trainer(name, **options).run()
    whole, parts = (checkpoint.load(toy.folder / folder) for folder in (f"whole-{shape}", name))
    # the rate follows the number of updates: 3 of 3 is where it has fallen to nothing
    assert whole.state["place"] == parts.state["place"]
    for kind in ("parameters", "means"):
        matrices = [tensor for tensor in parts.tensors[kind].values() if tensor.dim() == 2]
        assert max(tensor.abs().max() for tensor in matrices) == 0.25
    folder = toy.folder / name
    best = json.loads((folder / "curve.jsonl").read_text("utf-8").splitlines()[-1])
    assert {path.name for path in (folder / "checkpoints").iterdir()} == ({"3.npz", "6.npz"} if marian else {"3", "6"})
    assert (folder / "model.npz").exists() == marian
    config, tensors = read_float_checkpoint(folder / "checkpoints" / ("6.npz" if marian else "6"))
    assert config == model_config(shape, toy.config.vocab_size)
    assert all(np.array_equal(tensors[name], mean.numpy()) for name, mean in parts.tensors["means"].items())
    scores = validate(folder / "best", toy.data.development, most=5)
    assert {name: round(score.bleu, 2) for name, score in scores.items()}.keys() == best["bleu"].keys()
    averaged = ["average", str(folder), "--vocabulary", str(toy.vocabulary), "--out", str(folder / "averaged")]
    assert train(averaged) == 0
    assert Translator(folder / "averaged" / "best").translate("the dog sees the cat").text is not None


def test_the_curve_tells_how_many_outputs_are_not_zero(toy, capfd):
    assert toy.trainer("sparse", density_weight=1.0).run()
    lines = [json.loads(line) for line in (toy.folder / "sparse" / "curve.jsonl").read_text("utf-8").splitlines()]
    names = ["encoder.0.feed_forward.inner", "decoder.0.feed_forward.inner"]
    assert [list(line["density"]) for line in lines] == [names, names]
    assert all(0 < share < 1 for line in lines for share in line["density"].values())
    assert f"nonzeros {lines[0]['density'][names[0]]:.1%} " in capfd.readouterr().out
    assert toy.trainer("dense").run()
    assert "density" not in (toy.folder / "dense" / "curve.jsonl").read_text("utf-8")


def test_a_run_that_is_done_does_nothing_more(toy):
    toy.trainer("done", updates=3).run()
    again = toy.trainer("done", updates=3)
    assert again.updates.done == 3
    assert again.run()
    assert len((toy.folder / "done" / "curve.jsonl").read_text("utf-8").splitlines()) == 1


def test_it_ends_when_nothing_gets_better(toy):
    trainer = toy.trainer("patient", updates=30, validate_every=1, patience=2, peak_rate=0.0)
    assert trainer.run()
    assert trainer.updates.done == 3


def test_a_folder_of_another_run(toy):
    toy.trainer("other", updates=3).run()
    with pytest.raises(ValueError, match="another architecture"):
        config, toy.config = toy.config, toy.config.changed(cell="sru")
        try:
            toy.trainer("other")
        finally:
            toy.config = config


def test_training_at_4_bits(toy):
    assert toy.trainer("log4", log4=True).run()
    _, tensors = read_marian_npz(toy.folder / "log4" / "model.npz")
    for name, array in tensors.items():
        if array.ndim == 2:
            columns = array.T if name != "embedding" else array
            assert max(len(np.unique(np.abs(column))) for column in columns) <= 8, name
    scales = checkpoint.load(toy.folder / "log4").tensors["scales"]
    assert scales.keys() == {name for name, array in tensors.items() if array.ndim == 2}
    levels = tensors["embedding"] / scales["embedding"].numpy()[:, None]  # those it was trained with
    sizes = np.abs(levels[levels != 0])
    np.testing.assert_allclose(sizes, 2.0 ** np.round(np.log2(sizes)), rtol=1e-5)
    assert quantize(["pack", str(toy.folder / "log4" / "best"), str(toy.folder / "packed"), "--scheme", "log4"]) == 0
    _, packed = read_float_checkpoint(toy.folder / "packed", rounded=True)
    for name, array in tensors.items():
        np.testing.assert_allclose(packed[name], array, rtol=1e-5, atol=1e-8, err_msg=name)
