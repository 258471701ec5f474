"""The graphs of `quantize export-onnx` as onnxruntime runs them fastest, in float32 or with its dynamic int8.

What was measured when this was chosen (Zen 5, one core): weights packed beforehand are worth 2 times one at a time and
1.1 in batches; IO binding and OrtValues are no faster than NumPy arrays (7 us of a step are spent around it); candidate
and forget gate in one product, and a step without transposes for beams of one, changed nothing that could be told.
"""

import logging
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from quantize.onnx.export import GRAPHS, WEIGHTS

QUANTIZED = ("encoder.onnx", "step.onnx", "candidates_step.onnx")  # what has products with constant weights


def prepare(exported: Path, target: Path, int8: bool = False):
    """Write the graphs of the directory `exported` to the new directory `target`, for translating.

    What translating does without, the alignment, is left out. With `int8` every product with a constant matrix becomes
    one of integers, by `quantize_dynamic`: activations per tensor, weights per column.
    """
    target.mkdir()
    shutil.copy(exported / WEIGHTS, target)
    for name in GRAPHS:
        if int8 and name in QUANTIZED:
            _quantize(_untied(_without_alignment(onnx.load(exported / name))), target / name)
        else:
            onnx.save(_without_alignment(onnx.load(exported / name, load_external_data=False)), target / name)


def _without_alignment(model):
    kept = [output for output in model.graph.output if output.name != "alignment"]
    del model.graph.output[:]
    model.graph.output.extend(kept)  # onnxruntime drops the nodes that nothing needs
    return model


def _untied(model):
    """The model with an output layer of its own: the quantizer would transpose the table that looks pieces up."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Gemm" and node.attribute and node.input[1] in weights:
            turned = np.ascontiguousarray(numpy_helper.to_array(weights[node.input[1]]).T)
            node.input[1] = "output_weight_transposed"
            model.graph.initializer.append(numpy_helper.from_array(turned, node.input[1]))
            del node.attribute[:]  # transB
    return model


def _quantize(model, path):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # it recommends optimizations that the session makes
    try:
        quantize_dynamic(model, path, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8)
    finally:
        logging.disable(logging.NOTSET)


def session(path: Path) -> onnxruntime.InferenceSession:
    """A session of one thread with all optimizations; weights are packed beforehand, as is the default."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
