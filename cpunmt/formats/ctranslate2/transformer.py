"""Converts the variables of a CTranslate2 Transformer to a config and canonical tensors.

Weights are [out, in], tables [pieces, d]. Products of one input are one matrix: query, key and value, or key and value,
below one another. int8 has a scale for each output column or row of a table, as ours, and is not rounded again. The
decoder starts with the vector of a piece, or with zero. RMS norms are those without beta. Outputs that are scaled, as
T5's, become those of a scaled last norm.

A variable or a value that this network lacks is refused by the name of the feature. So is any variable that is not
read.

Source: `src/layers/transformer.cc`, `attention.cc`, `src/models/transformer.cc` and `python/ctranslate2/specs` of
https://github.com/OpenNMT/CTranslate2.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.ctranslate2.model_bin import ModelBin
from cpunmt.formats.ctranslate2.source_pieces import moved
from cpunmt.formats.ctranslate2.variables import Refused, Variables, with_features
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.kernels.tables import position_signal
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors
from cpunmt.model.tensors import tables as tensor_tables

_ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu", "gelu_sigmoid", "tanh", "sigmoid")  # by their numbers
_EPSILON, _RMS_EPSILON = 1e-5, 1e-6  # of a model that names none
_HEADS = {"": 8, "TransformerBase": 8, "TransformerBig": 16}  # of specifications that fix their number
_SPECIFICATIONS = (*_HEADS, "TransformerSpec")
_MAX_SOURCE = 1024  # pieces; CTranslate2 cuts longer sources there, unless told otherwise
_COMPUTED = 3 * _MAX_SOURCE  # positions of sinusoids, the last of which stands for all later ones
_SAME_SCALE = 1e-4  # relative
_SAME_POSITIONS = 1e-3  # float16 holds a sine to 2.5e-4


class Vocabularies(NamedTuple):
    """The facts of the vocabularies that a config needs."""

    source_rows: Sequence[int]  # of each source piece, its row in the stored embedding, as `source_pieces` returns them
    target_size: int
    are_shared: bool
    eos_id: int
    unk_id: int


class NetworkSettings(NamedTuple):
    """The settings of a model outside its variables."""

    source_end: bool  # </s> is added to sources
    start: str | None  # the piece whose vector is the decoder's first input, unless that is zero; None: the caller's
    start_id: int | None  # None: not in the vocabulary
    epsilon: float | None  # of norms; None: CTranslate2's


def network_of(
    model: ModelBin, vocabularies: Vocabularies, settings: NetworkSettings, where: str
) -> tuple[ModelConfig, dict[str, Weight]]:
    """Returns the config and the tensors of `tensors.checkpoint_tensors`; `where`: the file.

    Raises ModelFileError, which lists every feature that is not supported, or names a variable that is missing, of a
    wrong shape, or not finite.
    """
    check_specification(model, where)
    variables = Variables(model)
    try:
        config = _config(variables, vocabularies, settings)
        tensors = _tensors(config, variables, _start_id(config, settings), vocabularies.source_rows)
        variables.check_all_read()
    except Refused as error:
        raise ModelFileError(f"{where}: {with_features(variables, str(error))}") from None
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error}") from None
    return config, tensors


def _start_id(config: ModelConfig, settings: NetworkSettings) -> int:
    """Returns the id of the decoder's first piece, or 0 if it starts from zero."""
    if not config.architecture.start_vector:
        return 0
    if settings.start is None:
        raise Refused("not supported: a first piece that each call chooses (decoder_start_token is null)")
    if settings.start_id is None:
        raise Refused(f"decoder_start_token is {settings.start[:80]!r}, which the target vocabulary lacks")
    return settings.start_id


def check_specification(model: ModelBin, where: str) -> None:
    """Raises ModelFileError for a model that is not an encoder with a decoder of text."""
    if model.specification not in _SPECIFICATIONS:
        raise ModelFileError(
            f"{where}: a model of {model.specification[:80]!r}, expected 'TransformerSpec': only encoder-decoder "
            "Transformers of text are supported"
        )


