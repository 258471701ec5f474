"""Builds ONNX graphs node by node, with the weights of several graphs in one file beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # the one that belongs to it
_LARGE = 1024  # bytes; smaller tensors stay inside the graphs, visible to tools
_ALIGNMENT = 4096  # of tensors in the weight file, so that they can be mapped
_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int64): TensorProto.INT64,
}


class WeightFile:
    """Tensors shared by graphs, each written once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._placed: dict[str, tuple[np.ndarray, int]] = {}  # name -> (array, offset)
        self._size = 0

    def add(self, name: str, array: np.ndarray) -> tuple[int, int]:
        """Returns (offset, size) of a tensor; appends it if it is new."""
        if name not in self._placed:
            self._placed[name] = array, self._size
            self._size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        array, offset = self._placed[name]
        return offset, array.nbytes

    def write(self, path: Path) -> None:
        """Writes the added tensors."""
        with open(path, "wb") as file:
            for array, offset in self._placed.values():
                file.seek(offset)
                file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
            file.truncate(self._size)


def _arithmetic(operator: Any, turned: Any = False) -> Any:
    """Returns a method of `Value`: an operator of it and another value or number, which is the left one if `turned`."""
    return lambda self, other: self._node(operator, *((other, self) if turned else (self, other)))


@dataclass(frozen=True)
class Value:
    """A computed or received value of a graph. Arithmetic adds nodes to the graph; numbers in it are float32."""

    graph: "Graph"
    name: str

    __array_ufunc__ = None  # a NumPy number on the left leaves the operation to the value

    def _node(self, operator: Any, *operands: Any) -> Any:
        values = [x if isinstance(x, Value) else self.graph.constant(x, np.float32) for x in operands]
        return self.graph.node(operator, *values)

    __add__, __sub__, __mul__, __truediv__ = map(_arithmetic, ("Add", "Sub", "Mul", "Div"))
    __radd__, __rsub__, __rmul__ = (_arithmetic(operator, turned=True) for operator in ("Add", "Sub", "Mul"))


class Graph:
    """A graph under construction; `node` makes its values in the order of computation."""

    def __init__(self, name: str, weights: WeightFile) -> None:
        self.name = name
        self.weights = weights
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._renamed: dict[str, str] = {}  # name of a value -> its name as an output

    def input(self, name: str, dtype: Any, shape: Any) -> Value:
        """Declares an input; a size given as text is variable, and equal wherever it has that name."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[np.dtype(dtype)], list(shape)))
        return Value(self, name)

    def output(self, value: Value, name: str, dtype: Any, shape: Any) -> None:
        """Makes a node's value an output, under a name of its own."""
        if value.name in self._renamed or name in self._renamed.values():
            raise ValueError(f"{name}: {value.name} or another value is an output of that name already")
        self._renamed[value.name] = name
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[np.dtype(dtype)], list(shape)))

    def node(self, operator: str, *inputs: Value, **attributes: Any) -> Value:
        """Applies an operator with one output."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(operator, [value.name for value in inputs], [name], name=name, **attributes)
        )
        return Value(self, name)

    def constant(self, values: Any, dtype: Any) -> Value:
        """Adds a small constant that does not belong to the parameters: a shape, a scale."""
        array = np.asarray(values, dtype)
        shape = "x".join(map(str, array.shape))
        return self.tensor(f"constant_{array.dtype}_{shape}_" + "_".join(map(str, array.ravel().tolist())), array)

    def tensor(self, name: str, array: np.ndarray) -> Value:
        """Returns a parameter; the same name means the same tensor in all graphs of a weight file."""
        if name in self._initializers:
            return Value(self, name)
        if array.nbytes < _LARGE:
            made = numpy_helper.from_array(array, name)
        else:
            made = TensorProto(name=name, data_type=_TYPES[array.dtype], dims=array.shape)
            made.data_location = TensorProto.EXTERNAL
            offset, size = self.weights.add(name, array)
            for key, value in (("location", self.weights.name), ("offset", offset), ("length", size)):
                made.external_data.add(key=key, value=str(value))
        self._initializers[name] = made
        return Value(self, name)

    def model(self) -> onnx.ModelProto:
        """Returns the graph as a model."""
        for node in self._nodes:
            for values in (node.input, node.output):
                values[:] = [self._renamed.get(value, value) for value in values]
        tensors = list(self._initializers.values())
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, initializer=tensors)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="cpunmt")
