"""`cpunmt translate-file`: a document in, the same document in another language out."""

import random
import signal
import subprocess
import sys
import time

import pytest

from cpunmt import Pivot, Translator
from cpunmt.errors import CpunmtError
from tests.sample_models.real_model import GERMAN, ROOT, SHIPPED
from tests.support.command_line import here, run

PAGE = "# Two dogs\r\n\r\nA man is *riding* a bicycle.\r\n\r\n    code stays\r\n"


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_bytes(PAGE.encode())
    return path


def test_a_file_is_written_beside_the_other(page):
    done = here("translate-file", str(page), "-m", str(SHIPPED))
    written = page.with_name("page.de.md")
    assert (done.returncode, done.stdout) == (0, f"{written}\n".encode())
    assert written.read_bytes() == "# Zwei Hunde\r\n\r\nEin Mann *fährt* Fahrrad.\r\n\r\n    code stays\r\n".encode()
    assert page.read_bytes() == PAGE.encode()
    again = here("translate-file", str(page), "-m", str(SHIPPED))
    assert again.returncode == 1 and again.stderr.count(b"\n") == 1 and b"force" in again.stderr
    assert here("translate-file", str(page), "-m", str(SHIPPED), "--force").returncode == 0


def test_parts_are_selected(tmp_path):
    path = tmp_path / "menu.json"
    path.write_text('{"id": "Two dogs", "items": [{"text": "Two dogs", "a b": "Two dogs"}]}')
    given = ("translate-file", str(path), "-m", str(SHIPPED), "--force")
    assert here(*given, "--select", "items[*].text", "--select", "$..['a b']").returncode == 0
    made = '{"id": "Two dogs", "items": [{"text": "Zwei Hunde", "a b": "Zwei Hunde"}]}'
    assert path.with_name("menu.de.json").read_text() == made
    done = here(*given, "--select", "titel")
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1
    assert b"menu.json: select 'titel': nothing has this path; at the top are the keys id, items" in done.stderr
    table = tmp_path / "table.csv"
    table.write_text("id;text\n1;Two dogs\n")
    done = here("translate-file", str(table), "-m", str(SHIPPED))
    assert done.returncode == 1 and b"choose columns by name or number (--select NAME)" in done.stderr
    written = Translator(SHIPPED).translate_document(table, select=["text"])
    assert written.read_text() == "id;text\n1;Zwei Hunde\n"
    text = tmp_path / "a.txt"
    text.write_text("Two dogs")
    with pytest.raises(CpunmtError, match="no part of this format can be chosen.* json by paths"):
        Translator(SHIPPED).translate_document(text, select=["1"])


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("a.rtf", b"PK", "an older format, which is not read; save it as .docx"),
        ("a.json", b"PK\x03\x04", "a.json: line 1, column 1: is not JSON"),
        ("a.po", b"PK\x03\x04", "a.po: line 1: cannot be read as a line of a catalogue"),
        ("a.yaml", b"PK\x03\x04", "a.yaml: line 1: is not YAML"),
        ("a.pdf", b"PK\x03\x04", "a.pdf: is not a PDF"),
        ("a.md", b"\xff\xfe\x00", "expected UTF-8"),
        ("a.txt", b"caf\xe9", "is not UTF-8"),
    ],
)
def test_what_cannot_be_translated_is_one_line_and_leaves_no_file(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    done = here("translate-file", str(path), "-m", str(SHIPPED))
    assert done.returncode == 1 and said in done.stderr.decode() and done.stderr.count(b"\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_file_is_never_written_over_itself(page):
    done = here("translate-file", str(page), "-o", str(page), "-m", str(SHIPPED), "--force")
    assert done.returncode == 1 and page.read_bytes() == PAGE.encode()


def test_a_directory_is_no_file_to_write(page, tmp_path):
    done = here("translate-file", str(page), "-o", str(tmp_path), "-m", str(SHIPPED))
    assert done.returncode == 2 and b"is a directory; give -o the name of a file, or --out " in done.stderr
    with pytest.raises(CpunmtError, match="is a directory; give the name of a file to write"):
        Translator(SHIPPED).translate_document(page, tmp_path)


def test_a_pivot_translates_documents_and_formats_can_be_named(page, tmp_path):
    pivot = Pivot([Translator(SHIPPED), Translator(GERMAN)])
    written = pivot.translate_document(page, tmp_path / "out.txt", format="md")
    assert written == tmp_path / "out.txt" and b"    code stays\r\n" in written.read_bytes()
    with pytest.raises(CpunmtError, match="'doc' is not known, expected one of txt"):
        pivot.translate_document(page, tmp_path / "other", format="doc")
    with pytest.raises(ValueError, match="html is given"):
        pivot.translate_document(page, tmp_path / "other", html=True)


def _killed_at_times(tmp_path, times: list[float]):
    """Translates a document, kills the process at these parts of its time, and translates it again."""
    path, out = tmp_path / "long.md", tmp_path / "long.de.md"
    path.write_text("".join(f"- A man with *{number}* dogs is riding a bicycle.\n" for number in range(800)))
    command = ["translate-file", str(path), "-m", str(SHIPPED)]
    start = time.perf_counter()
    assert run(*command).returncode == 0
    took = time.perf_counter() - start
    undisturbed = out.read_bytes()
    for part in times:
        out.unlink()
        process = subprocess.Popen([sys.executable, "-m", "cpunmt", *command], stderr=subprocess.DEVNULL, cwd=ROOT)
        time.sleep(part * took)
        process.kill()
        killed = process.wait() == -signal.SIGKILL
        assert out.exists() is (not killed) or out.read_bytes() == undisturbed
        assert run(*command, "--force").returncode == 0 and out.read_bytes() == undisturbed
    assert sorted(one.name for one in tmp_path.iterdir() if ".part" not in one.name) == ["long.de.md", "long.md"]


@pytest.mark.slow
def test_a_killed_translation_leaves_nothing_and_comes_out_the_same_the_next_time(tmp_path):
    _killed_at_times(tmp_path, [0.3, 0.8])


@pytest.mark.slow
def test_twenty_random_moments(tmp_path):
    draw = random.Random(22)
    _killed_at_times(tmp_path, [draw.random() for _ in range(20)])
