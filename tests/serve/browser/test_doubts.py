# ruff: noqa: RUF001 - words in another script
"""Doubts about a translation: shown beside it, only where there are some."""

import pytest

pytestmark = pytest.mark.slow

RUSSIAN = "Привет, как дела у тебя сегодня вечером, друг мой?"
GOOD = "Two dogs are playing in the snow."
HINT = "Part of this may be wrong: a sentence was not translated; a sentence has letters of another language."


def is_shown(person):
    return person.page.locator("#doubts").is_visible()


def test_a_doubt_is_shown_beside_the_result_and_at_its_sentence(person, student):
    person.opens(source="en", target="de")
    person.types(GOOD)
    person.reads(student.translate(GOOD).text)
    person.until(lambda: person.sees("#status") == "Translated")
    assert not is_shown(person)
    person.types(f"\n\n{RUSSIAN} {GOOD}")
    person.until(lambda: is_shown(person))
    person.reads(HINT, "#doubts")
    person.until(lambda: person.sees("#status") == f"Translated. {HINT}")
    assert person.all("#output .doubted") == [student.translate(RUSSIAN).text]
    told = "May be wrong: a sentence was not translated; a sentence has letters of another language"
    assert person.page.locator("#output .doubted").get_attribute("title") == told
    person.page.locator("#source").fill(RUSSIAN)  # all of it stays, so it has no sentences
    person.reads(RUSSIAN)
    person.reads(HINT, "#doubts")
    person.page.locator("#source").fill(GOOD)
    person.until(lambda: not is_shown(person))
    assert person.all("#output .doubted") == []


def test_a_chosen_translation_has_no_known_doubt(person, student):
    german = "Eine Frau sitzt auf einer Bank."
    assert student.translate(german).doubts == ("echo",)
    person.opens(source="en", target="de", q=f"{german} {GOOD}")
    person.until(lambda: is_shown(person))
    person.reads("Part of this may be wrong: a sentence was not translated.", "#doubts")
    for number, shown in ((1, False), (0, True)):
        person.page.locator("#output .sentence").first.click()
        person.page.locator("#choices-list button").nth(number).click()
        person.until(lambda shown=shown: is_shown(person) is shown)


def test_html_has_doubts_too(person, student):
    person.opens(source="en", target="de")
    person.mode("HTML")
    person.types(f"<p>{GOOD}</p><p>{RUSSIAN}</p>")
    person.until(lambda: is_shown(person))
    person.reads(HINT, "#doubts")
    person.mode("Files")
    person.page.locator("#source").evaluate("one => { one.value = ''; }")
    person.mode("HTML")
    assert not is_shown(person)
