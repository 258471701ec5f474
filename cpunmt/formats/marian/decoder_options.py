"""Reads the options of Marian's decoder and of bergamot (`decoder.yml`, `config.*.yml`): files and search.

Every option that either program documents is a field of `DecoderOptions`, ignored, or refused. An ignored one chooses
the format of input and output, batches, memory, logging or hardware, or repeats the model file. One that would change
the chosen pieces is refused by name unless it is off. An unknown one is refused too, as in Marian: it may be a misspelt
one that matters.

Sources: `src/common/config_parser.cpp` of https://github.com/marian-nmt/marian-dev and of its fork
https://github.com/browsermt/marian-dev, `src/translator/parser.cpp` of
https://github.com/browsermt/bergamot-translator.
"""

import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded, parse_yaml
from cpunmt.model.config import MOST_BEAM
from cpunmt.text.shortlists.shortlist import ShortlistOptions

_T = TypeVar("_T")
PRECISIONS = (
    "float32",
    "int16",
    "int8",
    "int8Alpha",
    "int8shift",
    "int8shiftAlpha",
    "int8shiftAll",
    "int8shiftAlphaAll",
)
_PATHS = ("models", "vocabs", "shortlist", "relative-paths")
# of some in _OFF: the behaviour without them, where it is not obvious
_INSTEAD = {
    "allow-unk": "<unk> is never chosen",
    "output-approx-knn": "all candidates are compared",
    "output-sampling": "the search takes the most probable pieces",
    "weights": "a model file is translated with alone: an ensemble is a list of directories",
}
# option -> (field, lowest, highest), for numbers: the limits of a model's config
_NUMBERS = {
    "beam-size": ("beam_size", 1, MOST_BEAM),
    "normalize": ("normalize", 0.0, 5.0),
    "word-penalty": ("word_penalty", -100.0, 100.0),
    "max-length-factor": ("max_length_factor", 0.1, 100.0),
    "max-length-break": ("max_length_break", 2, 4096),
}
_FLAGS = ("skip-cost", *PRECISIONS)  # true or false
# option -> the only supported values, which turn it off
_OFF = {
    "allow-special": (False,),
    "allow-unk": (False,),
    "clip-gemm": (0, False),
    "force-decode": (False,),
    "ignore-model-config": (False,),
    "interpolate-env-vars": (False,),
    "no-spm-decode": (False,),
    "no-spm-encode": (False,),
    "output-approx-knn": (False, []),
    "output-sampling": (False, []),
    "tsv": (False,),
    "weights": ([], [1]),
}
_IGNORED = {
    # input and output: each call chooses its results; long sentences are split, never dropped
    *("alignment", "input", "max-length", "max-length-crop", "n-best", "n-best-feature", "output", "port"),
    *("quality", "ssplit-mode", "ssplit-prefix-file", "stat-freq", "tsv-fields", "word-scores"),
    # batches, memory, hardware: the result is the same; so is the precision of weights that are stored as integers
    *("cache-size", "check-bytearray", "cpu-threads", "data-threads", "devices", "fp16", "gemm-type", "maxi-batch"),
    *("maxi-batch-sort", "mini-batch", "mini-batch-words", "model-mmap", "num-devices", "optimize", "precision"),
    *("quantize-range", "use-legacy-batching", "workspace"),
    # the program
    *("authors", "build-info", "check-nan", "cite", "config", "dump-config", "dump-quantmult", "log", "log-level"),
    *("log-time-zone", "quiet", "quiet-translation", "seed", "version"),
    # the architecture: the model file defines it
    *("best-deep", "input-types", "layer-normalization", "output-omit-bias", "right-left", "separator-symbol", "skip"),
    *("special-vocab", "type", "ulr"),
}
_ARCHITECTURE = ("bert-", "char-", "dec-", "dim-", "enc-", "factors-", "lemma-", "tied-", "transformer-", "ulr-")


@dataclass(frozen=True)
class DecoderOptions:
    """The options of a decoder configuration; for others, the default of Marian (or bergamot).

    `given` holds the names of the options in the file, for callers with other defaults.
    """

    model: Path | None = None
    source_vocabulary: Path | None = None
    target_vocabulary: Path | None = None
    shortlist: ShortlistOptions | None = None
    beam_size: int = 12
    normalize: float = 0.0  # a hypothesis of n pieces counts as log-probability / n ** normalize
    word_penalty: float = 0.0  # subtracted for each piece before that
    max_length_factor: float = 3.0  # at most ceil(factor * source pieces) target pieces, both with </s>
    max_length_break: int = 128  # source pieces with </s>; a longer sentence is split (bergamot)
    given: frozenset[str] = frozenset()


