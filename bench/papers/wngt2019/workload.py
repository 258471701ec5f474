"""The workload: sentences in batches of one size, in the paper's order and with its decoder's work."""

from collections.abc import Callable

from bench.harness.texts import count_words
from bench.harness.timing import Timed, repeated
from cpunmt import Translator

MOST_FACTOR = 100.0  # no limit by the source: `unpruned` sets the length


class Workload:
    """Sentences cut into batches of `size`, sorted by their number of words, as Marian sorts them."""

    def __init__(self, lines: list[str], size: int):
        ordered = sorted(lines, key=lambda line: len(line.split()))
        self.size, self.words = size, count_words(lines)
        self.batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]

    def pruned(self, translator: Translator) -> Callable:
        """Translates all batches; an ended sentence leaves its batch at once."""
        given = [batch[0] if self.size == 1 else batch for batch in self.batches]
        return lambda: [translator.translate(batch, split="none") for batch in given]

    def unpruned(self, translator: Translator) -> Callable:
        """Translates the same, but each sentence continues to the longest translation of its batch.

        That is the work of a decoder that keeps ended sentences in the batch, with the kernels of one that removes
        them: </s> is excluded until the longest has ended. The pieces decoded meanwhile are unused, as in the paper.
        """
        given = []
        for batch in self.batches:
            longest = max(len(result.pieces) for result in translator.translate(batch, split="none"))
            lengths = {"min_length": longest, "max_length": longest + 1, "max_length_factor": MOST_FACTOR}
            given.append((batch, {"split": "none", **lengths}))
        return lambda: [translator.translate(batch, **options) for batch, options in given]

    def timed(self, name: str, run: Callable) -> Timed:
        """Returns an item for `bench.harness.timing.interleave`."""
        return Timed(name, repeated(run), work=self.words)


def words_per_second(item: Timed) -> float:
    """Returns the words per second of a measured Workload: the median of the rounds."""
    return item.work / item.median
