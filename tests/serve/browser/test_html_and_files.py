"""HTML, shown without effects, and files."""

import json
import socket

import pytest

from cpunmt.documents.known_formats import FORMATS
from cpunmt.serve.dialects import events
from tests.serve.serving import serving

pytestmark = pytest.mark.slow

HTML = "<h1>Two dogs</h1>\n<p>A man is <b>riding</b> a bicycle.</p><ul><li>One cat.<li>The snow.</ul>"
HOSTILE = """<p onclick="done()">Two dogs.</p><script>top.document.title = "taken"; parent.hit = 1</script>
<img src="http://ELSEWHERE/x.png" onerror="parent.hit = 2"><iframe srcdoc="<script>top.hit = 3</script>"></iframe>
<svg onload="parent.hit = 4"></svg><a href="javascript:parent.hit = 5" target="_top">One cat.</a>
<form action="http://ELSEWHERE/"><button>The snow.</button></form><meta http-equiv="refresh" content="0;url=/health">
<style>p { display: none }</style><base href="http://ELSEWHERE/"><object data="/health"></object>"""


def test_html_is_shown_as_a_page(person, student):
    person.opens(source="en", target="de")
    person.mode("HTML")
    person.types(HTML)
    person.reads(student.translate(HTML, html=True).text, "#code")
    shown = person.page.frame_locator("#preview")
    assert shown.locator("h1").text_content() == student.translate("Two dogs").text
    assert shown.locator("b").count() == 1 and shown.locator("li").count() == 2
    assert person.page.locator("#output").is_hidden()
    person.mode("Text")  # and the same as a text
    assert person.page.locator("#source").input_value() == HTML
    person.until(lambda: person.sees("#output"))