def _config(variables: Variables, vocabularies: Vocabularies, settings: NetworkSettings) -> ModelConfig:
    sides = {side: _side(variables, side) for side in ("encoder", "decoder")}
    features = variables.features()
    ours, theirs = sides["encoder"], sides["decoder"]
    features += [
        f"another {name.replace('_', ' ')} of the encoder ({ours[name]}) than of the decoder ({theirs[name]})"
        for name in ours
        if name not in ("layers", "ffn_dim", "shares_biases") and ours[name] != theirs[name]
    ]
    if features:
        raise Refused(f"not supported: {'; '.join(features)}")
    decoder = variables.layers("decoder")
    layer = variables.whole("decoder/alignment_layer", variables.whole("alignment_layer", -1))
    if not -decoder <= layer < decoder:
        raise Refused(f"alignment_layer is {layer}, but there are {decoder} decoder layers")
    heads = variables.whole("decoder/alignment_heads", variables.whole("alignment_heads", 1))
    if not 0 <= heads <= ours["heads"]:
        raise Refused(f"alignment_heads is {heads}, but there are {ours['heads']} heads")
    tables = _tables(variables)
    is_alike = vocabularies.source_rows == range(vocabularies.target_size)
    relative = ours["relative_positions"]
    rows = _MAX_SOURCE if relative else len(_positions(variables, ours["model_dim"]))
    epsilon = settings.epsilon
    if epsilon is None:
        epsilon = _RMS_EPSILON if ours["rms_norm"] else _EPSILON
    return ModelConfig.of(
        model_dim=ours["model_dim"],
        ffn_dim=ours["ffn_dim"],
        decoder_ffn_dim=None if theirs["ffn_dim"] == ours["ffn_dim"] else theirs["ffn_dim"],
        heads=ours["heads"],
        encoder_layers=ours["layers"],
        decoder_parameters=tuple(range(min(decoder, 1 << 8))),
        vocab_size=vocabularies.target_size,
        source_vocab_size=len(vocabularies.source_rows),
        shared_vocabulary=vocabularies.are_shared,
        shared_embedding=is_alike and variables.are_equal(tables["source"], tables["target"]),
        tied_output=variables.are_equal(tables["target"], tables["output"]),
        scale_embedding=ours["scaled_embeddings"],
        positions="none" if relative else "trained",  # a table, whatever is in it
        target_positions=not relative and _are_apart(variables, ours["model_dim"]),
        **relative,
        relative_shared=ours["shares_biases"] and theirs["shares_biases"],
        attention_dim=None if ours["attention_width"] == ours["model_dim"] else ours["attention_width"],
        attention_scale=ours["scale_of_queries"],
        gated_ffn=ours["gated_ffn"],
        rms_norm=ours["rms_norm"],
        activation=ours["activation"],
        preprocess="n" if ours["norm_before_blocks"] else "",
        postprocess="a" if ours["norm_before_blocks"] else "an",
        embedding_norm=ours["norm_of_embeddings"],
        top_norm=ours["final_norm"],
        cell="self_attention",
        alignment_layer=layer % decoder,
        alignment_heads=heads or ours["heads"],
        start_vector=not variables.flag("decoder/start_from_zero_embedding"),
        layer_norm_epsilon=epsilon,
        source_end=settings.source_end,
        eos_id=vocabularies.eos_id,
        unk_id=vocabularies.unk_id,
        max_source_length=min(rows, _MAX_SOURCE),
    )


