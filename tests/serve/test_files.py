"""Files of all formats, sent as LibreTranslate's and DeepL's clients do; their limits."""

import importlib.util
import json
import random

import pytest

from cpunmt.documents import translate
from cpunmt.documents.known_formats import FORMATS, read_document
from cpunmt.documents.translate import translated_content
from cpunmt.errors import CancelledError
from cpunmt.process.stopping import Watch, under
from cpunmt.serve.dialects import events, translated_files
from cpunmt.serve.errors import ServeError
from tests.documents.office.office_files import docx, slide, zipped
from tests.documents.test_pdf import pdf
from tests.serve.serving import serving
from tests.support.speeds import slow_after

SENTENCE = "Two dogs are playing in the snow."
FILES = {
    "a.txt": f"{SENTENCE}\n\nOne man.\n".encode("utf-16"),
    "page.XHTML": b"<p>One <b>man</b> &amp; <i>two</i> dogs.</p>",
    "a.md": f"# One man\n\n* {SENTENCE}\n* `code` and *two* dogs.\n".encode(),
    "a.pdf": pdf([[SENTENCE]]),
    "a.docx": docx(f"<w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>"),
    "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{SENTENCE}\n".encode(),
    "a.po": f'msgid "{SENTENCE}"\nmsgstr ""\n'.encode(),
    "a.json": f'{{"text": "{SENTENCE}"}}'.encode(),
    "a.yml": f"text: {SENTENCE}\n".encode(),
    "a.pptx": slide(f"<a:p><a:r><a:t>{SENTENCE}</a:t></a:r></a:p>"),
}
BOMB = zipped({"a": bytes(65 << 20), "b": random.Random(1).randbytes(400_000)})
EN_DE = {"source": "en", "target": "de"}


def sent(served, name, content, **asked):
    return served.post("/translate_file", files={"file": (name, content)}, data={**EN_DE, **asked})


@pytest.mark.parametrize("name", slow_after(4, FILES))
def test_a_file_is_translated_as_by_a_translator(served, translators, name):
    expected = translated_content(translators["en", "de"], FILES[name], name.lower(), {})
    answer = sent(served, name, FILES[name])
    url = answer.json()["translatedFileUrl"]
    assert url.endswith("_de.txt" if name == "a.pdf" else f"_de.{name.lower().partition('.')[2]}")
    assert served.client.get(url).content == expected != FILES[name]
    asked = {"target_lang": "DE", "source_lang": "EN"}
    handle = served.post("/v2/document", files={"file": (name, FILES[name])}, data=asked).json()
    key = {"document_key": handle["document_key"]}
    assert served.post(f"/v2/document/{handle['document_id']}/result", json=key).content == expected


def test_parts_and_encodings_are_chosen_by_parameters(served, translators):
    table = b"name,text,more\nOne man.,Two dogs.,A caf\xe9.\n"
    chosen = {"select": ["text", "3"], "encoding": "cp1252"}
    url = sent(served, "a.csv", table, **chosen).json()["translatedFileUrl"]
    expected = translated_content(translators["en", "de"], table, "a.csv", {}, **chosen)
    assert served.client.get(url).content == expected and b"One man.,Zwei Hunde." in expected
    said = sent(served, "a.csv", table, encoding="cp1252").json()["error"]
    assert said.startswith("Invalid request: the file: choose columns by name or number (select=NAME)")
    assert "is not known" in sent(served, "a.txt", b"x", encoding="cp0").json()["error"]
    asked = {"target_lang": "DE", "select": "text", "encoding": "cp1252"}
    assert served.post("/v2/document", files={"file": ("a.csv", table)}, data=asked).status_code == 200


def test_every_format_is_offered(served, monkeypatch):
    every = [ending for form in FORMATS.values() for ending in form.endings]
    assert served.client.get("/frontend/settings").json()["supportedFilesFormat"] == every
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert translated_files.endings() == [ending for ending in every if ending != ".pdf"]


def test_a_file_in_the_target_language_stays(served):
    content = b"Zwei Hunde spielen im Schnee.\n"
    url = sent(served, "a.md", content, source="de").json()["translatedFileUrl"]
    assert served.client.get(url).content == content
    url = sent(served, "a.pdf", FILES["a.pdf"], source="de").json()["translatedFileUrl"]
    assert url.endswith("_de.txt") and served.client.get(url).text == f"{SENTENCE}\n"
    detected = sent(served, "a.md", f"{SENTENCE} A man and a woman.".encode(), source="auto").json()
    assert served.client.get(detected["translatedFileUrl"]).text.startswith("Zwei Hunde")


