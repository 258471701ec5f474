"""The inputs of a model's matrices on real text: their second moments and absolute maxima.

The model translates the text itself, in float32; its inputs are those of `reference.network` on these translations.
They determine static scales of activations, the multipliers before rounding:

    alpha = 127 / (mean + 1.1 standard deviations of the rows' maxima)    as Marian's tools do it
    alpha = 127 / (a percentile of the rows' maxima)

Larger values are clipped.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import expanded
from cpunmt.files.line_stream import decode_line
from cpunmt.formats.conversion import packed_tensors
from cpunmt.layers.schemes.int8 import LARGEST
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, linears, output_table
from cpunmt.search.settings import Search
from cpunmt.text.right_to_left import reversed_pieces
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from quantize.languages import around, direction
from quantize.reference.inputs import hear_inputs

_ROWS = 512  # buffered rows of inputs before they are summed
_MAX_TEXT = 4 << 30  # bytes
DEVIATIONS = 1.1


def calibration_sources(
    path: str | os.PathLike[str], vocabulary: Any, config: ModelConfig, count: int, called: str = "calibration text"
) -> tuple[list[list[int]], int]:
    """Returns (ids of at most `count` lines in the model's order, the number of the file's lines).

    The lines are evenly spaced, so that a file in several parts contributes from each. Skips lines without pieces, and
    lines longer than the model's limit, which would be split. `called`: the file's name in errors.

    Raises ModelFileError for a file that is missing, not text, or without a sentence.
    """
    texts, lines = _spread(path, count, called)
    found = [list(ids) for ids in vocabulary.encode_batch(list(texts.values()))]
    found = [list(as_read(ids, config)) for ids in found if 1 < len(ids) <= config.max_source_length]
    _refuse_none(path, found, config)
    return found, lines


def _spread(path: str | os.PathLike[str], count: int, called: str) -> tuple[dict[int, str], int]:
    """Returns at most `count` lines of a file, evenly spaced, by their numbers from 1, and the number of all."""
    content = expanded(path, called, _MAX_TEXT)
    lines = content.tobytes().split(b"\n")
    lines = lines[:-1] if not lines[-1] else lines
    wanted = dict.fromkeys(i * len(lines) // count for i in range(count)) if len(lines) > count else range(len(lines))
    texts = {}
    for i in wanted:
        text, wrong = decode_line(lines[i])
        if wrong:
            raise ModelFileError(f"{path}: line {i + 1} is not UTF-8; expected text, one sentence a line")
        texts[i + 1] = text
    return texts, len(lines)


def _refuse_none(path: str | os.PathLike[str], found: Sequence[list[int]], config: ModelConfig) -> None:
    if not found:
        raise ModelFileError(f"{path}: no line has 1 to {config.max_source_length - 1} pieces; expected sentences")


def directed_sources(
    path: str | os.PathLike[str],
    vocabulary: AnyVocabulary,
    config: ModelConfig,
    count: int,
    languages: tuple[str | None, str | None],
) -> tuple[list[list[int]], list[tuple[int, ...]], int]:
    """Like `calibration_sources`, of a calibration text for a model of many languages.

    `languages`: source and target of all lines. If both are None, each line has three columns, with tabs between:
    source language, target language, sentence.

    Returns sources with the pieces of their languages, the pieces that begin the translation of each, and the number of
    lines.
    """
    texts, lines = _spread(path, count, "calibration text")
    searches: dict[tuple[str | None, str | None], Search] = {}
    sources, prompts = [], []
    for number, line in texts.items():
        pair, text = languages, line
        if languages == (None, None):
            columns = line.split("\t")
            if len(columns) != 3:
                raise ModelFileError(
                    f"{path}: line {number} has {len(columns)} columns, expected the source's language, the target's "
                    "and a sentence, with tabs between; or give --from and --to, if all lines are of one direction"
                )
            pair, text = (columns[0], columns[1]), columns[2]
        if pair not in searches:
            try:
                searches[pair] = direction(config, vocabulary, *pair)
            except CpunmtError as error:
                raise error if pair == languages else ModelFileError(f"{path}: line {number}: {error}") from None
        ids = vocabulary.encode(text)
        if 1 < len(ids) <= config.max_source_length:
            sources.append(around(ids, searches[pair]))
            prompts.append(searches[pair].prompt)
    _refuse_none(path, sources, config)
    return sources, prompts, lines


def as_read(items: Sequence[Any], config: ModelConfig, ended: bool = True) -> Sequence[Any]:
    """Returns pieces in the model's order: reversed if it was trained so, except for a final </s>."""
    return reversed_pieces(items, ended) if config.right_to_left else items


