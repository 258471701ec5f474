"""Writes a float32 checkpoint as Marian's `model.npz`, which Marian and its forks load."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.files.output_files import replacing_file
from cpunmt.formats.marian.marian_recurrent import Sources, recurrent_sources
from cpunmt.formats.marian.marian_transformer import marian_names
from cpunmt.model.config import ModelConfig

_AUTOREGRESSION = {"self_attention": "self-attention", "average_attention": "average-attention"}
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu_sigmoid": "gelu"}
_ENCODERS = {"bidirectional": "bidirectional", "alternating": "alternating", "unidirectional": "bi-unidirectional"}


def marian_options(config: ModelConfig) -> dict[str, Any]:
    """Returns the fields of `special:model.yml` for an architecture.

    Raises ValueError for an architecture that Marian does not have.
    """
    recurrent = isinstance(config.architecture, RecurrentConfig)
    shared = config.shared_embedding
    if not config.source_end:
        raise ValueError("Marian's sources end with </s>")
    return {
        "version": "v1.9.0",
        "dim-vocabs": [config.source_size, config.vocab_size],
        "dim-emb": config.architecture.model_dim,
        "input-types": [],
        "lemma-dim-emb": 0,
        "right-left": config.right_to_left,
        "tied-embeddings-all": shared and config.tied_output,
        "tied-embeddings-src": shared,
        "tied-embeddings": config.tied_output,
        "ulr": False,
        "ulr-dim-emb": 0,
        "ulr-trainable-transformation": False,
        **(_recurrent_options if recurrent else _transformer_options)(config.architecture),
    }


def _recurrent_options(architecture: Any) -> dict[str, Any]:
    dim, norm = architecture.decoder_dim, architecture.layer_norm
    if architecture.encoder_dim != dim or architecture.attention_width != architecture.context_dim:
        raise ValueError("Marian has one width of all states, and its attention is as wide as the context")
    if norm and architecture.layer_norm_epsilon != (1e-5 if norm == "nematus" else 1e-9):
        raise ValueError(f"Marian's layer norms have an epsilon of their own, not {architecture.layer_norm_epsilon}")
    cells = (architecture.encoder_cell, architecture.decoder_cell)
    encoder_cell, decoder_cell = ("gru-nematus", "gru-nematus") if norm == "nematus" else cells
    return {
        "type": "nematus" if norm == "nematus" else "s2s",
        "dim-rnn": dim,
        "enc-type": _ENCODERS[architecture.encoder],
        "enc-depth": architecture.encoder_layers,
        "enc-cell": encoder_cell,
        "enc-cell-depth": architecture.encoder_transitions,
        "dec-depth": architecture.decoder_layers,
        "dec-cell": decoder_cell,
        "dec-cell-base-depth": architecture.decoder_transitions + 2,
        "dec-cell-high-depth": architecture.high_transitions + 1,
        "layer-normalization": bool(norm),
        "skip": architecture.skip,
    }


def _transformer_options(architecture: Any) -> dict[str, Any]:
    if architecture.positions in ("tensor2tensor", "fairseq"):
        raise ValueError(f"Marian does not have {architecture.positions}'s positions")
    if architecture.positions == "trained" and architecture.target_positions:
        raise ValueError("Marian's decoders have the encoder's positions")
    for activation in (architecture.activation, architecture.average_activation):
        if activation not in _ACTIVATIONS:
            raise ValueError(f"Marian does not have the activation {activation}, only {', '.join(_ACTIVATIONS)}")
    if architecture.extensions:
        raise ValueError(f"Marian does not have {', '.join(architecture.extensions)}")
    if architecture.start_vector or architecture.alignment_heads > 1:
        raise ValueError("Marian's decoders start from zero, and one head aligns")
    return {
        "type": "transformer",
        "dim-rnn": 1024,
        "enc-type": "bidirectional",
        "enc-depth": architecture.encoder_layers,
        "dec-depth": architecture.decoder_layers,
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "dec-cell": architecture.cell if CELLS[architecture.cell].recurrent else "gru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "layer-normalization": False,
        "skip": False,
        "transformer-heads": architecture.heads,
        "transformer-dim-ffn": architecture.ffn_dim,
        "transformer-decoder-dim-ffn": architecture.decoder_ffn_dim or 0,
        "transformer-ffn-depth": architecture.ffn_depth,
        "transformer-decoder-ffn-depth": architecture.decoder_ffn_depth,
        "transformer-ffn-activation": _ACTIVATIONS[architecture.activation],
        "transformer-dim-aan": architecture.average_dim,
        "transformer-aan-depth": architecture.average_depth,
        "transformer-aan-activation": _ACTIVATIONS[architecture.average_activation],
        "transformer-aan-nogate": not architecture.average_gate,
        "transformer-decoder-autoreg": _AUTOREGRESSION.get(architecture.cell, "rnn"),
        "transformer-guided-alignment-layer": "last"
        if architecture.alignment_layer is None
        else architecture.alignment_layer + 1,
        "transformer-no-projection": not architecture.attention_projection,
        "transformer-rnn-projection": architecture.cell_projection,
        "transformer-pool": False,
        "transformer-preprocess": architecture.preprocess,
        "transformer-postprocess": "d" + architecture.postprocess,
        "transformer-postprocess-emb": "dn" if architecture.embedding_norm else "d",
        "transformer-postprocess-top": "n" if architecture.top_norm else "",
        "transformer-tied-layers": [number + 1 for number in architecture.decoder_parameters],
        "transformer-train-position-embeddings": architecture.positions == "trained",
    }


def write_marian_npz(path: str | os.PathLike[str], config: ModelConfig, tensors: Mapping[str, np.ndarray]) -> None:
    """Writes `tensors` (canonical names) under Marian's names; vectors become [1, n]. Leaves no partial file.

    Raises ValueError for an architecture that Marian does not have.
    """
    options = yaml.safe_dump(marian_options(config)).encode() + b"\0"
    arrays = _marian_arrays(_sources(config), tensors)
    arrays["special:model.yml"] = np.frombuffer(options, np.int8)
    with replacing_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its last parameter is a flag


def _sources(config: Any) -> Sources:
    if isinstance(config.architecture, RecurrentConfig):
        return recurrent_sources(config)
    return marian_names(config, list(range(1, config.architecture.decoder_sets + 1)))


def _marian_arrays(sources: Any, tensors: Any) -> dict[str, np.ndarray]:
    """Returns Marian's arrays for the tensors; of arrays that it adds up, the first holds the sum."""
    arrays = {}
    for ours, source in sources.items():
        if isinstance(source, str):
            arrays[source] = tensors[ours][:, None] if ours == "attention.score" else np.atleast_2d(tensors[ours])
            continue
        columns = np.split(tensors[ours], np.cumsum([piece.width for piece in source])[:-1])
        for piece, values in zip(source, columns, strict=True):
            if not piece.names and values.any():
                raise ValueError(f"{ours} has numbers other than 0 for which Marian has no parameter")
            arrays |= {name: np.zeros((1, piece.width), np.float32) for name in piece.names[1:]}
            arrays |= dict.fromkeys(piece.names[:1], values[None])
    return arrays
