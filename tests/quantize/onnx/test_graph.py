"""Graphs under construction: their results, and the places of their tensors."""

import numpy as np
import onnx
import pytest

from bench.onnx.graphs import session
from quantize.onnx.graph import Graph, WeightFile

LARGE = np.arange(600, dtype=np.float32).reshape(20, 30)


def make(weights, name="sum"):
    graph = Graph(name, weights)
    x = graph.input("x", np.float32, ["rows", 20])
    y = graph.node("MatMul", x, graph.tensor("large", LARGE))
    graph.output(y, "y", np.float32, ["rows", 30])
    z = graph.node("Add", y, graph.tensor("small", np.ones(30, np.float32)))
    graph.output(graph.node("Mul", z, graph.constant(2, np.float32)), "z", np.float32, ["rows", 30])
    return graph


def test_a_graph_computes_what_was_added(tmp_path):
    weights = WeightFile("weights.bin")
    onnx.save(make(weights).model(), tmp_path / "sum.onnx")
    weights.write(tmp_path / "weights.bin")
    onnx.checker.check_model(str(tmp_path / "sum.onnx"), full_check=True)
    x = np.ones((3, 20), np.float32)
    y, z = session(tmp_path / "sum.onnx").run(["y", "z"], {"x": x})
    np.testing.assert_array_equal(y, x @ LARGE)
    np.testing.assert_array_equal(z, 2 * (x @ LARGE + 1))


def test_graphs_share_large_tensors_and_keep_small_ones(tmp_path):
    weights = WeightFile("weights.bin")
    models = [make(weights, name).model() for name in ("one", "two")]
    weights.write(tmp_path / "weights.bin")
    content = (tmp_path / "weights.bin").read_bytes()
    assert content.startswith(LARGE.tobytes()) and len(content) == 4096
    for model in models:
        inside = {tensor.name for tensor in model.graph.initializer if tensor.HasField("raw_data")}
        assert len(inside) == 2 and "small" in inside


def test_equal_constants_are_one_tensor():
    graph = Graph("constants", WeightFile("weights.bin"))
    values = [([1, 2], np.int64), ([1, 2], np.int64), ([[1, 2]], np.int64), ([1, 2], np.float32), (12, np.int64)]
    names = [graph.constant(*value) for value in values]
    assert names[0] == names[1] and len(set(names)) == 4


def test_an_output_has_one_name():
    graph = Graph("outputs", WeightFile("weights.bin"))
    y = graph.node("Neg", graph.input("x", np.float32, [1]))
    graph.output(y, "y", np.float32, [1])
    with pytest.raises(ValueError, match="output of that name already"):
        graph.output(y, "z", np.float32, [1])
    with pytest.raises(ValueError, match="output of that name already"):
        graph.output(graph.node("Neg", y), "y", np.float32, [1])
