"""Building ONNX graphs node by node, with the weights of several graphs in one file beside them."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # the one that belongs to it
_LARGE = 1024  # bytes; smaller tensors are kept inside the graphs, where tools see their values
_ALIGNMENT = 4096  # of tensors in the weight file, so that they can be mapped
_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int32): TensorProto.INT32,
}


class WeightFile:
    """Tensors that graphs share, each written once, whichever graphs use it."""

    def __init__(self, name: str):
        self.name = name
        self._placed = {}  # name -> (array, offset)
        self._size = 0

    def add(self, name: str, array: np.ndarray) -> tuple[int, int]:
        """(offset, size) of a tensor, which is appended unless it is there already."""
        if name not in self._placed:
            self._placed[name] = array, self._size
            self._size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        array, offset = self._placed[name]
        return offset, array.nbytes

    def write(self, path: Path):
        """Write what was added."""
        with open(path, "wb") as file:
            for array, offset in self._placed.values():
                file.seek(offset)
                file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")))
            file.truncate(self._size)


class Graph:
    """One graph in the making. Values are known by name; `node` makes them in the order of computation."""

    def __init__(self, name: str, weights: WeightFile):
        self.name = name
        self.weights = weights
        self._nodes, self._inputs, self._outputs = [], [], []
        self._initializers = {}
        self._renamed = {}  # value -> its name as an output

    def input(self, name: str, dtype, shape) -> str:
        """Declare an input; a size that is text may be any, the same wherever it has that name."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[np.dtype(dtype)], list(shape)))
        return name

    def output(self, value: str, name: str, dtype, shape):
        """Make a value that a node has made an output, under a name of its own."""
        if value in self._renamed or name in self._renamed.values():
            raise ValueError(f"{name}: {value} or another value is an output of that name already")
        self._renamed[value] = name
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[np.dtype(dtype)], list(shape)))

    def node(self, operator: str, *inputs: str, **attributes) -> str:
        """Apply an operator that has one output."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values, dtype) -> str:
        """A small constant that is nobody's parameter: a shape, a scale."""
        array = np.asarray(values, dtype)
        shape = "x".join(map(str, array.shape))
        return self.tensor(f"constant_{array.dtype}_{shape}_" + "_".join(map(str, array.ravel().tolist())), array)

    def tensor(self, name: str, array: np.ndarray) -> str:
        """A parameter; the same name means the same tensor in all graphs of a weight file."""
        if name in self._initializers:
            return name
        if array.nbytes < _LARGE:
            made = numpy_helper.from_array(array, name)
        else:
            made = TensorProto(name=name, data_type=_TYPES[array.dtype], dims=array.shape)
            made.data_location = TensorProto.EXTERNAL
            offset, size = self.weights.add(name, array)
            for key, value in (("location", self.weights.name), ("offset", offset), ("length", size)):
                made.external_data.add(key=key, value=str(value))
        self._initializers[name] = made
        return name

    def model(self) -> onnx.ModelProto:
        """The graph as a model."""
        for node in self._nodes:
            for values in (node.input, node.output):
                values[:] = [self._renamed.get(value, value) for value in values]
        tensors = list(self._initializers.values())
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, initializer=tensors)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="cpunmt")
