"""The first minute on the page: examples, the first answer, an uncertain language; then history, glossary, links."""

import json

import pytest

from tests.serve.serving import serving

pytestmark = pytest.mark.slow

TEXT = "Two dogs are playing in the snow."


def translates(person, student, text):
    """Types a text, and waits for its translation."""
    person.page.locator("#source").fill(text)
    person.page.keyboard.press("Control+Enter")
    person.reads(student.translate(text).text)


def test_an_empty_field_has_sentences_to_try(person, translators):
    person.opens(source="en", target="de")
    listed = person.all("#examples-list button")
    assert len(listed) == 3 and TEXT in listed
    person.page.get_by_text(TEXT).click()
    person.reads(translators["en", "de"].translate(TEXT).text)
    assert person.page.locator("#examples").is_hidden()
    person.page.locator("#clear").click()
    person.page.locator("#examples").wait_for()
    person.page.locator("#from").select_option("de")
    assert person.all("#examples-list button")[0] == "Wo ist der nächste Bahnhof?"
    person.opens(source="auto", target="fr")
    assert person.all("#examples-list button") == [listed[0], "Wo ist der nächste Bahnhof?"]  # one of each language
    person.mode("HTML")
    assert person.page.locator("#examples").is_hidden()


def test_bars_stand_where_the_first_answer_comes(person, student):
    held = []
    person.page.route("**/v1/translate", lambda route: held.append(route))
    person.opens(source="en", target="de", q=f"{TEXT}\n\n{TEXT * 5}")
    person.until(lambda: held)
    bars = person.page.locator("#output .bars")
    heights = bars.evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert bars.count() == 2 and 0 < 2 * heights[0] < heights[1]
    person.page.locator("#message", has_text="The server is getting ready").wait_for()
    held[0].continue_()
    person.reads(student.translate(f"{TEXT}\n\n{TEXT * 5}").text)
    assert bars.count() == 0 and person.page.locator("#message").is_hidden()


def test_a_doubtful_language_has_a_question_mark(person):
    told = {"language": "en", "confidence": 0.79}
    person.page.route("**/v1/detect", lambda route: route.fulfill(json={"detections": [[told]]}))
    person.opens(source="auto", target="de", q="Hand")
    person.reads("English?", "#detected")
    assert "doubtful" in person.page.locator("#detected").get_attribute("class")
    told["confidence"] = 0.8
    person.page.locator("#source").fill("Hand.")
    person.reads("English", "#detected")


def test_a_late_answer_of_the_server_is_told_only_at_first(person, student):
    person.opens(source="en", target="de", q=TEXT)
    person.reads(student.translate(TEXT).text)
    held = []
    person.stops_the_clock()
    person.page.route("**/v1/translate", lambda route: held.append(route))
    person.types(" One cat.")
    person.page.clock.run_for(600)
    person.until(lambda: held)
    person.page.clock.run_for(5000)
    assert person.page.locator("#message").is_hidden()


def kept(person):
    """Returns the texts of the history that the browser keeps."""
    found = json.loads(person.page.evaluate("localStorage.getItem('cpunmt-history') || '[]'"))
    return [one["text"] for one in found]


def test_texts_are_kept_until_they_are_cleared(person, student):
    person.opens(source="en", target="de")
    for text in ("Two dogs.", "Two dogs. One man.", "A cat."):  # the second goes on from the first
        person.page.locator("#source").fill(text)
        person.reads(student.translate(text).text)
        person.until(lambda text=text: kept(person)[:1] == [text])
    assert kept(person) == ["A cat.", "Two dogs. One man."] and person.sees("#history-count") == "(2)"
    made = student.translate("Two dogs. One man.").text
    assert person.all("#history-list button")[1] == f"Two dogs. One man.{made}en → de"
    person.page.reload()
    person.page.locator("#history-box summary").click()
    person.page.locator("#history-list button").nth(1).click()
    person.reads(made)
    assert person.page.locator("#source").input_value() == "Two dogs. One man."
    person.page.locator("#history-clear").click()
    assert kept(person) == person.all("#history-list button") == [] and person.sees("#history-count") == ""


