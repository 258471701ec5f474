# ruff: noqa: RUF001 - words in another script
"""Appearance: colours, directions, small windows; and accessibility."""

import json

import pytest

from tests.serve.serving import serving

pytestmark = pytest.mark.slow

TEXT = "A man is riding a bicycle through the snow. Two dogs are playing.\n\nThe children are happy."
LIGHT, DARK = "rgb(246, 244, 239)", "rgb(20, 24, 23)"
SIZES = {
    "desk": {"width": 1280, "height": 800},
    "phone": {"width": 360, "height": 740},
    "narrow": {"width": 320, "height": 568},
    "zoomed": {"width": 640, "height": 400},  # 1280 by 800 at 200 %
}


def paper(person):
    return person.page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_light_dark_and_as_the_system_has_it(visit):
    person = visit().opens(source="en", target="de")
    assert (paper(person), person.page.locator("#scheme").input_value()) == (LIGHT, "auto")
    person.page.emulate_media(color_scheme="dark")
    person.until(lambda: paper(person) == DARK)
    person.page.locator("#scheme").select_option("light")
    assert paper(person) == LIGHT
    person.page.locator("#scheme").select_option("dark")
    person.page.emulate_media(color_scheme="light")
    assert paper(person) == DARK
    person.page.reload()  # it is kept
    assert (paper(person), person.page.locator("#scheme").input_value()) == (DARK, "dark")


def direction(person, at):
    return person.page.locator(at).evaluate("one => one.matches(':dir(rtl)') ? 'rtl' : 'ltr'")


def test_texts_from_right_to_left(person):
    """The tests' models do not translate into such a language, so the answer is made up."""
    hebrew = "כלב אחד. שני כלבים."
    sentence = {"source": [0, 8], "target": [0, len(hebrew)], "score": -0.1, "alignments": [[[0, 3], [0, 3]]]}
    made = {"text": hebrew, "source": "en", "target": "de", "sentences": [sentence]}
    person.page.route("**/v1/translate", lambda route: route.fulfill(body=json.dumps({"translations": [made]})))
    person.opens(source="en", target="de", q="One dog.")
    person.reads(hebrew)
    assert (direction(person, "#source"), direction(person, "#output")) == ("ltr", "rtl")
    word = person.page.locator("#output .word").bounding_box()
    whole = person.page.locator("#output").bounding_box()
    assert word["x"] > whole["x"] + whole["width"] / 2  # the first word is at the right
    person.page.locator("#source").fill(hebrew)
    assert direction(person, "#source") == "rtl"
    person.until(lambda: direction(person, "#mirror") == "rtl")
    field, mirror = (person.page.locator(at).evaluate("one => one.scrollHeight") for at in ("#source", "#mirror"))
    assert field == mirror


def state(person, name, student):
    """Brings the page into a state."""
    if name in ("text", "choices", "shaded"):
        person.opens(source="auto", target="de", q=TEXT)
        person.reads(student.translate(TEXT).text)
    else:
        person.opens(source="en", target="de")
    if name == "choices":
        person.page.locator("#output .sentence").first.click()
        person.page.locator("#choices-list [aria-current]").wait_for()
    elif name == "shaded":
        person.page.get_by_label("Shade doubts").check()
        person.page.locator("#output .word").nth(5).hover()
    elif name == "doubts":
        person.types("The tunnel is open.\n\nПривет, как дела у тебя сегодня вечером, друг мой?")
        person.page.locator("#doubts").wait_for()
    elif name == "html":
        person.mode("HTML")
        person.types("<h1>Two dogs</h1><p>One cat.</p>")
        person.reads(student.translate("<h1>Two dogs</h1><p>One cat.</p>", html=True).text, "#code")
    elif name in ("file", "files"):
        person.mode("Files")
        if name == "files":
            long = "a very long name of a file that somebody has written in the year of the dog.txt"
            person.gives((long, b"Two dogs."), ("picture.png", b"?"))
            person.page.locator(".job.failed").wait_for()
            person.page.locator(".job .strong").first.wait_for()
    elif name == "waiting":
        person.page.route("**/v1/translate", lambda route: None)
        person.types(TEXT)
        person.page.locator("#output .bars").first.wait_for()
    elif name == "more":
        person.page.locator("#glossary-box summary").click()
        person.page.locator("#glossary").fill("dog = Köter\nwrong")
        person.page.locator("#history-box summary").click()
        person.page.locator("#glossary-note", has_text="Line 2").wait_for()
    elif name == "wrong":
        person.page.locator("#source").fill("a" * 50_001)
        person.page.locator("#message").wait_for()


STATES = ["empty", "text", "choices", "shaded", "more", "html", "file", "files", "doubts", "wrong", "waiting"]


@pytest.mark.parametrize(
    "scheme, size",
    [
        ("light", "desk"),
        ("dark", "desk"),
        ("light", "phone"),
        ("dark", "phone"),
        ("dark", "narrow"),
        ("light", "zoomed"),
    ],
)
def test_everybody_can_use_it_and_nothing_is_too_wide(visit, student, axe, scheme, size):
    person = visit(color_scheme=scheme, viewport=SIZES[size], reduced_motion="reduce")
    for name in STATES:
        state(person, name, student)
        assert person.fits(), name
        person.page.evaluate(axe)
        found = person.page.evaluate("axe.run({ iframes: false })")
        told = [
            (one["id"], node["html"], node["failureSummary"]) for one in found["violations"] for node in one["nodes"]
        ]
        assert told == [] and len(found["passes"]) > 15, name


def test_everybody_can_give_a_key(visit, axe):
    with serving(api_keys=("secret",)) as server:
        person = visit(server, viewport=SIZES["phone"])
        person.page.goto(server.url)
        person.page.locator("#key-form").wait_for()
        person.page.evaluate(axe)
        assert person.page.evaluate("axe.run()")["violations"] == [] and person.fits()


def test_all_is_reached_by_tab_and_the_focus_is_seen(person, student):
    person.opens(source="auto", target="de", q=TEXT)
    person.reads(student.translate(TEXT).text)
    wanted = ["skip", "mode", "scheme", "from", "swap", "to", "source", "clear", "sentence", "shade", "link", "copy"]
    found = []
    for _ in range(len(wanted)):
        person.page.keyboard.press("Tab")
        name, outline = person.page.evaluate("""() => {
          const one = document.activeElement;
          const shown = one.matches(".choice input") ? one.nextElementSibling : one.closest(".scheme") ?? one;
          return [one.id || one.name || one.className, getComputedStyle(shown).outlineStyle];
        }""")
        found.append(name.split(" ")[0])
        assert outline == "solid", found
    assert found == wanted
