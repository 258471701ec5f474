"""Outputs of commands without room on the disk: whole lines, or nothing, and one line with the reason."""

import os
import resource
import shutil
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.commands import cli
from cpunmt.commands.lines import streams
from cpunmt.errors import CpunmtError
from quantize.commands.cli import main as quantize
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences


@contextmanager
def room_for(size):
    """Limits the size of any file to `size` bytes; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=9)


def in_chunks(line, width):
    return [line[begin : begin + width] for begin in range(0, len(line), width)]


@given(LINES, st.lists(LINES), st.integers(0, 80), st.integers(1, 12), st.integers(1, 12), st.sampled_from("wa"))
def test_of_a_full_disk_all_lines_are_kept_that_fit_whole(tmp_path_factory, old, new, room, gathered, width, mode):
    """Also after earlier lines of standard output, overwritten or appended to."""
    path = tmp_path_factory.getbasetemp() / "output"
    path.write_bytes(b"".join(old))
    lines = [line for window in new for line in window]
    fitting = [n for n in range(len(lines) + 1) if len(b"".join([*(old if mode == "a" else []), *lines[:n]])) <= room]
    with open(path, "ab" if mode == "a" else "wb", buffering=0) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_GATHERED", gathered)
        output = streams.Output(file.fileno(), False)
        try:
            with room_for(room):
                for window in new:
                    output.write(chunk for line in window for chunk in in_chunks(line, width))
        except CpunmtError as error:
            assert str(error) == "cannot write the output: File too large"
        else:
            assert len(fitting) == len(lines) + 1 or not lines
    kept = old if mode == "a" else []
    assert path.read_bytes() == b"".join([*kept, *lines[: max(fitting, default=0)]])


def test_lines_that_others_have_written_stay(tmp_path):
    """Two programs with one standard output: bytes after our half line belong to the other, and stay."""
    path, room = tmp_path / "output", (1 << 18) + 20
    with open(path, "wb", buffering=0) as ours:
        theirs = os.dup(ours.fileno())  # as a subshell's programs have it
        output = streams.Output(ours.fileno(), False)

        def chunks():
            yield b"x" * (1 << 18)
            os.write(theirs, b"theirs\n")
            yield b"y" * 100 + b"\n"

        with room_for(room), pytest.raises(CpunmtError, match="File too large"):
            output.write(chunks())
        os.close(theirs)
    assert path.read_bytes() == b"x" * (1 << 18) + b"theirs\n" + b"y" * 13


WRITERS = {
    "translate": "translate -m {model} -i {english} -o {out}/made",
    "n-best": "translate -m {model} -i {english} -o {out}/made --beam-size 2 --n-best --alignment soft",
    "score": "score -m {model} --source {english} --target {english} -o {out}/made",
    "translate-file": "translate-file -m {model} {english} -o {out}/made",
    "convert": "convert {marian} {out}/made",
    "pack": "quantize pack {model}/float32 {out}/made --scheme int8",
    "shortlist": "quantize shortlist --tsv {pairs} --vocab {model}/vocabulary.spm --out {out}/made",
    "export": "quantize export-onnx {model}/float32 {out}/made",
    "report": "quantize report {model} --baseline {model}/float32 --test {pairs} --rounds 0 --json {out}/made",
}


SLOW = ("report", "shortlist")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in WRITERS])
def test_every_writer_leaves_whole_lines_or_nothing(tmp_path, capsys, name):
    lines, out = sentences(30), tmp_path / "out"
    (tmp_path / "english.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in lines), "utf-8")
    places = {"out": out, "english": tmp_path / "english.txt", "pairs": tmp_path / "pairs.tsv"}
    places |= {"model": DIRECTORIES["int8"]}
    if name == "convert":
        places["marian"] = KINDS["marian npz"](tmp_path / "marian").path
    arguments = WRITERS[name].format(**places).split()
    run = cli.main
    if arguments[0] == "quantize":
        run, arguments = quantize, arguments[1:]
    out.mkdir()
    assert run(arguments) in (0, None)
    (whole,) = out.iterdir()
    largest = max(path.stat().st_size for path in [whole, *whole.glob("*")] if path.is_file())
    content = whole.read_bytes() if whole.is_file() else None
    for room in (1, largest - 1):
        shutil.rmtree(out)
        out.mkdir()
        capsys.readouterr()
        with room_for(room):
            assert run(arguments) == 1
        told = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
        assert len(told) == 1 and "File too large" in told[0]
        if name in ("translate", "n-best", "score"):
            kept = (out / "made").read_bytes()
            assert content.startswith(kept) and kept[-1:] in (b"", b"\n") and len(kept) <= room
        else:
            assert os.listdir(out) == []
