"""Reads Hugging Face's MarianMT models: `config.json`, `generation_config.json`, `model.safetensors`.

The network is a Marian Transformer with self-attention, with other sinusoids and another epsilon than Marian. Its
weights are [out, in]. The last id, <pad>, is not a piece: its zero row is the decoder's first input, and it is left out
here. Unsupported features are refused by name.

Source: `models/marian/` in https://github.com/huggingface/transformers.
"""

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.packed.safetensors_file import Bfloat16
from cpunmt.kernels.tables import position_signal
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

_Arrays = Mapping[str, Array | Bfloat16]
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
# option -> the only values that are supported, the first being the default
_ARCHITECTURE: dict[str, tuple[Any, ...]] = {
    "model_type": ("marian",),
    "is_encoder_decoder": (True,),
    "activation_function": ("gelu", *_ACTIVATIONS),
    "add_bias_logits": (False,),  # of BART; Marian's bias is always there
    "add_final_layer_norm": (False,),
    "extra_pos_embeddings": (0, None),
    "normalize_before": (False,),
    "normalize_embedding": (False,),
    "quantization_config": (None,),
    "static_position_embeddings": (True,),
}
_SEARCH: dict[str, tuple[Any, ...]] = {
    "begin_suppress_tokens": (None, []),
    "constraints": (None,),
    "diversity_penalty": (0.0, None),
    "do_sample": (False, None),
    "encoder_no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1.0, None),
    "exponential_decay_length_penalty": (None,),
    "force_words_ids": (None,),
    "forced_bos_token_id": (None,),
    "forced_decoder_ids": (None, []),
    "min_length": (0, None),
    "min_new_tokens": (None, 0),
    "no_repeat_ngram_size": (0, None),
    "num_beam_groups": (1, None),
    "penalty_alpha": (None, 0),
    "repetition_penalty": (1.0, None),
    "sequence_bias": (None, {}, []),
    "suppress_tokens": (None, []),
}
_SIZES: tuple[str, ...] = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "encoder_ffn_dim")
_SIZES += ("decoder_attention_heads", "decoder_ffn_dim", "vocab_size")
_SHARED = "model.shared.weight"
_TABLES = {"source": "model.encoder.embed_tokens.weight", "target": "model.decoder.embed_tokens.weight"}
_SIGNAL = "tensor2tensor"  # the sinusoids
_OUTPUT = "lm_head.weight"
_BIAS = "final_logits_bias"
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_BLOCKS = {  # our block -> the modules of an attention's affine maps, and the layer norm
    "self_attention": ("self_attn.", "self_attn_layer_norm"),
    "cell": ("self_attn.", "self_attn_layer_norm"),
    "cross_attention": ("encoder_attn.", "encoder_attn_layer_norm"),
    "feed_forward": ("", "final_layer_norm"),
}
_MAPS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj", "inner": "fc1", "outer": "fc2"}


