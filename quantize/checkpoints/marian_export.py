"""Write a float32 checkpoint as Marian's `model.npz`, which Marian and its forks load."""

import os
from collections.abc import Mapping

import numpy as np
import yaml

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.files.output_files import replacing_file
from cpunmt.formats.marian.marian_names import marian_names
from cpunmt.model.config import ModelConfig

_AUTOREGRESSION = {"self_attention": "self-attention", "average_attention": "average-attention"}
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu_sigmoid": "gelu"}


def marian_options(config: ModelConfig) -> dict:
    """What `special:model.yml` says of an architecture.

    Raises ValueError for what Marian cannot express.
    """
    architecture = config.architecture
    if architecture.positions == "tensor2tensor" or "gelu" in (
        architecture.activation,
        architecture.average_activation,
    ):
        raise ValueError("Marian has neither tensor2tensor's positions nor an exact gelu")
    shared = config.shared_embedding
    return {
        "version": "v1.9.0",
        "type": "transformer",
        "dim-vocabs": [config.source_size, config.vocab_size],
        "dim-emb": architecture.model_dim,
        "dim-rnn": 1024,
        "enc-depth": architecture.encoder_layers,
        "dec-depth": architecture.decoder_layers,
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "enc-type": "bidirectional",
        "dec-cell": architecture.cell if CELLS[architecture.cell].recurrent else "gru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "input-types": [],
        "layer-normalization": False,
        "lemma-dim-emb": 0,
        "right-left": config.right_to_left,
        "skip": False,
        "tied-embeddings-all": shared and config.tied_output,
        "tied-embeddings-src": shared,
        "tied-embeddings": config.tied_output,
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
        "ulr": False,
        "ulr-dim-emb": 0,
        "ulr-trainable-transformation": False,
    }


def write_marian_npz(path: str | os.PathLike, config: ModelConfig, tensors: Mapping[str, np.ndarray]):
    """Write `tensors` (canonical names) under Marian's names; vectors become [1, n]. Nothing partial stays."""
    numbers = list(range(1, config.architecture.decoder_sets + 1))
    arrays = {theirs: np.atleast_2d(tensors[ours]) for ours, theirs in marian_names(config, numbers).items()}
    options = yaml.safe_dump(marian_options(config)).encode() + b"\0"
    arrays["special:model.yml"] = np.frombuffer(options, np.int8)
    with replacing_file(path) as file:
        np.savez(file, **arrays)
