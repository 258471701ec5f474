"""The end of every sub-layer ("dan" in Marian's words): add its output to its input, normalize, quantize."""

from cpunmt.jit import address, count, kernel
from cpunmt.kernels.layer_norm import residual_layer_norm
from cpunmt.kernels.reading import model_at, workspace_at
from cpunmt.records import INT8


@kernel
def add_and_norm(norm: address, model: address, workspace: address, rows: count):
    """x = norm(x + y) for the workspace's x and y [rows, model_dim], and x quantized where the scheme needs it."""
    m, w = model_at(model, 0), workspace_at(workspace, 0)
    quantized = w.quantized if m.scheme == INT8 else 0
    residual_layer_norm(w.x, w.y, norm, m.epsilon, rows, m.model_dim, quantized, w.row_scales)
