"""Runs the command line, for its tests."""

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
import threading

import pytest

from tests.sample_models.real_model import ROOT, SENTENCES

CPUNMT = [sys.executable, "-m", "cpunmt"]
TIMEOUT = 600  # seconds: only a hang takes as long, on however busy a machine


def sentences(count) -> list[str]:
    return SENTENCES.read_text("utf-8").split("\n")[:count]


def texts(translator, lines, **options) -> list[str]:
    return [result.text for result in translator.translate(lines, **options)]


def statistics(shown: str) -> dict[str, str]:
    """Parses the output of `--stats` and `info`: name -> value."""
    return {name: value.strip() for name, value in (line.split(":", 1) for line in shown.splitlines())}


def translate(source, target, *flags) -> int:
    """Translates in this process; returns the exit status."""
    from cpunmt.commands import cli  # not imported in processes that only start others

    return cli.main(["translate", "-i", str(source), "-o", str(target), *map(str, flags)])


def refusal(capfd) -> str:
    """Returns the one line on stderr after an error, without its beginning; stdout must be empty."""
    output, shown = capfd.readouterr()
    assert output == "" and shown.count("\n") == 1 and shown.startswith("cpunmt: error: ")
    return shown.removeprefix("cpunmt: error: ")


def here(*arguments, stdin=b"", env=None) -> subprocess.CompletedProcess:
    """Like `run`, but in this process, with a pipe and files as standard streams."""
    from cpunmt.commands import cli

    with contextlib.ExitStack() as stack:
        read_from, write_to = os.pipe()
        feeder = threading.Thread(target=_feed, args=(write_to, stdin))
        stack.callback(feeder.join)
        stack.callback(os.close, read_from)
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for number, (name, stream) in enumerate(zip(("stdin", "stdout", "stderr"), (read_from, *files), strict=True)):
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            os.dup2(stream if isinstance(stream, int) else stream.fileno(), number)
            mode = "r" if number == 0 else "w"
            patch.setattr(sys, name, stack.enter_context(open(number, mode, encoding="utf-8", closefd=False)))
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        patch.chdir(ROOT)
        feeder.start()
        try:
            status = cli.main(list(map(str, arguments)))
        except SystemExit as error:
            status = error.code
        outputs = []
        for file in files:
            file.seek(0)
            outputs.append(file.read())
        return subprocess.CompletedProcess(arguments, status, *outputs)


def _feed(descriptor, content):
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as file:
        while content:
            content = content[file.write(content) :]


def run(*arguments, stdin=b"", **settings):
    """Runs a command; input and output are bytes."""
    return subprocess.run(
        [*CPUNMT, *map(str, arguments)], input=stdin, capture_output=True, cwd=ROOT, timeout=TIMEOUT, **settings
    )


def on_terminal(*arguments, stdin=b"", **settings) -> tuple[int, bytes, str]:
    """Returns (exit status, stdout, stderr), with a terminal as stderr."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*CPUNMT, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        **settings,
    )
    os.close(theirs)
    shown = []

    def listen():
        try:
            while block := os.read(ours, 1 << 16):
                shown.append(block)
        except OSError:  # Linux: the other end is closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    output, _ = process.communicate(stdin, TIMEOUT)
    listener.join()
    os.close(ours)
    return process.returncode, output, b"".join(shown).decode()
