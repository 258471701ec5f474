"""The README's start works on a clean copy; other blocks: tests/documentation."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation.code_blocks import blocks_of
from tests.sample_models.real_model import ROOT

README = ROOT / "README.md"
START = next(block.body for block in blocks_of(README) if block.language == "sh")
LONGEST = 150  # lines


def _run(command, folder, **variables):
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": bin_folder + os.pathsep + os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_contents_lead_to_its_headings():
    text = README.read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.M)
    anchors = [heading.lower().replace(" ", "-") for heading in headings]
    assert re.findall(r"\]\(#([\w-]+)\)", text) == anchors
    assert text.count("\n") <= LONGEST


@pytest.mark.slow
def test_start_block_works_on_a_clean_copy(tmp_path):
    # the two commands of the start, in a fresh environment; `make test` itself runs this suite, so here it only has to
    # set up and collect
    copy = tmp_path / "cpunmt"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    commands = [line.split("#")[0].strip() for line in START.strip().split("\n")]
    assert commands == ["make demo", "make test"]
    printed = _run(["make", "demo"], copy)
    assert "Fahrrad" in printed
    collected = _run(["make", "test"], copy, PYTEST_ADDOPTS="--collect-only", PYTHONPATH="")
    assert "tests/test_readme.py::test_its_contents_lead_to_its_headings" in collected
