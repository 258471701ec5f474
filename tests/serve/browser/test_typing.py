"""Typing: requests, their times, and the display."""

from urllib.parse import parse_qs, urlparse

import pytest

from tests.serve.serving import serving

pytestmark = pytest.mark.slow

TEXT = "A man is riding a bicycle. Two dogs are playing.\n\nA woman is reading a book 😀.\n \n  The children are happy."


def of(person):
    """Returns the requested texts."""
    return [asked["text"] for asked in person.asked]


def test_a_text_is_translated_after_the_pause(person, student):
    person.stops_the_clock()
    person.opens(source="en", target="de")
    pause = person.page.evaluate("fetch('frontend/settings').then((a) => a.json())")["frontendTimeout"]
    person.page.clock.pause_at(person.page.evaluate("Date.now()") + 1000)
    person.page.locator("#source").press_sequentially("Two dogs")
    person.page.clock.run_for(pause - 1)
    assert person.asked == []
    person.page.keyboard.type(".")  # the pause begins again
    person.page.clock.run_for(pause - 1)
    assert person.asked == []
    person.page.clock.run_for(1)
    person.reads(student.translate("Two dogs.").text)
    assert of(person) == [["Two dogs."]] and person.sees("#status") == "Translated"


def test_it_is_the_text_of_a_translator(person, student):
    person.opens(source="en", target="de")
    person.types(TEXT)
    person.reads(student.translate(TEXT).text)
    assert person.page.locator("#output").get_attribute("lang") == "de"
    assert person.sees("#mirror") == TEXT


def test_control_enter_does_not_wait(person, student):
    person.stops_the_clock()
    person.opens(source="en", target="de")
    person.page.clock.pause_at(person.page.evaluate("Date.now()") + 1000)
    person.types("Two dogs.")
    person.page.keyboard.press("Control+Enter")
    person.reads(student.translate("Two dogs.").text)


def test_only_paragraphs_that_changed_are_asked_for(person, student):
    person.opens(source="en", target="de")
    person.types(TEXT)
    person.reads(student.translate(TEXT).text)
    person.types(" The sun is shining.")
    person.reads(student.translate(TEXT + " The sun is shining.").text)
    paragraphs = ["A man is riding a bicycle. Two dogs are playing.", "A woman is reading a book 😀."]
    assert of(person) == [[*paragraphs, "The children are happy."], ["The children are happy. The sun is shining."]]
    person.page.keyboard.press("Control+z")  # known translations are not requested again
    person.reads(student.translate(TEXT).text)
    assert len(person.asked) == 2 and person.aborted == []


def test_typing_on_takes_back_what_was_asked(person, student):
    held = []
    person.page.route("**/v1/translate", lambda route: held.append(route) if not held else route.continue_())
    person.opens(source="en", target="de")
    person.types("A man is")
    person.until(lambda: held)
    assert person.page.locator("#busy").is_visible()
    person.types(" riding a bicycle.")
    person.reads(student.translate("A man is riding a bicycle.").text)
    person.until(lambda: person.aborted)
    assert [asked["text"] for asked in person.aborted] == [["A man is"]]
    assert of(person) == [["A man is"], ["A man is riding a bicycle."]]
    assert person.page.locator("#busy").is_hidden()
    held[0].abort()


def test_swap_and_the_detected_language(person, student, translators):
    person.opens(source="auto", target="de")
    assert person.page.locator("#swap").is_disabled()  # the source is unknown
    person.types("A man is riding a bicycle through the snow.")
    german = student.translate("A man is riding a bicycle through the snow.").text
    person.reads(german)
    assert person.sees("#detected") == "English"
    person.page.locator("#swap").click()
    person.reads(translators["de", "en"].translate(german).text)
    assert person.page.locator("#source").input_value() == german
    assert [person.page.locator(name).input_value() for name in ("#from", "#to")] == ["de", "en"]
    assert person.sees("#detected") == ""


def test_characters_are_counted_and_too_many_are_told(visit, student):
    with serving(max_text=40) as server:
        person = visit(server).opens(source="en", target="de")
        assert person.sees("#counter") == "0 / 40"
        person.types("Two dogs 😀.")
        person.reads(student.translate("Two dogs 😀.").text)
        assert person.sees("#counter") == "11 / 40"  # an emoji is one
        person.types(" A man is riding a bicycle through it.")
        person.reads("The text has 49 characters, 9 more than this server takes.", "#message")
        assert "over" in person.page.locator("#counter").get_attribute("class") and len(person.asked) == 1
        person.page.locator("#source").fill("Two dogs.")
        person.reads(student.translate("Two dogs.").text)
        person.until(lambda: person.page.locator("#message").is_hidden())


