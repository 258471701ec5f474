"""The shipped models: complete, small, and as good as their cards say."""

import pytest

from cpunmt import Translator
from cpunmt.commands import cli
from cpunmt.formats.packed.packed_directory import WEIGHTS, verify
from tests.sample_models.real_model import DEFAULT, GERMAN, RECURRENT, SHIPPED

SENTENCES = {
    "A man is riding a bicycle through the snow.": {"Mann", "fährt", "Schnee"},
    "Two children are playing football on the beach.": {"Zwei Kinder", "Strand"},
    "Where is the train station?": {"Wo ist"},
    "I would like a cup of coffee.": {"Ich", "Tasse Kaffee"},
}


@pytest.fixture(scope="module")
def default():
    return Translator(DEFAULT)


@pytest.fixture(scope="module")
def shipped():
    return Translator(SHIPPED)


@pytest.fixture(scope="module")
def four_bits():
    return Translator(SHIPPED / "log4")


@pytest.mark.parametrize(
    "folder", [DEFAULT, DEFAULT / "float16", SHIPPED, SHIPPED / "float16", SHIPPED / "log4", GERMAN, RECURRENT]
)
def test_files_are_those_of_the_metadata(folder):
    assert verify(folder)


def test_they_are_small():
    for folder, most in ((DEFAULT, 20_000_000), (SHIPPED, 16_000_000)):
        assert sum(path.stat().st_size for path in folder.iterdir()) <= most
    int8, float16, log4 = ((SHIPPED / scheme / WEIGHTS).stat().st_size for scheme in (".", "float16", "log4"))
    assert log4 <= 2 * float16 / 7 < int8 < float16


@pytest.fixture(scope="module")
def recurrent():
    return Translator(RECURRENT)


@pytest.mark.parametrize("model", ["shipped", "four_bits", "recurrent"])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_everyday_sentences(request, model, sentence):
    text = request.getfixturevalue(model).translate(sentence).text
    assert all(word in text for word in SENTENCES[sentence]), text


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("A man is riding a bicycle through the snow.", "Ein Mann fährt"),
        ("Two children are building a sandcastle on the beach.", "Zwei Kinder bauen am Strand eine Sandburg."),
        ("Where is the train station?", "Wo ist der Bahnhof?"),
        ("Can you help me find my keys?", "Kannst du mir helfen, meine Schlüssel zu finden?"),
        ("I would like a room with a view of the sea.", "Ich hätte gern ein Zimmer mit Meerblick."),
        ("Please restart the computer after installing the update.", "Computer nach der Installation des Updates neu."),
        ("Click the button to save your changes.", "Klicken Sie auf die Schaltfläche, um Ihre Änderungen"),
        ("The file could not be opened.", "Die Datei konnte nicht geöffnet werden."),
    ],
)
def test_the_default_knows_captions_stations_and_computers(default, sentence, words):
    assert words in default.translate(sentence).text


def test_heads_align_in_order(shipped):
    # head 0 of the last layer has learnt to align: "Zwei Hunde" with "Two dogs", in the same word order
    result = shipped.translate("Two dogs are playing in the snow.", return_alignments=True)
    sources = [source for source, _ in result.alignments]
    assert sources == sorted(sources) and len(set(sources)) > 4


def test_commands_use_it_where_none_is_named(default, source, tmp_path, monkeypatch):
    monkeypatch.delenv("CPUNMT_MODEL")
    assert cli.main(["translate", "-i", str(source), "-o", str(tmp_path / "german")]) == 0
    expected = [result.text for result in default.translate(source.read_text("utf-8").splitlines())]
    assert (tmp_path / "german").read_text("utf-8").splitlines() == expected