class InputStatistics(NamedTuple):
    """Statistics of the inputs x [rows, depth] of one matrix."""

    moments: np.ndarray  # float32 [depth, depth]: mean of x^T x
    maxima: np.ndarray  # float32 [rows]: the absolute maximum of each


def greedy_translations(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    sources: Sequence[list[int]],
    shortlist: Shortlist | None = None,
    prompts: Sequence[tuple[int, ...]] | None = None,
) -> list[list[int]]:
    """Returns target ids of each source, by the compiled engine in float32.

    A translation that does not end, mostly because of repetition, is cut to the source's length: the rest is not
    typical of the model's use.

    `tensors` is a float32 checkpoint, `sources` are ids with their </s>, in the model's order. `prompts` are the pieces
    of a language that begin each target, equally many.
    """
    engine = Engine(Model(*packed_tensors(config, tensors, "float32")), shortlist)
    limits = [math.ceil(config.max_length_factor * len(source)) for source in sources]
    begun = [Search(prompt=prompt) for prompt in prompts or [()] * len(sources)]
    made = [found[0] for found in engine.translate(list(sources), limits, begun[0], named=begun)]
    return [
        [*search.prompt, *(best.ids[: len(source)] if best.truncated else best.ids)]
        for source, best, search in zip(sources, made, begun, strict=True)
    ]


def input_statistics(
    config: ModelConfig,
    tensors: Mapping[str, np.ndarray],
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    done: Callable[[int], None] = lambda count: None,
) -> dict[str, InputStatistics]:
    """Returns name of each linear layer, and of the output table -> statistics of its input.

    Parameters: see `greedy_translations`; `done` is called with the number of sentences finished since the last call.
    """
    sums = _Sums()
    hear_inputs(config, tensors, sources, targets, sums.hear, done)
    return sums.statistics()


class _Sums:
    """Sums over the inputs of each layer, some rows at a time."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[np.ndarray]] = {}
        self._moments: dict[str, np.ndarray] = {}
        self._maxima: dict[str, list[np.ndarray]] = {}

    def hear(self, name: str, x: Any) -> None:
        waiting = self._waiting.setdefault(name, [])
        waiting.append(x)
        if sum(map(len, waiting)) >= _ROWS:
            self._add(name)

    def _add(self, name: str) -> None:
        x = np.concatenate(self._waiting.pop(name))
        moments = x.T @ x
        self._moments[name] = self._moments[name] + moments if name in self._moments else moments
        self._maxima.setdefault(name, []).append(np.abs(x).max(axis=1))

    def statistics(self) -> dict[str, InputStatistics]:
        for name in list(self._waiting):
            self._add(name)
        found = {}
        for name, maxima in self._maxima.items():
            rows = np.concatenate(maxima)
            found[name] = InputStatistics(self._moments.pop(name) / np.float32(len(rows)), rows)
        return found


def static_alphas(
    config: ModelConfig, statistics: Mapping[str, InputStatistics], percentile: float | None = None
) -> dict[str, float]:
    """Returns name of each weight -> alpha for `conversion.packed_tensors`. `percentile` None: as Marian."""
    found: dict[str, float] = {}
    for linear in linears(config):
        alpha = _alpha(statistics[linear.name].maxima, percentile)
        found |= {weight: alpha for weight, _ in linear.parts}
    table = output_table(config)
    return found | {table: _alpha(statistics[table].maxima, percentile)}


def _alpha(maxima: Any, percentile: Any) -> Any:
    maxima = maxima.astype(np.float64)
    reach = maxima.mean() + DEVIATIONS * maxima.std() if percentile is None else np.percentile(maxima, percentile)
    return float(np.float32(LARGEST / reach)) if reach > 0 else 1.0
