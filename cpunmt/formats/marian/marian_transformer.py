"""Marian's Transformers: the training options (`special:model.yml`), and the names of the parameters.

All variants of `TransformerConfig` are supported. Everything else is refused by option name: nothing is guessed. For
other networks see `marian_recurrent`. Marian names parameters by their layers, from 1: `encoder_l1_self_Wq`. Weights
are [in, out]; tables are [pieces, model_dim].

Sources: Marian's `src/models/transformer.h`, `src/rnn/cells.h` and `src/common/config_parser.cpp`
(https://github.com/marian-nmt/marian-dev).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import parse_yaml
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

# option -> (Marian's default, for files older than the option; the values we support; what to do instead)
_SUPPORTED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "type": ("amun", ("transformer",)),
    "transformer-rnn-projection": (False, (False, True)),
    "transformer-pool": (False, (False,)),
    "transformer-no-bias": (False, (False,)),
    "transformer-no-affine": (False, (False,)),
    "transformer-disable-position-embeddings": (False, (False,)),
    "transformer-attention-mask": ("default", ("default",)),
    "transformer-decoder-autoreg": ("self-attention", ("rnn", "self-attention", "average-attention")),
    "transformer-ffn-activation": ("swish", ("relu", "swish", "gelu")),
    "transformer-aan-activation": ("swish", ("relu", "swish", "gelu")),
    "input-types": ([], ([],)),
    "lemma-dim-emb": (0, (0,)),
    "ulr": (False, (False,)),
    "factors-combine": ("sum", ("sum",)),
}
_AUTOREGRESSION = {"self-attention": "self_attention", "average-attention": "average_attention"}
_RECURRENT = [name for name, cell in CELLS.items() if cell.recurrent]
# Marian's forks that run models in production compute gelu as x sigmoid(1.702 x); its newest master uses erf.
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu": "gelu_sigmoid"}
OUTPUT_BIAS = "decoder_ff_logit_out_b"
OUTPUT = "decoder_ff_logit_out_Wt"
TABLES = {"embedding": "Wemb", "source_embedding": "encoder_Wemb", "target_embedding": "decoder_Wemb"}
# part of a block -> the ends of its weight's name, after W, and its bias's, after b
_ENDINGS: dict[str, str] = {name: name[0] for name in ("query", "key", "value", "output", "forget", "reset")}
_ENDINGS |= {"candidate": "", "input_gate": "i", "forget_gate": "f"}
# block -> the names of its parameters, and of its layer norms and highways, after the layer's name
_BLOCKS = {
    "self_attention": ("self", "self_Wo"),
    "cross_attention": ("context", "context_Wo"),
    "feed_forward": ("ffn", "ffn_ffn"),
    "average_attention": ("aan", "aan_ffn"),
    **{name: ("rnn", "rnn_ffn") for name, cell in CELLS.items() if cell.recurrent},
}
# cell -> part -> Marian's names of its weight and bias, where they lack these endings
_CELLS: dict[str, dict[str, tuple[str, ...]]] = {
    "gru": {
        "gates": ("W", "b"),
        "candidate": ("Wx", "bx"),
        "state_gates": ("U",),
        "state_candidate": ("Ux",),
    },
    "lstm": {"gates": ("W", "b"), "state_gates": ("U",)},
}


def parse_options(text: bytes, where: str) -> dict[str, Any]:
    """Returns the options in the bytes of `special:model.yml`, up to the first NUL: newer Marian pads with NULs.

    Raises ModelFileError if they are not a flat YAML mapping of names to values and lists.
    """
    options = parse_yaml(text.split(b"\0", 1)[0], f"{where}: special:model.yml")
    return {name: _plain(value) for name, value in options.items()}


def _plain(value: Any) -> Any:
    """Converts texts: some tools save every value as text: "true" and "8" count as True and 8."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value, int(value) if value.isdecimal() and len(value) < 19 else value)
    return value


