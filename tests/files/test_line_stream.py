"""Lines as bytes: whatever the portions, lines are separated by line feeds."""

import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.files import line_stream
from cpunmt.files.line_stream import count_lines, decode_line, encode_line, read_windows, write_all

CONTENT = st.lists(st.sampled_from([b"\n", b"\n\n", b"a", b"\r", b"\x0b\x0c\x1c\x85", "ä\u2028".encode(), b"\xff"]))


def lines_of(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(CONTENT.map(b"".join), st.integers(1, 5), st.integers(1, 8))
def test_a_file_gives_its_lines_in_full_windows(tmp_path_factory, content, first, most):
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(content)
    with open(path, "rb") as file:
        assert count_lines(file.fileno()) == len(lines_of(content))
        windows = list(read_windows(file.fileno(), first, max(first, most)))
    assert [line for window in windows for line in window] == lines_of(content)
    expected = first
    for window in windows[:-1]:
        assert len(window) == expected
        expected = min(2 * expected, max(first, most))
    assert all(windows)


@given(st.lists(CONTENT.map(b"".join), max_size=6))
@settings(max_examples=40)
def test_a_pipe_gives_the_same_lines_however_they_are_written(portions):
    read_from, write_to = os.pipe()

    def write():
        for portion in portions:
            write_all(write_to, portion)
        os.close(write_to)

    writer = threading.Thread(target=write)
    writer.start()
    windows = list(read_windows(read_from, 1, 4))
    writer.join()
    os.close(read_from)
    assert [line for window in windows for line in window] == lines_of(b"".join(portions))
    assert all(1 <= len(window) <= 4 for window in windows)


def test_a_line_that_is_there_is_not_kept_until_the_next():
    read_from, write_to = os.pipe()
    windows = read_windows(read_from, 1, 100)
    for line in (b"one", b"", b"three"):
        write_all(write_to, line + b"\n")
        assert next(windows) == [line]  # would wait for ever
    write_all(write_to, b"no end")
    os.close(write_to)
    assert list(windows) == [[b"no end"]]
    os.close(read_from)


def test_long_lines_do_not_fill_a_window(tmp_path):
    """Memory stays small: a window ends after a megabyte, though a line is never cut."""
    path = tmp_path / "long"
    path.write_bytes((b"x" * 700_000 + b"\n") * 5 + b"y" * 3_000_000)
    with open(path, "rb") as file:
        windows = list(read_windows(file.fileno(), 1000, 1000))
    assert [[len(line) for line in window] for window in windows] == [[700_000] * 2] * 2 + [[700_000, 3_000_000]]


def test_a_line_has_a_bound(monkeypatch):
    monkeypatch.setattr(line_stream, "MOST_LINE", 5)
    assert list(line_stream._split([b"123", b"45", b"\n12345"])) == [[b"12345"], [b"12345"]]
    for end in (b"456", b"456\n"):
        with pytest.raises(CpunmtError, match="^line 3 of the input has more than 5 bytes; is it a text"):
            list(line_stream._split([b"a\nb\n123", end]))


def test_a_thread_that_cannot_be_started_is_one_error(monkeypatch):
    def refuses(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    with pytest.raises(CpunmtError, match="no further thread; see ulimit -u"):
        line_stream.start_thread(print)


def test_counting_begins_at_the_position_and_leaves_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a\nb\nc")
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, 2)
    assert count_lines(descriptor) == 2
    assert os.read(descriptor, 10) == b"b\nc"
    os.close(descriptor)


def test_lines_of_a_pipe_are_not_counted():
    read_from, write_to = os.pipe()
    assert count_lines(read_from) is None
    os.close(read_from)
    os.close(write_to)


def test_an_error_comes_after_the_lines_before_it(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)  # a directory: opens, and cannot be read
    with pytest.raises(IsADirectoryError):
        list(read_windows(descriptor, 1, 1))
    os.close(descriptor)


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.endswith("\r")))
def test_text_comes_back(text):
    assert decode_line(text.encode()) == (text, 0)


@given(st.binary())
def test_every_byte_string_becomes_text_and_replacements_are_counted(line):
    text, replaced = decode_line(line + b"end")
    assert text == (line + b"end").decode(errors="replace")
    assert (replaced == 0) == (text.encode() == line + b"end")


@pytest.mark.parametrize(
    ("line", "text", "replaced"),
    [
        (b"a\xffb\xfe", "a\ufffdb\ufffd", 2),
        ("\ufffd".encode(), "\ufffd", 0),  # was there before
        ("\ufffd".encode() + b"\xff", "\ufffd\ufffd", 1),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", 3),  # a surrogate is not UTF-8
        ("ä".encode()[:1], "\ufffd", 1),
        (b"Windows\r", "Windows", 0),
        (b"a\rb\r\r", "a\rb\r", 0),
    ],
)
def test_decoding(line, text, replaced):
    assert decode_line(line) == (text, replaced)


@given(st.text())
def test_encoding_makes_one_line(text):
    line = encode_line(text)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    line.decode()


def test_writing_to_a_closed_pipe_is_reported():
    read_from, write_to = os.pipe()
    os.close(read_from)
    with pytest.raises(BrokenPipeError):
        write_all(write_to, b"x")
    os.close(write_to)
