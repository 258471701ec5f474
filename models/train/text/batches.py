"""Examples as ids, and an epoch as batches: reproducible by the seed, from any place in it.

A batch holds sentences of similar length, padded to the longest with the end-of-sentence id, up to a number of target
pieces (padding counted). An epoch is shuffled, sorted by length and cut into batches, which are shuffled.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.text.corpora import Corpus
from models.train.text.vocabulary import sampled


class Batch(NamedTuple):
    """Sentences of a batch; ids end with the end-of-sentence id, which is the padding too."""

    sources: torch.Tensor  # (rows, source time) int64
    source_lengths: torch.Tensor  # (rows,)
    targets: torch.Tensor  # (rows, time)
    target_lengths: torch.Tensor
    places: torch.Tensor  # (target pieces,): where in the targets, row after row, they stand, padding left out

    @property
    def tokens(self) -> int:
        """Returns the number of target pieces, </s> included."""
        return len(self.places)

    def pieces(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns the vectors, or numbers, of the target pieces: of (rows, time, ...) those at `places`."""
        return rows.flatten(0, 1).index_select(0, self.places)


class Texts(NamedTuple):
    """Ids of texts in one array: text i is ids[offsets[i]:offsets[i + 1]]."""

    ids: np.ndarray
    offsets: np.ndarray

    def __getitem__(self, index: int) -> np.ndarray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


class Examples(NamedTuple):
    """Encoded examples: example i has the sources and targets between two bounds."""

    sources: Texts
    targets: Texts
    source_bounds: np.ndarray  # (examples + 1,)
    target_bounds: np.ndarray
    repeat: np.ndarray  # how often each occurs in an epoch, (examples,)


def encode(corpora: list[Corpus], source: Vocabulary, target: Vocabulary) -> Examples:
    """Encodes the examples of all corpora, in order."""
    sources, targets, source_counts, target_counts, repeat = [], [], [], [], []
    for number, corpus in enumerate(corpora):
        texts = [text for example in corpus.examples for text in example.sources]
        found = [[ids] for ids in source.encode_batch(texts)]
        if corpus.segmentations:
            found = [
                a + b for a, b in zip(found, sampled(source.path, texts, corpus.segmentations, number), strict=True)
            ]
        sources += [ids for some in found for ids in some]
        targets += target.encode_batch([text for example in corpus.examples for text in example.targets])
        source_counts += [len(example.sources) * (1 + corpus.segmentations) for example in corpus.examples]
        target_counts += [len(example.targets) for example in corpus.examples]
        repeat += [corpus.repeat] * len(corpus.examples)
    texts = texts_of_ids(sources), texts_of_ids(targets)
    return Examples(*texts, _bounds(source_counts), _bounds(target_counts), np.array(repeat))


def pairs_of_epoch(examples: Examples, seed: int, epoch: int, longest: int) -> np.ndarray:
    """Returns (source, target) numbers of an epoch, shuffled: (pairs, 2). Skips pairs with a text of over `longest`
    ids.

    Each occurrence of an example is one pair, of a random source and a random target.
    """
    random = np.random.default_rng((seed, epoch))
    whole = np.floor(examples.repeat)
    times = (whole + (random.random(len(whole)) < examples.repeat - whole)).astype(np.int64)
    chosen = np.repeat(np.arange(len(times)), times)
    random.shuffle(chosen)
    pairs = np.empty((len(chosen), 2), np.int64)
    for column, bounds in enumerate((examples.source_bounds, examples.target_bounds)):
        first, count = bounds[chosen], np.diff(bounds)[chosen]
        pairs[:, column] = first + np.minimum((random.random(len(chosen)) * count).astype(np.int64), count - 1)
    fits = (examples.sources.lengths[pairs[:, 0]] <= longest) & (examples.targets.lengths[pairs[:, 1]] <= longest)
    return pairs[fits]


def batches_of_epoch(
    examples: Examples, seed: int, epoch: int, longest: int, tokens: int, row_bits: int = 0
) -> list[np.ndarray]:
    """Returns batches as arrays of pairs (rows, 2), in the order of training; `tokens` target pieces each, padding
    counted.

    `row_bits` limits the significant bits of the number of rows, so that batches have fewer shapes.
    """
    pairs = pairs_of_epoch(examples, seed, epoch, longest)
    source, target = examples.sources.lengths[pairs[:, 0]], examples.targets.lengths[pairs[:, 1]]
    order = np.lexsort((source, target))
    pairs, source, target = pairs[order], source[order], target[order]
    size, found, begin = np.maximum(source, target), [], 0
    while begin < len(pairs):
        widest = np.maximum.accumulate(size[begin : begin + tokens])
        fitting = np.searchsorted(widest * np.arange(1, len(widest) + 1), tokens, side="right")
        end = begin + _rounded_down(max(1, int(fitting)), row_bits)
        found.append(pairs[begin:end])
        begin = end
    np.random.default_rng((seed, epoch, 1)).shuffle(found)
    return found


def _rounded_down(count, bits):
    spare = max(0, count.bit_length() - bits) if bits else 0
    return count >> spare << spare


class Padded:
    """Texts on a device, which makes rows of equal length of them."""

    def __init__(self, texts: Texts, padding: int, device: torch.device | str = "cpu"):
        self._lengths, self._padding, self._device = texts.lengths, padding, device
        self._ids, self._offsets = (torch.from_numpy(array).to(device) for array in texts)

    def rows(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns texts as rows, int64, and their lengths."""
        lengths = self._lengths[numbers]
        chosen = torch.from_numpy(numbers).to(self._device, non_blocking=True)
        first, end = self._offsets[chosen][:, None], self._offsets[chosen + 1][:, None]
        place = first + torch.arange(int(lengths.max()), device=self._device)
        ids = self._ids[torch.where(place < end, place, 0)].long()
        return torch.where(place < end, ids, self._padding), (end - first)[:, 0]

    def places(self, numbers: np.ndarray) -> torch.Tensor:
        """Returns where the pieces of `rows` stand in these, row after row."""
        lengths = self._lengths[numbers]
        found = np.flatnonzero(np.arange(lengths.max()) < lengths[:, None])
        return torch.from_numpy(found).to(self._device, non_blocking=True)


class Batches:
    """Makes batches of pairs of examples on a device, where all texts are: only numbers are sent there."""

    def __init__(self, examples: Examples, eos_id: int, device: torch.device | str = "cpu"):
        self._sources, self._targets = (Padded(texts, eos_id, device) for texts in examples[:2])

    def of(self, pairs: np.ndarray) -> Batch:
        """Returns the batch of such pairs."""
        sources, targets = np.ascontiguousarray(pairs.T)
        return Batch(*self._sources.rows(sources), *self._targets.rows(targets), self._targets.places(targets))


def endless(
    examples: Examples, seed: int, longest: int, tokens: int, epoch=0, batch=0, row_bits: int = 0
) -> Iterator[tuple]:
    """Yields ((epoch, number of the next batch), pairs) from a place on, epoch after epoch."""
    while True:
        batches = batches_of_epoch(examples, seed, epoch, longest, tokens, row_bits)
        if not batches:
            raise ValueError(f"no pair of at most {longest} pieces to train on")
        for number in range(batch, len(batches)):
            yield (epoch, number + 1), batches[number]
        epoch, batch = epoch + 1, 0


def texts_of_ids(ids: list[list[int]]) -> Texts:
    return Texts(np.fromiter((i for text in ids for i in text), np.int32), _bounds([len(text) for text in ids]))


def _bounds(counts) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
