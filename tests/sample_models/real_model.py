"""Real models and real sentences, for tests."""

import functools
from pathlib import Path

from cpunmt.engine.engine import Engine
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.model.tensors import Model
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "models" / "ende"  # of commands
SHIPPED = ROOT / "models" / "ende-tiny"
GERMAN = ROOT / "models" / "deen-student"  # from German
RECURRENT = ROOT / "models" / "ende-gru"
DIRECTORIES = {"int8": ROOT / "models" / "ende-student", "float32": ROOT / "models" / "ende-student" / "float32"}
ENSEMBLE = [DIRECTORIES["float32"], SHIPPED]  # with the same vocabularies
SENTENCES = ROOT / "tests" / "golden" / "sentences.en.txt"


@functools.cache
def engine(scheme: str) -> Engine:
    """Loads an Engine of the packed model, with its shortlist."""
    packed = read_directory(DIRECTORIES[scheme])
    size = packed.config.vocab_size
    return Engine(Model(packed.config, packed.tensors), Shortlist.read(packed.shortlist, size, size))


@functools.cache
def sources(count: int) -> tuple[list[int], ...]:
    """Returns the ids of the first `count` sentences."""
    lines = SENTENCES.read_text("utf-8").split("\n")[:-1]
    assert len(lines) == 2000
    vocabulary = Vocabulary(read_directory(DIRECTORIES["int8"]).source_vocabulary.pieces)
    return tuple(vocabulary.encode_batch(lines[:count]))
