"""Converts the variables of a CTranslate2 Transformer to a config and canonical tensors.

Weights are [out, in], tables [pieces, d]. Products of one input are one matrix: query, key and value, or key and value,
below one another. int8 has a scale for each output column or row of a table, as ours, and is not rounded again. The
decoder starts with the vector of a piece, or with zero.

A variable or a value that this network lacks is refused by the name of the feature. So is any variable that is not
read.

Source: `src/layers/transformer.cc`, `attention.cc`, `src/models/transformer.cc` and `python/ctranslate2/specs` of
https://github.com/OpenNMT/CTranslate2.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.ctranslate2.model_bin import ModelBin
from cpunmt.formats.ctranslate2.variables import Refused, Variables, with_features
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.kernels.tables import position_signal
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors
from cpunmt.model.tensors import tables as tensor_tables

# the number of an activation -> our name, or None
_ACTIVATIONS = ("relu", None, "swish", "gelu", "gelu_sigmoid", None, None)
_ACTIVATION_NAMES = ("ReLU", "GELU by tanh", "SiLU", "GELU", "GELU by sigmoid", "tanh", "sigmoid")
_HEADS = {"": 8, "TransformerBase": 8, "TransformerBig": 16}  # of specifications that fix their number
_SPECIFICATIONS = (*_HEADS, "TransformerSpec")
_MAX_SOURCE = 1024  # pieces; CTranslate2 cuts longer sources there, unless told otherwise
_COMPUTED = 3 * _MAX_SOURCE  # positions of sinusoids, the last of which stands for all later ones
_SAME_POSITIONS = 1e-3  # float16 holds a sine to 2.5e-4


class Vocabularies(NamedTuple):
    """The facts of the vocabularies that a config needs."""

    source_size: int
    target_size: int
    are_shared: bool
    eos_id: int
    unk_id: int


class NetworkSettings(NamedTuple):
    """The settings of a model outside its variables."""

    source_end: bool  # </s> is added to sources
    start: str | None  # the piece whose vector is the decoder's first input, unless that is zero; None: the caller's
    start_id: int | None  # None: not in the vocabulary
    epsilon: float  # of layer norm


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
        tensors = _tensors(config, variables, _start_id(config, settings))
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
        if name not in ("layers", "ffn_dim") and ours[name] != theirs[name]
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
    one_size = vocabularies.source_size == vocabularies.target_size
    rows = len(_positions(variables, ours["model_dim"]))
    return ModelConfig.of(
        model_dim=ours["model_dim"],
        ffn_dim=ours["ffn_dim"],
        decoder_ffn_dim=None if theirs["ffn_dim"] == ours["ffn_dim"] else theirs["ffn_dim"],
        heads=ours["heads"],
        encoder_layers=ours["layers"],
        decoder_parameters=tuple(range(min(decoder, 1 << 8))),
        vocab_size=vocabularies.target_size,
        source_vocab_size=vocabularies.source_size,
        shared_vocabulary=vocabularies.are_shared,
        shared_embedding=one_size and variables.are_equal(tables["source"], tables["target"]),
        tied_output=variables.are_equal(tables["target"], tables["output"]),
        scale_embedding=ours["scaled_embeddings"],
        positions="trained",  # a table, whatever is in it
        target_positions=_are_apart(variables, ours["model_dim"]),
        activation=ours["activation"],
        preprocess="n" if ours["norm_before_blocks"] else "",
        postprocess="a" if ours["norm_before_blocks"] else "an",
        embedding_norm=ours["norm_of_embeddings"],
        top_norm=ours["final_norm"],
        cell="self_attention",
        alignment_layer=layer % decoder,
        alignment_heads=heads or ours["heads"],
        start_vector=not variables.flag("decoder/start_from_zero_embedding"),
        layer_norm_epsilon=settings.epsilon,
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
    activation = _ACTIVATIONS[number]
    if activation is None:
        raise Refused(f"not supported: {_ACTIVATION_NAMES[number]} as activation ({side}/activation)")
    variables.expect(f"{side}/alibi", 0)
    variables.expect(f"{side}/multi_query_attention", 0)
    variables.expect(f"{side}/scale_outputs", 1)
    variables.expect("with_relative_position", 0)
    # of one table nothing is merged; a norm of embeddings is known by its vectors; the others are settings of ALiBi
    for name in ("embeddings_merge", "layernorm_embedding", "scale_alibi", "alibi_use_positive_positions"):
        variables.ignore(f"{side}/{name}", name)
    layers = variables.layers(side)
    for i in range(layers):
        for block in ("self_attention", "attention")[: 1 + (side == "decoder")]:
            prefix = f"{side}/layer_{i}/{block}"
            variables.expect(f"{prefix}/queries_scale", (model_dim / heads) ** -0.5)
            variables.expect(f"{prefix}/num_heads_kv", heads)
            variables.expect(f"{prefix}/head_dim", model_dim / heads)
    return {
        "model_dim": model_dim,
        "ffn_dim": variables.matrix(f"{side}/layer_0/ffn/linear_0").shape[0],
        "heads": heads,
        "layers": layers,
        "activation": activation,
        "norm_before_blocks": bool(variables.whole(f"{side}/pre_norm", variables.whole("pre_norm", 1))),
        "norm_of_embeddings": f"{side}/layernorm_embedding/gamma" in variables,
        "final_norm": f"{side}/layer_norm/gamma" in variables,
        "scaled_embeddings": _scaled(variables, side, model_dim),
    }


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


_BLOCKS = {  # our block -> the layer of its variables, and our parts of each of its matrices
    "self_attention": ("self_attention", (("query", "key", "value"), ("output",))),
    "cell": ("self_attention", (("query", "key", "value"), ("output",))),
    "cross_attention": ("attention", (("query",), ("key", "value"), ("output",))),
    "feed_forward": ("ffn", (("inner",), ("outer",))),
}
_NORM_PARTS = {"scale": "gamma", "bias": "beta"}


def _tensors(config: ModelConfig, variables: Variables, start_id: int) -> dict[str, Weight]:
    """Returns the tensors of the config, each checked for its shape."""
    tables, names = _tables(variables), {table: role for role, table in tensor_tables(config).items()}
    found: dict[str, Weight] = {}
    for ours, shape in checkpoint_tensors(config).items():
        if ours in names:
            for role, table in tables.items():  # equal tables are read once, so that nothing stays unread
                if tensor_tables(config)[role] == ours:
                    found[ours] = _of_shape(variables, table, shape)
        elif ours == "output.bias":
            found[ours] = _bias(variables, tables["output"], shape[0])
        elif ours == "positions":
            found[ours] = np.require(_positions(variables, shape[1]), requirements=["C", "ALIGNED"])
        elif ours == "target_positions":
            found[ours] = np.require(_side_positions(variables, "decoder", shape[1]), requirements=["C", "ALIGNED"])
        elif ours == "start":
            found[ours] = _row(found[tensor_tables(config)["target"]], start_id)
        elif ours.endswith(("embedding_norm.scale", "embedding_norm.bias", "top_norm.scale", "top_norm.bias")):
            side, norm, part = ours.split(".")
            theirs = f"{side}/{'layer_norm' if norm == 'top_norm' else 'layernorm_embedding'}"
            found[ours] = _norm(variables, theirs, part, shape)
        else:
            found[ours] = _inner(variables, ours, shape)
    return found


def _inner(variables: Variables, ours: str, shape: tuple[int, ...]) -> Weight:
    """Returns a tensor of a layer."""
    side, number, block, part, kind = ours.split(".")
    layer, matrices = _BLOCKS[block]
    prefix = f"{side}/layer_{number}/{layer}"
    if part in ("norm", "pre_norm"):
        return _norm(variables, f"{prefix}/layer_norm", kind, shape)
    place = next(i for i, parts in enumerate(matrices) if part in parts)
    parts, theirs = matrices[place], f"{prefix}/linear_{place}"
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


def _norm(variables: Variables, name: str, part: str, shape: tuple[int, ...]) -> Array:
    gamma, beta = (f"{name}/{parameter}" for parameter in _NORM_PARTS.values())
    if gamma in variables and beta not in variables:
        raise Refused(f"not supported: RMS norms ({gamma} without beta)")
    return variables.floats(f"{name}/{_NORM_PARTS[part]}", shape)


def _row(table: Weight, row: int) -> Array:
    """Returns a row of a table in float32."""
    if not isinstance(table, StoredIntegers):
        return np.array(table[row], np.float32)
    multiplier = table.multiplier if isinstance(table.multiplier, float) else table.multiplier[row]
    return StoredIntegers(table.values[row], multiplier).weights()
