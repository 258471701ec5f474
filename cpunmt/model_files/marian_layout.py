"""What Marian's options and parameter names mean to us, whatever file they come from.

Marian keeps its training options as YAML in the item `special:model.yml`, and names parameters by its layers.
Supported is the student architecture of Bergamot: a post-norm Transformer encoder, an SSRU decoder (whose
layers may share parameters), ReLU, a joint vocabulary, tied embeddings. All else is refused by option name.

Sources: Marian's `src/models/transformer.h`, `src/rnn/cells.h` and `src/common/config_parser.cpp`
(https://github.com/marian-nmt/marian-dev).
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from cpunmt.config import ModelConfig
from cpunmt.errors import ModelFileError
from cpunmt.model_files.yaml_text import parse_yaml

# option -> (Marian's default, for files older than the option; the values we support)
_SUPPORTED = {
    "type": ("amun", ("transformer",)),
    "transformer-decoder-autoreg": ("self-attention", ("rnn",)),
    "dec-cell": ("gru", ("ssru",)),
    "transformer-ffn-activation": ("swish", ("relu",)),
    "transformer-ffn-depth": (2, (2,)),
    "transformer-decoder-ffn-depth": (0, (0, 2)),
    "transformer-preprocess": ("", ("", "d")),
    "transformer-postprocess": ("dan", ("dan", "an")),  # d is dropout: nothing to do when translating
    "transformer-postprocess-emb": ("d", ("", "d")),
    "transformer-postprocess-top": ("", ("", "d")),
    "transformer-no-projection": (False, (False,)),
    "transformer-rnn-projection": (False, (False,)),
    "transformer-pool": (False, (False,)),
    "transformer-no-bias": (False, (False,)),
    "transformer-no-affine": (False, (False,)),
    "transformer-disable-position-embeddings": (False, (False,)),
    "transformer-attention-mask": ("default", ("default",)),
    "layer-normalization": (False, (False,)),
    "right-left": (False, (False,)),
    "input-types": ([], ([],)),
    "lemma-dim-emb": (0, (0,)),
    "ulr": (False, (False,)),
}


def parse_options(text: bytes, where: str) -> dict:
    """The options in the bytes of `special:model.yml`, up to the first NUL: newer Marian pads with NULs.

    Raises ModelFileError if they are not a flat YAML mapping of names to values and lists.
    """
    options = parse_yaml(text.split(b"\0", 1)[0], f"{where}: special:model.yml")
    return {name: _plain(value) for name, value in options.items()}


def _plain(value):
    """Some tools save every value as text: "true" and "8" count as True and 8."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        number = int(value) if re.fullmatch("[0-9]{1,9}", value) else value
        return {"true": True, "false": False}.get(value, number)
    return value


def read_config(options: Mapping, where: str) -> tuple[ModelConfig, list[int]]:
    """The architecture, and for each decoder parameter set the layer number (1-based) in Marian's names.

    Raises ModelFileError that lists every unsupported option with the values that are supported.
    """
    problems = []
    for name, (default, supported) in _SUPPORTED.items():
        value = _value(options, name, default)
        if value not in supported:
            absent = "" if name in options else " (Marian's default, the option is absent)"
            expected = " or ".join(repr(value) for value in supported)
            problems.append(f"{name} is {value!r}{absent}, supported is {expected}")
    if not _value(options, "tied-embeddings-all", False) and not (
        _value(options, "tied-embeddings", False) and _value(options, "tied-embeddings-src", False)
    ):
        problems.append("tied-embeddings-all is False, supported is True (source, target and output embeddings tied)")
    vocab_sizes = options.get("dim-vocabs")
    if not isinstance(vocab_sizes, list) or len(vocab_sizes) != 2 or vocab_sizes[0] != vocab_sizes[1]:
        problems.append(f"dim-vocabs is {vocab_sizes!r}, supported is one joint vocabulary: two equal sizes")
    ffn_dim = _value(options, "transformer-dim-ffn", 2048)
    decoder_ffn_dim = _value(options, "transformer-decoder-dim-ffn", 0)
    if decoder_ffn_dim not in (0, ffn_dim):
        problems.append(
            f"transformer-decoder-dim-ffn is {decoder_ffn_dim!r}, supported is 0 or the encoder's {ffn_dim!r}"
        )
    depth = _value(options, "dec-depth", 1)
    tied_layers = _value(options, "transformer-tied-layers", [])
    if type(depth) is not int or not 1 <= depth <= 128:
        problems.append(f"dec-depth is {depth!r}, expected 1 to 128")
    elif not tied_layers:
        tied_layers = list(range(1, depth + 1))
    elif not _is_layer_list(tied_layers, depth):
        problems.append(f"transformer-tied-layers is {tied_layers!r}, expected {depth} layer numbers from 1 to {depth}")
    if problems:
        raise ModelFileError(f"{where}: not a supported architecture: {'; '.join(problems)}")
    numbers = sorted(set(tied_layers))
    try:
        config = ModelConfig(
            model_dim=_value(options, "dim-emb", 512),
            ffn_dim=ffn_dim,
            heads=_value(options, "transformer-heads", 8),
            encoder_layers=_value(options, "enc-depth", 1),
            decoder_parameters=tuple(numbers.index(number) for number in tied_layers),
            vocab_size=vocab_sizes[0],
        )
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error}") from None
    return config, numbers


