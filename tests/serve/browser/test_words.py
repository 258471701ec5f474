"""Related words, confidence, and other translations, with a pointer and without."""

import math
import re

import pytest

pytestmark = pytest.mark.slow

TEXT = (
    "A man is riding a bicycle through the snow. Two dogs are playing.\n\n"
    "The orchestra rehearses 😀 tonight in Prague.\n\nTwo firefighters repair the lighthouse."
)
ASKED = {"return_alignments": True, "return_token_log_probs": True}
SURE = ((0.5, "sure-0"), (0.7, "sure-1"), (0.85, "sure-2"))


@pytest.fixture
def reader(person, student):
    """Opens a page with a translation."""
    person.opens(source="en", target="de", q=TEXT)
    person.reads(student.translate(TEXT).text)
    return person


def words(text):
    """Returns spans of words and marks."""
    return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def touch(one, other):
    return one[0] < other[1] and other[0] < one[1]


def belong(result, side):
    """Returns (word of a side, highlighted words of the other side), for each aligned word."""
    sides = TEXT, result.text
    found = []
    for sentence in result.sentences:
        for word in words(sides[side]):
            pairs = [pair for pair in sentence.alignments if touch(pair[side], word)]
            others = [o for o in words(sides[1 - side]) if any(touch(pair[1 - side], o) for pair in pairs)]
            if pairs:
                found.append((sides[side][slice(*word)], [sides[1 - side][slice(*o)] for o in others]))
    return found


@pytest.mark.parametrize("side, ours, theirs", [(1, "#output", "#mirror"), (0, "#mirror", "#output")])
def test_pointing_at_a_word_lights_what_it_belongs_to(reader, student, side, ours, theirs):
    expected = belong(student.translate(TEXT, **ASKED), side)
    assert len(expected) > 15 and any(len(others) > 1 for _, others in expected)
    found = []
    for word in reader.page.locator(f"{ours} .word").all():
        box = word.evaluate(
            "one => { const at = one.getClientRects()[0]; return [at.x + at.width / 2, at.y + at.height / 2]; }"
        )
        reader.page.mouse.move(*box)
        assert word.evaluate("one => one.classList.contains('lit')")
        (lit,) = reader.all(f"{ours} .lit")
        found.append((lit, reader.all(f"{theirs} .lit")))
    assert found == expected
    reader.page.mouse.move(1, 1)
    assert reader.all(".lit") == []


def test_words_are_lit_by_keys_alone(reader, student):
    expected = belong(student.translate(TEXT, **ASKED), 1)
    assert reader.page.evaluate("document.activeElement === document.body")
    for _ in range(12):
        reader.page.keyboard.press("Tab")
        if reader.page.evaluate("document.activeElement.matches('#output .sentence')"):
            break
    found = []
    count = len(re.findall(r"\w+|[^\w\s]", reader.page.evaluate("document.activeElement.textContent")))
    for _ in range(count):
        reader.page.keyboard.press("ArrowRight")
        found.append((reader.all("#output .lit")[0], reader.all("#mirror .lit")))
    assert found == expected[:count]
    reader.page.keyboard.press("ArrowLeft")
    assert reader.all("#output .lit") == [expected[count - 2][0]]
    reader.page.keyboard.press("ArrowDown")  # the next sentence
    reader.page.keyboard.press("ArrowRight")
    assert (reader.all("#output .lit")[0], reader.all("#mirror .lit")) == expected[count]


def test_the_cursor_lights_the_word_that_it_is_on(reader, student):
    reader.page.locator("#source").press("Control+Home")
    reader.page.keyboard.press("ArrowRight")
    first = belong(student.translate(TEXT, **ASKED), 0)[0]
    reader.until(lambda: (reader.all("#mirror .lit"), reader.all("#output .lit")) == ([first[0]], first[1]))


def test_words_are_shaded_by_how_likely_they_were(reader, student):
    result = student.translate(TEXT, **ASKED)
    expected = []
    for sentence in result.sentences:
        for word in words(result.text):
            values = [value for span, value in sentence.token_log_probs if touch(span, word)]
            if values:
                likely = math.exp(math.fsum(values))
                assert all(abs(likely - least) > 1e-6 for least, _ in SURE)
                level = next((name for least, name in SURE if likely < least), "")
                expected.append((result.text[slice(*word)], level))
    assert len({level for _, level in expected}) > 2
    shown = reader.page.locator("#output .word").evaluate_all(
        "all => all.map((one) => [one.textContent, [...one.classList].find((kind) => kind.startsWith('sure')) ?? ''])"
    )
    assert [tuple(pair) for pair in shown] == expected
    unsure = reader.page.locator("#output .word.sure-0, #output .word.sure-1, #output .word.sure-2").first
    line = "one => getComputedStyle(one).textDecorationLine"
    assert unsure.evaluate(line) == "none" and reader.page.locator("#legend").is_hidden()
    reader.page.get_by_label("Shade doubts").check()
    assert unsure.evaluate(line) == "underline" and reader.page.locator("#legend").is_visible()
    unsure.hover()
    assert re.fullmatch(r".+: \d+ %", reader.sees("#sure-word"))
    assert reader.page.locator("#output .word:not([class*=sure])").first.evaluate(line) == "none"


