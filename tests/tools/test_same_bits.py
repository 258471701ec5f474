"""Digests of translations: equal for equal ones, different if one bit differs."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from cpunmt.simd import isa
from tests.sample_models.real_model import DIRECTORIES, ROOT, SENTENCES
from tools import same_bits

ARGUMENTS = [str(DIRECTORIES["int8"]), "--sentences", str(SENTENCES), "--limit", "101", "--words", "5"]
ARGUMENTS += ["--beams", "1", "2"]


def run(path):
    done = subprocess.run(
        [sys.executable, "-m", "tools.same_bits", *ARGUMENTS],
        env={**os.environ, "CPUNMT_ISA": path.value},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert f", {path.value}, " in done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def best():
    return run(isa.supported()[0])


def test_a_line_is_a_model_a_beam_and_a_hundred_sentences(best):
    found = [line.split()[:4] for line in best]
    assert found == [["ende-student", beam, *part] for beam in "12" for part in (["0", "100"], ["100", "1"])]
    assert len({line.split()[4] for line in best}) == 4


@pytest.mark.parametrize("path", isa.supported()[1:])
def test_every_path_has_the_same_lines(path, best):
    assert run(path) == best


def test_a_digest_tells_the_last_bit(student):
    (result,) = student.translate(["One man."])
    (hypothesis,) = result.hypotheses
    nearly = dataclasses.replace(hypothesis, score=float(np.nextafter(hypothesis.score, 0)))
    changed = dataclasses.replace(result, hypotheses=(nearly,))
    assert same_bits.digest([result]) == same_bits.digest([result]) != same_bits.digest([changed])
