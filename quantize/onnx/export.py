"""Writes a float32 checkpoint as ONNX graphs: a directory of them, all parameters in `weights.bin`, and `config.json`.

`encoder.onnx`: ids in; keys and values of the decoder's cross-attention out.

    ids        int64 [batch, source]     padded with any id
    lengths    int64 [batch]             ids of each sentence, </s> included
    keys_P     float32 [batch, heads, d / heads, source]    of each decoder parameter set P
    values_P   float32 [batch, heads, source, d / heads]
    mask       float32 [batch, 1, 1, source]                0, and very negative for padding

`step.onnx`: one step of the decoder, for `hypotheses` = batch x beam rows, grouped by sentence.

    previous     int64 [hypotheses]      ids of the step before; ignored at position 0
    position     int64 []                tokens emitted so far
    mask, keys_P, values_P               the encoder's: [batch, ...], not repeated for the beam
    state_L      of each decoder layer L: see `state_shapes`
    logits       float32 [hypotheses, pieces]
    new_state_L  the states after this step
    alignment    float32 [hypotheses, source]    the aligning head's attention

`candidates_step.onnx`: the same over some pieces; their output layer is an input, gathered by `candidates.onnx` once
for many steps.

    candidates     int64 [candidates]
    output_weight  float32 [candidates, d]
    output_bias    float32 [candidates]
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from cpunmt import __version__
from cpunmt.architectures.families import family_name
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import replacing_directory
from cpunmt.model.config import ModelConfig
from quantize.onnx.graph import OPSET, Graph, WeightFile
from quantize.onnx.network import CELLS, GraphNetwork
from quantize.reference.definition import State

MASKED = -1e9  # added to the scores of padding: their exponential is zero


def add_encoder(network: GraphNetwork) -> None:
    """Adds the encoder to an empty graph, with its inputs and outputs."""
    graph, config = network.graph, network.config
    heads, width = config.architecture.heads, config.architecture.head_dim
    ids = graph.input("ids", np.int64, ["batch", "source"])
    lengths = graph.input("lengths", np.int64, ["batch"])
    size = graph.node("Shape", ids)
    network.apart = graph.node("Concat", size, graph.constant([heads, width], np.int64), axis=0)
    network.mask = _mask(graph, size, lengths)
    encoded = network.encode(ids)
    for p in range(config.architecture.decoder_sets):
        keys, values = network.memory(p, encoded)
        graph.output(keys, f"keys_{p}", np.float32, ["batch", heads, width, "source"])
        graph.output(values, f"values_{p}", np.float32, ["batch", heads, "source", width])
    graph.output(network.mask, "mask", np.float32, ["batch", 1, 1, "source"])


def _mask(graph: Any, size: Any, lengths: Any) -> Any:
    length = graph.node("Gather", size, graph.constant(1, np.int64))
    places = graph.node("Range", graph.constant(0, np.int64), length, graph.constant(1, np.int64))
    ends = graph.node("Unsqueeze", lengths, graph.constant([1, 2, 3], np.int64))
    inside = graph.node("Less", places, ends)
    return graph.node("Where", inside, graph.constant(0, np.float32), graph.constant(MASKED, np.float32))


def state_shapes(config: ModelConfig) -> dict[str, list[Any]]:
    """Returns suffix of a decoder layer's state -> its shape; a size given as text varies.

    Most cells have one state, initially zero. Self-attention has keys and values, initially of no steps.
    """
    if config.architecture.cell == "self_attention":
        return {
            part: ["hypotheses", config.architecture.heads, "steps", config.architecture.head_dim]
            for part in ("_keys", "_values")
        }
    return {"": ["hypotheses", config.architecture.model_dim]}


def add_step(network: GraphNetwork, candidates: bool = False) -> None:
    """Adds a step of the decoder to an empty graph, with its inputs and outputs."""
    graph, config = network.graph, network.config
    heads, width = config.architecture.heads, config.architecture.head_dim
    previous = graph.input("previous", np.int64, ["hypotheses"])
    network.position = graph.input("position", np.int64, [])
    mask = network.mask = graph.input("mask", np.float32, ["batch", 1, 1, "source"])
    memories = [
        (
            graph.input(f"keys_{p}", np.float32, ["batch", heads, width, "source"]),
            graph.input(f"values_{p}", np.float32, ["batch", heads, "source", width]),
        )
        for p in range(config.architecture.decoder_sets)
    ]
    shapes = state_shapes(config)
    cells = [
        [graph.input(f"state_{layer}{part}", np.float32, shape) for part, shape in shapes.items()]
        for layer in range(config.architecture.decoder_layers)
    ]
    batch = graph.node("Slice", graph.node("Shape", mask), *(graph.constant([i], np.int64) for i in (0, 1)))
    network.apart = graph.node("Concat", batch, graph.constant([-1, heads, width], np.int64), axis=0)
    if candidates:
        output = graph.input("output_weight", np.float32, ["candidates", config.architecture.model_dim])
        network.output_layer = output, graph.input("output_bias", np.float32, ["candidates"])
    alone = len(shapes) == 1
    state = State(
        1,  # at any position there are previous ids
        [cell[0] if alone else cell for cell in cells],
        [memories[p] for p in config.architecture.decoder_parameters],
    )
    logits, state = network.step(state, previous)
    graph.output(logits, "logits", np.float32, ["hypotheses", "candidates" if candidates else config.vocab_size])
    for layer, cell in enumerate(state.cells):
        for value, (part, shape) in zip([cell] if alone else cell, shapes.items(), strict=True):
            shape = ["steps_now" if size == "steps" else size for size in shape]
            graph.output(value, f"new_state_{layer}{part}", np.float32, shape)
    graph.output(state.alignment, "alignment", np.float32, ["hypotheses", "source"])


def add_candidates(network: GraphNetwork) -> None:
    """Adds nodes that gather the output layer of candidates."""
    graph, tensors = network.graph, network.tensors
    candidates = graph.input("candidates", np.int64, ["candidates"])
    weight = network.weights.embed(network.tables["output"], candidates)
    graph.output(weight, "output_weight", np.float32, ["candidates", network.config.architecture.model_dim])
    bias = graph.node("Gather", tensors["output.bias"], candidates)
    graph.output(bias, "output_bias", np.float32, ["candidates"])


GRAPHS: dict[str, Callable[[GraphNetwork], None]] = {
    "encoder.onnx": add_encoder,
    "step.onnx": add_step,
    "candidates.onnx": add_candidates,
    "candidates_step.onnx": lambda network: add_step(network, candidates=True),
}
CONFIG, WEIGHTS = "config.json", "weights.bin"
FILES = frozenset([*GRAPHS, CONFIG, WEIGHTS])
MOST_POSITIONS = 1 << 12  # default limit of exported positions


def export_onnx(
    path: str | os.PathLike[str],
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    positions: int | None = None,
    force: bool = False,
) -> None:
    """Writes the directory; it appears complete, and accepted by `onnx.checker`, or not at all.

    Parameters
    ----------
    tensors : those of `model.tensors.checkpoint_tensors`, float32
    positions : longest source and target, in pieces; None: the config's limits, at most MOST_POSITIONS
    force : replace a directory that holds only such files

    Raises CpunmtError if it cannot be written, or if the network, the decoder's cell, its positions or the form of
    sources has no form in ONNX.
    """
    if not isinstance(config.architecture, TransformerConfig):
        raise CpunmtError(
            f"{family_name(config.architecture)} networks are not exported as ONNX, only Transformers with decoders of "
            f"{', '.join(CELLS)}"
        )
    if config.architecture.cell not in CELLS:
        raise CpunmtError(
            f"decoders of {config.architecture.cell} are not exported as ONNX, only those of {', '.join(CELLS)}"
        )
    if config.architecture.relative_positions or config.architecture.relative_buckets:
        raise CpunmtError("models with relative positions or a relative attention bias are not exported as ONNX")
    if not config.source_end:
        raise CpunmtError("models whose sources have no </s> are not exported as ONNX")
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
    """Returns the pieces of the longest source, or of its longest target."""
    return min(MOST_POSITIONS, math.ceil(config.max_source_length * max(1, config.max_length_factor)))