def read_decoder_options(path: str | os.PathLike[str]) -> DecoderOptions:
    """Reads the options in a YAML file, plain or packed.

    Paths are relative to the file with `relative-paths: true`, else to the current directory, as in Marian; they need
    not exist.

    Raises
    ------
    ModelFileError
        The file is missing or not a YAML mapping, or has options that are unknown or not supported (all are listed).
    """
    where = os.fspath(path)
    text = expanded(where, "decoder options", 1 << 20).tobytes()
    options = {name: value for name, value in parse_yaml(text, where).items() if value is not None}
    problems: list[str] = []

    def take(name: str, read: Callable[..., _T], *arguments: Any) -> _T | None:
        """Reads the value of an option by a function; returns None, and notes a problem, if it is wrong."""
        if name not in options:
            return None
        try:
            return read(options[name], *arguments)
        except ValueError as error:
            problems.append(f"{name} is {_shortened(options[name])}, {error}")
            return None

    folder = Path(where).parent if take("relative-paths", _flag) else Path()
    fields: dict[str, Any] = {
        "model": take("models", _model, folder),
        "shortlist": take("shortlist", _shortlist, folder),
    }
    vocabularies = take("vocabs", _vocabularies, folder)
    if vocabularies:
        fields["source_vocabulary"], fields["target_vocabulary"] = vocabularies
    for name, (field, low, high) in _NUMBERS.items():
        fields[field] = take(name, _number, low, high)
    flags = {name: take(name, _flag) for name in _FLAGS}
    precisions = [name for name in PRECISIONS if flags[name]]
    named = take("gemm-precision", _precision)
    if len({*precisions, *([named] if named else [])}) > 1:
        problems.append(f"gemm-precision is {named!r} and also {', '.join(precisions)} is set, expected one of them")
    if flags["skip-cost"] and (fields["beam_size"] or 1) > 1:  # both give the same result in a greedy search
        problems.append(
            f"skip-cost is true and beam-size is {fields['beam_size']}, expected false or 1: a beam compares "
            "log-probabilities here, no raw scores"
        )
    for name, values in _OFF.items():
        take(name, _off, values, _INSTEAD.get(name))
    known = {*_PATHS, *_NUMBERS, *_FLAGS, *_OFF, *_IGNORED, "gemm-precision"}
    unknown = sorted(name for name in options.keys() - known if not name.startswith(_ARCHITECTURE))
    problems += [f"{name[:80]!r} is not an option of Marian's decoder or of bergamot" for name in unknown]
    if problems:
        raise ModelFileError(f"{where}: {'; '.join(problems)}; correct the file, or remove the option from it")
    given = frozenset(options)
    return DecoderOptions(**{field: value for field, value in fields.items() if value is not None}, given=given)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _flag(value: Any) -> bool:
    known = {"true": True, "false": False}
    found = known.get(value.lower()) if isinstance(value, str) else value
    if found not in (True, False):  # 1 and 0 too
        raise ValueError("expected true or false")
    return bool(found)


def _number(value: Any, low: float, high: float) -> Any:
    """Returns a number of the type of `low` and `high`."""
    whole = isinstance(low, int)
    expected = f"expected {'an integer' if whole else 'a number'} from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(expected)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(expected) from None
    if not (math.isfinite(number) and low <= number <= high) or (whole and number != int(number)):
        raise ValueError(expected)
    return int(number) if whole else number


def _path(value: Any, folder: Path) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("expected a path")
    return folder / value  # an absolute one stays as it is


def _model(value: Any, folder: Path) -> Path:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or len(paths) != 1:
        raise ValueError("expected one path; an ensemble is a list of directories, each with one model")
    return _path(paths[0], folder)


def _vocabularies(value: Any, folder: Path) -> list[Path]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("expected two paths, of the source's and of the target's vocabulary")
    return [_path(part, folder) for part in value]


def _shortlist(value: Any, folder: Path) -> ShortlistOptions:
    """Reads [path, check] of a binary file, [path, first, best, threshold, dump] of a text file."""
    parts = [value] if isinstance(value, str) else value
    expected = "expected [path, check] or [path, first, best, 0]"
    if not isinstance(parts, list) or not 1 <= len(parts) <= 5:
        raise ValueError(expected)
    path = _path(parts[0], folder)
    if len(parts) <= 2 and isinstance(parts[-1], bool | str):
        if len(parts) == 2 and str(parts[1]).lower() not in ("true", "false", "0", "1"):
            raise ValueError(expected)
        return ShortlistOptions(path)
    numbers = [_number(part, 0, 1 << 22) for part in parts[1:3]]
    if len(parts) > 3 and _number(parts[3], 0.0, 1.0) > 0:
        raise ValueError("a threshold of probability is not supported, expected 0")
    # The 0 or 1 of [path, check] is not a number of words: 1 as the first of a text file would leave out <unk>.
    return ShortlistOptions(path) if numbers in ([0], [1]) else ShortlistOptions(path, *(max(1, n) for n in numbers))


def _precision(value: Any) -> str:
    if value not in PRECISIONS:
        raise ValueError(f"expected one of {', '.join(PRECISIONS)}")
    return str(value)


def _off(value: Any, values: Collection[Any], instead: str | None) -> None:
    parsed = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if parsed not in values:
        why = f": {instead}" if instead else ""
        raise ValueError(f"supported is {' or '.join(repr(value) for value in values)}{why}")
