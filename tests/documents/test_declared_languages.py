"""Files that declare other languages than those of their translation are refused."""

import pytest

from cpunmt.documents.declared_languages import check_languages
from cpunmt.documents.document import DocumentError, Recoded
from cpunmt.documents.formats.po import read_po
from cpunmt.documents.formats.xliff import read_xliff
from cpunmt.documents.translate import translated_content
from cpunmt.registry.store import Languages
from tests.documents.laws import document_of, echo, upper
from tests.support.command_line import here

UNIT = "<trans-unit><source>Two dogs.</source></trans-unit>"
ONE = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file {}>' + UNIT + "</file></xliff>"
TWO = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" {}><file><unit><segment><source>Two dogs.</source></segment>'
    "</unit></file></xliff>"
)
CATALOGUE = 'msgid ""\nmsgstr ""\n"Project-Id-Version: a\\n"\n"Language: {}\\n"\n\nmsgid "Two dogs"\nmsgstr ""\n'


def languages(read, text):
    return document_of(read, text).languages


def test_languages_of_xliff():
    assert languages(read_xliff, ONE.format('source-language="en" target-language="fr-FR"')) == [("en", "fr-FR")]
    assert languages(read_xliff, ONE.format('source-language="it"')) == [("it", None)]
    assert languages(read_xliff, TWO.format('srcLang="en" trgLang="fr"')) == [("en", "fr")]
    assert languages(read_xliff, TWO.format("")) == [(None, None)]
    assert languages(read_xliff, f'<file target-language="fr">{UNIT}</file>') == [(None, "fr")]


def test_each_file_of_xliff_has_languages_and_finished_ones_have_none():
    one = ONE.format('target-language="fr"')
    text = one.replace("</xliff>", f'<file target-language="it">{UNIT}</file><file target-language="es"/></xliff>')
    assert languages(read_xliff, text) == [(None, "fr"), (None, "it")]


@pytest.mark.parametrize(
    ("declared", "found"), [("fr", "fr"), ("sr@latin", "sr"), ("de_AT.UTF-8", "de_AT"), ("German", "German")]
)
def test_the_language_of_a_catalogue(declared, found):
    assert languages(read_po, CATALOGUE.format(declared)) == [(None, found)]
    in_other_encoding = Recoded(CATALOGUE.format(declared).encode(), "cp1252", lambda text: document_of(read_po, text))
    assert in_other_encoding.languages == [(None, found)]


def test_a_catalogue_without_a_language():
    assert languages(read_po, CATALOGUE.format("")) == []
    assert languages(read_po, 'msgid "Language: fr"\nmsgstr ""\n') == []


ENDE = Languages("en", "de")


@pytest.mark.parametrize(
    ("declared", "model", "options"),
    [
        (Languages(), ENDE, {}),
        (Languages("en-GB", "de_AT"), ENDE, {}),
        (Languages("eng", "deu_Latn"), ENDE, {}),
        (Languages("English", "German"), ENDE, {}),
        (Languages("und", ""), ENDE, {}),
        (Languages("zh-Hant", "mul"), Languages("zh", "en"), {}),
        (Languages("en", "en-US"), ENDE, {}),  # a template
        (Languages("en", "en-US"), Languages("fr+en", "de"), {}),
        (Languages("it", "fr"), Languages(), {}),
        (Languages("it", "fr"), Languages("en+es", "de+nl"), {}),
        (Languages("it", "de"), ENDE, {"source_lang": "en"}),
        (Languages("en", "fr"), ENDE, {"target_lang": "de", "source_lang": None}),
    ],
)
def test_languages_that_fit(declared, model, options):
    check_languages([declared], model, options)


@pytest.mark.parametrize(
    ("declared", "options", "said"),
    [
        (
            Languages("it", "de"),
            {"target_lang": "de"},
            "declares the source language 'it', but the model translates from en; choose another model, or if the "
            "file is wrong, name the languages (source_lang=en) and (target_lang=de)",
        ),
        (
            Languages("en", "fr-CA"),
            {"source_lang": "en"},
            "declares the target language 'fr-CA', but the model translates into de; choose another model, or if the "
            "file is wrong, name the languages (source_lang=en) and (target_lang=de)",
        ),
        (Languages("de", "en"), {}, "declares the source language 'de', but the model translates from en; "),
    ],
)
def test_languages_that_do_not_fit(declared, options, said):
    with pytest.raises(DocumentError) as refused:
        check_languages([Languages("en", "de"), declared], ENDE, options)
    assert str(refused.value).startswith(said)


def test_languages_of_a_model_that_are_not_known_are_not_advised():
    with pytest.raises(DocumentError, match=r"name the languages .target_lang=de.$"):
        check_languages([Languages(None, "fr")], Languages("en+es", "de"), {})


def test_only_files_with_texts_to_translate_are_refused():
    content = CATALOGUE.format("fr").encode()
    with pytest.raises(DocumentError, match="^a.po: declares the target language 'fr'"):
        translated_content(echo(upper), content, "a.po", {})
    assert b"TWO DOGS" in translated_content(echo(upper), content, "a.po", {"target_lang": "de"})
    done = content.replace(b'dogs"\nmsgstr ""', b'dogs"\nmsgstr "Deux chiens"')
    assert translated_content(echo(upper), done, "a.po", {}) == done


def test_the_command_names_its_flag(tmp_path):
    path = tmp_path / "a.po"
    path.write_text(CATALOGUE.format("fr"))
    done = here("translate-file", str(path))
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.decode().endswith(
        f"{path}: declares the target language 'fr', but the model translates into de; choose another model, or if "
        "the file is wrong, name the languages (--from en) and (--to de)\n"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["a.po"]
    assert here("translate-file", str(path), "--from", "en", "--to", "de").returncode == 0
    assert 'msgstr "Zwei Hunde"' in path.with_name("a.de.po").read_text()
