"""The program with a `repeat_NAME` beside each kernel: loops in machine code, so that no call from Python is timed.

Also the machine's limits, as kernels: `int8_peak`, `int16_peak`, `float_peak`, `read_memory`, and with matrix registers
`matrix_peak`.
"""

import functools

from cpunmt.engine.compiler import build
from cpunmt.engine.object_code import ObjectCode
from cpunmt.engine.program import Program
from cpunmt.simd.jit import KERNELS, count, kernel

REPEATED = (
    "int8_linear",
    "int16_linear",
    "float_linear",
    "float_matmul",
    "quantize_rows",
    "quantize_rows16",
    "residual_layer_norm",
    "self_attention",
    "cross_attention_row",
    "pack_rows",
    "softmax_columns",
    "softmax_rows",
    "log_sum_exp",
    "top_k",
    "ssru_row",
    "embed",
    "find_candidates",
    "gather_output",
    "transformer_step",
    "cross_attention",
    "feed_forward",
    "ssru_cell",
    "score_rows",
    "transformer_encode",
)


def _define_repeats():
    for name in REPEATED:
        wrapped = KERNELS[name]
        annotations = {k: v for k, v in wrapped.function.__annotations__.items() if k != "return"}
        arguments = ", ".join(annotations)
        scope = {"wrapped": wrapped, "__name__": __name__}
        exec(f"def repeat_{name}(times, {arguments}):\n for _ in range(times): wrapped({arguments})", scope)
        function = scope[f"repeat_{name}"]
        function.__annotations__ = {"times": count, **annotations}
        kernel(function)


@functools.cache
def load() -> Program:
    """Compiles everything anew, with the additions (about half a minute)."""
    import bench.limits  # noqa: F401
    import cpunmt.search.beam  # noqa: F401  defines the kernels

    _define_repeats()
    built = build(foreign=True)
    return Program(ObjectCode(built.code), built.signatures)