def test_glossaries_and_output_formats_of_documents(served):
    asked = {"target_lang": "DE", "output_format": "pdf"}
    answer = served.post("/v2/document", files={"file": ("a.pdf", FILES["a.pdf"])}, data=asked)
    assert answer.status_code == 400 and answer.json()["detail"] == "Expected txt"
    asked["output_format"] = "txt"
    assert served.post("/v2/document", files={"file": ("a.pdf", FILES["a.pdf"])}, data=asked).status_code == 200
    answer = served.post("/v2/document", files={"file": ("a.exe", b"x")}, data=asked)
    assert answer.json()["message"] == "Invalid file extension" and ".docx, .docm" in answer.json()["detail"]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.exe", b"x", "file format not supported, expected .txt, .text, .html, "),
        ("a", b"x", "file format not supported"),
        ("a.docx", b"x", "the file: is not a zip file, as its format requires"),
        ("a.txt", b"One\n\xff", "the file: line 2, byte 5 of the file: is not UTF-8; expected"),
        ("a.json", b"{", "the file: line 1, column 2: "),
        ("a.docx", BOMB, "the file: would be 68"),
        ("a.odt", b"x" + BOMB, "the file: would be 68"),  # whose end is that of an archive
    ],
)
def test_a_wrong_file_is_told(served, name, content, message):
    answer = sent(served, name, content)
    assert answer.status_code == 400 and answer.json()["error"].startswith(f"Invalid request: {message}")
    assert not served.service.kept(translated_files.FileStore)._files.keys() & {"a"}


def test_limits_are_named():
    with serving(max_file=3000, max_text=100, max_characters=300, max_texts=2) as server:
        answer = sent(server, "a.txt", b"a" * 3000)
        assert (answer.status_code, answer.json()) == (413, {"error": "The request is larger than 3000 bytes"})
        answer = sent(server, "a.txt", b"a" * 101)
        assert answer.json() == {"error": "Invalid request: file (101) exceeds text limit (100)"}
        answer = sent(server, "a.txt", b"One man and two dogs are here.\n\n" * 11)
        assert answer.json() == {"error": "Invalid request: file (330) exceeds limit of all texts (300)"}
        assert sent(server, "a.txt", b"One man.\n\n" * 5).status_code == 200  # whatever the number of texts
        assert server.client.get("/v1/models").json()["limits"]["file"] == 3000
        assert len(server.service.kept(translated_files.FileStore)._files) == 1  # of the last one


def streamed(served, name, content, **asked):
    """Returns the events of a file's translation."""
    answer = sent(served, name, content, stream="true", **asked)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
    found = [event.split("\ndata: ") for event in answer.text.removesuffix("\n\n").split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(content)) for name, content in found]


@pytest.mark.parametrize("name", ["page.html", "a.json"])  # one text, and many
def test_a_stream_tells_the_finished_share(served, translators, monkeypatch, name):
    monkeypatch.setattr(events, "_PAUSE", 0.001)
    monkeypatch.setattr(translated_files, "WINDOW", 1 << 20)  # shares are of sentences, not of windows
    texts = [f"The child number {n} is playing in the garden with {n} dogs." for n in range(100)]
    content = (json.dumps(texts) if name == "a.json" else "".join(f"<p>{one}</p>" for one in texts)).encode()
    *shares, (last, made) = streamed(served, name, content)
    shares = [told["share"] for kind, told in shares if kind == "progress"]
    assert last == "result" and shares[0] == 0 and shares == sorted(set(shares)) and len(shares) >= 3
    assert 0 < shares[1] < 1
    expected = translated_content(translators["en", "de"], content, name, {})
    assert served.client.get(made["translatedFileUrl"]).content == expected


def test_shares_over_several_windows(served, monkeypatch):
    monkeypatch.setattr(events, "_PAUSE", 0.001)
    for module in (translated_files, translate):
        monkeypatch.setattr(module, "WINDOW", 20)
    content = json.dumps([f"The child number {n} is playing with {n} dogs." for n in range(60)]).encode()
    *shares, (last, _) = streamed(served, "a.json", content)
    shares = [told["share"] for _, told in shares]
    assert last == "result" and shares == sorted(shares) and shares[-1] <= 1 and len(shares) >= 3


def test_a_stream_of_nothing_to_translate(served):
    for content, said in ((b"{}", {}), (b'["Ein Mann."]', {"source": "de"})):
        *_, (last, made) = streamed(served, "a.json", content, **said)
        assert last == "result" and served.client.get(made["translatedFileUrl"]).content == content


def test_errors_before_a_stream_and_in_it(served, monkeypatch):
    for content, said, message in ((b"{", {}, "line 1"), (b"{}", {"target": "zz"}, "zz is not supported")):
        answer = sent(served, "a.json", content, stream="true", **said)
        assert answer.status_code == 400 and message in answer.json()["error"]

    def full(*_):
        raise ServeError(503, "The server is busy: too many files wait to be fetched", retry_after=1)

    monkeypatch.setattr(translated_files.FileStore, "put", full)
    assert sent(served, "a.json", b'["One man."]', stream="true").status_code == 503
    for room in (1, 2):  # there is room while it is read, and perhaps while it is translated
        calls = iter([lambda *_: None] * room)
        monkeypatch.setattr(translated_files.FileStore, "put", lambda *given, calls=calls: next(calls, full)(*given))
        *_, last = streamed(served, "a.json", b'["One man."]')
        message = "The server is busy: too many files wait to be fetched"
        assert last == ("error", {"code": 503, "message": message, "retry_after": 1})


