"""Tiny random models in memory, for tests of the engine and of packing."""

import tempfile
from pathlib import Path

import numpy as np

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import Model, checkpoint_tensors, table_sizes
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.shortlists.vocabulary_map import VocabularyMap
from tests.sample_models.marian_model import read_marian_npz, write_marian_npz


def random_checkpoint(seed, **sizes):
    """Returns (config, float32 tensors) of a random model; sizes as in tests.sample_models.marian_model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        write_marian_npz(path, seed, **sizes)
        return read_marian_npz(path)


def engine_of(config, tensors, scheme="float32", shortlist=None) -> Engine:
    return Engine(Model(*packed_tensors(config, tensors, scheme)), shortlist)


def random_sources(seed, vocab_size, count, longest=20) -> list:
    """Draws `count` sentences of 1 to `longest` ids and the final end-of-sentence id 0."""
    generator = np.random.default_rng(seed)
    return [[*generator.integers(2, vocab_size, generator.integers(1, longest + 1)).tolist(), 0] for _ in range(count)]


def random_shortlist(seed, vocab_size, first=10, most=12) -> Shortlist:
    """Draws a shortlist of up to `most` targets for each source piece."""
    generator = np.random.default_rng(seed)
    lists = [
        np.sort(generator.choice(vocab_size, generator.integers(0, most + 1), replace=False)) for _ in range(vocab_size)
    ]
    offsets = np.zeros(vocab_size + 1, np.int64)
    np.cumsum([len(targets) for targets in lists], out=offsets[1:])
    return Shortlist(offsets, np.concatenate(lists).astype(np.int32), first, most, vocab_size)


def random_map(seed, source_size, vocab_size, most=12) -> VocabularyMap:
    """Draws up to `most` targets for each source piece but two, for some pairs, and for all sentences."""
    generator = np.random.default_rng(seed)
    keys = [[piece] for piece in range(2, source_size)] + generator.integers(2, source_size, (99, 2)).tolist()
    rules = {np.array(key, "i4").tobytes(): generator.integers(0, vocab_size, most // len(key)) for key in keys}
    rules = {key: ids.astype("i4").tobytes() for key, ids in rules.items()}
    return VocabularyMap([0, *generator.integers(0, vocab_size, 4)], rules)


def random_tensors(config: ModelConfig, seed: int) -> dict[str, np.ndarray]:
    """Draws a float32 checkpoint of any architecture, scaled so that translations depend on the source."""
    generator = np.random.default_rng(seed)
    found = {}
    recurrent = isinstance(config.architecture, RecurrentConfig)  # outputs between -1 and 1
    for name, shape in checkpoint_tensors(config).items():
        deviation = 0.1
        if name in ("positions", "target_positions"):
            shape = (24, config.architecture.model_dim)  # fewer than some sentences have
        elif name.endswith("norm.scale"):
            deviation = 1.0  # scales of either sign: with all near 1 a tied output repeats the previous token for ever
        elif len(shape) == 2:
            inputs = config.architecture.model_dim if name in table_sizes(config) else shape[0]
            strong = recurrent or ".cell." in name or ".cross_attention." in name or name in table_sizes(config)
            deviation = (2 if strong else 1) * (2 if recurrent and name in table_sizes(config) else 1) * inputs**-0.5
        elif name == "attention.score":
            deviation = 1.0
        found[name] = generator.normal(0, deviation, shape).astype(np.float32)
    found["output.bias"][config.eos_id] += 2.5
    return found
