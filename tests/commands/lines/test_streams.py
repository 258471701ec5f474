"""Inputs and outputs of commands: an output is emptied only by the first write, and is never the input."""

import os
import subprocess

import pytest

from cpunmt.commands import cli
from tests.support.command_line import CPUNMT, ROOT, TIMEOUT, here, sentences, texts, translate


@pytest.mark.parametrize("command", ["translate", "score"])
def test_an_input_that_cannot_be_read_leaves_the_output_as_it_was(source, tmp_path, capfd, command):
    """A directory can be opened; it was read only after the output was emptied."""
    target, new = tmp_path / "there", tmp_path / "new"
    target.write_text("kept\n")
    for output in (target, new):
        given = ["-i", tmp_path] if command == "translate" else ["--source", tmp_path, "--target", source]
        assert cli.main([command, *map(str, given), "-o", str(output)]) == 1
        assert "it is a directory, expected a file of text" in capfd.readouterr().err
    assert target.read_text() == "kept\n" and not new.exists()
    finished = here(command, "-o", target, stdin=b"\xff" * (17 << 20))
    assert finished.returncode == 1 and b"more than 16777216 bytes" in finished.stderr
    assert target.read_text() == "kept\n"


def test_a_longer_output_of_before_is_gone(student, source, tmp_path):
    target = tmp_path / "german"
    target.write_text("old\n" * 1000)
    assert translate(source, target) == 0
    assert target.read_text("utf-8") == "".join(f"{text}\n" for text in texts(student, sentences(40)))
    (tmp_path / "empty").touch()
    assert translate(tmp_path / "empty", target) == 0 and target.read_bytes() == b""


@pytest.mark.parametrize("command", ["translate", "score"])
def test_standard_output_may_not_be_the_input_either(source, command):
    """`translate -i f >> f` grew without end."""
    before = source.read_bytes()
    given = ["-i", source] if command == "translate" else ["--source", source, "--target", source]
    for mode in ("ab", "r+b"):
        with open(source, mode) as both:
            done = subprocess.run(
                [*CPUNMT, command, *map(str, given)], stdout=both, stderr=subprocess.PIPE, cwd=ROOT, timeout=TIMEOUT
            )
        assert done.returncode == 1 and done.stderr.decode().count("\n") == 1
        assert b"standard output: is input and output" in done.stderr and source.read_bytes() == before


def test_a_dash_is_a_standard_stream(student, source, tmp_path):
    expected = "".join(f"{text}\n" for text in texts(student, sentences(40))).encode()
    finished = here("translate", "-i", "-", "-o", "-", stdin=source.read_bytes(), env=os.environ)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, expected, b"")
    (tmp_path / "german").write_bytes(expected)
    scored = here("score", "--source", "-", "--target", tmp_path / "german", "-o", "-", stdin=source.read_bytes())
    assert (scored.returncode, scored.stdout.count(b"\n"), scored.stderr) == (0, 40, b"")
    assert here("score", "--source", source, "--target", "-", stdin=expected).stdout == scored.stdout
    for twice in ("-", "/dev/stdin"):
        assert b"--source and --target are the same stream" in here("score", "--source", "-", "--target", twice).stderr
    assert not os.path.exists(ROOT / "-")