@pytest.fixture
def elsewhere():
    """Starts a server that must not be contacted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def test_hostile_html_does_nothing(person, student, elsewhere):
    person.expected = (
        "Blocked script",
        "Content Security Policy",
        "sandboxed",
        "Unsafe attempt",
    )  # the browser's words
    hostile = HOSTILE.replace("ELSEWHERE", f"127.0.0.1:{elsewhere.getsockname()[1]}")
    health = []
    person.opens(source="en", target="de")
    person.page.on("response", lambda answer: health.append(answer.url) if answer.url.endswith("/health") else None)
    person.mode("HTML")
    person.types(hostile)
    person.reads(student.translate(hostile, html=True).text, "#code")
    frame = person.page.frame_locator("#preview")
    assert frame.locator("script").count() == 1  # it is there, and did not run
    frame.locator("a").click()
    frame.locator("button").click()
    person.until(lambda: any("javascript:" in one for one in person.wrong))
    person.until(lambda: any("form" in one and "sandboxed" in one for one in person.wrong))
    assert person.page.evaluate("[document.title, window.hit]") == ["cpunmt", None]
    assert person.page.url.startswith(f"{person.url}/?") and health == []
    with pytest.raises(BlockingIOError):  # no connection has come
        elsewhere.accept()


def paragraphs(count):
    """Returns a text of `count` different paragraphs, some thousand characters for each forty."""
    return "".join(
        f"The child number {i} is playing in the garden with a red ball and {i} dogs.\n\n" for i in range(count)
    )


def noting(person):
    """Returns a function that returns all notes about the first file from now on."""
    person.page.evaluate("""() => {
      window.notes = [];
      new MutationObserver(() => notes.push(document.querySelector(".job .said").textContent))
        .observe(document.getElementById("jobs-list"), { childList: true, subtree: true });
    }""")
    return lambda: person.page.evaluate("notes")


def percents(notes):
    return [int(note.removesuffix(" %")) for note in notes() if note.endswith("%")]


@pytest.mark.parametrize("name", ["page.html", "words.json"])  # a file of one text, and of many
def test_a_file_of_any_format_shows_the_finished_share(person, student, monkeypatch, name):
    monkeypatch.setattr(events, "_PAUSE", 0.02)
    texts = [f"The child number {n} is playing in the garden with a red ball and {n} dogs." for n in range(600)]
    content = json.dumps(texts) if name == "words.json" else "".join(f"<p>{text}</p>" for text in texts)
    person.opens(source="en", target="de")
    person.mode("Files")
    notes = noting(person)
    person.gives((name, content.encode()))
    german = student.translate(texts[-1]).text
    assert german.encode() in person.takes()[1]
    done = percents(notes)
    assert len(done) >= 3 and done == sorted(done) and done[0] == 0 and done[-1] > 50
    said = list(dict.fromkeys(note for note in notes() if not note.endswith("%")))
    assert [one for one in said if one != "Waits"] == ["The server reads it", "Translated"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_text_file_comes_back_as_a_translator_says_it(person, student, end):
    text = paragraphs(120).replace("\n", end) + f"{end} \t{end}The end 😀.{end}"
    person.opens(source="auto", target="de")
    person.mode("Files")
    notes = noting(person)
    person.gives(("a letter.txt", text.encode()))
    assert person.takes() == ("a letter.de.txt", student.translate(text).text.encode())
    done = percents(notes)
    assert len(done) >= 3 and done == sorted(done) and done[0] == 0 and done[-1] == 100
    assert notes()[-1] == person.sees(".job .said") == "Translated"
    assert person.sees("#jobs-note") == "1 of 1 translated"
    assert [len(asked["text"]) for asked in person.asked if len(asked["text"]) > 1] and len(person.asked) >= 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_text_file_keeps_its_encoding_and_byte_order_mark(person, student, encoding):
    mark, text = "\ufeff", "Two dogs 😀.\r\n\r\nOne cat."
    person.opens(source="en", target="de")
    person.mode("Files")
    person.gives(("dogs.txt", (mark + text).encode(encoding)))
    assert person.takes() == ("dogs.de.txt", (mark + student.translate(text).text).encode(encoding))


def test_a_file_that_cannot_be_read_does_not_stop_the_others(person, tmp_path):
    person.opens(source="en", target="de")
    person.mode("Files")
    held = []
    person.page.route("**/v1/translate", lambda route: held.append(route) if not held else route.continue_())
    paths = [tmp_path / name for name in ("first.txt", "gone.txt", "gone.html", "last.txt")]
    for path in paths:
        path.write_text("Two dogs.")
    person.page.locator("#file").set_input_files(paths)
    person.until(lambda: held)
    for path in paths[1:3]:
        path.unlink()
    held[0].continue_()
    lost = "The browser cannot read this file; it may have been moved or deleted."
    person.until(lambda: person.all(".job .said") == ["Translated", lost, lost, "Translated"])


def test_an_error_of_the_page_does_not_stop_the_others(person):
    person.expected = ("Cannot read properties",)
    person.opens(source="en", target="de")
    person.mode("Files")
    person.page.route("**/translate_file", lambda route: route.fulfill(body="event: result\ndata: {}\n\n"))
    person.gives(("one.html", b"One man."), ("two.txt", b"Two dogs."))
    person.until(lambda: person.all(".job .said") == ["Something went wrong on this page.", "Translated"])


def test_stop_ends_the_wait_for_a_busy_server(person):
    person.expected = ("503",)
    refused = []

    def answer(route):
        if refused:
            return route.continue_()
        refused.append(route)
        route.fulfill(status=503, headers={"Retry-After": "600"}, json={"error": {"message": "Busy"}})

    person.page.route("**/v1/translate", answer)
    person.opens(source="en", target="de")
    person.mode("Files")
    person.gives(("one.txt", b"One man."), ("two.txt", b"Two dogs."))
    person.until(lambda: person.all(".job .said") == ["Waiting for the server: Busy", "Waits"])
    person.page.locator(".job .stop").first.click()
    person.until(lambda: person.all(".job .said") == ["Stopped", "Translated"])


def test_an_html_file_comes_back_as_a_translator_says_it(person, student):
    person.opens(source="en", target="de")
    person.mode("Files")
    held = []
    person.page.route("**/translate_file", lambda route: held.append(route))
    person.gives(("page.html", HTML.encode()))
    person.until(lambda: held)
    assert person.sees(".job .said") == "The server reads it"
    assert person.page.locator(".job progress").get_attribute("value") is None
    held[0].continue_()
    assert person.takes() == ("page.de.html", student.translate(HTML, html=True).text.encode())


def test_files_come_one_after_another_and_can_be_stopped(person, student):
    person.opens(source="en", target="de")
    person.mode("Files")
    held = []
    person.page.route("**/v1/translate", lambda route: held.append(route) if not held else route.continue_())
    person.gives(("one.txt", b"One man."), ("two.txt", b"Two dogs."), ("three.HTML", b"<p>One cat.</p>"))
    person.until(lambda: held)
    assert person.all(".job .said") == ["0 %", "Waits", "Waits"]
    person.page.locator(".job .stop").first.click()
    person.until(lambda: person.all(".job .said") == ["Stopped", "Translated", "Translated"])
    person.until(lambda: person.aborted)
    assert person.page.locator(".job .stop:visible").count() == 0
    assert person.page.locator(".job").first.locator(".strong").is_hidden()
    assert person.sees("#jobs-note") == "2 of 3 translated"
    assert person.takes(1) == ("two.de.txt", student.translate("Two dogs.").text.encode())
    assert person.takes(2) == ("three.de.html", student.translate("<p>One cat.</p>", html=True).text.encode())
    held[0].abort()
    person.page.get_by_text("Clear the list").click()
    assert person.page.locator(".job").count() == 0 and person.page.locator("#jobs").is_hidden()


def test_files_that_cannot_be_translated_are_told(visit):
    with serving(max_file=2000) as server:
        person = visit(server).opens(source="en", target="de")
        person.expected = ("400",)
        person.mode("Files")
        assert "Up to 2 kB and 200,000 characters a file; .txt of any size." in person.sees("#drop")
        person.gives(("picture.png", b"\x89PNG"), ("old.txt", b"\xff\xfa\x80"), ("long.html", b"a" * 2001))
        person.until(lambda: person.page.locator(".job.failed").count() == 3)
        told = person.all(".job .said")
        assert told[0] == "This page does not translate files of this format."
        assert "utf-8" in told[1].lower() and not told[1].startswith("Invalid")  # the server's own words
        assert told[2] == "It has 3 kB; this server takes files up to 2 kB."
        assert person.asked == [] and person.sees("#jobs-note") == "0 of 3 translated"


def test_all_formats_are_offered_and_translated(person, student):
    person.opens(source="auto", target="de")
    person.mode("Files")
    names = person.sees("#drop .note").partition(".")[0].split(", ")
    assert {name.lower() for name in names} == FORMATS.keys() - {"csv", "tsv"}  # their columns have to be named
    srt = b"1\n00:00:01,000 --> 00:00:02,000\nTwo dogs are playing in the snow.\n"
    person.gives(("film.srt", srt), ("words.json", b'{"one": "Two dogs are playing in the snow."}'))
    german = student.translate("Two dogs are playing in the snow.").text.encode()
    assert person.takes(0) == ("film.de.srt", srt.replace(b"Two dogs are playing in the snow.", german))
    assert german in person.takes(1)[1]


def test_a_server_may_translate_no_files(visit):
    with serving(no_files=True) as server:
        person = visit(server).opens(source="en", target="de")
        assert person.page.locator("#modes label:visible").count() == 2


def test_a_file_can_be_dropped_anywhere(person, student):
    person.opens(source="en", target="de")
    person.page.evaluate("""() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["Two dogs."], "dogs.txt", { type: "text/plain" }));
      const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
      document.getElementById("source").dispatchEvent(drop);
    }""")
    assert person.takes() == ("dogs.de.txt", student.translate("Two dogs.").text.encode())
