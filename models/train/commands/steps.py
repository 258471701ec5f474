"""Commands run one after the other, each in a folder or file of its own, so that a stopped chain goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml

Main = Callable[[list[str]], int]  # the command line


class Row(NamedTuple):
    """A row of a table: one model or an ensemble, and the paper's BLEU."""

    name: str
    models: list[Path]
    paper: float


class Steps:
    """The commands of one folder: texts described by `corpora`, in the folder `data`, and one vocabulary."""

    def __init__(self, main: Main, folder: Path, data: Path, corpora: Path, vocabulary: Path):
        self.folder, self.corpora = folder, corpora
        self._main, self._data, self._vocabulary = main, data, vocabulary

    def run(self, *arguments):
        """Runs a command. Raises KeyboardInterrupt if it was interrupted, RuntimeError if it failed."""
        words = [str(argument) for argument in arguments]
        print(f"\n--- {' '.join(words)}", flush=True)
        if status := self._main(words):
            raise KeyboardInterrupt if status == 130 else RuntimeError(f"the step failed: {' '.join(words)}")

    def with_texts(self, *arguments, corpora: Path | None = None):
        """Runs a command that takes texts."""
        self.run(*arguments, "--data", self._data, "--corpora", corpora or self.corpora)

    def train(self, name: str, shape: str, *arguments, corpora: Path | None = None) -> Path:
        """Trains a model; returns its directory, with the best parameters."""
        given = ["--vocabulary", self._vocabulary, "--out", self.folder / name]
        self.with_texts("train", shape, *given, *arguments, corpora=corpora)
        return self.folder / name / "best"

    def distil(self, name: str, teachers: list[Path], *arguments) -> Path:
        """Translates the texts by an ensemble; returns the file."""
        return self._written("distil", name, teachers, *arguments)

    def noise(self, name: str, teachers: list[Path], inverses: list[Path], *arguments) -> Path:
        """Samples noisy sources by `inverses`, and translates them by an ensemble; returns the file."""
        given = [*_each("--inverse", inverses), "--vocabulary", self._vocabulary]
        return self._written("noise", name, teachers, *given, *arguments)

    def _written(self, command, name, teachers, *arguments):
        path = self.folder / f"{name}.tsv.gz"
        self.with_texts(command, *_each("--teacher", teachers), *arguments, "--out", path)
        return path

    def describe(self, name: str, entries: dict, joined: bool = False) -> Path:
        """Writes a description with these training texts, `joined` with the first ones; returns its path."""
        described = yaml.safe_load(self.corpora.read_text("utf-8"))
        described["train"] = {**(described["train"] if joined else {}), **entries}
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(described, allow_unicode=True), "utf-8")
        return path


def _each(option, values):
    return [word for value in values for word in (option, value)]
