"""A fair sample of all states, in bounded memory: reservoir sampling (Vitter 1985, algorithm R)."""

import numpy as np


class Sample:
    """At most `most` of all rows that are added: each is kept with the same probability, and they do not depend on it.

    The same rows in the same order and the same seed give the same sample.
    """

    def __init__(self, most: int, depth: int, top: int, seed: int):
        """Rows are a state, float32 [depth], its best pieces, int32 [top], and their logits, float32 [top]."""
        self.seen = 0
        self._most, self._generator = most, np.random.default_rng(seed)
        self._states = np.empty((most, depth), np.float32)  # only what is written becomes memory
        self._best = np.empty((most, top), np.int32)
        self._logits = np.empty((most, top), np.float32)

    def add(self, states: np.ndarray, best: np.ndarray, logits: np.ndarray):
        """Show the sample some rows."""
        numbers = np.arange(self.seen, self.seen + len(states))
        self.seen += len(states)
        places = numbers.copy()
        late = numbers >= self._most
        places[late] = self._generator.integers(0, numbers[late] + 1)
        kept = places < self._most  # where two want one place the later one gets it
        self._states[places[kept]] = states[kept]
        self._best[places[kept]] = best[kept]
        self._logits[places[kept]] = logits[kept]

    @property
    def states(self) -> np.ndarray:
        """float32 [kept, depth]."""
        return self._states[: self.seen]

    @property
    def best(self) -> np.ndarray:
        """int32 [kept, top]."""
        return self._best[: self.seen]

    @property
    def logits(self) -> np.ndarray:
        """float32 [kept, top]."""
        return self._logits[: self.seen]