def _side(variables: Variables, side: str) -> dict[str, Any]:
    """Returns the structure of a side."""
    model_dim = variables.matrix(_tables(variables)["source" if side == "encoder" else "target"]).shape[1]
    old = _HEADS.get(variables.specification)
    heads = old or variables.whole(f"{side}/num_heads", variables.whole("num_heads", 0))
    if not 0 < heads <= model_dim:
        raise Refused(f"{side}/num_heads is {heads}, expected 1 to {model_dim}")
    number = variables.whole(f"{side}/activation", variables.whole("activation", 0))
    if not 0 <= number < len(_ACTIVATIONS):
        raise Refused(f"{side}/activation is {number}, expected 0 to {len(_ACTIVATIONS) - 1}")
    variables.expect(f"{side}/alibi", 0)
    variables.expect(f"{side}/multi_query_attention", 0)
    norm, final = f"{side}/layer_0/self_attention/layer_norm", f"{side}/layer_norm/gamma" in variables
    if not final or side == "encoder":
        variables.expect(f"{side}/scale_outputs", 1)
    # of one table nothing is merged; a norm of embeddings is known by its vectors; the others are settings of ALiBi
    for name in ("embeddings_merge", "layernorm_embedding", "scale_alibi", "alibi_use_positive_positions"):
        variables.ignore(f"{side}/{name}", name)
    layers = variables.layers(side)
    width = variables.matrix(f"{side}/layer_0/self_attention/linear_1").shape[1]
    relative, shared = _relative(variables, side, layers)
    if relative:
        variables.ignore("with_relative_position")
    else:
        variables.expect("with_relative_position", 0)
    return {
        "model_dim": model_dim,
        "ffn_dim": variables.matrix(f"{side}/layer_0/ffn/linear_0").shape[0],
        "heads": heads,
        "layers": layers,
        "activation": _ACTIVATIONS[number],
        "attention_width": width,
        "scale_of_queries": _scale_of_queries(variables, side, heads, width, model_dim),
        "relative_positions": relative,
        "shares_biases": shared,
        "gated_ffn": f"{side}/layer_0/ffn/linear_0_noact/weight" in variables,
        "rms_norm": f"{norm}/gamma" in variables and f"{norm}/beta" not in variables,
        "norm_before_blocks": bool(variables.whole(f"{side}/pre_norm", variables.whole("pre_norm", 1))),
        "norm_of_embeddings": f"{side}/layernorm_embedding/gamma" in variables,
        "final_norm": final,
        "scaled_embeddings": _scaled(variables, side, model_dim),
    }


def _scale_of_queries(variables: Variables, side: str, heads: int, width: int, model_dim: int) -> float | None:
    """Returns the factor of queries in all attention layers of a side; None if it is head_dim^-0.5."""
    found = set()
    for i in range(variables.layers(side)):
        for block in ("self_attention", "attention")[: 1 + (side == "decoder")]:
            prefix = f"{side}/layer_{i}/{block}"
            variables.expect(f"{prefix}/num_heads_kv", heads)
            variables.expect(f"{prefix}/head_dim", width / heads)
            head_dim = variables.number(f"{prefix}/head_dim", model_dim / heads)
            if not head_dim > 0:
                raise Refused(f"{prefix}/head_dim is {head_dim:g}, expected a positive number")
            found.add(variables.number(f"{prefix}/queries_scale", head_dim**-0.5))
    scale = min(found)
    if not math.isclose(scale, max(found), rel_tol=_SAME_SCALE):
        raise Refused(f"not supported: different scales of queries in one model, {scale:g} and {max(found):g}")
    return None if math.isclose(scale, (width / heads) ** -0.5, rel_tol=_SAME_SCALE) else scale