def test_no_history_is_kept_if_none_is_wanted(person, student):
    person.opens(source="en", target="de")
    person.page.evaluate("localStorage.setItem('cpunmt-history', '{broken')")
    person.page.reload()  # what stands there does no harm
    person.page.locator("#history-box summary").click()
    assert person.all("#history-list button") == []
    person.page.get_by_label("Keep a history").uncheck()
    person.page.reload()
    assert not person.page.locator("#history-keep").is_checked()
    person.stops_the_clock()
    translates(person, student, "One cat.")
    person.page.clock.run_for(10_000)
    assert kept(person) == []


def test_no_history_is_kept_if_another_tab_turns_it_off(person, student):
    person.stops_the_clock()
    person.opens(source="en", target="de")
    translates(person, student, "One cat.")
    other = person.page.context.new_page()
    other.goto(person.url)
    other.locator("#history-box summary").click()
    other.get_by_label("Keep a history").uncheck()
    person.until(lambda: not person.page.locator("#history-keep").is_checked())
    person.page.clock.run_for(10_000)
    translates(person, student, "Two dogs.")
    person.page.clock.run_for(10_000)
    assert kept(person) == []


def test_a_late_answer_without_the_new_glossary_is_not_shown(person, student):
    plain, terms = student.translate("Two dogs are playing.").text, {"dogs": "Köter"}
    held = []
    person.page.route("**/v1/translate", lambda route: route.continue_() if held else held.append(route))
    person.stops_the_clock()
    person.opens(source="en", target="de", q="Two dogs are playing.")
    person.until(lambda: held)
    person.page.clock.pause_at(person.page.evaluate("Date.now()") + 1000)
    person.page.locator("#glossary-box summary").click()
    person.page.locator("#glossary").fill("dogs = Köter")
    held[0].continue_()
    person.until(lambda: person.sees("#status") == "Translated")
    person.page.clock.run_for(600)
    person.reads(student.translate("Two dogs are playing.", glossary=terms).text)
    assert [one["options"] for one in person.asked] == [{}, {"glossary": terms}] and person.aborted == []
    person.page.locator("#glossary").fill("")
    person.page.clock.run_for(600)
    person.reads(plain)
    assert len(person.asked) == 2  # it is known


def test_a_glossary_is_kept_for_each_pair_of_languages(person, student):
    person.opens(source="en", target="de", q="Two dogs are playing.")
    person.reads(student.translate("Two dogs are playing.").text)
    person.page.locator("#glossary-box summary").click()
    person.page.locator("#glossary").fill("dogs = Köter\n\nno translation\n")
    terms = {"dogs": "Köter"}
    person.reads(student.translate("Two dogs are playing.", glossary=terms).text)
    assert person.asked[-1]["options"] == {"glossary": terms}
    assert person.sees("#glossary-note") == "Line 3 has no translation: write term = translation."
    assert (person.sees("#glossary-count"), person.sees("#glossary-pair")) == ("(1)", "English to German")
    person.page.locator("#output .sentence").first.click()
    person.until(lambda: person.asked[-1]["options"].get("num_hypotheses"))
    assert person.asked[-1]["options"]["glossary"] == terms
    person.page.keyboard.press("Escape")
    person.page.locator("#to").select_option("fr")
    assert person.page.locator("#glossary").input_value() == ""
    person.page.reload()
    person.page.locator("#to").select_option("de")
    person.reads(student.translate("Two dogs are playing.", glossary=terms).text)
    assert person.page.locator("#glossary").input_value().startswith("dogs")


def test_a_link_leads_to_the_same_text(visit, student):
    person = visit(permissions=["clipboard-read", "clipboard-write"]).opens(source="en", target="de")
    assert person.page.locator("#link").is_disabled()
    person.types(TEXT)
    person.reads(student.translate(TEXT).text)
    person.page.locator("#link").click()
    person.reads("Copied", "#link")
    other = visit()
    other.page.goto(person.page.evaluate("navigator.clipboard.readText()"))
    other.reads(student.translate(TEXT).text)
    person.page.locator("#source").fill("a" * 1501)
    person.page.locator("#link").click()
    person.reads("A link holds 1,500 characters, and this text has 1,501.", "#message")