def read_huggingface_config(
    fields: Mapping[str, Any], generation: Mapping[str, Any], unk_id: int, shared_vocabulary: bool, where: str
) -> ModelConfig:
    """Returns the architecture, and the search settings of `generation_config.json` (or `config.json` in its place).

    Parameters
    ----------
    fields : content of `config.json`
    generation : content of `generation_config.json`; empty without one
    where : the directory

    Raises
    ------
    ModelFileError
        Lists every option that is not supported or not possible.
    """
    problems = _unsupported(fields, _ARCHITECTURE, "config.json")
    sizes: dict[str, Any] = {name: fields.get(name) for name in _SIZES}
    problems += [
        f"config.json: {name} is {reprlib.repr(value)}, expected a number from 1 to {1 << 22}"
        for name, value in sizes.items()
        if type(value) is not int or not 1 <= value <= 1 << 22
    ]
    if sizes["encoder_attention_heads"] != sizes["decoder_attention_heads"]:
        problems.append("config.json: encoder and decoder have different numbers of attention heads")
    flags = {
        name: fields.get(name, default)
        for name, default in (
            ("share_encoder_decoder_embeddings", True),
            ("tie_word_embeddings", True),
            ("scale_embedding", False),
        )
    }
    problems += [f"config.json: {name} is {reprlib.repr(flags[name])}, expected true or false" for name in flags
                 if not isinstance(flags[name], bool)]  # fmt: skip
    shared = flags["share_encoder_decoder_embeddings"]
    size: Any = sizes["vocab_size"]
    target_size: Any = fields.get("decoder_vocab_size") or size
    pad = fields.get("pad_token_id", 58100)
    ends = (size,) if shared else (size, target_size)
    if type(target_size) is not int or not 2 <= target_size <= 1 << 22 or (shared and target_size != size):
        problems.append(
            f"config.json: decoder_vocab_size is {reprlib.repr(target_size)}, vocab_size {reprlib.repr(size)}; "
            "expected the same number for one embedding"
        )
    elif any(type(end) is int and pad != end - 1 for end in ends):
        problems.append(
            f"config.json: pad_token_id is {reprlib.repr(pad)} of {' and '.join(map(str, ends))} pieces, expected the "
            "last id; convert the model from Marian's again"
        )
    if fields.get("decoder_start_token_id", pad) != pad:
        problems.append(f"config.json: decoder_start_token_id is {reprlib.repr(fields['decoder_start_token_id'])}, "
                        f"expected <pad>, {reprlib.repr(pad)}")  # fmt: skip
    file, given = ("generation_config.json", generation) if generation else ("config.json", fields)
    search = _search(fields, generation, pad, unk_id, file, problems)
    problems += _unsupported(given, _SEARCH, file, "; remove it: nothing but beam search is done")
    if problems:
        raise ModelFileError(f"{where}: not supported: {'; '.join(problems)}")
    try:
        return ModelConfig.of(
            model_dim=sizes["d_model"],
            ffn_dim=sizes["encoder_ffn_dim"],
            decoder_ffn_dim=None if sizes["decoder_ffn_dim"] == sizes["encoder_ffn_dim"] else sizes["decoder_ffn_dim"],
            heads=sizes["encoder_attention_heads"],
            encoder_layers=sizes["encoder_layers"],
            decoder_parameters=tuple(range(min(sizes["decoder_layers"], 1 << 8))),
            vocab_size=target_size - 1,
            shared_vocabulary=shared_vocabulary,
            shared_embedding=shared,
            tied_output=flags["tie_word_embeddings"],
            scale_embedding=flags["scale_embedding"],
            positions=_SIGNAL,
            activation=_ACTIVATIONS[fields.get("activation_function", "gelu")],
            cell="self_attention",
            layer_norm_epsilon=1e-5,
            unk_id=unk_id,
            **search,
        )
    except ModelFileError as error:
        raise ModelFileError(f"{where}: config.json: {error}") from None


def _search(
    fields: Mapping[str, Any], generation: Mapping[str, Any], pad: Any, unk_id: int, file: str, problems: list[str]
) -> dict[str, Any]:
    """Returns the config's fields for the search."""
    given = {**{name: fields[name] for name in ("max_length", "num_beams", "length_penalty") if name in fields}}
    if generation:
        given = dict(generation)
    longest, beams, penalty = (
        default if given.get(name) is None else given[name]
        for name, default in (("max_length", 512), ("num_beams", 1), ("length_penalty", 1.0))
    )
    positions = fields.get("max_position_embeddings", 1024)
    for name, value in (("max_length", longest), ("max_position_embeddings", positions)):
        if type(value) is not int or value < 2:
            problems.append(f"{name} is {reprlib.repr(value)}, expected a number from 2")
            return {}
    eos = fields.get("eos_token_id", 0)
    ended = generation.get("forced_eos_token_id", fields.get("forced_eos_token_id", eos))
    if generation.get("eos_token_id", eos) != eos or ended not in (None, eos):
        problems.append(f"{file}: eos_token_id and forced_eos_token_id differ, expected {reprlib.repr(eos)}")
    barred = (generation or fields).get("bad_words_ids")
    if barred and (not isinstance(barred, list) or any(ids not in ([pad], [unk_id]) for ids in barred)):
        problems.append(f"{file}: bad_words_ids is {reprlib.repr(barred)}, supported is only <pad>; remove the others")
    return {
        "eos_id": eos,
        "max_source_length": min(longest, positions, 4096),
        "beam_size": beams,
        "length_penalty": penalty,
    }


def _unsupported(
    fields: Mapping[str, Any], supported: Mapping[str, tuple[Any, ...]], file: str, advice: str = ""
) -> list[str]:
    found = []
    for name, values in supported.items():
        value = fields.get(name, values[0])
        if not any(value == one and (isinstance(value, bool) == isinstance(one, bool)) for one in values):
            expected = " or ".join(dict.fromkeys(map(repr, values)))
            found.append(f"{file}: {name} is {reprlib.repr(value)}, supported is {expected}{advice}")
    return found


