"""Reads a directory of Hugging Face's T5, mT5 or UMT5, of any version; MADLAD-400 is a T5 of version 1.1.

config.json                     model_type t5, mt5 or umt5
model.safetensors, ...          weights, see weight_files
generation_config.json          settings of the search; may be absent
spiece.model                    SentencePiece's pieces, whose ids are the model's; or tokenizer.json, where
                                transformers 5 saved it in its place

The network is a Transformer whose blocks normalize their input by RMS norms. It has no positions: tables in the first
layer of each side (UMT5: in each layer) bias self-attention by the distance of two pieces. Queries are not scaled,
nothing has a bias, and from version 1.1 on the feed-forward networks are gated. Version 1.0, and UMT5 with tied tables,
scale the input of the output layer by d_model^-0.5, which here the last norm does. The decoder's first input is the row
of a piece, <pad>.

The tables have rows beyond the pieces of spiece.model: T5's <extra_id_N>, and others that only fill them up. No text
has these pieces, so they are left out, and a piece's probability is that among the others.

Source: `models/{t5,mt5,umt5}/` in https://github.com/huggingface/transformers.
"""

import os
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import optional_json
from cpunmt.formats.foreign_model import Array, ForeignModel, VocabularyFiles
from cpunmt.formats.huggingface.huggingface import (
    MAX_JSON,
    SEARCH,
    added_pieces,
    beam_search,
    first_given,
    most_pieces,
    pieces_file,
    suppressed_pieces,
    unsupported,
)
from cpunmt.formats.huggingface.stored_tensors import are_equal, floats, is_float
from cpunmt.formats.huggingface.weight_files import FloatTensors, read_weights, stored_type
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, tables
from cpunmt.text.vocabularies.vocabulary import Vocabulary

