"""Translation of files written by LibreOffice, which reads the results."""

import shutil
import subprocess

import pytest

from tests.documents.laws import upper
from tests.documents.office.office_files import keeps_every_byte, render
from tests.documents.office.test_slides_and_sheets import presentation, workbook

PAGE = """<html><body><h1>Weather station</h1>
<p>A man is <b>riding</b> a bi<i></i>cycle <a href="http://x.org/">through the snow</a>, and two dogs run.</p>
<p>Two dogs play.<br>A woman <u>reads</u> a book.</p><ul><li>A small dog</li></ul>
<table><tr><td>Two children</td><td>12</td></tr></table></body></html>"""
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def libreoffice():
    if shutil.which("soffice") is None:
        pytest.fail("LibreOffice is not installed: run `apt-get install libreoffice-nogui`", pytrace=False)


def converted(path, kind, *settings):
    """Converts a file by LibreOffice, into the same folder."""
    out = path.parent / "made"
    home = f"-env:UserInstallation=file://{path.parent}/home"
    command = ["soffice", home, "--headless", *settings, "--convert-to", kind, "--outdir", out, path]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return out / f"{path.stem}.{kind.partition(':')[0]}"


@pytest.mark.parametrize(
    ("name", "content", "kinds"),
    [
        ("a.html", PAGE.encode(), ["odt:writer8", "docx"]),
        ("a.pptx", presentation(), ["pptx", "odp"]),
        ("a.xlsx", workbook(), ["xlsx", "ods"]),
    ],
)
def test_what_libreoffice_writes_and_reads(name, content, kinds, tmp_path):
    (tmp_path / name).write_bytes(content)
    source = tmp_path / name
    for kind in kinds:
        settings = ["--infilter=HTML (StarWriter)"] if source.suffix == ".html" else []
        written = converted(source, kind, *settings)
        format = written.suffix[1:]
        keeps_every_byte(format, written.read_bytes())
        translated = tmp_path / f"b.{format}"
        translated.write_bytes(render(format, written.read_bytes(), upper))
        texts = []
        for path in (written, translated):
            target = (
                "csv" if format in ("xlsx", "ods") else "txt:Text (encoded):UTF8" if format in ("odt", "docx") else ""
            )
            if target:
                texts.append(converted(path, target).read_text("utf-8-sig"))
            pages = converted(path, "pdf").read_bytes()
            assert pages.startswith(b"%PDF") and len(pages) > 1000
        if texts:
            shown, made = (text.replace("Name", "").replace("Sum", "") for text in texts)
            if format == "xlsx":
                assert texts[1].splitlines()[0].startswith("Name,Sum")
            else:
                made = made.replace("NAME", "").replace("SUM", "")
            assert made.replace("NAME", "") == shown.upper()
        source = written
