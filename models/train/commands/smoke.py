"""The whole recipe on a toy language in about a minute: `python -m models.train --tiny-smoke`."""

import tempfile
from pathlib import Path

from models.train.commands.steps import Main, Steps
from models.train.text.corpora import read_corpora
from models.train.updates.validation import validate

UPDATES = 220


def smoke(main: Main, folder: Path | None = None, lines: int = 1600, updates: int = UPDATES) -> dict:
    """Runs every step through the command line `main`; returns each model's BLEU on the test set."""
    from models.train.text.toy_corpus import write_toy_corpora

    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return smoke(main, Path(temporary), lines, updates)
    corpora = write_toy_corpora(folder, lines)
    vocabulary = folder / "vocabulary.spm"
    steps = Steps(main, folder, folder, corpora, vocabulary)

    fewer = ["--updates", updates, "--validate-every", max(1, updates // 2)]
    steps.with_texts("check")
    steps.with_texts("vocabulary", "--size", 72, "--out", vocabulary)
    teacher = steps.train("teacher", "smoke-teacher", *fewer)
    steps.run("average", folder / "teacher", "--vocabulary", vocabulary, "--out", folder / "averaged")
    inverse = steps.train("inverse", "smoke-teacher", *fewer, "--source", "de", "--target", "en")
    teachers, few = [folder / "averaged" / "best", teacher], ["--beam-size", 4]
    distilled = steps.distil("distilled", teachers, *few)
    noisy = steps.noise("noisy", teachers, [inverse.with_name("model.npz")], *few)
    entries = {
        "distilled": {"file": str(distilled), "en": [0], "de": [1, 2]},
        "noisy": {"file": str(noisy), "en": [0], "de": [1]},
    }
    described = steps.describe("distilled", entries)
    student = steps.train("student", "smoke", *fewer, corpora=described).with_name("model.npz")
    imitating = ["--log4", "--initial", student, "--imitate", student]
    steps.train(
        "log4", "smoke", *imitating, "--updates", max(2, updates // 2), "--validate-every", max(1, updates // 4)
    )
    steps.train("recurrent", "smoke-recurrent", *fewer, corpora=described)
    steps.with_texts("evaluate", folder / "student" / "best")
    test = read_corpora(corpora, "test", "en", "de", folder)
    made = {
        name: validate(folder / name / "best", test)["phrases"].bleu
        for name in ("teacher", "averaged", "student", "log4", "recurrent")
    }
    print("\nBLEU: " + ", ".join(f"{name} {bleu:.1f}" for name, bleu in made.items()))
    return made