def test_the_address_has_the_languages_and_a_link_the_text(person, visit, student):
    person.opens(source="en", target="de", q="Two dogs.\n\nOne & man?")
    person.reads(student.translate("Two dogs.\n\nOne & man?").text)
    person.page.locator("#source").fill("One cat.")
    person.reads(student.translate("One cat.").text)
    said = parse_qs(urlparse(person.page.url).query)
    assert said == {"source": ["en"], "target": ["de"]}  # browsers and proxies store addresses
    person.page.reload()
    person.reads(student.translate("One cat.").text)
    stranger = visit().opens(source="xx", target="yy", q="<b>Two</b> dogs.")
    stranger.until(lambda: stranger.sees("#output"))
    assert stranger.page.locator("#source").input_value() == "<b>Two</b> dogs."
    assert stranger.page.locator("#output b, #mirror b").count() == 0


def test_copy_and_clear(visit, student):
    person = visit(permissions=["clipboard-read", "clipboard-write"]).opens(source="en", target="de", q=TEXT)
    person.reads(student.translate(TEXT).text)
    person.page.locator("#copy").click()
    person.reads("Copied", "#copy")
    assert person.page.evaluate("navigator.clipboard.readText()") == student.translate(TEXT).text
    person.page.locator("#clear").click()
    person.reads("")
    assert person.page.locator("#source").input_value() == "" and person.page.locator("#copy").is_disabled()
    assert person.page.evaluate("document.activeElement.id") == "source"
    person.page.keyboard.press("Control+z")  # it was a mistake
    person.reads(student.translate(TEXT).text)


def test_what_was_chosen_is_kept(person):
    person.opens()
    assert [person.page.locator(name).input_value() for name in ("#from", "#to")] == ["auto", "de"]
    person.page.locator("#from").select_option("de")
    person.page.locator("#to").select_option("fr")
    person.page.get_by_label("Shade doubts").check()
    person.opens()
    assert [person.page.locator(name).input_value() for name in ("#from", "#to")] == ["de", "fr"]
    assert person.page.get_by_label("Shade doubts").is_checked()
    assert "shaded" in person.page.locator("#output").get_attribute("class")
    person.opens(source="en", target="de")  # an address says more
    assert [person.page.locator(name).input_value() for name in ("#from", "#to")] == ["en", "de"]


def test_a_text_in_the_target_language_stays(person):
    person.opens(source="auto", target="de")
    person.types("Zwei Hunde spielen im Garten, und der Mann schläft.")
    person.reads("Zwei Hunde spielen im Garten, und der Mann schläft.")
    person.reads("The text is in German already: it stays as it is.", "#message")


# Each with its own way to begin or end a paragraph.
SHAPES = [
    "",
    "\n",
    "One.\n\n",
    "\n\nOne.\n \n  Two dogs.\n\n\n\n\tThree.\nFour",
    "One.\n\n \n",
    "שלום.\n\nTwo dogs.\n\nسلام\n",  # noqa: RUF001
    "One " * 60 + "\n\n" + "x" * 200,
]


@pytest.mark.parametrize("text", SHAPES)
def test_the_mirror_breaks_lines_as_the_field_does(person, text):
    person.opens(source="en", target="de")
    source = person.page.locator("#source")
    for content in (text, text + "Two dogs.\n\n", "\n\n" + text, text):
        source.fill(content)
        source.press("Control+Enter")
        person.reads(content, "#mirror")
        shown, inner, mirror = source.evaluate(
            "one => [one.clientHeight, one.scrollHeight, document.getElementById('mirror').scrollHeight]"
        )
        assert inner == mirror >= shown, repr(content)
        # Without the height of the pane, the text alone makes it.
        alone = source.evaluate("one => { one.style.height = '0'; return one.scrollHeight; }")
        low = person.page.evaluate(
            """() => {
                const mirror = document.getElementById("mirror"), box = mirror.getBoundingClientRect();
                const last = mirror.lastElementChild.getBoundingClientRect();
                return last.bottom - box.top + mirror.scrollTop + parseFloat(getComputedStyle(mirror).paddingBottom);
            }"""
        )
        source.evaluate("one => { one.style.height = ''; }")
        assert abs(alone - low) <= 1, (repr(content), alone, low)


