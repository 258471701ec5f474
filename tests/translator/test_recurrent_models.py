"""A packed recurrent network: texts in, texts out, and the laws of all models."""

import json
import resource
import time

import pytest

from cpunmt import Translator
from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import write_directory
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED, make_config
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

LINES = [*TEXT, "", "dog", "?!", " ".join(TEXT), *(f"{a[:20]} {b[-25:]}" for a in TEXT for b in TEXT)]


def write_model(folder, scheme="int8", **options):
    """Writes a random model with a vocabulary of 128 pieces."""
    vocabulary = train_vocabulary(folder / f"{scheme}.spm")
    config = make_config(vocab_size=128, **options)
    path = folder / f"model-{scheme}"
    write_directory(path, *packed_tensors(config, random_tensors(config, 5), scheme), vocabulary=vocabulary)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("recurrent"), **NAMED["Bahdanau"], encoder_layers=2)


def test_attention_is_of_the_source(model):
    """The rest up to 1 is the attention to </s>."""
    translator = Translator(model)
    for line in TEXT:
        (hypothesis,) = translator.translate(line, return_alignments=True, split="none").hypotheses
        assert hypothesis.attention.shape == (len(hypothesis.pieces), len(translator.tokenize(line)))
        sums = hypothesis.attention.sum(axis=1)
        assert (hypothesis.attention >= 0).all() and (sums <= 1 + 1e-5).all() and sums.mean() > 0.5


HOSTILE = [
    {"decoder_dim": 8192},
    {"encoder_dim": 8192, "attention_dim": 16384},
    {"encoder_layers": 64, "encoder_transitions": 64, "decoder_layers": 64, "high_transitions": 64},
    {"stack": [32768] * 64, "decoder_dim": 32768},
    {"stack": [32768] * 65},
    {"encoder_layers": 1e9},
    {"encoder": "sideways"},
    {"attention_dim": 24},
    {"relu_limit": float("inf")},
    {"layer_norm_epsilon": 0.0},
    {"model_dim": 8192},
]


@pytest.mark.parametrize("change", HOSTILE, ids=str)
def test_a_config_that_asks_for_more_than_the_file_has_is_refused(model, tmp_path, change):
    path = tmp_path / "hostile"
    path.mkdir()
    for file in model.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    config = json.loads((path / "config.json").read_text())
    config["architecture"] |= change
    (path / "config.json").write_text(json.dumps(config))
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(ModelFileError) as told:
        Translator(path)
    assert "config" in str(told.value) or "pack the model again" in str(told.value).splitlines()[0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "options, few, many",
    [({"lower_capitals": False, "copy_numbers": False, "protect": "none"}, 8, 40), ({}, 20, 60)],
    ids=["once", "twice"],
)
def test_memory_is_bounded_by_the_model_and_the_call(tmp_path, options, few, many):
    """Kept products have a separate limit; a call's memory does not grow with the number of its sentences.

    By default some sentences go through the engine twice: 16 of them are among `few` times the lines.
    """
    translator = Translator(write_model(tmp_path, "float32", encoder_layers=2))
    translator.translate(LINES * few, **options)
    before = [workspace.bytes for workspace in translator._engine._workspaces.values()]
    translator.translate(LINES * many, **options)
    assert [workspace.bytes for workspace in translator._engine._workspaces.values()] == before
    kept = translator._engine.model.network.kept_bytes()
    assert kept.keys() == {"source", "target"} and all(pieces == 128 for pieces, _ in kept.values())
