"""Initializes a model with the parameters of a trained one of another shape.

Common parameters are copied. For recurrent networks, and across families, they have the same name and shape. For
Transformers they are tables, layers of the same place (layer i of n takes layer i * m // n of m), and cells of the same
kind. An encoder's layer that repeats the one before adds nothing at first. Of the tried ways (whole copies, in either
order) this lost least, also after some updates. Additional units of a wider feed-forward network begin with random
input weights and zero output weights, so that the block computes the same at first. Chen et al. 2016,
https://arxiv.org/abs/1511.05641, have the same aim; their copies of units would stay copies, since nothing here drops
out single units. Everything else comes from `initial_tensors`.
"""

import dataclasses
import re

import numpy as np
import torch

from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.network.network import initial_tensors, torch_tensors

_LAYER = re.compile(r"(encoder|decoder)\.(\d+)\.(.*)")


def grown(config: ModelConfig, found: ModelConfig, arrays: dict[str, np.ndarray], seed: int) -> dict[str, torch.Tensor]:
    """Returns parameters for `config` from the `arrays` of a model of shape `found`, of the same or another family.

    Raises ValueError unless both have the same vocabulary and dimension; Transformers, unless they have the same heads.
    """
    new, old = config.architecture, found.architecture
    transformers = isinstance(new, TransformerConfig) and isinstance(old, TransformerConfig)
    for field, wanted, have in (
        ("vocab_size", config.vocab_size, found.vocab_size),
        ("model_dim", new.model_dim, old.model_dim),
        *([("heads", new.heads, old.heads)] if transformers else []),
    ):
        if wanted != have:
            raise ValueError(
                f"{field} is {have} in the model to begin with and {wanted} in the one to train; only layers, their "
                "width and the cell may differ"
            )
    if not transformers:
        return _of_same_name(config, arrays, seed)
    given, made = torch_tensors(arrays), initial_tensors(config, seed)
    for name, fresh in made.items():
        trained = given.get(_origin(name, config, found))
        if trained is None:
            continue
        if trained.shape == fresh.shape:
            made[name] = trained.clone()
        elif ".feed_forward." in name:
            made[name] = _widened(name, trained, fresh)
    for layer in range(1, config.architecture.encoder_layers):
        if _origin_layer(layer, config, found) == _origin_layer(layer - 1, config, found):
            _silence(made, layer)
    return made


def of_vocabulary(
    found: ModelConfig, arrays: dict[str, np.ndarray], old: Vocabulary, new: Vocabulary
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns a model of one table for another vocabulary: a piece that is new begins as the mean of the old pieces
    that spell it, of the mean length.

    Raises ValueError if the model has several tables.
    """
    tables = {name for name, array in arrays.items() if array.shape[:1] == (old.size,)}
    if tables != {"embedding", "output.bias"}:
        raise ValueError(f"its tables are {', '.join(sorted(tables))}; expected one embedding of both languages")
    numbers = {piece: id_ for id_, piece in enumerate(old.pieces(range(old.size)))}
    embedding, bias = arrays["embedding"], arrays["output.bias"]
    length = np.linalg.norm(embedding, axis=1).mean()
    rows, biases = [], []
    for piece in new.pieces(range(new.size)):
        if piece in numbers:
            rows.append(embedding[numbers[piece]])
            biases.append(bias[numbers[piece]])
            continue
        spelt = old.encode(piece.replace("▁", " ").strip() or "_")[:-1]  # without </s>
        if not piece.startswith("▁") and len(spelt) > 1 and spelt[0] == numbers.get("▁"):
            spelt = spelt[1:]
        mean = embedding[spelt].mean(0)
        rows.append(mean * (length / max(np.linalg.norm(mean), 1e-3)))
        biases.append(bias[spelt].mean())
    made = {"embedding": np.stack(rows), "output.bias": np.array(biases, np.float32)}
    return dataclasses.replace(found, vocab_size=new.size, source_vocab_size=None), arrays | made


def _of_same_name(config, arrays, seed):
    """Returns the tensors with equal names and shapes in both; across families only the tables."""
    given, made = torch_tensors(arrays), initial_tensors(config, seed)
    alike = {name for name, fresh in made.items() if name in given and given[name].shape == fresh.shape}
    return {name: given[name] if name in alike else fresh for name, fresh in made.items()}


def _origin(name, config, found):
    """Returns the name of the trained tensor from which `name` begins."""
    match = _LAYER.fullmatch(name)
    if not match:
        return name
    side, number, rest = match[1], int(match[2]), match[3]
    if side == "encoder":
        return f"encoder.{_origin_layer(number, config, found)}.{rest}"
    layer = (
        config.architecture.decoder_parameters.index(number)
        * found.architecture.decoder_layers
        // config.architecture.decoder_layers
    )
    return f"decoder.{found.architecture.decoder_parameters[layer]}.{rest}"


def _origin_layer(layer, config, found):
    return layer * found.architecture.encoder_layers // config.architecture.encoder_layers


def _silence(made, layer):
    """Makes an encoder's layer of residual blocks (nearly, as it normalizes again) the identity."""
    block, before = f"encoder.{layer}", f"encoder.{layer - 1}.feed_forward.norm"
    for name in ("self_attention.output", "feed_forward.outer"):
        for part in ("weight", "bias"):
            made[f"{block}.{name}.{part}"].zero_()
    for part in ("scale", "bias"):
        if f"{before}.{part}" in made:
            made[f"{block}.self_attention.norm.{part}"] = made[f"{before}.{part}"].clone()


def _widened(name, trained, fresh):
    """Returns a feed-forward network's tensor with more units than the trained one, or with its first ones."""
    made = torch.zeros_like(fresh) if ".outer." in name else fresh.clone()
    shared = tuple(slice(min(a, b)) for a, b in zip(trained.shape, fresh.shape, strict=True))
    made[shared] = trained[shared]
    return made
