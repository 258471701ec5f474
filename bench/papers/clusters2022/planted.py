"""Models of random weights whose decoder states have clusters of few pieces each: for speed only.

Plain random weights repeat a few pieces, whatever the source is. Here a structure is planted, so that clusters and
times resemble those of trained models; the translations mean nothing, nor does any figure of quality.

    topics      random directions; a piece's row in the table, for embedding and scores, is half its topic, half
                its own
    last feed-forward network of the decoder
                a unit fires if its input is near one topic, the previous piece's, and near a direction of its own,
                which depends on the earlier pieces and on the source; it adds another topic to the state

So a state is the sum of a few topics, mostly one of the followers of the topic before, and of the lower layers' output,
which distinguishes the pieces of a topic: some are more frequent, by a bias that falls with their rank.
"""

from typing import NamedTuple

import numpy as np

from bench.students import random_checkpoint
from bench.top_up.workload import LENGTHS, drawn
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, output_table
from quantize.reference.inputs import hear_inputs

TOPICS = 512
_SHARE = 0.5  # share of a row's squared length from its topic
_ADDED = 1.5  # mean length of the units' sum, relative to the state
_UNITS = 4  # at most, for each topic
_OWN = 1.0  # length of a unit's own direction, relative to its topic's
_RARE = 2.7  # a unit fires if its input is this number of deviations above the mean
_FALL = 0.1  # of the bias, by the logarithm of a piece's rank in its topic
_HEARD = 60  # sentences
_HELD_OUT = 64  # at least: a step of 20 sentences needs more


class Task(NamedTuple):
    """A model and sentences for it: ids with their </s>."""

    engine: Engine
    text: list[list[int]]  # for making clusters
    held_out: list[list[int]]  # for judging them
    timed: list[list[int]]


def planted_checkpoint(
    size: str, vocab_size: int, topics: int = TOPICS, seed: int = 1
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns config and float32 tensors of a student of one of bench.students.SIZES with the structure above.

    </s> is barred, as in all random students: the config's limit determines lengths.
    """
    config, tensors = random_checkpoint(size, vocab_size, seed)
    depth, units = config.architecture.model_dim, config.architecture.decoder_width
    random, table = np.random.default_rng((seed, 2)), tensors[output_table(config)]
    directions = random.standard_normal((topics, depth), np.float32) / np.float32(depth**0.5)
    of_piece = random.integers(0, topics, vocab_size)
    table *= np.float32((1 - _SHARE) ** 0.5)
    for first in range(0, vocab_size, 1 << 14):
        part = slice(first, first + (1 << 14))
        table[part] += np.float32(_SHARE**0.5) * directions[of_piece[part]]
    order = np.argsort(of_piece, kind="stable")
    begins = np.searchsorted(of_piece[order], np.arange(topics))
    rank = np.empty(vocab_size, np.int64)
    rank[order] = np.arange(vocab_size) - begins[of_piece[order]]
    barred = tensors["output.bias"][config.eos_id]
    tensors["output.bias"] = (-_FALL * np.log1p(rank)).astype(np.float32)
    tensors["output.bias"][config.eos_id] = barred

    network = f"decoder.{config.architecture.decoder_sets - 1}.feed_forward"
    units = min(units, _UNITS * topics)
    near = np.arange(units) % topics
    then = (near + random.integers(1, max(topics, 2), units)) % topics
    own = random.standard_normal((units, depth), np.float32) / np.float32(depth**0.5)
    inner, outer = (np.zeros_like(tensors[f"{network}.{name}.weight"]) for name in ("inner", "outer"))
    inner[:, :units] = (directions[near] + np.float32(_OWN) * own).T
    heard = sources(vocab_size, _HEARD, config.eos_id, seed)
    x = _heard(config, tensors, heard, f"{network}.inner")
    made = x @ inner
    bias = -(made.mean(axis=0) + np.float32(_RARE) * made.std(axis=0))
    outer[:units] = directions[then]
    added = np.maximum(made + bias, 0) @ outer
    outer *= np.float32(_ADDED) * _length(x) / _length(added)
    tensors |= {f"{network}.inner.weight": inner, f"{network}.inner.bias": bias, f"{network}.outer.weight": outer}
    # a common part of all states would favour the same pieces everywhere
    tensors[f"{network}.norm.bias"] -= _heard(config, tensors, heard, output_table(config)).mean(axis=0)
    return config, tensors


def sources(vocab_size: int, count: int, eos_id: int, seed: int) -> list[list[int]]:
    """Returns random ids, with news' numbers of words in a sentence."""
    random = np.random.default_rng((seed, 3))
    return [[*random.integers(2, vocab_size, length).tolist(), eos_id] for length in drawn(LENGTHS["news"], count)]


def task(size: str, vocab_size: int, scheme: str, text: int, timed: int, topics: int = TOPICS) -> Task:
    """Returns a planted model, packed as `scheme`, with sentences for clusters and for timing."""
    config, tensors = planted_checkpoint(size, vocab_size, topics)
    engine, eos = Engine(Model(*packed_tensors(config, tensors, scheme))), config.eos_id
    counts = {11: text, 12: max(text // 10, _HELD_OUT), 13: timed}
    return Task(engine, *(sources(vocab_size, count, eos, seed) for seed, count in counts.items()))


def _heard(config, tensors, given, layer):
    """Returns the inputs of a layer, float32 [rows, depth], for random targets."""
    random, rows = np.random.default_rng(4), []
    said = [[*random.integers(2, config.vocab_size, len(source) - 1).tolist(), config.eos_id] for source in given]
    hear_inputs(config, tensors, given, said, lambda name, x: rows.append(np.array(x)) if name == layer else None)
    return np.concatenate(rows)


def _length(rows):
    """Returns the mean length."""
    return np.linalg.norm(rows, axis=1).mean()
