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

    @property
    def tokens(self) -> int:
        """Returns the number of target pieces, </s> included."""
        return int(self.target_lengths.sum())

    def to(self, device) -> "Batch":
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in self))


class Texts(NamedTuple):
    """Ids of texts in one array: text i is ids[offsets[i]:offsets[i + 1]]."""

    ids: np.ndarray
    offsets: np.ndarray

    def __getitem__(self, index: int) -> np.ndarray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def padded(self, numbers: np.ndarray, padding: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns texts as rows of equal length, int64, and their lengths."""
        first, lengths = self.offsets[numbers], self.offsets[numbers + 1] - self.offsets[numbers]
        position = np.arange(lengths.max())
        inside = position < lengths[:, None]
        rows = np.where(inside, self.ids[np.where(inside, first[:, None] + position, 0)], padding)
        return torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(lengths)


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


def make_batch(examples: Examples, pairs: np.ndarray, eos_id: int) -> Batch:
    """Returns the batch of such pairs."""
    return Batch(*examples.sources.padded(pairs[:, 0], eos_id), *examples.targets.padded(pairs[:, 1], eos_id))


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
