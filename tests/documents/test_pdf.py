"""PDF: its text as paragraphs."""

import io
import subprocess
import sys
import time
import unicodedata
import zlib

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.documents.formats import pdf as pdf_format
from cpunmt.documents.formats.pdf import paragraphs, read_pdf
from cpunmt.documents.translate import translated
from cpunmt.errors import CpunmtError
from tests.documents.laws import echo, upper
from tests.sample_models.real_model import ROOT, SHIPPED


def test_ligatures_are_their_letters():
    assert {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)} == pdf_format._LIGATURES


PAGES = [
    ["A title", "A man is riding his bi-", "cycle home, and two dogs", "run beside him.", "\x95 One dog", "12"],
    ["The second page."],
]


def pdf(pages, contents=None, resources=""):
    """Makes a PDF from pages of lines, or from the drawing of one page."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    drawings = [contents] if contents is not None else [_drawn(lines) for lines in pages]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(drawings)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(drawings)} >>".encode(),
        font.encode(),
    ]
    for number, drawing in enumerate(drawings):
        packed = zlib.compress(drawing, 9)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R "
            f"/Resources << /Font << /F 3 0 R >> {resources} >> >>".encode()
        )
        objects.append(f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream")
    return _file(objects)


def _drawn(lines):
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return f"BT /F 12 Tf 14 TL 50 700 Td {shown} ET".encode("latin-1")


def _file(objects):
    written, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>"
    return written + f"{end}\nstartxref\n{len(written)}\n%%EOF\n".encode()


def test_a_file(tmp_path):
    document = read_pdf(pdf(PAGES))
    assert document.texts == [
        *("A title", "A man is riding his bicycle home, and two dogs run beside him.", "\u2022 One dog", "12"),
        "The second page.",
    ]
    made = document.rendered(translated(document.units, echo(upper), {}, lambda count: None)).decode()
    assert made == "\n\n".join(document.texts).upper() + "\n"
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf([["Two dogs"]]))
    written = Translator(SHIPPED).translate_document(path)
    assert written == tmp_path / "a.de.txt" and written.read_text() == "Zwei Hunde\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one two three", "four five", "", "six"], ["one two three four five", "six"]),
        (["A heading", "A sentence that goes on for some time, and", "goes on."],
         ["A heading", "A sentence that goes on for some time, and goes on."]),
        (["- one thing or", "another", "- two"], ["- one thing or another", "- two"]),
        (["see the Anglo-", "Saxon one"], ["see the Anglo-Saxon one"]),
        (["The limits are between 10 and", "50, and the most is 100."],
         ["The limits are between 10 and 50, and the most is 100."]),
        (["It is \ufb01ne and e\ufb03cient"], ["It is fine and efficient"]),
        (["1.2 Names of things that are", "1.3 Numbers of things that are"],
         ["1.2 Names of things that are", "1.3 Numbers of things that are"]),
    ],
)  # fmt: skip
def test_paragraphs(lines, expected):
    assert paragraphs("\n".join(lines)) == expected


@pytest.mark.parametrize(("size", "count"), [(20, 2), (21, 1)])
def test_a_small_letter_goes_on_with_a_line_of_more_than_half_the_width(size, count):
    assert len(paragraphs(f"{'x' * 40}\n{'x' * size}\nb")) == count


@given(st.text(st.sampled_from(list("ab.-1 \n\u2022\ud800\0")), max_size=60) | st.text())
def test_no_letter_is_lost(text):
    joined = "".join("".join(paragraphs(text)).split())
    kept = [sign for sign in text if sign in "ab1\u2022"]
    assert [sign for sign in joined if sign in "ab1\u2022"] == kept
    joined.encode("utf-8")


def encrypted(password, algorithm="RC4-128"):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["Two dogs"]])))
    writer.encrypt(password, "owner", algorithm=algorithm)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def bomb(count=12, times=10):
    """Makes nested forms, each of which draws the next ten times."""
    forms = []
    for number in range(count):
        drawing = b"/X Do " * times if number < count - 1 else _drawn(["Two dogs"])
        inner = f"/XObject << /X {7 + number} 0 R >>" if number < count - 1 else "/Font << /F 3 0 R >>"
        head = f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length {len(drawing)} /Resources << {inner} >> >>"
        forms.append(f"{head}\nstream\n".encode() + drawing + b"\nendstream")
    page = pdf([], b"/X Do", "/XObject << /X 6 0 R >>")
    objects = page[: page.index(b"xref")].split(b"endobj\n")[:-1]
    return _file([one.split(b" obj\n")[1].rstrip(b"\n") for one in objects] + forms)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a PDF that can be read"),
        (b"PK\x03\x04", "is not a PDF that can be read"),
        (b"%PDF-1.4\n", "is not a PDF that can be read"),
        (pdf(PAGES)[:400], "is not a PDF that can be read|has no text|cannot be read"),
        (pdf([], b"0 0 m 9 9 l S"), "has no text, perhaps it is a scan"),
        (encrypted("secret"), "is encrypted; save it without a password"),
        (encrypted("").replace(b"/V 2", b"/V 9"), "is encrypted in a way that pypdf does not know .Encryption V=9"),
        (encrypted("").replace(b"/Standard", b"/Unheardof"), "is encrypted in a way that pypdf does not know"),
        (pdf([], b"0 0 m " * 3_000_000), "page 1: its drawing is larger"),
    ],
)
def test_what_has_no_text_is_one_clear_error(content, said):
    with pytest.raises(CpunmtError, match=said) as refused:
        read_pdf(content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_an_empty_password_is_none(algorithm):
    assert read_pdf(encrypted("", algorithm)).texts == ["Two dogs"]
    with pytest.raises(CpunmtError, match="is encrypted; save it without a password"):
        read_pdf(encrypted("secret", algorithm))


def test_what_needs_another_package_says_which(tmp_path):
    """The message does not blame a password: the file does not need one."""
    (tmp_path / "a.pdf").write_bytes(encrypted("", "AES-256"))
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['cryptography', 'Crypto', 'Cryptodome']))\n"
        "from cpunmt.documents.formats.pdf import read_pdf\n"
        "try: read_pdf(open(sys.argv[1], 'rb').read())\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, tmp_path / "a.pdf"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout.startswith("DocumentError is encrypted in a way that is read with the package cryptography"), (
        done
    )


@pytest.mark.slow
def test_forms_in_forms_take_no_time():
    began = time.process_time()
    assert set("".join(read_pdf(bomb()).texts).split()) == {"Two", "dogs"}
    assert time.process_time() - began < 30


DOGS = _drawn(["Two dogs"])


@pytest.mark.parametrize(
    ("name", "edge", "said"),
    [
        ("_CHARACTERS", 8, "page 1: more than 7 characters"),
        ("_PAGES", 1, "has more than 0 pages"),
        ("_PAGE_BYTES", len(DOGS), "page 1: its drawing"),
        ("_STEPS", 6, "page 1: its drawing"),
    ],
)
def test_what_is_larger_than_texts_are_is_refused(monkeypatch, name, edge, said):
    content = pdf([["Two dogs"]])
    monkeypatch.setattr(pdf_format, name, edge)
    read_pdf(content)
    monkeypatch.setattr(pdf_format, name, edge - 1)
    with pytest.raises(CpunmtError, match=said):
        read_pdf(content)


@pytest.mark.parametrize(("name", "edge"), [("_DEEPEST", 2), ("_PAGE_BYTES", len(DOGS))])
def test_forms_have_bounds(monkeypatch, name, edge):
    """The last of three forms is nested in two others."""
    content = bomb(3, 1)
    monkeypatch.setattr(pdf_format, name, edge)
    assert read_pdf(content).texts == ["Two dogs"]
    monkeypatch.setattr(pdf_format, name, edge - 1)
    with pytest.raises(CpunmtError, match="page 1: its drawing"):
        read_pdf(content)


@given(st.data())
def test_broken_files_are_one_error(data):
    content = bytearray(pdf(PAGES))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert read_pdf(bytes(content)).texts
    except CpunmtError as refused:
        assert "\n" not in str(refused)


def test_without_pypdf_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(CpunmtError, match=r"pip install 'cpunmt\[pdf\]'"):
        read_pdf(pdf(PAGES))