def _relative(variables: Variables, side: str, layers: int) -> tuple[dict[str, int], bool]:
    """Returns the fields of the config for the terms of distances in a side's self-attention; none without them. Also
    returns whether all layers have the same biases."""
    prefixes = [f"{side}/layer_{i}/self_attention" for i in range(layers)]
    keys, bias = f"{prefixes[0]}/relative_position_keys", f"{prefixes[0]}/relative_attention_bias"
    if keys in variables:
        table = variables.floats(keys)
        if table.ndim != 2 or len(table) % 2 == 0:
            raise Refused(f"{keys} has shape {list(table.shape)}, expected [2 distances + 1, head_dim]")
        return {"relative_positions": len(table) // 2}, True
    if bias not in variables:
        return {}, True
    table = variables.floats(bias)
    if table.ndim != 2:
        raise Refused(f"{bias} has shape {list(table.shape)}, expected [buckets, heads]")
    furthest = {variables.whole(f"{prefix}/relative_attention_max_distance") for prefix in prefixes}
    if len(furthest) > 1:
        raise Refused("not supported: another relative_attention_max_distance in each layer")
    shared = all(variables.are_same(bias, f"{prefix}/relative_attention_bias") for prefix in prefixes)
    return {"relative_buckets": len(table), "relative_distance": furthest.pop()}, shared


def _scaled(variables: Variables, side: str, model_dim: int) -> bool:
    """Returns whether embeddings are multiplied by sqrt(model_dim)."""
    names = (f"{side}/scale_embeddings", f"{side}/embeddings/multiply_by_sqrt_depth")  # the second in old models
    name = next((name for name in names if name in variables), names[0])
    value, is_factor = variables.number(name, 1), name in variables and variables.is_float(name)
    if value in (0, 1):
        return bool(value) and not is_factor  # the factor 1 scales nothing
    if is_factor and math.isclose(value, math.sqrt(model_dim), rel_tol=1e-4):
        return True
    raise Refused(f"not supported: embeddings scaled by {value:g} ({name}), expected sqrt(model_dim) or 1")


def _tables(variables: Variables) -> dict[str, str]:
    """Returns the prefixes of the tables of the source, the target and the output layer."""
    new, old = "encoder/embeddings_0", "encoder/embeddings"
    source = old if f"{new}/weight" not in variables and f"{old}/weight" in variables else new
    return {"source": source, "target": "decoder/embeddings", "output": "decoder/projection"}


def _positions(variables: Variables, model_dim: int) -> Array:
    """Returns the vector of each position, of both sides if they share them: stored ones, or computed sinusoids."""
    if _are_apart(variables, model_dim):
        return _side_positions(variables, "encoder", model_dim)
    return max((_side_positions(variables, side, model_dim) for side in ("encoder", "decoder")), key=len)


def _are_apart(variables: Variables, model_dim: int) -> bool:
    """Returns whether the decoder has positions of its own."""
    one, other = (_side_positions(variables, side, model_dim) for side in ("encoder", "decoder"))
    common = min(len(one), len(other))
    return not np.abs(one[:common] - other[:common]).max() < _SAME_POSITIONS


def _side_positions(variables: Variables, side: str, model_dim: int) -> Array:
    name = f"{side}/position_encodings/encodings"
    if name not in variables:  # there the first position is 1
        return position_signal(_COMPUTED + 1, model_dim)[1:]
    table = variables.floats(name)
    if table.ndim != 2 or table.shape[1] != model_dim or not len(table):
        raise Refused(f"{name} has shape {list(table.shape)}, expected [positions, {model_dim}]")
    return table


_Matrices = dict[tuple[str, ...], str]
_ATTENTION: _Matrices = {("query",): "linear_0", ("key", "value"): "linear_1", ("output",): "linear_2"}
_SELF_ATTENTION: _Matrices = {("query", "key", "value"): "linear_0", ("output",): "linear_1"}
# our block -> the layer of its variables, and its matrices: our parts of each one -> its name
_BLOCKS: dict[str, tuple[str, _Matrices]] = {
    "self_attention": ("self_attention", _SELF_ATTENTION),
    "cell": ("self_attention", _SELF_ATTENTION),
    "cross_attention": ("attention", _ATTENTION),
    "feed_forward": ("ffn", {("inner",): "linear_0", ("gate",): "linear_0_noact", ("outer",): "linear_1"}),
}
_RELATIVE = {  # the end of our name -> that of a variable
    "relative_keys": "relative_position_keys",
    "relative_values": "relative_position_values",
    "relative_bias": "relative_attention_bias",
}
_NORM_PARTS = {"scale": "gamma", "bias": "beta"}


def _tensors(config: ModelConfig, variables: Variables, start_id: int, source_rows: Sequence[int]) -> dict[str, Weight]:
    """Returns the tensors of the config, each checked for its shape."""
    tables, names = _tables(variables), {table: role for role, table in tensor_tables(config).items()}
    found: dict[str, Weight] = {}
    for ours, shape in checkpoint_tensors(config).items():
        if ours in names:
            for role, table in tables.items():  # equal tables are read once, so that nothing stays unread
                if tensor_tables(config)[role] != ours:
                    continue
                if role == "source" and source_rows != range(len(source_rows)):
                    found[ours] = moved(_of_shape(variables, table, (max(source_rows) + 1, shape[1])), source_rows)
                else:
                    found[ours] = _of_shape(variables, table, shape)
        elif ours == "output.bias":
            found[ours] = _bias(variables, tables["output"], shape[0])
        elif ours == "positions":
            found[ours] = np.require(_positions(variables, shape[1]), requirements=["C", "ALIGNED"])
        elif ours == "target_positions":
            found[ours] = np.require(_side_positions(variables, "decoder", shape[1]), requirements=["C", "ALIGNED"])
        elif ours.rpartition(".")[2] in _RELATIVE:
            found[ours] = np.require(_relative_table(variables, ours, shape), requirements=["C", "ALIGNED"])
        elif ours == "start":
            found[ours] = _row(found[tensor_tables(config)["target"]], start_id)
        elif ours.endswith(("embedding_norm.scale", "embedding_norm.bias", "top_norm.scale", "top_norm.bias")):
            side, norm, part = ours.split(".")
            theirs = f"{side}/{'layer_norm' if norm == 'top_norm' else 'layernorm_embedding'}"
            vector = _norm(config, variables, theirs, part, shape)
            if norm == "top_norm" and side == "decoder":  # its outputs are scaled
                with np.errstate(over="ignore"):
                    vector = vector * np.float32(variables.number("decoder/scale_outputs", 1))
                if not np.isfinite(vector).all():
                    raise Refused(f"{theirs} times decoder/scale_outputs is not finite")
            found[ours] = vector
        else:
            found[ours] = _inner(config, variables, ours, shape)
    return found


def _relative_table(variables: Variables, ours: str, shape: tuple[int, ...]) -> Array:
    """Returns a table of distances. One that all layers of a side share is that of its first layer."""
    side, *number, part = ours.split(".")
    layer = number[0] if number else 0
    return variables.floats(f"{side}/layer_{layer}/self_attention/{_RELATIVE[part]}", shape)


def _inner(config: ModelConfig, variables: Variables, ours: str, shape: tuple[int, ...]) -> Weight:
    """Returns a tensor of a layer."""
    side, number, block, part, kind = ours.split(".")
    layer, matrices = _BLOCKS[block]
    prefix = f"{side}/layer_{number}/{layer}"
    if part in ("norm", "pre_norm"):
        return _norm(config, variables, f"{prefix}/layer_norm", kind, shape)
    parts = next(parts for parts in matrices if part in parts)
    theirs = f"{prefix}/{matrices[parts]}"
    width = shape[-1]
    begin = width * parts.index(part)
    if kind == "bias":
        return _bias(variables, theirs, width * len(parts))[begin : begin + width]
    whole = _of_shape(variables, theirs, (width * len(parts), shape[0]))
    if not isinstance(whole, StoredIntegers):
        part_of_all: Array = whole[begin : begin + width].T
        return part_of_all
    multiplier = whole.multiplier
    if not isinstance(multiplier, float):
        multiplier = multiplier[begin : begin + width, 0]
    return StoredIntegers(whole.values[begin : begin + width].T, multiplier)


def _of_shape(variables: Variables, name: str, shape: tuple[int, ...]) -> Weight:
    found = variables.matrix(name)
    if found.shape != shape:
        raise Refused(f"{name}/weight has shape {list(found.shape)}, expected {list(shape)}")
    return found


def _bias(variables: Variables, name: str, size: int) -> Array:
    bias = f"{name}/bias"
    return variables.floats(bias, (size,)) if bias in variables else np.zeros(size, np.float32)


def _norm(config: ModelConfig, variables: Variables, name: str, part: str, shape: tuple[int, ...]) -> Array:
    gamma, beta = (f"{name}/{parameter}" for parameter in _NORM_PARTS.values())
    if (beta in variables) == config.architecture.rms_norm:
        known = gamma if config.architecture.rms_norm else beta
        raise Refused(
            f"not supported: RMS norms beside others ({known})" if gamma in variables else f"{gamma} is missing"
        )
    if part == "bias" and config.architecture.rms_norm:
        return np.zeros(shape, np.float32)
    return variables.floats(f"{name}/{_NORM_PARTS[part]}", shape)


def _row(table: Weight, row: int) -> Array:
    """Returns a row of a table in float32."""
    if not isinstance(table, StoredIntegers):
        return np.array(table[row], np.float32)
    multiplier = table.multiplier if isinstance(table.multiplier, float) else table.multiplier[row]
    return StoredIntegers(table.values[row], multiplier).weights()
