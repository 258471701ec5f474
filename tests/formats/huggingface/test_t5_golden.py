"""T5 models of Hugging Face against the library itself: its log-probabilities, searches and pieces of texts."""

import gzip
import json

import numpy as np
import pytest

from cpunmt.engine.engine import Engine
from cpunmt.formats.any_directory import read_model
from cpunmt.model.tensors import Model
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.formats.huggingface.test_huggingface_golden import compare
from tests.sample_models.real_model import ROOT
from tests.sample_models.t5_model import SHAPES, write_t5
from tests.support.speeds import slow_after

GOLDEN = ROOT / "tests" / "golden" / "t5.json.gz"
CLOSE = 1e-3  # of log-probabilities
NEAR = 1e-3  # two translations whose scores differ by less may change places


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


def engine_of(folder, shape) -> Engine:
    write_t5(folder, shape, list(SHAPES).index(shape))
    model = read_model(folder, "float32")
    return Engine(Model(model.config, model.tensors))


@pytest.mark.parametrize("count", slow_after(1, [20, 300]))
@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_and_searches_are_those_of_the_library(shape, count, golden, tmp_path):
    told = {name: sentences[:count] for name, sentences in golden[shape].items()}
    figures = compare(engine_of(tmp_path, shape), told)
    print(shape, figures)
    assert figures["difference"] < CLOSE
    for name in ("greedy", "beam"):
        assert all(abs(gap) < NEAR for gap in figures[f"{name} gaps"])
        assert figures[name] >= count - 1
    assert len({tuple(ids) for ids in told["greedy"]}) > min(count / 3, 40)  # else this shows little


def test_ids_are_those_of_the_library(golden, tmp_path):
    write_t5(tmp_path)
    vocabulary, told = Vocabulary(tmp_path / "spiece.model"), golden["tokenizer"]
    for text, ids in zip(told["texts"], told["ids"], strict=True):
        assert vocabulary.encode(text) == ids
    assert np.mean([len(ids) > 1 for ids in told["ids"]]) > 0.8
