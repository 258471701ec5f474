"""Self-attention models of Marian against CTranslate2, which computes them in float32 too."""

import gzip
import json

import numpy as np
import pytest

from quantize.checkpoints.marian_export import write_marian_npz
from tests.formats.huggingface.test_huggingface_golden import forced
from tests.golden.ctranslate2 import SHAPES, config_of, weights_of
from tests.sample_models.marian_model import read_marian_npz
from tests.sample_models.random_models import engine_of
from tests.sample_models.real_model import ROOT
from tests.support.speeds import slow_after

GOLDEN = ROOT / "tests" / "golden" / "ctranslate2.json.gz"
CLOSE = 1e-4


def greatest_difference(shape, told, path) -> float:
    write_marian_npz(path, config_of(shape), weights_of(shape))
    config, tensors = read_marian_npz(path)
    config = config.changed(positions="tensor2tensor", layer_norm_epsilon=1e-5)
    found = forced(engine_of(config, tensors), told["sources"], told["targets"])
    return max(np.abs(np.subtract(ours, theirs)).max() for ours, theirs in zip(found, told["log_probs"], strict=True))


@pytest.mark.parametrize("count", slow_after(1, [20, 300]))
@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_are_those_of_ctranslate2(shape, count, tmp_path):
    told = json.loads(gzip.decompress(GOLDEN.read_bytes()))[shape]
    told = {name: sentences[:count] for name, sentences in told.items()}
    assert greatest_difference(shape, told, tmp_path / "model.npz") < CLOSE
