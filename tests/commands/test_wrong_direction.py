"""A document that is in the target language already is noticed."""

import pytest

from cpunmt.commands.wrong_direction import WrongDirection
from tests.sample_models.real_model import GERMAN
from tests.support.command_line import here

ENGLISH = (
    "Two dogs are playing in the snow. A man is riding a bicycle. The woman looks at a book, and she smiles today."
)
GERMAN_TEXT = "Zwei Hunde spielen im Schnee. Ein Mann fährt Fahrrad. Die Frau schaut in ein Buch und lächelt heute."


@pytest.mark.parametrize(
    ("source", "target", "text", "told"),
    [
        ("de", "en", ENGLISH, True),
        ("German", "eng_Latn", ENGLISH, True),
        ("en", "de", ENGLISH, False),  # as a text of names that stay
        ("de", "en", ENGLISH[:60], False),
        (None, "en", ENGLISH, False),
        ("de+fr", "en", ENGLISH, False),
        ("tlh", "en", GERMAN_TEXT, False),  # py3langid does not know Klingon
        ("en", "en-GB", ENGLISH, False),
    ],
)
def test_a_text_that_stays(source, target, text, told, capfd):
    direction = WrongDirection(source, target)
    direction.add([text], [text])
    direction.report("a.md")
    said = "cpunmt: a.md: seems to be in en, but was translated from de; choose another model (-m)\n"
    assert capfd.readouterr().err == said * told


def test_a_text_of_which_few_words_stay(capfd):
    direction = WrongDirection("de", "en")
    direction.add([ENGLISH], ["The dogs: 2 men; a book"])
    direction.report("a.md")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("text", "told"), [(ENGLISH, True), (GERMAN_TEXT, False)])
def test_a_document_in_either_direction(text, told, tmp_path):
    (tmp_path / "a.txt").write_text(text)
    done = here("translate-file", tmp_path / "a.txt", "-m", GERMAN)
    assert done.returncode == 0 and (b"a.txt: seems to be in en, but" in done.stderr) == told
