"""Sentences to translate one at a time: by networks of the paper's sizes, or by a trained model."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.harness.texts import count_words
from bench.packing import pack_quietly
from bench.papers.devlin2017 import systems
from cpunmt import Translator
from cpunmt.engine.engine import Engine
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search


class Work(NamedTuple):
    """Sentences, and the source of their models."""

    name: str
    words: int  # of all sentences
    sources: list[list[int]]  # ids with their </s>
    limits: list[int]
    shortlist: object
    model: Callable[[str], Model]  # scheme -> a new model

    def run(self, engine: Engine, search: Search, switches: dict) -> list[list[int]]:
        """Returns ids of the best translations, one at a time. `switches`: those of RecurrentNetwork except `known`."""
        engine.model.network.switch(**switches)
        return [
            engine.translate([source], [limit], search)[0][0].ids
            for source, limit in zip(self.sources, self.limits, strict=True)
        ]


def random_work(name: str, lines: list[str], sizes: systems.Sizes) -> Work:
    """Returns one of SYSTEMS with sentences of the lines' lengths."""
    lengths = [len(line.split()) for line in lines]
    sources = systems.word_ids(lengths, sizes)
    limits = [len(source) for source in sources]
    shortlist = systems.candidate_lists(sizes)

    def model(scheme):
        return systems.random_model(name, scheme, sizes)

    return Work(f"{name}, random weights", sum(lengths), sources, limits, shortlist, model)


def trained_work(checkpoint: Path, folder: Path, lines: list[str], shortlist: Path) -> Work:
    """Returns a trained model with these lines, in a Translator's form for the engine; packed in `folder` by scheme."""

    def translator(scheme):
        path = folder / f"{checkpoint.resolve().parent.name}-{scheme}"
        if not path.exists():
            pack_quietly(checkpoint, path, "--scheme", scheme, "--shortlist", str(shortlist))
        return Translator(path)

    one = translator("float32")
    sources = [source for source in map(one.source_vocabulary.encode, lines) if source]
    limits = [2 * len(source) for source in sources]
    words = count_words(lines)
    return Work(
        str(checkpoint),
        words,
        sources,
        limits,
        one.loaded.engine.shortlist,
        lambda scheme: translator(scheme).loaded.engine.model,
    )
