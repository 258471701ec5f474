"""Write a float32 checkpoint as ONNX graphs.

A directory of them:

    encoder.onnx, step.onnx, candidates.onnx, candidates_step.onnx    see `quantize.onnx.graphs`
    weights.bin             the parameters of all four
    config.json             the model's config, and what was exported
"""

import json
import math
import os
from collections.abc import Mapping

import numpy as np
import onnx

from cpunmt import __version__
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import replacing_directory
from cpunmt.model.config import ModelConfig
from quantize.onnx.graph import OPSET, Graph, WeightFile
from quantize.onnx.graphs import GRAPHS
from quantize.onnx.network import CELLS, GraphNetwork

CONFIG, WEIGHTS = "config.json", "weights.bin"
FILES = frozenset([*GRAPHS, CONFIG, WEIGHTS])
MOST_POSITIONS = 1 << 12  # that are exported unless more are asked for


def export_onnx(
    path: str | os.PathLike,
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    positions: int | None = None,
    force: bool = False,
):
    """Write the directory; it appears complete, and accepted by `onnx.checker`, or not at all.

    Parameters
    ----------
    tensors : what `architecture.checkpoint_tensors` lists, float32
    positions : longest source and target, in pieces; None: what the config allows, at most MOST_POSITIONS
    force : replace a directory that holds nothing but such files

    Raises CpunmtError if it cannot be written, or if the decoder's cell has no form in ONNX.
    """
    if config.cell not in CELLS:
        raise CpunmtError(f"decoders of {config.cell} are not exported as ONNX, only those of {', '.join(CELLS)}")
    if positions is None:
        positions = default_positions(config)
    described = {"format": "cpunmt-onnx", "version": 1, "made_by": f"cpunmt {__version__}", "opset": OPSET}
    described |= {"positions": positions, "model": config.to_json()}
    with replacing_directory(path, force, FILES) as folder:
        weights = WeightFile(WEIGHTS)
        for name, add in GRAPHS.items():
            graph = Graph(name.removesuffix(".onnx"), weights)
            add(GraphNetwork(graph, config, tensors, positions))
            (folder / name).write_bytes(graph.model().SerializeToString(deterministic=True))
        weights.write(folder / WEIGHTS)
        (folder / CONFIG).write_text(json.dumps(described, indent=1) + "\n", "utf-8")
        for name in GRAPHS:
            onnx.checker.check_model(os.fspath(folder / name), full_check=True)


def default_positions(config: ModelConfig) -> int:
    """Pieces of the longest source, or of the longest target that it may have."""
    return min(MOST_POSITIONS, math.ceil(config.max_source_length * max(1, config.max_length_factor)))
