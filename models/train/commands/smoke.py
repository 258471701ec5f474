"""The whole recipe on a toy language in about a minute: `python -m models.train --tiny-smoke`."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml

from models.train.text.corpora import read_corpora
from models.train.updates.validation import validate

UPDATES = 220


def smoke(
    main: Callable[[list[str]], int], folder: Path | None = None, lines: int = 1600, updates: int = UPDATES
) -> dict:
    """Runs every step through the command line `main`; returns each model's BLEU on the test set."""
    from models.train.text.toy_corpus import write_toy_corpora

    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return smoke(main, Path(temporary), lines, updates)
    corpora = write_toy_corpora(folder, lines)
    vocabulary = folder / "vocabulary.spm"

    def step(*arguments, description=corpora):
        arguments = [str(argument) for argument in arguments]
        if description:
            arguments += ["--data", str(folder), "--corpora", str(description)]
        print(f"\n--- {' '.join(arguments)}", flush=True)
        if main(arguments) != 0:
            raise RuntimeError(f"the step failed: {' '.join(arguments)}")

    def train(name, shape, *arguments, **keywords):
        step("train", shape, "--vocabulary", vocabulary, "--out", folder / name, *arguments, **keywords)

    fewer = ["--updates", updates, "--validate-every", max(1, updates // 2)]
    step("check")
    step("vocabulary", "--size", 72, "--out", vocabulary)
    train("teacher", "smoke-teacher", *fewer)
    step("average", folder / "teacher", "--vocabulary", vocabulary, "--out", folder / "averaged", description=None)
    train("inverse", "smoke-teacher", *fewer, "--source", "de", "--target", "en")
    teachers = ["--teacher", folder / "averaged" / "best", "--teacher", folder / "teacher" / "best", "--beam-size", 4]
    step("distil", *teachers, "--out", folder / "distilled.tsv.gz")
    noisy = ["--inverse", folder / "inverse" / "model.npz", "--vocabulary", vocabulary]
    step("noise", *teachers, *noisy, "--out", folder / "noisy.tsv.gz")
    described = yaml.safe_load(corpora.read_text("utf-8"))
    described["train"] = {
        "distilled": {"file": "distilled.tsv.gz", "en": [0], "de": [1, 2]},
        "noisy": {"file": "noisy.tsv.gz", "en": [0], "de": [1]},
    }
    distilled = folder / "distilled.yaml"
    distilled.write_text(yaml.safe_dump(described), "utf-8")
    train("student", "smoke", *fewer, description=distilled)
    student = folder / "student" / "model.npz"
    imitating = ["--log4", "--initial", student, "--imitate", student]
    train("log4", "smoke", *imitating, "--updates", max(2, updates // 2), "--validate-every", max(1, updates // 4))
    train("recurrent", "smoke-recurrent", *fewer, description=distilled)
    step("evaluate", folder / "student" / "best")
    test = read_corpora(corpora, "test", "en", "de", folder)
    made = {
        name: validate(folder / name / "best", test)["phrases"].bleu
        for name in ("teacher", "averaged", "student", "log4", "recurrent")
    }
    print("\nBLEU: " + ", ".join(f"{name} {bleu:.1f}" for name, bleu in made.items()))
    return made
