"""The command line on pipes and terminals: the times of its output, and its state after signals."""

import os
import re
import signal
import subprocess
import threading
import time

import pytest

from tests.support.command_line import CPUNMT, ROOT, TIMEOUT, here, on_terminal, sentences, statistics, texts
from tests.support.processes import processor_seconds


@pytest.fixture
def started():
    """Starts the command with pipes; kills it after the test."""
    processes = []

    def start(*arguments, **settings):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
        processes.append(subprocess.Popen([*CPUNMT, *map(str, arguments)], cwd=ROOT, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


# Lines


def test_n_lines_in_n_lines_out_in_order(student):
    lines = ["A man is riding a bicycle.", "", "   ", *sentences(150), "", "Two dogs."]
    finished = here("translate", stdin="\n".join(lines).encode())  # no line feed at the end
    results = list(enumerate(student.translate(lines), 1))
    cut, loops = [n for n, result in results if result.truncated], [n for n, result in results if result.repeats]
    where = f"{len(cut)} were cut off at the length limit (lines {', '.join(map(str, cut))})"
    where = f"1 looks like a loop (line {loops[0]}) and {where}"
    assert len(loops) == 1 and finished.returncode == 0
    assert finished.stderr.decode().startswith(f"cpunmt: of the translations {where}; ")
    assert finished.stdout.decode() == "".join(f"{text}\n" for text in texts(student, lines))


def test_only_line_feeds_end_lines(student):
    text = "A man.\x0bA dog.\x0c\x1c\x1d\x1e\x85A cat.\u2028A house.\u2029A\rtree."
    finished = here("translate", stdin=f"{text}\nTwo dogs.\r\n\0\n".encode())
    assert finished.stdout.decode().split("\n") == [*texts(student, [text, "Two dogs.", "\0"]), ""]


@pytest.mark.parametrize(("stdin", "stdout"), [(b"", b""), (b"\n", b"\n"), (b"\n\n", b"\n\n"), (b" ", b" \n")])
def test_empty_input_gives_as_much_output(stdin, stdout):
    finished = here("translate", stdin=stdin)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, stdout, b"")


def test_bytes_that_are_not_utf_8_are_replaced_counted_and_reported_once(student):
    finished = here("translate", stdin=b"A \xff dog.\nA man.\nTwo\xfe\xfe dogs.\n")
    expected = texts(student, ["A \ufffd dog.", "A man.", "Two\ufffd\ufffd dogs."])
    assert finished.stdout.decode() == "".join(f"{text}\n" for text in expected)
    assert finished.stderr == b"cpunmt: the input is not all UTF-8: 3 times U+FFFD was read instead\n"
    assert finished.returncode == 0


def test_a_megabyte_in_one_line_is_one_line():
    finished = here("translate", stdin=b" " * (1 << 20) + b"Yes.\nYes.\n")
    assert (finished.returncode, finished.stdout) == (0, b" " * (1 << 20) + b"Ja.\nJa.\n")


# Streams


def test_a_line_is_answered_before_the_next_is_written(student, started):
    process = started("translate", bufsize=0)
    with_deadline = threading.Timer(TIMEOUT, process.kill)  # else a line that is kept back would hang the test
    with_deadline.start()
    for line in ("A man.", "", "Two dogs play in the snow."):
        process.stdin.write(line.encode() + b"\n")
        assert process.stdout.readline().decode() == student.translate(line).text + "\n"
    with_deadline.cancel()
    assert process.communicate() == (b"", b"")
    assert process.returncode == 0


def test_ctrl_c_leaves_what_was_translated(student, started):
    process = started("translate", bufsize=0)
    process.stdin.write(b"A man.\nA dog.\nA house")
    expected = [student.translate(line).text + "\n" for line in ("A man.", "A dog.")]
    assert [process.stdout.readline().decode() for _ in expected] == expected
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT) == 130
    assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_ctrl_c_in_the_middle_of_a_file_leaves_whole_lines_and_comes_at_once(student, started, tmp_path):
    source, target = tmp_path / "english", tmp_path / "german"
    lines = sentences(2000)
    source.write_text("".join(f"{line}\n" for line in lines * 50), "utf-8")
    process = started("translate", "-i", source, "-o", target)
    while process.poll() is None and not (target.exists() and target.stat().st_size):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    before = processor_seconds(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processor_seconds(process.pid) - before < 2  # a window of such a file takes more, all of it minutes
    assert process.wait(TIMEOUT) == 130
    assert process.stderr.read() == b""
    *made, rest = target.read_text("utf-8").split("\n")
    assert rest == "" and 1 <= len(made) < 100_000
    assert made[:64] == texts(student, lines[: len(made[:64])])


def test_a_closed_pipe_ends_quietly(student, started, tmp_path):
    """As in `cpunmt translate -i book | head -1`."""
    source = tmp_path / "english"
    source.write_text("".join(f"{line}\n" for line in sentences(300)), "utf-8")
    process = started("translate", "-i", source)
    assert process.stdout.readline().decode() == student.translate(sentences(1)[0]).text + "\n"
    process.stdout.close()
    assert process.wait(TIMEOUT) == 141
    assert process.stderr.read() == b""


def test_a_reader_that_is_gone_before_the_start_is_noticed_too(started):
    read_from, write_to = os.pipe()
    os.close(read_from)
    process = started("info", stdout=write_to)
    os.close(write_to)
    assert process.wait(TIMEOUT) == 141
    assert process.stderr.read() == b""


# Terminals


def test_a_terminal_sees_progress_and_the_output_is_untouched(student, source):
    expected = "".join(f"{text}\n" for text in texts(student, sentences(40))).encode()
    status, output, shown = on_terminal("translate", "-i", source)
    assert (status, output) == (0, expected)
    assert "100%" in shown and "40/40" in shown
    status, output, shown = on_terminal("translate", stdin=source.read_bytes())
    assert (status, output) == (0, expected)
    assert "40 lines" in shown  # of a pipe the end is not known


def test_statistics_of_lines_that_come_one_by_one_have_their_latency(started):
    process = started("translate", "--stats", bufsize=0)
    for line in (b"A man.\n", b"A dog.\n"):
        process.stdin.write(line)
        process.stdout.readline()
    found = statistics(process.communicate()[1].decode())
    middle, late = re.fullmatch(r"([0-9.]+) ms \(median\), ([0-9.]+) ms \(95th percentile\)", found["latency"]).groups()
    assert 0 < float(middle) <= float(late)
