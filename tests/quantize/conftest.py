"""The pair of models for tests of reports, and their report."""

from typing import NamedTuple

import pytest

from quantize.evaluation.report import measure
from tests.sample_models.model_pairs import SENTENCES, SETS, write_pair


class Measured(NamedTuple):
    """A report, and the calls of `progress` while it was made."""

    report: dict
    steps: list  # (how much was done, what is being done)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """Makes the models int8 and float32 in a folder, with small.tsv, and without references text.txt, empty.txt."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "small.tsv").write_text("".join(f"{text}\t{text}\n" for text in SENTENCES), "utf-8")
    (folder / "text.txt").write_text("".join(f"{text}\n" for text in SENTENCES), "utf-8")
    (folder / "empty").touch()
    return write_pair(folder, 7, "--sigmas", "2.5")


@pytest.fixture(scope="session")
def measured(pair):
    """Returns a report with two rounds of speed."""
    steps = []
    report = measure(*pair, SETS, rounds=2, samples=20, progress=lambda done, doing="": steps.append((done, doing)))
    return Measured(report, steps)
