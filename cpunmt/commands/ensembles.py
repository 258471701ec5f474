"""--ensemble and --weights: models that translate together with the one that a command is given."""

import argparse
from pathlib import Path

from cpunmt.options.arguments import MOST_MODELS
from cpunmt.registry.store import located


def add_arguments(parser):
    """Add the two flags."""
    parser.add_argument(
        "--ensemble",
        metavar="DIR,...",
        type=_names,
        default=[],
        help="models that translate each sentence together with that one: all have the same vocabularies",
    )
    parser.add_argument(
        "--weights",
        metavar="N,...",
        type=_numbers,
        help="the weight of each of these models, that one's first; only their ratio counts (default: all the same)",
    )


def paths_of(first: Path, given) -> list[Path]:
    """The first model's path, and those of the models that --ensemble names. Raises CpunmtError as `located`."""
    return [first, *map(located, given.ensemble)]


def check_weights(given):
    """Wrong usage unless the weights, if there are any, can be those of the models."""
    if given.weights is None:
        return
    from cpunmt.decoding.ensemble import checked_weights  # a command of one model does without it

    try:
        checked_weights(given.weights, 1 + len(given.ensemble))
    except ValueError as error:
        given.parser.error(str(error))


def _names(text: str) -> list[str]:
    found = text.split(",")
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} has a comma with no model beside it, expected DIR or DIR,DIR")
    if len(found) >= MOST_MODELS:
        raise argparse.ArgumentTypeError(f"{len(found)} models are named, expected at most {MOST_MODELS - 1}")
    return found


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, expected numbers with commas between, such as 2,1") from None