def unsupported(options: Mapping[str, Any], expected: Mapping[str, tuple[Any, tuple[Any, ...]]]) -> list[str]:
    """Returns a problem for each option whose value is not supported.

    `expected`: option -> (its value if it is absent, the supported values)
    """
    problems = []
    for name, (default, supported) in expected.items():
        value = default if options.get(name) is None else options[name]
        if not any(type(value) is type(one) and value == one for one in supported):
            problems.append(f"{name} is {value!r}, supported is {' or '.join(map(repr, supported))}")
    return problems


def vocabularies(options: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Returns the fields of a config for the number of pieces, shared tables, and the end that is read first.

    Adds values that are not supported to `problems`.
    """
    sizes = options.get("dim-vocabs")
    if not isinstance(sizes, list) or len(sizes) != 2 or not all(type(size) is int for size in sizes):
        problems.append(f"dim-vocabs is {sizes!r}, supported is a source and a target vocabulary: two sizes")
        return {}
    all_tied = options.get("tied-embeddings-all")
    shared = bool(all_tied or options.get("tied-embeddings-src"))
    backwards = options.get("right-left")
    return {
        "vocab_size": sizes[1],
        "source_vocab_size": None if sizes[0] == sizes[1] else sizes[0],
        "shared_vocabulary": shared,
        "shared_embedding": shared,
        "tied_output": bool(all_tied or options.get("tied-embeddings")),
        "right_to_left": False if backwards is None else backwards,
    }


def read_config(options: Mapping[str, Any], names: Collection[str], where: str) -> tuple[ModelConfig, list[int]]:
    """Returns the architecture, and the layer numbers in Marian's names of each decoder parameter set.

    `names` are the file's tensors: some options are less specific.

    Raises ModelFileError that lists every option that is not supported.
    """

    def value(name: str, default: Any) -> Any:
        given = options.get(name)
        return default if given is None else given  # an empty YAML value is None

    problems = unsupported(options, _SUPPORTED)
    cell = value("transformer-decoder-autoreg", "self-attention")
    if cell == "rnn":
        cell = value("dec-cell", "gru")
        if cell not in _RECURRENT:
            problems.append(f"dec-cell is {cell!r}, supported is {' or '.join(map(repr, _RECURRENT))}")
        if value("layer-normalization", False):
            problems.append("layer-normalization is True, supported is False")
    sizes = vocabularies(options, problems)
    depth, tied = value("dec-depth", 1), value("transformer-tied-layers", [])
    if type(depth) is not int or not 1 <= depth <= 128:
        problems.append(f"dec-depth is {depth!r}, expected 1 to 128")
    elif tied and not _is_layer_list(tied, depth):
        problems.append(f"transformer-tied-layers is {tied!r}, expected {depth} layer numbers from 1 to {depth}")
    pre, post, embedding, top = (
        _letters(value(f"transformer-{name}", default), allowed, f"transformer-{name}", problems)
        for name, default, allowed in (
            ("preprocess", "", ("", "n")),
            ("postprocess", "dan", None),
            ("postprocess-emb", "d", ("", "n")),
            ("postprocess-top", "", ("", "n")),
        )
    )
    if problems:
        raise ModelFileError(f"{where}: not a supported architecture: {'; '.join(problems)}")
    tied = tied or list(range(1, depth + 1))
    numbers = sorted(set(tied))
    trained = "Wpos" in names
    ffn_dim, ffn_depth = value("transformer-dim-ffn", 2048), value("transformer-ffn-depth", 2)
    decoder_ffn_dim = value("transformer-decoder-dim-ffn", 0)
    guided = value("transformer-guided-alignment-layer", "last")
    try:
        config = ModelConfig.of(
            model_dim=value("dim-emb", 512),
            ffn_dim=ffn_dim,
            heads=value("transformer-heads", 8),
            encoder_layers=value("enc-depth", 1),
            decoder_parameters=tuple(numbers.index(number) for number in tied),
            scale_embedding=not trained,
            positions="trained" if trained else "marian",
            decoder_ffn_dim=None if decoder_ffn_dim in (0, ffn_dim) else decoder_ffn_dim,
            ffn_depth=ffn_depth,
            decoder_ffn_depth=value("transformer-decoder-ffn-depth", 0) or ffn_depth,
            activation=_ACTIVATIONS[value("transformer-ffn-activation", "swish")],
            preprocess=pre,
            postprocess=post,
            embedding_norm=embedding == "n",
            top_norm=top == "n",
            attention_projection=not value("transformer-no-projection", False),
            cell=_AUTOREGRESSION.get(cell, cell),
            cell_projection=cell in _RECURRENT and value("transformer-rnn-projection", False),
            average_dim=value("transformer-dim-aan", 2048) if cell == "average-attention" else 1,
            average_depth=value("transformer-aan-depth", 2) if cell == "average-attention" else 2,
            average_activation=_ACTIVATIONS[value("transformer-aan-activation", "swish")],
            average_gate=not value("transformer-aan-nogate", False),
            alignment_layer=None if guided == "last" else guided - 1,
            **sizes,
        )
    except (ModelFileError, TypeError) as error:
        raise ModelFileError(f"{where}: {error}") from None
    return config, numbers


def _letters(text: Any, allowed: tuple[str, ...] | None, name: str, problems: list[str]) -> str:
    """Returns a string of operations without its d (dropout, which is only for training)."""
    letters = text.replace("d", "") if isinstance(text, str) else text
    if not isinstance(letters, str) or (set(letters) - set("anh") if allowed is None else letters not in allowed):
        supported = "letters d, a, n, h" if allowed is None else "d and n, at most once"
        problems.append(f"{name} is {text!r}, supported are {supported}")
        return ""
    return letters


def _is_layer_list(value: Any, depth: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == depth
        and all(type(number) is int and 1 <= number <= depth for number in value)
    )


def marian_names(config: ModelConfig, decoder_numbers: list[int]) -> dict[str, str]:
    """Maps the canonical name of every parameter of a checkpoint to Marian's name."""
    return dict(_names(config, decoder_numbers))


def _names(config: ModelConfig, decoder_numbers: list[int]) -> Iterator[tuple[str, str]]:
    for name in checkpoint_tensors(config):
        if "." not in name or name == "output.bias":
            yield name, {**TABLES, "output": OUTPUT, "output.bias": OUTPUT_BIAS, "positions": "Wpos"}[name]
            continue
        side, layer, *rest = name.split(".")
        if not layer.isdecimal():  # encoder.top_norm.scale
            kind, vector = layer.removesuffix("_norm"), rest[0]
            suffix = "_pre" if kind == "embedding" else ""
            yield name, f"{side}_{'emb' if kind == 'embedding' else kind}_ln_{vector}{suffix}"
            continue
        number = int(layer) + 1 if side == "encoder" else decoder_numbers[int(layer)]
        yield name, f"{side}_l{number}_{_inside(config, side, *rest)}"


def _inside(config: ModelConfig, side: str, block: str, *parts: str) -> str:
    """Returns the name after the layer's of, say, ("cross_attention", "query", "weight")."""
    *path, vector = parts
    kind = config.architecture.cell if block == "cell" else block
    prefix, around = _BLOCKS[kind]
    if path[0] == "norm":
        return f"{around}_ln_{vector}"
    if path[0] == "pre_norm":
        return f"{'rnn' if prefix == 'rnn' else around}_ln_{vector}_pre"
    letter = {"weight": "W", "bias": "b"}[vector]
    if path[0] == "highway":
        return f"{around}_{letter}h"
    if path[0] in ("inner", "middle", "outer"):
        architecture = config.architecture
        depth = architecture.ffn_depth if side == "encoder" else architecture.decoder_ffn_depth
        depth = architecture.average_depth if block == "cell" else depth
        number = {"inner": 1, "outer": depth}.get(path[0]) or int(path[1]) + 2
        return f"{prefix}_{letter}{number}"
    names = _CELLS.get(kind, {}).get(path[0])
    return f"{prefix}_{names[vector == 'bias'] if names else letter + _ENDINGS[path[0]]}"