def _value(options: Mapping, name: str, default):
    value = options.get(name)
    return default if value is None else value  # an empty YAML value is None


def _is_layer_list(value, depth) -> bool:
    return (
        isinstance(value, list)
        and len(value) == depth
        and all(type(number) is int and 1 <= number <= depth for number in value)
    )


def parameter_names(config: ModelConfig, decoder_numbers: list[int]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Canonical name -> (Marian's name, canonical shape) of every parameter."""
    return dict(_parameter_names(config, decoder_numbers))


def _parameter_names(config, decoder_numbers) -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    d, f = config.model_dim, config.ffn_dim

    def affine(ours, theirs, letter, inputs, outputs):
        yield f"{ours}.weight", (f"{theirs}_W{letter}", (inputs, outputs))
        yield f"{ours}.bias", (f"{theirs}_b{letter}", (outputs,))

    def norm(ours, theirs):
        yield f"{ours}.scale", (f"{theirs}_ln_scale", (d,))
        yield f"{ours}.bias", (f"{theirs}_ln_bias", (d,))

    def attention(ours, theirs):
        for part in ("query", "key", "value", "output"):
            yield from affine(f"{ours}.{part}", theirs, part[0], d, d)
        yield from norm(f"{ours}.norm", f"{theirs}_Wo")

    def feed_forward(ours, theirs):
        yield from affine(f"{ours}.inner", theirs, "1", d, f)
        yield from affine(f"{ours}.outer", theirs, "2", f, d)
        yield from norm(f"{ours}.norm", f"{theirs}_ffn")

    yield "embedding", ("Wemb", (config.vocab_size, d))
    yield "output.bias", ("decoder_ff_logit_out_b", (config.vocab_size,))
    for i in range(config.encoder_layers):
        yield from attention(f"encoder.{i}.self_attention", f"encoder_l{i + 1}_self")
        yield from feed_forward(f"encoder.{i}.feed_forward", f"encoder_l{i + 1}_ffn")
    for p, number in enumerate(decoder_numbers):
        yield f"decoder.{p}.cell.candidate.weight", (f"decoder_l{number}_rnn_W", (d, d))
        yield from affine(f"decoder.{p}.cell.forget", f"decoder_l{number}_rnn", "f", d, d)
        yield from norm(f"decoder.{p}.cell.norm", f"decoder_l{number}_rnn_ffn")
        yield from attention(f"decoder.{p}.cross_attention", f"decoder_l{number}_context")
        yield from feed_forward(f"decoder.{p}.feed_forward", f"decoder_l{number}_ffn")


def canonical_tensors(
    arrays: Mapping[str, np.ndarray], names: Mapping[str, tuple[str, tuple[int, ...]]], where: str
) -> dict[str, np.ndarray]:
    """Marian's arrays under canonical names: float32, C order, vectors 1-D ([1, n] in Marian's older files).

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped, non-float and non-finite array.
    """
    expected = {theirs for theirs, _ in names.values()}
    problems = [f"{name} is missing" for name in sorted(expected - set(arrays))]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - expected)]
    tensors = {}
    for ours, (theirs, shape) in names.items():
        if theirs not in arrays:
            continue
        array = arrays[theirs]
        if array.shape != shape and not (len(shape) == 1 and array.shape == (1, *shape)):
            problems.append(f"{theirs} has shape {array.shape}, expected {shape}")
        elif array.dtype.kind != "f":
            problems.append(f"{theirs} has dtype {array.dtype}, expected a float")
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # too large a float64 becomes inf, caught below
                tensors[ours] = np.array(array.reshape(shape), np.float32, order="C")
            if not np.isfinite(tensors[ours]).all():
                problems.append(f"{theirs} holds NaN or infinity")
    if problems:
        raise ModelFileError(f"{where}: does not hold the parameters that its options ask for: {'; '.join(problems)}")
    return tensors
