"""Kim et al. 2019 (https://aclanthology.org/D19-5632), Table 1, in kind: teachers, and students of different data.

Multi-agent dual learning as adapted there: the forward and the inverse teachers, each an ensemble, translate the
training data; of the 8 best the one nearest to the other side is taken. The original pairs, those with synthetic
targets and those with synthetic sources together train new teachers. Noisy pairs: every inverse teacher samples one
source of each target, which the forward ensemble translates.
"""

from typing import NamedTuple

from models.train.commands.steps import Row, Steps

SETTINGS = {"batch_tokens": 2000, "update_tokens": 1, "longest": 60, "peak_rate": 1.5e-3, "warmup": 300, "dropout": 0.1}
BACK = ("--source", "de", "--target", "en")


class Shapes(NamedTuple):
    """The models by their names in configs.py."""

    teacher: str
    student: str


SHAPES, TINY = Shapes("teacher-mini", "micro"), Shapes("smoke-teacher", "smoke")


def train(steps: Steps, shapes: Shapes, teachers: int, given: list[str]) -> list[Row]:
    """Trains all models of English to German with these further options; returns the rows of the table."""

    def several(name, *way, corpora=None):
        seeds = range(1, teachers + 1)
        return [
            steps.train(f"{name}{seed}", shapes.teacher, "--seed", seed, *way, *given, corpora=corpora)
            for seed in seeds
        ]

    def student(name, *pairs):
        entries = {path.name: {"file": str(path), "en": [0], "de": [1]} for path in pairs}
        corpora = steps.describe(name, entries) if pairs else None
        return [steps.train(name, shapes.student, *given, corpora=corpora)]

    forward, inverse = several("forward"), several("inverse", *BACK)
    targets, sources = steps.distil("targets", forward), steps.distil("sources", inverse, *BACK)
    noisy = steps.noise("noisy", forward, inverse)
    synthetic = {
        "synthetic targets": {"file": str(targets), "en": [0], "de": [1]},
        "synthetic sources": {"file": str(sources), "de": [0], "en": [1]},
    }
    dual = several("dual", corpora=steps.describe("dual", synthetic, joined=True))
    better, noisy_better = steps.distil("dual-targets", dual), steps.noise("dual-noisy", dual, inverse)
    return [
        Row("teachers, an ensemble", forward, 28.9),
        Row("teachers, the first", forward[:1], 28.0),
        Row("student without a teacher", student("student"), 25.9),
        Row("student of the teachers", student("student-teachers", targets), 26.5),
        Row("and noisy pairs", student("student-noisy", targets, noisy), 27.6),
        Row("teachers by dual learning, an ensemble", dual, 29.8),
        Row("teachers by dual learning, the first", dual[:1], 29.2),
        Row("student of these teachers", student("student-dual", better), 26.9),
        Row("and noisy pairs", student("student-dual-noisy", better, noisy_better), 28.3),
    ]