MODEL_TYPES = ("t5", "mt5", "umt5")
PIECES = "spiece.model"
_ARCHITECTURE: dict[str, tuple[Any, ...]] = {
    "model_type": MODEL_TYPES,
    "is_encoder_decoder": (True,),
    "quantization_config": (None,),
}
_ACTIVATIONS = {
    **{"relu": "relu", "gelu": "gelu", "silu": "swish", "swish": "swish", "tanh": "tanh", "sigmoid": "sigmoid"},
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), "gelu_tanh"),
    "quick_gelu": "gelu_sigmoid",
}
_UNUSED_PIECE = re.compile(r"<extra_id_[0-9]+>")
_FORWARD = re.compile(r"(gated-)?([a-z_]+)")
_SIZES = {  # field -> its default; None: it has no default
    **{"d_model": None, "d_kv": 64, "d_ff": None, "num_layers": None, "num_heads": None, "vocab_size": None},
    **{"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
}
_EPSILON = 1e-6

_MOST_SOURCE = 512  # pieces of a source: the longest in training
_SHARED, _OUTPUT = "shared.weight", "lm_head.weight"
_TABLES = (_SHARED, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")  # names of one table
_UNUSED = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}  # in old files
_MODULES = {"self_attention": "SelfAttention", "cell": "SelfAttention", "cross_attention": "EncDecAttention"}
_MAPS = {"query": "q", "key": "k", "value": "v", "output": "o"}
_SHOWN = 20


def read_directory(folder: Path, weights: Path, fields: Mapping[str, Any]) -> ForeignModel:
    """Reads a directory, of which `fields` are those of config.json.

    Raises ModelFileError: a file is missing, damaged or not supported.
    """
    pieces = VocabularyFiles(pieces_file(folder, PIECES))
    generation = optional_json(folder / "generation_config.json", "config", MAX_JSON)
    vocabulary = Vocabulary(pieces.ids_from)
    tokenizer = optional_json(folder / "tokenizer_config.json", "config", MAX_JSON)
    for piece, id_ in added_pieces(folder, tokenizer, PIECES).items():
        if id_ >= vocabulary.size and not _UNUSED_PIECE.fullmatch(piece):
            raise ModelFileError(
                f"{folder}: not supported: the tokenizer adds the piece {piece[:80]!r}, with id {id_}, to those of "
                f"{PIECES}; expected none but <extra_id_0> and so on"
            )
    config, start = read_t5_config(fields, generation, vocabulary, os.fspath(folder))
    arrays = read_weights(weights)
    rows = fields["vocab_size"]
    config, tensors = t5_tensors(config, arrays, rows, start, _is_scaled(fields), os.fspath(weights))
    return ForeignModel(config, dict(tensors), None, weights, pieces, pieces, None, {}, stored_type(arrays))


def read_t5_config(
    fields: Mapping[str, Any], generation: Mapping[str, Any], vocabulary: Vocabulary, where: str
) -> tuple[ModelConfig, int]:
    """Returns the config, and the id whose row is the decoder's first input.

    Parameters
    ----------
    fields, generation : content of `config.json` and of `generation_config.json`, which may be empty
    where : the directory

    Raises ModelFileError, which lists every option that is not supported or not possible.
    """
    problems = unsupported(fields, _ARCHITECTURE, "config.json")
    sizes: dict[str, Any] = {name: fields.get(name, default) for name, default in _SIZES.items()}
    sizes["num_decoder_layers"] = fields.get("num_decoder_layers") or sizes["num_layers"]
    problems += [
        f"config.json: {name} is {reprlib.repr(value)}, expected a number from 1 to {1 << 22}"
        for name, value in sizes.items()
        if type(value) is not int or not 1 <= value <= 1 << 22
    ]
    activation, gated = _feed_forward(fields, problems)
    if type(sizes["vocab_size"]) is int and sizes["vocab_size"] < vocabulary.size:
        problems.append(f"config.json: vocab_size is {sizes['vocab_size']}, but {PIECES} has {vocabulary.size} pieces")
    for name in ("tie_word_embeddings", "scale_decoder_outputs"):
        if not isinstance(fields.get(name, True), bool):
            problems.append(f"config.json: {name} is {reprlib.repr(fields[name])}, expected true or false")
    file, given = ("generation_config.json", generation) if generation else ("config.json", fields)
    start = first_given(("decoder_start_token_id", "pad_token_id"), 0, generation, fields)
    if type(start) is not int or not 0 <= start < vocabulary.size:
        problems.append(
            f"decoder_start_token_id is {reprlib.repr(start)}, expected an id of the {vocabulary.size} pieces"
        )
    for name in ("eos_token_id", "forced_eos_token_id"):
        ended = first_given((name,), vocabulary.eos_id, generation, fields)
        if ended != vocabulary.eos_id:
            problems.append(f"{name} is {reprlib.repr(ended)}, expected {vocabulary.eos_id}, the id of </s>")
    longest = most_pieces(given, file, 1, 1 << 16, problems)
    problems += unsupported(given, SEARCH, file, "; remove it: nothing but beam search is done")
    names = {piece: id_ for id_, piece in enumerate(vocabulary.pieces(range(vocabulary.size)))}

    def is_never(id_: int) -> bool:
        return id_ == vocabulary.unk_id or bool(vocabulary.size <= id_ < sizes["vocab_size"])  # rows that are left out

    banned = suppressed_pieces(given.get("bad_words_ids"), is_never, vocabulary.eos_id, names, file, problems)
    if problems:
        raise ModelFileError(f"{where}: not supported: {'; '.join(problems)}")
    try:
        config = ModelConfig.of(
            model_dim=sizes["d_model"],
            ffn_dim=sizes["d_ff"],
            heads=sizes["num_heads"],
            encoder_layers=sizes["num_layers"],
            decoder_parameters=tuple(range(min(sizes["num_decoder_layers"], 1 << 8))),
            vocab_size=vocabulary.size,
            scale_embedding=False,
            positions="none",
            relative_buckets=sizes["relative_attention_num_buckets"],
            relative_distance=sizes["relative_attention_max_distance"],
            relative_shared=fields.get("model_type") != "umt5",
            attention_dim=None if (width := sizes["num_heads"] * sizes["d_kv"]) == sizes["d_model"] else width,
            attention_scale=1.0,
            gated_ffn=gated,
            activation=activation,
            preprocess="n",
            postprocess="a",
            rms_norm=True,
            top_norm=True,
            cell="self_attention",
            start_vector=True,
            layer_norm_epsilon=fields.get("layer_norm_epsilon", _EPSILON),
            eos_id=vocabulary.eos_id,
            unk_id=vocabulary.unk_id,
            max_source_length=_MOST_SOURCE,
            max_length=longest,
            **beam_search(given),
            suppress_sequences=banned,
        )
    except ModelFileError as error:
        raise ModelFileError(f"{where}: config.json: {error}") from None
    return config, start


def _feed_forward(fields: Mapping[str, Any], problems: list[str]) -> tuple[str, bool]:
    """Returns our name of the activation, and whether the networks are gated."""
    default = "relu" if fields.get("model_type") == "t5" else "gated-gelu"
    text = fields.get("feed_forward_proj", default)
    parts = _FORWARD.fullmatch(text) if isinstance(text, str) else None
    gate, theirs = parts.groups() if parts else (None, None)
    if gate and theirs == "gelu":
        theirs = "gelu_new"
    theirs, gated = fields.get("dense_act_fn", theirs), fields.get("is_gated_act", gate is not None)
    if not parts or not isinstance(theirs, str) or theirs not in _ACTIVATIONS or not isinstance(gated, bool):
        problems.append(
            f"config.json: feed_forward_proj is {reprlib.repr(text)}, dense_act_fn {reprlib.repr(theirs)}, supported "
            f"are {', '.join(_ACTIVATIONS)}, also with gated- before them"
        )
        return "relu", False
    return _ACTIVATIONS[theirs], gated


def _is_scaled(fields: Mapping[str, Any]) -> bool:
    """Returns whether the input of the output layer is scaled. A newer file of T5 says it, others by tied tables.

    mT5 never scales it. Transformers 5 scales every UMT5's, and writes into its files that the tables are tied.
    """
    tied = fields.get("model_type") != "mt5" and fields.get("tie_word_embeddings") is not False
    return bool(fields.get("scale_decoder_outputs", tied))


def t5_tensors(
    config: ModelConfig, arrays: FloatTensors, rows: int, start: int, scaled: bool, where: str
) -> tuple[ModelConfig, dict[str, Array]]:
    """Returns the arrays of a file under canonical names, weights [in, out]. The output layer is tied unless the file
    has another one.

    Parameters
    ----------
    rows : rows of the tables, of which the first are pieces
    start : the row that is the decoder's first input
    scaled : the input of the output layer is scaled by model_dim^-0.5

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped and non-finite array.
    """
    table = next((name for name in _TABLES if name in arrays), _SHARED)
    own = _OUTPUT in arrays and table in arrays and not are_equal(arrays[_OUTPUT], arrays[table])
    config = config.changed(tied_output=not own)
    shapes, width = checkpoint_tensors(config), config.architecture.model_dim
    names = {tables(config)["target"]: table} | ({"output": _OUTPUT} if own else {})
    names |= {ours: _their_name(config, ours) for ours in shapes if "." in ours and not _is_zero(ours)}
    problems = [f"{name} is missing" for name in sorted(set(names.values()) - set(arrays))]
    known = {*names.values(), *_TABLES, _OUTPUT, *_UNUSED}
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - known)]
    problems += [
        f"{name} differs from {table}, expected the same table"
        for name in _TABLES
        if name in arrays and table in arrays and not are_equal(arrays[name], arrays[table])
    ]
    tensors: dict[str, Array] = {ours: np.zeros(shape, np.float32) for ours, shape in shapes.items() if _is_zero(ours)}
    for ours, theirs in names.items():
        if theirs not in arrays:
            continue
        is_table, shape = "." not in ours, shapes[ours]
        is_turned = not is_table and not ours.endswith("relative_bias")
        expected = (rows, width) if is_table else shape[::-1] if is_turned else shape
        if arrays[theirs].shape != expected:
            problems.append(f"{theirs} has shape {list(arrays[theirs].shape)}, expected {list(expected)}")
        elif not is_float(arrays[theirs]):
            problems.append(f"{theirs} holds integers, expected floats")
        else:
            array = floats(arrays[theirs])
            if not np.isfinite(array).all():
                problems.append(f"{theirs} holds NaN or infinity")
            tensors[ours] = array[: shape[0]] if is_table else array.T if is_turned else array
            if is_table and ours != "output":
                tensors["start"] = array[start].copy()
    if problems:
        rest = len(problems) - _SHOWN
        shown = "; ".join(problems[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
        raise ModelFileError(f"{where}: does not hold the tensors that config.json asks for: {shown}")
    if scaled:
        tensors["decoder.top_norm.scale"] = tensors["decoder.top_norm.scale"] * np.float32(width**-0.5)
    return config, {name: tensors[name] for name in shapes}


def _is_zero(ours: str) -> bool:
    """Returns whether the tensor is a bias of ours that T5 does not have."""
    return ours.endswith(".bias")


def _their_name(config: ModelConfig, ours: str) -> str:
    """Returns the file's name of a tensor of ours."""
    side, *middle = ours.split(".")
    if middle[-1] == "relative_bias":
        number = "0" if config.architecture.relative_shared else middle[0]
        return f"{side}.block.{number}.layer.0.SelfAttention.relative_attention_bias.weight"
    if middle[0] == "top_norm":
        return f"{side}.final_layer_norm.weight"
    number, block, part, _ = middle
    place = {"cross_attention": 1, "feed_forward": 1 if side == "encoder" else 2}.get(block, 0)
    prefix = f"{side}.block.{number}.layer.{place}"
    if part == "pre_norm":
        return f"{prefix}.layer_norm.weight"
    if block == "feed_forward":
        inner = "wi_0" if config.architecture.gated_ffn else "wi"
        maps = {"inner": inner, "gate": "wi_1", "outer": "wo"}
        return f"{prefix}.DenseReluDense.{maps[part]}.weight"
    return f"{prefix}.{_MODULES[block]}.{_MAPS[part]}.weight"
