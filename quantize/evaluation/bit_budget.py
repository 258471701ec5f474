"""The choice of 4 or 8 bits for each matrix: the fewest bytes whose predictions stay near float32's.

Each matrix is measured alone, in 4 bits with all others in float32. Divergences of several matrices nearly add up, so
their sums say which matrices should have 4 bits, for each possible number of bytes. The fewest bytes within the budget
are found by bisection, and each step of it measures the whole model.
"""

import bisect
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine
from cpunmt.errors import CpunmtError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, linears, table_sizes
from quantize.evaluation.forced_decoding import log_distributions

MORE_BITS = "int8"
_MAX_LOGITS = 1 << 28  # of float32, kept: a gigabyte

Quantizer = Callable[[str, np.ndarray, str], tuple[np.ndarray, np.ndarray]]


class Predictions:
    """The predictions of a float32 model on held-back sentences: of each piece of its translations."""

    def __init__(
        self,
        engine: Engine,
        sources: Sequence[list[int]],
        targets: Sequence[list[int]],
        prompts: Sequence[tuple[int, ...]],
    ) -> None:
        """Computes them, of as many sentences as `_MAX_LOGITS` allows.

        Parameters: see `forced_decoding.log_distributions`.
        """
        ends = np.cumsum([len(target) for target in targets]) * engine.model.config.vocab_size
        self.sentences = count = max(1, int((ends <= _MAX_LOGITS).sum()))
        self._texts = sources[:count], targets[:count], prompts[:count]
        self._log_probs = list(log_distributions(engine, *self._texts))

    def divergence(self, engine: Engine) -> float:
        """Returns the mean of sum p log(p / q) over the pieces, in nats: p by float32, q by the engine's model."""
        terms = [
            (np.exp(p) * (p - q)).sum(axis=1, dtype=np.float64)
            for p, q in zip(self._log_probs, log_distributions(engine, *self._texts), strict=True)
        ]
        return float(np.concatenate(terms).mean())


class Choice(NamedTuple):
    """The schemes of a model's matrices, and their divergences from float32 in nats per piece."""

    schemes: dict[str, str]  # exceptions: name of a matrix -> its scheme
    alone: dict[str, float]  # of each matrix that was free to choose, in 4 bits
    whole: float  # of the model with these schemes


def choose_bits(
    config: ModelConfig,
    tensors: Mapping[str, Any],
    scheme: str,
    budget: float,
    predictions: Predictions,
    *,
    kept: Mapping[str, str],
    quantizer: Quantizer,
    alphas: Mapping[str, float] | None = None,
    done: Callable[[int], object] = lambda count: None,
) -> Choice:
    """Chooses `scheme` or int8 for each matrix, so that the model diverges by at most `budget`, if int8 does.

    A larger budget never takes more bytes. Raises CpunmtError for a model whose predictions are not finite.

    Parameters
    ----------
    tensors, quantizer, alphas : see `conversion.packed_tensors`
    kept : name of a matrix -> a scheme that is not to be changed
    done : called with 1 after each measurement of a matrix
    """

    def measured(scheme: str, schemes: Any, alphas: Any = None) -> Any:
        model = packed_tensors(config, tensors, scheme, schemes=schemes, quantizer=quantizer, alphas=alphas)
        nats = predictions.divergence(Engine(Model(*model)))
        if not math.isfinite(nats):
            told = ", ".join(f"{name} as {stored}" for name, stored in schemes.items()) or f"{scheme} throughout"
            raise CpunmtError(f"--budget: with {told}, predictions are not finite numbers; leave --budget out")
        return nats

    sizes = {name: size * config.architecture.model_dim for name, size in table_sizes(config).items()}
    sizes |= {linear.name: linear.depth * linear.columns for linear in linears(config)}
    alone = {}
    for name in filter(lambda name: name not in kept, sizes):
        alone[name] = measured("float32", {name: scheme})
        done(1)
    frontier = frontier_sets(sizes, alone)

    def schemes(place: int) -> dict[str, str]:
        return {**kept, **dict.fromkeys(alone.keys() - frontier[place], MORE_BITS)}

    whole = functools.cache(lambda place: measured(scheme, schemes(place), alphas))
    place = bisect.bisect_right(range(1, len(frontier)), budget, key=whole)  # range: the first is taken at any rate
    return Choice(schemes(place), alone, whole(place))


def frontier_sets(sizes: Mapping[str, int], losses: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Returns sets of names, of growing size: no other set of at least the same size has a smaller sum of losses.

    Sizes of matrices are multiples of few numbers, so their sums are few, too.
    """
    best: dict[int, tuple[float, tuple[str, ...]]] = {0: (0.0, ())}  # size of a set -> its loss, and names
    for name, loss in losses.items():
        for size, (sum_before, names) in list(best.items()):
            larger = size + sizes[name]
            best[larger] = min(best.get(larger, (math.inf, ())), (sum_before + loss, (*names, name)))
    found, least = [], math.inf
    for size in sorted(best, reverse=True):
        loss, names = best[size]
        if loss < least:
            least = loss
            found.append(names)
    return found[::-1]


def remembered(quantizer: Quantizer) -> Quantizer:
    """Returns a quantizer that rounds each matrix once to each scheme."""
    made: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}

    def found(name: str, weights: np.ndarray, scheme: str) -> tuple[np.ndarray, np.ndarray]:
        if (name, scheme) not in made:
            made[name, scheme] = quantizer(name, weights, scheme)
        return made[name, scheme]

    return found