def huggingface_tensors(config: ModelConfig, arrays: _Arrays, where: str) -> dict[str, Array]:
    """Returns the arrays of `model.safetensors` under canonical names: float32, weights [in, out], without <pad>.

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped and non-finite array, or says that the
    decoder does not start from zero.
    """
    names, shapes = _names(config, arrays), checkpoint_tensors(config)
    aliases = {_SHARED, *_TABLES.values(), _OUTPUT, *_POSITIONS}
    problems = [f"{name} is missing" for name in sorted(set(names.values()) - set(arrays))]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - set(names.values()) - aliases)]
    tensors: dict[str, Array] = {}
    for ours, theirs in names.items():
        if theirs not in arrays:
            continue
        expected, found = _stored_shape(ours, shapes[ours]), arrays[theirs].shape
        if found != expected:
            problems.append(f"{theirs} has shape {found}, expected {expected}")
            continue
        array = _floats(arrays[theirs])
        if not np.isfinite(array).all():
            problems.append(f"{theirs} holds NaN or infinity")
        elif _is_table(ours):
            if ours.removesuffix("embedding") in ("", "target_") and array[-1].any():
                problems.append(
                    f"{theirs}: the row of <pad>, from which the decoder starts, is not zero as Marian's is (the model "
                    "was trained on with another program); set it to zero and see whether translations stay good"
                )
            tensors[ours] = array[:-1]
        elif ours == "output.bias":
            tensors[ours] = np.ascontiguousarray(array[0, :-1])
        else:
            tensors[ours] = np.ascontiguousarray(array.T)
    problems += _differing(config, arrays, names)
    if problems:
        shown = "; ".join(problems[:20]) + (f" and {len(problems) - 20} more" if len(problems) > 20 else "")
        raise ModelFileError(f"{where}: does not hold the tensors that config.json asks for: {shown}")
    return tensors


def _is_table(name: str) -> bool:
    return "." not in name


def _stored_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if _is_table(name):
        return shape[0] + 1, shape[1]
    return (1, shape[0] + 1) if name == "output.bias" else shape[::-1]


def _floats(array: Array | Bfloat16) -> Array:
    return array.floats() if isinstance(array, Bfloat16) else array.astype(np.float32)


def _names(config: ModelConfig, arrays: _Arrays) -> dict[str, str]:
    """Maps the canonical name of every tensor to its name in the file; of a shared table, to one of its names."""
    found = {}
    for name in checkpoint_tensors(config):
        if _is_table(name):
            candidates = _candidates(config, name)
            found[name] = next((theirs for theirs in candidates if theirs in arrays), candidates[0])
        elif name == "output.bias":
            found[name] = _BIAS
        else:
            side, layer, block, part, vector = name.split(".")
            inside, norm = _BLOCKS[block]
            vector = "weight" if vector == "scale" else vector
            part = norm if part == "norm" else f"{inside}{_MAPS[part]}"
            found[name] = f"model.{side}.layers.{layer}.{part}.{vector}"
    return found


def _candidates(config: ModelConfig, table: str) -> list[str]:
    """Returns the names that a table may have in the file."""
    tied = [_OUTPUT] if config.tied_output else []
    return {
        "embedding": [_SHARED, *_TABLES.values(), *tied],
        "source_embedding": [_TABLES["source"]],
        "target_embedding": [_TABLES["target"], *tied],
        "output": [_OUTPUT],
    }[table]


def _differing(config: ModelConfig, arrays: _Arrays, names: Mapping[str, str]) -> list[str]:
    """Reports other names of a table with a different content, and positions that are not the sinusoids."""
    problems = []
    for table, theirs in names.items():
        for alias in _candidates(config, table) if _is_table(table) and theirs in arrays else ():
            if alias in arrays and not np.array_equal(_bits(arrays[alias]), _bits(arrays[theirs])):
                problems.append(f"{alias} differs from {theirs}, expected the same table as config.json says")
    for name in _POSITIONS:
        if name in arrays:
            shape, width = arrays[name].shape, config.architecture.model_dim
            if len(shape) != 2 or shape[1] != width or shape[0] > 1 << 16:
                problems.append(f"{name} has shape {shape}, expected (positions, {width})")
            elif not np.abs(_floats(arrays[name]) - position_signal(shape[0], width, _SIGNAL)).max(initial=0) < 0.01:
                problems.append(f"{name} holds trained positions, supported are the sinusoids only")
    return problems


def _bits(array: Array | Bfloat16) -> Array:
    return array.halves if isinstance(array, Bfloat16) else array
