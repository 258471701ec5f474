"""Options of `quantize pack`, and which of them belong together."""

import argparse

from cpunmt.architectures.families import family_name
from cpunmt.errors import CpunmtError
from cpunmt.model.config import ACTIVATION_SCALES, SCHEMES, ModelConfig
from quantize.commands.shared_options import add_gate_options, add_vocabularies, number, wrong_vocabularies
from quantize.rounding.ranges import RANGES, SIGMAS, Range

CALIBRATION_LINES = 500
# Name -> family -> schemes of matrices, as of --keep, in an int8 model. latency: of what a decoding step reads most is
# in the feed-forward network. Its first matrix is needed whole; of the second only the rows that meet a nonzero are.
PRESETS = {
    "latency": {"transformer": [("decoder.*.feed_forward.inner", "code4"), ("*.cross_attention.key_value", "int16")]}
}


def add_options(pack: argparse.ArgumentParser):
    """Add all arguments of the command."""
    pack.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="a Marian file (model.npz), or the directory of a model: of Marian, Bergamot, OPUS-MT or Hugging Face, or "
        "packed as float32",
    )
    pack.add_argument("out", metavar="OUT", help="the model directory to make")
    schemes = ", ".join(SCHEMES)
    pack.add_argument(
        "--scheme",
        choices=SCHEMES,
        default="int8",
        metavar="S",
        help=f"how weights are stored: {schemes} (default: int8)",
    )
    pack.add_argument(
        "--keep",
        type=_pattern_scheme,
        action="append",
        default=[],
        metavar="PATTERN=S",
        help="another scheme for matrices whose names match, as in 'embedding=float16' or 'decoder.*=int8'; may be "
        "given several times, the last match counts",
    )
    pack.add_argument(
        "--preset",
        choices=PRESETS,
        help="latency: int8 that reads fewer bytes in each decoding step, for one sentence at a time: 4 bits for the "
        "decoder's first feed-forward matrices (give --calibration too), 16 for the keys and values of "
        "cross-attention, once per sentence; --keep may change it",
    )
    add_vocabularies(pack, ", for a file")
    pack.add_argument(
        "--shortlist", metavar="FILE", help="lexical shortlist, text or binary, may be packed (.gz, .zst)"
    )
    rounding = pack.add_argument_group("rounding")
    rounding.add_argument(
        "--range",
        choices=RANGES,
        help="range of an int8 column: its largest weight (max); that, but at most some standard deviations (sigma); "
        "with the least squared error (mse). Default: max, with --sigmas sigma",
    )
    positive = number(float, lambda value: 0 < value < float("inf"), "a positive number")
    rounding.add_argument(
        "--sigmas", type=positive, metavar="N", help=f"how many standard deviations (default: {SIGMAS:g})"
    )
    rounding.add_argument("--per-tensor", action="store_true", help="log4, code4: one scale per matrix, not per column")
    rounding.add_argument(
        "--fixed-point",
        action="store_true",
        help="int16: one power of two per matrix, weights clipped to [-1, 1], for models that were trained so",
    )
    calibration = pack.add_argument_group("calibration")
    calibration.add_argument(
        "--calibration",
        metavar="TEXT",
        help="source text like what will be translated, one sentence a line; weights are rounded so that products "
        "with its activations change least",
    )
    calibration.add_argument(
        "--calibration-lines",
        type=number(int, lambda value: 1 <= value <= 1_000_000, "1 to 1000000"),
        metavar="N",
        help=f"how many of its lines are used, spread over all of it (default: {CALIBRATION_LINES})",
    )
    calibration.add_argument(
        "--activation-scales",
        choices=ACTIVATION_SCALES,
        default=ACTIVATION_SCALES[0],
        help="dynamic: each row of activations has its own; static: one per matrix, found on the calibration text, or "
        "those of the Marian file if there is none. Default: dynamic",
    )
    calibration.add_argument(
        "--percentile",
        type=number(float, lambda value: 0 < value <= 100, "more than 0 and at most 100"),
        metavar="P",
        help="static scales hold P percent of the rows; default: the rows' mean maximum and 1.1 standard deviations, "
        "as in Marian",
    )
    pack.add_argument(
        "--max-length-factor",
        type=float,
        metavar="N",
        help="the model's own limit: at most N target pieces per source piece (default: 3)",
    )
    pack.add_argument(
        "--replace-unknowns",
        action="store_true",
        help="for vocabularies of words: a translation may contain <unk>, for which the source's word with most "
        "attention is written",
    )
    pack.add_argument(
        "--metadata",
        type=_key_value,
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="what metadata.json shall say: source, licence, ...; may be given several times",
    )
    add_gate_options(pack)
    pack.add_argument("--force", action="store_true", help="replace OUT if it is a model directory")


def conflict(given: argparse.Namespace, is_directory: bool) -> str | None:
    """Returns a message on options that do not fit together, or None."""
    if is_directory and (given.vocab or given.source_vocab or given.target_vocab):
        return "CHECKPOINT is a directory, which has its vocabularies: leave --vocab and the like out"
    wrong = None if is_directory else wrong_vocabularies(given)
    if wrong:
        return wrong
    if given.sigmas is not None and given.range not in (None, "sigma"):
        return f"--sigmas is of --range sigma, not of --range {given.range}"
    if given.calibration_lines is not None and not given.calibration:
        return "--calibration-lines is of --calibration TEXT"
    if given.preset and given.scheme != "int8":
        return f"--preset {given.preset} is of --scheme int8, not of {given.scheme}"
    static = given.activation_scales == "static"
    if given.percentile is not None and not (static and given.calibration):
        return "--percentile is of --activation-scales static and --calibration TEXT"
    if given.test and not given.gate:
        return "--test is of --gate LIMITS"
    if static and SCHEMES[given.scheme] != "int8":
        return f"--activation-scales static is of 8-bit activations; {given.scheme} has none"
    return None


def kept_schemes(given: argparse.Namespace, config: ModelConfig) -> list[tuple[str, str]]:
    """(pattern, scheme) of the preset and of --keep, of which the last that matches counts.

    Raises CpunmtError for a preset that is of other networks.
    """
    if given.preset is None:
        return given.keep
    families, family = PRESETS[given.preset], family_name(config.architecture)
    if family not in families:
        raise CpunmtError(
            f"--preset {given.preset} is of {', '.join(families)} models, and this one is {family}; choose with --keep"
        )
    return families[family] + given.keep


def chosen_range(given: argparse.Namespace) -> Range:
    """The range of a column that the options say."""
    kind = given.range or (RANGES[0] if given.sigmas is None else "sigma")
    return Range(kind, SIGMAS if given.sigmas is None else given.sigmas, given.per_tensor, given.fixed_point)


def _pattern_scheme(text):
    pattern, separator, scheme = text.rpartition("=")
    if not separator or not pattern or scheme not in SCHEMES:
        raise argparse.ArgumentTypeError(f"{text!r} is not PATTERN=SCHEME with one of {', '.join(SCHEMES)}")
    return pattern, scheme


def _key_value(text):
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=TEXT")
    return key, value