def others(student, sentence):
    """Returns the page's list: (text, percent), best first."""
    found = student.translate(sentence, beam_size=5, num_hypotheses=5).hypotheses
    return [f"{one.text}{round(100 * math.exp(one.score))} %" for one in found], [one.text for one in found]


def test_another_translation_by_pointer(reader, student):
    sentence = "A man is riding a bicycle through the snow."
    listed, texts = others(student, sentence)
    reader.page.locator("#output .sentence").first.click()
    reader.until(lambda: reader.all("#choices-list button") == listed)
    assert reader.page.locator("#output .sentence").first.get_attribute("aria-expanded") == "true"
    reader.page.locator("#choices-list button").nth(2).click()
    rest = student.translate(TEXT).text.removeprefix(student.translate(sentence).text)
    reader.reads(texts[2] + rest)
    assert reader.page.locator("#choices").is_hidden() and len(reader.asked) == 2
    pieces = belong(student.translate(TEXT, **ASKED), 1)
    prague = reader.page.locator("#output .word", has_text="Prag")
    prague.hover()  # what stands behind has moved along
    assert reader.all("#mirror .lit") == dict(pieces)[reader.all("#output .lit")[0]]
    reader.page.locator("#output .sentence").first.click()  # and back to the first one
    reader.page.locator("#choices-list button").first.click()
    reader.reads(student.translate(TEXT).text)
    assert reader.page.locator("#output .sentence").first.locator(".word").count() > 5


def test_another_translation_by_keys(reader, student):
    _, texts = others(student, "Two dogs are playing.")
    page = reader.page
    page.locator("#output .sentence").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    reader.until(lambda: page.evaluate("document.activeElement.matches('#choices-list [aria-current]')"))
    page.keyboard.press("Escape")
    assert page.locator("#choices").is_hidden()
    assert page.evaluate("document.activeElement.textContent").strip() == texts[0]
    page.keyboard.press("Space")
    reader.until(lambda: page.evaluate("document.activeElement.matches('#choices-list [aria-current]')"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    first = student.translate("A man is riding a bicycle through the snow.").text
    reader.until(lambda: reader.sees("#output").startswith(f"{first} {texts[1]}\n\n"))
    assert page.evaluate("document.activeElement.textContent").strip() == texts[1]
    page.keyboard.press("Enter")  # a click elsewhere closes it, too
    page.locator("#choices-list button").first.wait_for()
    page.locator("h1").click()
    assert page.locator("#choices").is_hidden()


def test_what_was_chosen_stays_when_other_sentences_are_edited(person, student):
    first, second, third = "A man is riding a bicycle through the snow.", "Two dogs are playing.", "The sun is shining."
    listed, texts = others(student, first)
    person.opens(source="en", target="de", q=f"{first} {second}\n{third}\n\n{second}")
    person.until(lambda: person.sees("#status") == "Translated")
    person.page.locator("#output .sentence").first.click()
    person.until(lambda: person.all("#choices-list button") == listed)
    person.page.locator("#choices-list button").nth(2).click()
    person.until(lambda: person.sees("#output").startswith(texts[2]))

    def edited(text):
        """Returns the translation, with the chosen one."""
        person.page.locator("#source").fill(text)
        person.reads(student.translate(text).text.replace(texts[0], texts[2]))

    edited(f"{first} {second} One cat.\n{third}\n\n{second}")  # in its own paragraph
    edited(f"{second} {first} One cat.\n{third}\n\n{second}")
    edited(f"One cat.\n\n{second} {first} One cat.\n{third}\n\n{second} {second}")
    sentence = person.page.locator("#output .sentence", has_text=texts[2])
    sentence.click()
    person.until(lambda: person.all("#choices-list button") == listed)
    person.page.locator("#choices-list button").first.click()  # and back
    person.until(lambda: texts[2] not in person.sees("#output"))
    text = f"{first} {third}"
    person.page.locator("#source").fill(text)
    person.reads(student.translate(text).text)
