"""Command line of the offline tools: `python -m quantize pack ...`, also installed as `cpunmt-quantize`."""

import argparse
import sys

from cpunmt.conversion import SCHEMES
from cpunmt.errors import CpunmtError
from quantize.pack_command import pack_checkpoint


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 1 after an error. Wrong usage exits with 2."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if (given.source_vocab is None) != (given.target_vocab is None):
        parser.error("--source-vocab and --target-vocab belong together; a joint vocabulary is --vocab")
    if given.vocab and given.source_vocab:
        parser.error("--vocab is a joint vocabulary: give it or --source-vocab and --target-vocab")
    if not (given.vocab or given.source_vocab):
        parser.error("a vocabulary is needed: --vocab FILE, or --source-vocab FILE and --target-vocab FILE")
    try:
        pack_checkpoint(given)
    except (CpunmtError, OSError, ValueError) as error:
        print(f"{parser.prog}: error: {'; '.join(map(str.strip, str(error).splitlines()))}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="cpunmt-quantize", description=__doc__.splitlines()[0], allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    pack = commands.add_parser(
        "pack",
        help="a Marian checkpoint -> a packed model directory",
        description="Quantize a float32 checkpoint and write a model directory that cpunmt loads.",
        allow_abbrev=False,
    )
    pack.add_argument("checkpoint", metavar="CHECKPOINT", help="Marian's model.npz")
    pack.add_argument("out", metavar="OUT", help="the model directory to make")
    pack.add_argument("--scheme", choices=SCHEMES, required=True, help="how weights are stored")
    pack.add_argument("--vocab", metavar="FILE", help="SentencePiece model of both languages")
    pack.add_argument("--source-vocab", metavar="FILE", help="SentencePiece model of the source language")
    pack.add_argument("--target-vocab", metavar="FILE", help="SentencePiece model of the target language")
    pack.add_argument("--shortlist", metavar="FILE", help="lexical shortlist, text or binary, may be gzipped")
    pack.add_argument(
        "--sigmas",
        type=_sigmas,
        default=7.0,
        metavar="N",
        help="a column's range is at most N standard deviations; 'none': its largest weight (default: 7)",
    )
    pack.add_argument(
        "--max-length-factor",
        type=float,
        metavar="N",
        help="the model's own limit: at most N target pieces per source piece (default: 3)",
    )
    pack.add_argument(
        "--metadata",
        type=_key_value,
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="what metadata.json shall say: source, licence, ...; may be given several times",
    )
    pack.add_argument("--force", action="store_true", help="replace OUT if it is a model directory")
    return parser


def _sigmas(text):
    if text == "none":
        return None
    value = float(text)  # ValueError: argparse says so
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number or 'none'")
    return value


def _key_value(text):
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=TEXT")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
