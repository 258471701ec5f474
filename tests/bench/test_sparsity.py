"""Random students are as sparse as the shipped trained one."""

import numpy as np
import pytest

from bench.harness.texts import SENTENCES, SHIPPED, STUDENT
from bench.sparsity import NONZEROS, bias_of
from bench.students import random_checkpoint, write_student
from cpunmt.decoding.loading import load_model
from cpunmt.formats.packed.packed_directory import read_directory
from quantize.evaluation.sparsity import model_sparsity


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Other sentences than those of the biases."""
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_text("".join(f"{line}\n" for line in SENTENCES.read_text("utf-8").split("\n")[11::60][:30]), "utf-8")
    return path


def measured(model, text):
    loaded, packed = load_model(model), read_directory(model)
    return model_sparsity(loaded.config, packed.tensors, text, loaded.source_vocabulary, loaded.engine.shortlist)[1]


def test_a_student_is_as_sparse_as_the_trained_one(tmp_path, text):
    write_student(tmp_path / "model", "tiny11", "int8", STUDENT / "vocabulary.spm", STUDENT / "shortlist.bin")
    trained, student = measured(SHIPPED, text), measured(tmp_path / "model", text)
    decoder = trained[-1]  # its two layers have tied parameters, the student's have their own
    assert [layer.name for layer in student[:-1]] == [layer.name for layer in trained]
    for found, expected in zip(student, [*trained, decoder], strict=True):
        assert found.zeros == pytest.approx(expected.zeros, abs=0.02), found.name
        assert found.groups == pytest.approx(expected.groups, abs=0.05), found.name
        assert found.unused < 0.15, found.name  # units differ, but hardly one is dead
    for layer, nonzeros in zip(trained, [*NONZEROS["encoder"], *NONZEROS["decoder"]], strict=True):
        assert 1 - layer.zeros == pytest.approx(nonzeros, abs=0.02), layer.name


@pytest.mark.parametrize("changes", [{}, {"activation": "swish"}])
def test_other_parameters_stay_what_they_were(tmp_path, changes):
    """With another activation all parameters stay: it makes no zeros."""
    write_student(tmp_path / "model", "tiny11", "float32", STUDENT / "vocabulary.spm", None, **changes)
    _, expected = random_checkpoint("tiny11", 8000, **changes)
    tensors, inner = read_directory(tmp_path / "model").tensors, "encoder.0.feed_forward.inner.bias"
    assert np.array_equal(tensors["embedding.weight"], expected["embedding"])
    assert np.array_equal(tensors["encoder.0.feed_forward.outer.bias"], expected["encoder.0.feed_forward.outer.bias"])
    assert np.array_equal(tensors[inner], expected[inner]) == bool(changes)
    assert changes or (tensors[inner] < 0).mean() > 0.9


def test_a_bias_leaves_each_unit_its_share():
    made = np.random.default_rng(1).normal(3, 2, (200, 5)).astype(np.float32)
    shares = np.array([0.0, 0.05, 0.2, 0.5, 1.0])
    bias = bias_of(made, shares)
    assert bias.dtype == np.float32
    assert (made + bias > 0).sum(axis=0).tolist() == [1, 10, 40, 100, 199]  # every unit counts, none is always nonzero
