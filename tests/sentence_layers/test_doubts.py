# ruff: noqa: RUF001 - words in other scripts
"""Doubts about translations: each is found, and right translations have none."""

import pickle

import pytest

from cpunmt import Pivot, Result, Translator
from cpunmt.results.results import DOUBTS, Hypothesis, doubts_of
from cpunmt.sentence_layers.doubts import doubts, is_foreign
from cpunmt.sentence_layers.judge import Judge
from cpunmt.sentence_layers.numbers import lost_numbers
from tests.sample_models.real_model import SHIPPED
from tests.support.command_line import sentences

LONG = "Two dogs are playing in the snow, and a man is looking at them."
RUSSIAN = "Привет, как дела у тебя сегодня вечером, друг мой?"
LOOP = ("▁ha",) * 20
ONES = ("truncated", "echo", "script")


@pytest.fixture(scope="module")
def tiny():
    return Translator(SHIPPED)


def found(source, target, language="de", truncated=False, pieces=(), are_kept=False):
    return doubts(source, Hypothesis(target, 0.0, 0.0, truncated, pieces), language, are_kept)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (LONG, "Zwei Hunde spielen im Schnee, und ein Mann sieht ihnen zu.", ()),
        (LONG, LONG, ("echo",)),
        ("See https://example.com/of/the/world.html now", "Siehe https://example.com/of/the/world.html jetzt", ()),
        ("https://example.com/of/the/world.html", "https://example.com/of/the/world.html", ()),
        (LONG, "Zwei Hunde.", ("length",)),
        ("Yes.", "Ja, das ist so, und so wird es immer bleiben.", ("length",)),
        ("It has 345 parts.", "Es hat 354 Teile.", ("numbers",)),
        ("It weighs 2.5 kg.", "Es wiegt 25 kg.", ("numbers",)),
        ("It has 10² pixels.", "Es hat 102 Pixel.", ("numbers",)),
        ("Write to me@example.com today.", "Schreib heute an mich@example.com!", ("kept",)),
        (LONG, "Привет, как дела у тебя сегодня вечером, друг мой, Mann?", ("script",)),
        (RUSSIAN, RUSSIAN, ("echo", "script")),
        ("", "", ()),
    ],
)
def test_each_doubt(source, target, expected):
    assert found(source, target) == expected


def test_loops_and_truncated_translations():
    assert found("Yes, he said.", "ha ha ha", truncated=True, pieces=LOOP) == ("truncated", "loop")
    for repeated in ("Ha " * 20, "ハ" * 20, "the man and " * 5):
        assert "loop" not in found(repeated, repeated.replace("the", "der"), pieces=LOOP)
    assert found("Write to a@b.com.", "Nein, nicht so.", are_kept=True) == ()


def test_numbers_that_other_languages_write_differently_are_not_missed():
    for text in ("It is 12.", "3 dogs", "50 miles", "at 10:30", "1/2", "in 2012"):
        assert bool(lost_numbers(text, "Das.")) == (text == "in 2012"), text
    assert not lost_numbers("It costs 1,200.", "Es kostet 1.200.") and not lost_numbers("No.", "12345")
    assert [number.written for number in lost_numbers("13 of 2012", "von 2012")] == ["13"]


def test_foreign_letters():
    assert is_foreign("Windows Server Edition", "ru") and not is_foreign("Windows 95", "ru")  # a name
    assert not is_foreign(RUSSIAN, "ru") and not is_foreign(RUSSIAN, None) and not is_foreign(RUSSIAN, "de+ru")
    assert not is_foreign(RUSSIAN, "qq") and not is_foreign(RUSSIAN, "sr-Latn")  # Serbian has two scripts
    assert is_foreign("漢字漢字漢字", "de") and not is_foreign("漢字漢字漢字", "ja") and not is_foreign("漢字", "de")
    assert not is_foreign("Größe „π“ — €", "de") and not is_foreign("Das ist ein ganzer Satz: Привет, как дела?", "de")


def test_a_result_has_the_doubts_of_its_sentences(tiny):
    made = tiny.translate(f"A dog. {RUSSIAN} In 2019.", max_length=4)
    assert made.doubts_by_sentence[1] == ("echo", "script") and len(made.sentences) == 3
    every = {name for names in made.doubts_by_sentence for name in names}
    assert made.doubts == tuple(name for name in DOUBTS if name in every) and every >= {"truncated", "echo", "script"}
    assert tiny.translate("A dog.").doubts == () and tiny.translate("12 :-)").doubts == ()
    again = pickle.loads(pickle.dumps(made))
    assert again.doubts == made.doubts and len(pickle.dumps(made)) < 9000  # no model in it
    assert Result((Hypothesis("", 0.0, 0.0, True, ()),)).doubts == ()  # a result without its source
    page = tiny.translate(f"<p>A <b>dog</b>.</p><p>{RUSSIAN}</p>", html=True)
    assert page.doubts == ("echo", "script") and page.doubts in page.doubts_by_sentence
    message = "Ask {name} about https://www.example.com/a?b=1 in the garden."
    assert tiny.translate(message).doubts == () and "kept" in tiny.translate(message, protect="none").doubts
    assert "kept" in tiny.translate(message, target_prefix="Frag").doubts  # a forced beginning protects nothing


def test_doubts_are_the_same_however_a_text_is_translated(tiny):
    texts = [*sentences(40), RUSSIAN, f"A dog. {RUSSIAN}", "A\u2028dog.", "A dog.", "A dog."]
    expected = [result.doubts for result in tiny.translate(texts)]
    assert [tiny.translate(text).doubts for text in texts] == expected and any(expected)
    cached = Translator(SHIPPED, sentence_cache=100)
    for _ in range(2):
        assert [result.doubts for result in cached.translate(texts)] == expected
    assert [result.doubts for result in tiny.translate_iterable(texts)] == expected
    judge = Judge("de", True)
    made = tiny.translate(texts)
    assert [doubts_of(text, one.hypotheses[0], judge) for text, one in zip(texts, made, strict=True)] == expected
    assert Pivot([tiny, SHIPPED.parent / "deen-student"]).translate(RUSSIAN).doubts == ("echo", "script")


@pytest.mark.parametrize("options", [{}, {"beam_size": 4}, {"protect": "all"}])
def test_doubts_stay_where_a_layer_mends_the_translation(tiny, options):
    text = "Call 5551234 or 99 before 2031."  # the first two numbers are written anew
    (together,) = tiny.translate([text], **options)
    alone = tiny.translate(text, **options)
    assert alone.doubts == together.doubts == ("numbers",)
    assert alone.doubts_by_sentence == together.doubts_by_sentence == (("numbers",),)


def test_many_kept_parts_take_little_time():
    source = " by ".join(f"a{number}@example.com" for number in range(2000))
    assert found(source, source.replace("a99@", "a98@")) == ("kept",)
    assert found(source, source.replace("a100@", "a98@")) == ()  # only the first hundred are looked for