def test_typing_lays_out_one_paragraph(person, student):
    """A key changes no paragraph; after the pause the changed ones are exchanged, and the others stay."""
    paragraphs = [f"The {number} dogs are playing. A man is riding a bicycle." for number in range(300)]
    person.opens(source="en", target="de")
    person.page.locator("#source").fill("\n\n".join(paragraphs))
    person.until(lambda: person.sees("#status") == "Translated")
    mark = "all => all.forEach((one, i) => { one.marked = one.marked ?? i; })"
    marks = "all => all.map((one) => one.marked ?? null)"
    for side in ("#mirror", "#output"):
        person.page.locator(f"{side} > *").evaluate_all(mark)
    person.page.locator("#source").evaluate("one => one.setSelectionRange(0, 0)")
    person.page.locator("#source").evaluate("one => one.focus()")
    marked = [person.page.locator(f"{side} > *").evaluate_all(marks) for side in ("#mirror", "#output")]
    person.page.keyboard.insert_text("xTwo cats.\n\n")
    assert [person.page.locator(f"{side} > *").evaluate_all(marks) for side in ("#mirror", "#output")] == marked
    person.reads(student.translate("xTwo cats.\n\n" + "\n\n".join(paragraphs)).text)
    for side in ("#mirror", "#output"):
        assert person.page.locator(f"{side} > *").evaluate_all(marks)[2:] == [*range(1, 300)]
    display = person.page.locator("#mirror > *, #output > *").evaluate_all(
        "all => [...new Set(all.map((one) => getComputedStyle(one).display))]"
    )
    assert display == ["block"]  # as spans they would all be laid out, at every keystroke


def seen_words(person, at):
    """Returns the number of words that are elements, and of those in the pane's view."""
    return person.page.locator(at).evaluate(
        """one => {
            const [pane, all] = [one.getBoundingClientRect(), [...one.querySelectorAll(".word")]];
            const boxes = all.map((word) => word.getBoundingClientRect());
            return [all.length, boxes.filter((box) => box.top > pane.top && box.bottom < pane.bottom).length];
        }"""
    )


def test_words_of_a_long_text_become_elements_when_they_come_into_view(person):
    person.opens(source="en", target="de")
    person.page.locator("#source").fill(" ".join(f"The {i} dogs play in it." for i in range(300)))
    person.until(lambda: person.sees("#status") == "Translated")
    for place in (0, 1e6):
        person.page.locator("#source").evaluate("(one, to) => { one.scrollTop = to; }", place)
        for side in ("#output", "#mirror"):
            person.until(lambda side=side: seen_words(person, side)[1] > 30)
            assert seen_words(person, side)[0] < 1000
    person.page.locator("#output .word").last.hover()  # the last sentence
    assert len(person.all("#mirror .lit")) == 1


def test_both_sides_show_the_same_paragraph(person):
    texts = [f"The {i} dogs play. " * (1 + 5 * (i % 3)) for i in range(90)]
    person.opens(source="en", target="de")
    person.page.locator("#source").fill("\n\n".join(texts))
    person.until(lambda: person.sees("#status") == "Translated")
    middle = """one => [...one.children].findIndex((block) =>
        block.getBoundingClientRect().bottom > one.getBoundingClientRect().top + one.clientHeight / 2)"""
    for leader, other in (("#source", "#output"), ("#output", "#source")):
        for share in (0.5, 1, 0.25, 0):
            person.page.locator(leader).evaluate(
                "(one, share) => { one.scrollTop = share * (one.scrollHeight - one.clientHeight); }", share
            )
            person.page.wait_for_timeout(100)
            left, right = (person.page.locator(at).evaluate(middle) for at in ("#mirror", "#output"))
            assert abs(left - right) <= 1, (leader, share)
            assert person.page.evaluate("source.scrollTop === mirror.scrollTop")
            top, most = person.page.locator(other).evaluate(
                "one => [one.scrollTop, one.scrollHeight - one.clientHeight]"
            )
            if share in (0, 1):
                assert abs(top - share * most) <= 1, (leader, share)