def test_a_large_file_is_streamed():
    """While it is translated its source counts, afterwards only its translation: a client may have 16 MB."""
    content = json.dumps(["One man.", "1" * 9_000_000]).encode()
    with serving(max_text=10_000_000, max_characters=10_000_000) as server:
        *_, (last, made) = streamed(server, "a.json", content)
        assert last == "result" and len(server.client.get(made["translatedFileUrl"]).content) > 9_000_000


def test_a_stream_that_fails_costs_nothing(monkeypatch):
    def full(*_):
        raise ServeError(503, "full", detail="Wait")

    with serving(quota=1000) as server:
        *_, (last, _) = streamed(server, "a.json", b'["One man."]')
        assert last == "result" and server.client.get("/v2/usage").json()["character_count"] == 8
        monkeypatch.setattr(translated_files, "_translated", full)
        assert streamed(server, "a.json", b'["One man."]')[-1] == (
            "error",
            {"code": 503, "message": "full", "detail": "Wait"},
        )
        assert server.client.get("/v2/usage").json()["character_count"] == 8


def test_a_file_that_takes_too_long_to_read():
    with serving(deadline=0.01) as server:
        answer = sent(server, "a.pdf", pdf([[SENTENCE]] * 100))
    assert answer.json() == {"error": "Invalid request: the file takes too long to read"}


def test_reading_stops_at_the_deadline_in_every_format():
    """Before all texts are read."""
    files = {
        "a.json": b"[" + b'"a",' * 40_000 + b'"a"]',
        "b.json": b"[" + b"1," * 500_000 + b"1]",  # without texts
        "a.md": b"* a\n" * 20_000,
        "a.po": b'msgid "a"\nmsgstr ""\n\n' * 10_000,
        "a.yml": b"- a\n" * 20_000,
        "a.srt": FILES["a.srt"] * 3000,
        "a.docx": docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 5000),
        "a.txt": b"a\n\n" * 40_000,
    }
    with serving(deadline=0.01) as server:
        for name, content in files.items():
            assert sent(server, name, content).json() == {
                "error": "Invalid request: the file takes too long to read"
            }, name


def test_reading_stops_when_texts_are_too_many(monkeypatch):
    content = b'["a", "bc", "d"]'
    with serving(max_characters=1) as server:
        assert "(4) exceeds limit of all texts (1)" in sent(server, "a.json", content).json()["error"]
        answer = sent(server, "a.json", content.replace(b"d", b"de"))
        told = "Invalid request: the file: has more than {}; cut it into parts"
        assert answer.json() == {"error": told.format("50000 texts, or 4 characters in them")}
    monkeypatch.setattr(translated_files, "_MOST_UNITS", 2)
    with serving() as server:
        answer = sent(server, "a.json", content)
        assert answer.json() == {"error": told.format("2 texts, or 800000 characters in them")}
        assert sent(server, "a.json", b'["One man.", "1", "Two."]').status_code == 200


def test_files_wait_for_each_other(monkeypatch):
    with serving(deadline=0.2) as server:
        files = server.service.kept(translated_files.FileStore)
        task = server.service.scheduler.task()
        with files.turn(task, 60.0):
            answer = sent(server, "a.txt", b"One man.")
            assert answer.status_code == 503 and "reads other files" in answer.json()["error"]
            assert answer.headers["Retry-After"] == "1"
            task.cancel()
            with pytest.raises(CancelledError), files.turn(task, 60.0):
                pass
        assert sent(server, "a.txt", b"One man.").status_code == 200
        monkeypatch.setattr(translated_files, "_MOST_WAITING", 0)
        answer = sent(server, "a.txt", b"One man.")
        assert answer.status_code == 503 and "too many files wait to be read" in answer.json()["error"]


def test_writing_has_a_deadline():
    document = read_document(b"[" + b'"a",' * 999 + b'"a"]', FORMATS["json"], ())
    with pytest.raises(CancelledError), under(watch := Watch()):
        watch.leave()
        document.rendered(["b"] * 1000)


def test_a_client_has_room_for_few_files(served, monkeypatch):
    monkeypatch.setattr(translated_files, "MOST_BYTES", 8000)
    answer = sent(served, "a.txt", b"One man. " * 300)
    assert answer.status_code == 503 and "too many files wait" in answer.json()["error"]


def test_no_files_without_leave():
    with serving(no_files=True) as server:
        said = "Files translation is disabled on this server."
        answer = sent(server, "a.txt", b"One man.")
        assert (answer.status_code, answer.json()) == (403, {"error": said})
        asked = {"files": {"file": ("a.txt", b"x")}, "data": {"target_lang": "DE"}}
        answer = server.post("/v2/document", **asked)
        assert (answer.status_code, answer.json()["message"]) == (403, said)
        found = server.client.get("/frontend/settings").json()
        assert found["filesTranslation"] is False and found["supportedFilesFormat"] == []
