"""The graphs of `quantize export-onnx` for onnxruntime at its fastest, in float32 or with its dynamic int8.

Measured for this choice (Zen 5, one core): packing weights beforehand gains a factor of 2 one at a time and 1.1 in
batches; IO binding and OrtValues are no faster than NumPy arrays (7 us of a step are spent around it). Two variants
made no visible difference: candidate and forget gate in one product, and a step without transposes for beams of one.
"""

import logging
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from cpunmt.simd import isa
from quantize.onnx.export import CONFIG, GRAPHS, WEIGHTS

QUANTIZED = ("encoder.onnx", "step.onnx", "candidates_step.onnx")  # graphs with products with constant weights


def prepare(exported: Path, target: Path, int8: bool = False):
    """Writes the graphs of the directory `exported` to the new directory `target`, for translating, with its config.

    The alignment is left out. With `int8` every product with a constant matrix becomes one of integers, by
    `quantize_dynamic`: activations per tensor, weights per column.
    """
    target.mkdir()
    for name in (WEIGHTS, CONFIG):
        shutil.copy(exported / name, target)
    for name in GRAPHS:
        if int8 and name in QUANTIZED:
            _quantize(_untied(_without_alignment(onnx.load(exported / name))), target / name)
        else:
            onnx.save(_without_alignment(onnx.load(exported / name, load_external_data=False)), target / name)


def _without_alignment(model):
    kept = [output for output in model.graph.output if output.name != "alignment"]
    del model.graph.output[:]
    model.graph.output.extend(kept)  # onnxruntime drops unneeded nodes
    return model


def _untied(model):
    """Returns the model with an output layer of its own: the quantizer would transpose the embedding table."""
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

    logging.disable(logging.WARNING)  # it recommends optimizations that the session does
    # where our activations have two forms, ONNX Runtime's 16-bit sums saturate unless weights have 7 bits
    seven_bits = isa.activation_planes() > 1
    try:
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=seven_bits,
            weight_type=QuantType.QInt8,
        )
    finally:
        logging.disable(logging.NOTSET)


def session(path: Path) -> onnxruntime.InferenceSession:
    """Returns a session of one thread with all optimizations; weights are packed beforehand, by default."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