def test_a_long_list_of_languages_can_be_searched(person, served):
    told = served.client.get("/v1/models").json()
    names = ["Åland Swedish", "Norwegian (Bokmål)", *(f"Language {number}" for number in range(14))]
    codes = [f"q{chr(97 + number)}" for number in range(16)]
    told["languages"][0]["targets"] += codes
    told["languages"] += [{"code": code, "name": name, "targets": []} for code, name in zip(codes, names, strict=True)]
    person.page.route("**/v1/models", lambda route: route.fulfill(json=told))
    person.opens(source="en", target="de")
    button = person.page.get_by_role("button", name="To: German")
    assert person.page.locator("#from").is_visible() and person.page.locator("#to").is_hidden()
    button.click()
    assert len(person.all("#search-list button")) == 18
    for typed, found in (("aland", names[:1]), ("bok", names[1:2]), ("qc", names[2:3]), ("x", []), ("ger", ["German"])):
        person.page.keyboard.press("Control+a")
        person.page.keyboard.type(typed)
        assert person.all("#search-list button") == found
        assert person.sees("#search-none") == ("" if found else "No language of this name")
    person.page.keyboard.press("Escape")
    assert person.page.evaluate("document.activeElement.id") == "to-search"
    person.page.keyboard.press("Enter")
    person.page.keyboard.type("swe")
    person.page.keyboard.press("Enter")
    assert person.page.locator("#to").input_value() == "qa" and person.sees("#to-search") == "Åland Swedish"
    button = person.page.get_by_role("button", name="To: Åland Swedish")
    button.click()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        person.page.keyboard.press(key)
    assert person.page.locator("#to").input_value() == "de"


def test_per_cents_of_other_translations_are_explained(person):
    person.opens(source="en", target="de", q=TEXT)
    person.page.locator("#output .sentence").first.click()
    person.page.locator("#choices-list [aria-current]").wait_for()
    assert person.page.locator("#choices-legend").is_visible()


@pytest.mark.parametrize("touch, seen, unseen", [(False, ".fine", ".coarse"), (True, ".coarse", ".fine")])
def test_the_hint_fits_the_pointer(visit, touch, seen, unseen):
    person = visit(has_touch=touch, is_mobile=touch).opens()
    assert person.page.locator(f"#hint {seen}").is_visible() and person.page.locator(f"#hint {unseen}").is_hidden()


def test_a_touched_sentence_lights_its_word_and_shows_others(visit):
    person = visit(has_touch=True, is_mobile=True).opens(source="en", target="de", q=TEXT)
    person.page.locator("#output .word").nth(1).tap()
    person.page.locator("#choices-list [aria-current]").wait_for()
    assert len(person.all("#output .lit")) == 1 and person.all("#mirror .lit")


@pytest.mark.parametrize("phone", [False, True])
def test_result_and_copy_are_in_view_beside_a_long_source(visit, student, phone):
    size = {"width": 360, "height": 740} if phone else {"width": 1280, "height": 800}
    person = visit(viewport=size).opens(source="en", target="de")
    person.page.locator("#source").fill("\n\n".join([TEXT] * 60))
    person.until(lambda: person.sees("#status") == "Translated")
    boxes = {name: person.page.locator(f"#{name}").bounding_box() for name in ("from", "clear", "output", "copy")}
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= size["height"] for box in boxes.values()), boxes
    person.page.evaluate("scrollTo(0, 1e6)")
    assert person.page.locator("#from").bounding_box()["y"] >= 0  # it stays when the page scrolls


def test_it_works_without_scripts(visit, axe, student):
    person = visit(java_script_enabled=False)
    person.page.goto(person.url)
    person.page.get_by_label("Text to translate").fill(TEXT)
    person.page.get_by_label("To", exact=True).select_option("de")
    for at in ("#swap", "#copy", "#clear", "#modes", "#glossary-box"):
        assert person.page.locator(at).is_hidden()
    person.page.get_by_role("button", name="Translate").click()
    person.page.locator("#output", has_text=student.translate(TEXT).text).wait_for()
    with serving(api_keys=("secret",)) as server:
        person = visit(server, java_script_enabled=False)
        person.expected = ("403",)
        person.page.goto(server.url)
        person.page.get_by_label("Text to translate").fill(TEXT)
        person.page.get_by_label("API key").nth(1).fill("wrong")
        person.page.get_by_role("button", name="Translate").click()
        person.page.locator("[role=alert]").wait_for()


@pytest.mark.parametrize("width", [320, 1280])
def test_everybody_can_read_about_programs(visit, axe, width):
    person = visit(viewport={"width": width, "height": 700})
    person.page.goto(f"{person.url}/page/programs.html")
    person.page.evaluate(axe)
    assert person.page.evaluate("axe.run()")["violations"] == [] and person.fits()
