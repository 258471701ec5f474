"""A tiny training run on the toy language, for tests."""

import functools

import numpy as np
import torch

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.network.families import network_of
from models.train.network.network import Network, initial_tensors
from models.train.text.batches import Batch, Batches, encode
from models.train.text.data import read_data
from models.train.text.toy_corpus import write_toy_corpora
from models.train.text.vocabulary import texts_of, train_vocabulary
from models.train.updates.configs import model_config, settings_of
from models.train.updates.trainer import Lessons, Trainer
from models.train.updates.updates import Updates
from models.train.updates.validation import validate


class ToyRuns:
    """Shared data of runs: files in `folder`, `data`, the path of a `vocabulary`, `examples`, a `config`."""

    def __init__(self, folder):
        self.folder = folder
        self.corpora = write_toy_corpora(folder, lines=120)
        self.data = read_data(self.corpora, folder, "en", "de")
        self.vocabulary = folder / "vocabulary.spm"
        train_vocabulary(texts_of(self.data.train), 60, self.vocabulary)
        pieces = Vocabulary(self.vocabulary)
        self.config = model_config("smoke", pieces.size)
        self.examples = encode(self.data.train, pieces, pieces)

    def trainer(self, name, log4=False, initial=None, shape="smoke", **settings) -> Trainer:
        """Returns a Trainer in a folder of its own; it resumes an existing run of that name."""
        config = self.config if shape == "smoke" else model_config(shape, self.config.vocab_size)
        settings = {"updates": 6, "validate_every": 3, "warmup": 3, **settings}
        validator = functools.partial(validate, corpora=self.data.development, most=5)
        return Trainer(
            self.folder / name,
            network_of(config, initial or initial_tensors(config, 1)),
            settings_of(shape, **settings),
            Lessons(self.examples, self.vocabulary, validator),
            log4=log4,
        )

    def updates(self, rounding=None, teacher=None, **settings) -> Updates:
        """Returns updates of a new network, at a constant rate, without guided alignment."""
        plain = {"guided_alignment": 0.0, "warmup": 1, "cooldown": 0.0, "peak_rate": 1e-3}
        network = Network(self.config, initial_tensors(self.config, 1))
        return Updates(network, settings_of("smoke", **plain | settings), torch.device("cpu"), rounding, teacher)

    def batch(self, rows: slice) -> tuple[Batch, None]:
        """Returns some of the first 12 pairs, without alignment points."""
        pairs = np.repeat(np.arange(12), 2).reshape(12, 2)[rows]
        return Batches(self.examples, 0).of(pairs), None
