"""Options of `quantize pack`, and their dependencies."""

import argparse
import contextlib
from typing import Any

from cpunmt.architectures.families import family_name
from cpunmt.errors import CpunmtError
from cpunmt.layers.schemes import CODEBOOKS, SCHEMES
from cpunmt.model.config import ACTIVATION_SCALES, RECOMMENDED, ModelConfig
from cpunmt.model.tensors import LARGE, decoder_weights, output_table
from cpunmt.values.command_line import Parser
from quantize.commands.shared_options import (
    Kind,
    add_gate_options,
    add_languages,
    add_options,
    add_vocabularies,
    languages_of,
    number,
    wrong_vocabularies,
)
from quantize.rounding.ranges import RANGES, SIGMAS, Range

CALIBRATION_LINES = 500
HELD_BACK = 5  # of that many sentences of the calibration text one is for --budget


def _latency(config: ModelConfig) -> list[tuple[str, str]]:
    """Returns schemes for one sentence at a time.

    Most of what a step of a small decoder reads is the feed-forward network. Its first matrix is read whole; of the
    second only the rows of nonzeros are. A large decoder leaves the caches at each step, so all of its bytes count.
    """
    small = [("decoder.*.feed_forward.inner", "code4")]
    large = [("decoder.*", "code4"), (output_table(config), "code4")]
    once_per_sentence = [("*.cross_attention.key_value", "int16")]
    return (large if decoder_weights(config) >= LARGE else small) + once_per_sentence


PRESETS = {"latency": {"transformer": _latency}}  # name -> family -> function from config to schemes, as of --keep


_MODEL = f"""
checkpoint CHECKPOINT  a Marian file (model.npz), or the directory of a model: of Marian, Bergamot, OPUS-MT or Hugging
                       Face, or packed as float32
out OUT                the model directory to make
--scheme S             how weights are stored: {", ".join(SCHEMES)} (default: int8); log4 and code4 have 4 bits
--keep PATTERN=S...    another scheme for matrices whose names match, as in 'embedding=float16' or 'decoder.*=int8'; may
                       be given several times, the last match counts
--preset NAME          latency: int8 that reads fewer bytes in each decoding step, for one sentence at a time: 4 bits
                       for the decoder's first feed-forward matrices, or for the whole decoder and the output layer if
                       they exceed the caches (give --calibration too), 16 for the keys and values of cross-attention,
                       once per sentence; --keep may change it
"""
_SHORTLIST = """
--shortlist FILE       lexical shortlist, text or binary, may be packed (.gz, .zst); not for many languages
"""
_ROUNDING = f"""
--range KIND   range of an int8 column: its largest weight (max); that, but at most some standard deviations (sigma);
               with the least squared error (mse). Default: max, with --sigmas sigma
--sigmas N     how many standard deviations (default: {SIGMAS:g})
--per-tensor   log4, code4: one scale per matrix, not per column
--fixed-point  int16: one power of two per matrix, weights clipped to [-1, 1], for models that were trained so
"""
_CALIBRATION = f"""
--calibration TEXT         source text like what will be translated, one sentence a line; weights are rounded so that
                           products with its activations change least. For a model of many languages without --from
                           and --to a line has three columns, with tabs between: both languages, and a sentence
--calibration-lines N      how many of its lines are used, spread over all of it (default: {CALIBRATION_LINES})
--budget NATS              {" and ".join(CODEBOOKS)}: matrices that lose most by 4 bits are int8, so that the model's
                           predictions diverge from float32's by at most NATS per piece, with the fewest bytes; 0: all
                           are int8. Every {HELD_BACK}th sentence of the text is held back, to measure this. --keep wins
--activation-scales KIND   dynamic: each row of activations has its own; static: one per matrix, found on the
                           calibration text, or those of the Marian file if there is none. Default: dynamic
--percentile P             static scales hold P percent of the rows; default: the rows' mean maximum and 1.1 standard
                           deviations, as in Marian
"""
_LIMITS = f"""
--max-length-factor N   the model's own limit: at most N target pieces per source piece (default: 3)
--replace-unknowns      for vocabularies of words: a translation may contain <unk>, for which the source's word with
                        most attention is written
--recommend OPTION=VALUE...  a default of the model for {", ".join(RECOMMENDED)}; may be given several times
--metadata KEY=TEXT...  what metadata.json shall say: source, licence, ...; may be given several times
"""


