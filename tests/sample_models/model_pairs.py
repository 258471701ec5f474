"""A tiny random model packed as int8 and as float32, for tests that compare the two."""

from pathlib import Path
from typing import NamedTuple

from quantize.commands.cli import main
from quantize.evaluation.evaluation_set import EvaluationSet
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.small_vocabulary import train_vocabulary

SENTENCES = [
    "A small dog runs.",
    "The water is cold, but the boy swims.",
    "Two women are reading a newspaper in the park, while their children play.",
    "The town had 3,450 inhabitants.",
    "Die Kinder spielen.",
    "In 1987 the old farmer barks at the dog.",
]
SETS = [
    EvaluationSet("both", "both.tsv", "0" * 64, SENTENCES, [[text] for text in SENTENCES]),
    EvaluationSet("sources", "sources.txt", "1" * 64, SENTENCES[:3], []),
]


class ModelPair(NamedTuple):
    """The directories of one model."""

    int8: Path
    float32: Path


def write_pair(folder: Path, seed: int, *flags: str, shortlist=True, vocabulary=None, **sizes) -> ModelPair:
    """Packs a random model of 128 pieces twice.

    Parameters
    ----------
    flags : of `quantize pack --scheme int8`
    shortlist : whether both have one
    vocabulary : options of the SentencePiece trainer
    sizes : of the model, see tests.sample_models.marian_model
    """
    folder.mkdir(exist_ok=True)
    write_marian_npz(folder / "model.npz", seed, vocab=128, **sizes)
    train_vocabulary(folder / "both.spm", 128, **(vocabulary or {}))
    (folder / "lex.s2t").write_text("".join(f"{e} {d} 0.5\n" for e in "snrtae" for d in "enrstia"), "utf-8")
    pair = ModelPair(folder / "int8", folder / "float32")
    given = ["--vocab", str(folder / "both.spm")] + (["--shortlist", str(folder / "lex.s2t")] if shortlist else [])
    for scheme, out in pair._asdict().items():
        more = flags if scheme == "int8" else ()
        assert main(["pack", str(folder / "model.npz"), str(out), "--scheme", scheme, *given, *more]) == 0
    return pair