def add_pack_options(pack: Parser) -> None:
    """Adds all arguments of the command."""
    pack.meant = {"int4": "code4"}
    preset = {"choices": PRESETS, "metavar": None}
    add_options(pack, _MODEL, scheme={"choices": SCHEMES, "default": "int8"}, keep=_pattern_scheme, preset=preset)
    add_vocabularies(pack, ", for a file")
    add_options(pack, _SHORTLIST)
    positive = number(float, lambda value: 0 < value < float("inf"), "a positive number")
    ranges = {"choices": RANGES, "metavar": None}
    add_options(pack.add_argument_group("rounding"), _ROUNDING, range=ranges, sigmas=_unset(positive))
    calibration = pack.add_argument_group("calibration")
    add_languages(calibration)
    add_options(
        calibration,
        _CALIBRATION,
        budget=_unset(number(float, lambda value: 0 <= value < float("inf"), "a number from 0")),
        calibration_lines=_unset(number(int, lambda value: 1 <= value <= 1_000_000, "1 to 1000000")),
        activation_scales={"choices": ACTIVATION_SCALES, "default": ACTIVATION_SCALES[0], "metavar": None},
        percentile=number(float, lambda value: 0 < value <= 100, "more than 0 and at most 100"),
    )
    add_options(pack, _LIMITS, max_length_factor=_unset(float), recommend=_recommended, metadata=_key_value)
    add_gate_options(pack)
    add_options(pack, "--force  replace OUT if it is a model directory")


def _unset(kind: Kind) -> dict[str, Any]:
    """Returns the settings of an option whose absence differs from its default."""
    return {"type": kind, "default": None}


def conflict(given: argparse.Namespace, is_directory: bool) -> str | None:
    """Returns a message on contradictory options, or None."""
    if is_directory and (given.vocab or given.source_vocab or given.target_vocab):
        return "CHECKPOINT is a directory, which has its vocabularies: leave --vocab and the like out"
    wrong = None if is_directory else wrong_vocabularies(given)
    if wrong:
        return wrong
    if given.sigmas is not None and given.range not in (None, "sigma"):
        return f"--sigmas is of --range sigma, not of --range {given.range}"
    if given.calibration_lines is not None and not given.calibration:
        return "--calibration-lines is of --calibration TEXT"
    if given.budget is not None and given.scheme not in CODEBOOKS:
        return f"--budget is of --scheme {' or '.join(CODEBOOKS)}, not of {given.scheme}"
    if given.budget is not None and not given.calibration:
        return "--budget is of --calibration TEXT, of which it holds sentences back"
    if languages_of(given) != (None, None) and not (given.calibration or given.gate):
        return "--from and --to are of --calibration TEXT and --gate LIMITS"
    if given.preset and given.scheme != "int8":
        return f"--preset {given.preset} is of --scheme int8, not of {given.scheme}"
    static = given.activation_scales == "static"
    if given.percentile is not None and not (static and given.calibration):
        return "--percentile is of --activation-scales static and --calibration TEXT"
    if given.test and not given.gate:
        return "--test is of --gate LIMITS"
    if static and SCHEMES[given.scheme] != "int8":
        return f"--activation-scales static is of 8-bit activations, which {given.scheme} lacks"
    return None


def kept_schemes(given: argparse.Namespace, config: ModelConfig) -> list[tuple[str, str]]:
    """Returns (pattern, scheme) of the preset and of --keep; the last match counts.

    Raises CpunmtError for a preset of other networks.
    """
    kept: list[tuple[str, str]] = given.keep
    if given.preset is None:
        return kept
    families, family = PRESETS[given.preset], family_name(config.architecture)
    if family not in families:
        raise CpunmtError(
            f"--preset {given.preset} is of {', '.join(families)} models, and this one is {family}; choose with --keep"
        )
    return families[family](config) + kept


def chosen_range(given: argparse.Namespace) -> Range:
    """Returns the options' range of a column."""
    kind = given.range or (RANGES[0] if given.sigmas is None else "sigma")
    return Range(kind, SIGMAS if given.sigmas is None else given.sigmas, given.per_tensor, given.fixed_point)


def _pattern_scheme(text: str) -> tuple[str, str]:
    pattern, separator, scheme = text.rpartition("=")
    if not separator or not pattern or scheme not in SCHEMES:
        raise argparse.ArgumentTypeError(f"{text!r} is not PATTERN=SCHEME with one of {', '.join(SCHEMES)}")
    return pattern, scheme


def _recommended(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if name not in RECOMMENDED or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not OPTION=VALUE with one of {', '.join(RECOMMENDED)}")
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return name, kind(value)
    return name, value


def _key_value(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=TEXT")
    return key, value
