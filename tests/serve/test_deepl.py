"""DeepL's dialect, by its own client and in other uses."""

import re

import deepl
import pytest
from deep_translator import DeeplTranslator

from cpunmt.serve.dialects import deepl_glossary_routes
from cpunmt.serve.errors import ServeError
from tests.sample_models.real_model import DIRECTORIES
from tests.serve.serving import serving

TEXT = "Two dogs are playing in the snow."


@pytest.fixture
def client(served):
    found = deepl.Translator("a-key", server_url=f"{served.url}/")
    yield found
    found.close()


def test_its_client_translates(client, translators):
    one = client.translate_text(TEXT, target_lang="DE")
    assert one.text == translators["en", "de"].translate(TEXT).text
    assert (one.detected_source_lang, one.billed_characters) == ("EN", len(TEXT))
    texts = ["One man.", "Two <b>dogs</b> &amp; a cat."]
    many = client.translate_text(texts, source_lang="en", target_lang="de", tag_handling="html")
    assert [found.text for found in many] == [
        found.text for found in translators["en", "de"].translate(texts, html=True)
    ]
    back = client.translate_text("Zwei Hunde spielen.", target_lang="EN-US")
    assert (
        back.detected_source_lang == "DE" and back.text == translators["de", "en"].translate("Zwei Hunde spielen.").text
    )


def test_splitting(client, translators):
    text = "One man\nin the snow. Two dogs."
    for named, split in (("0", "none"), ("1", "sentence"), ("nonewlines", "paragraph")):
        found = client.translate_text(text, source_lang="EN", target_lang="DE", split_sentences=named)
        assert found.text == translators["en", "de"].translate(text, split=split).text


def test_the_type_of_the_model_is_the_one_asked_for(client, served):
    for asked in ("quality_optimized", "latency_optimized", "prefer_quality_optimized"):
        found = client.translate_text("One man.", target_lang="DE", model_type=asked)
        assert found.model_type_used == asked.removeprefix("prefer_")
    assert client.translate_text("One man.", target_lang="DE").model_type_used is None
    answer = served.post("/v2/translate", json={"text": "a", "target_lang": "DE", "model_type": "best"})
    assert (answer.status_code, answer.json()["message"]) == (400, "Value for 'model_type' not supported.")


def test_xml(client, translators):
    text = """<document>
    <title>Two dogs</title>
    <par><span>A man is riding</span>
      <span>a bicycle &lt;now&gt;.</span></par>
    <par>Ask <x id="7">the owner</x> of the <br/>dog.</par>
    <raw>This is <Not>translated</Not>.</raw>
</document>"""
    asked = {"source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}
    found = client.translate_text(
        text, **asked, non_splitting_tags="span", splitting_tags=["title", "par"], ignore_tags=["raw", "x"]
    ).text
    tags = {"span": "inline", "title": "split", "par": "split", "raw": "keep", "x": "keep"}
    german = translators["en", "de"]
    assert found == german.translate(text, xml=True, tags=tags).text
    for kept in (
        "<raw>This is <Not>translated</Not>.</raw>",
        '<x id="7">the owner</x>',
        "<br/>",
        "<title>Zwei Hunde</",
    ):
        assert found.count(kept) == 1, found
    found = client.translate_text(text, **asked, outline_detection=False, splitting_tags="par").text
    assert found == german.translate(text, xml=True, tags={"*": "inline", "par": "split"}).text
    html = "<p>Ask <x>the owner</x> of the dog.</p>"
    asked["tag_handling"] = "html"
    found = client.translate_text(html, **asked, ignore_tags="x,y").text
    assert found == german.translate(html, html=True, tags="x=keep,y=keep").text and "<x>the owner</x>" in found


def test_xml_that_is_not_well_formed(served):
    asked = {"text": ["<a/>", "One\n<b>man"], "target_lang": "DE", "source_lang": "EN", "tag_handling": "xml"}
    answer = served.post("/v2/translate", json=asked)
    assert (answer.status_code, answer.json()) == (
        400,
        {
            "message": "Tag handling parsing failed, please check input.",
            "detail": "Text 2, line 2, column 1: the element that begins here is not closed",
        },
    )
    answer = served.post("/v2/translate", json={**asked, "text": "a", "ignore_tags": ["a b"]})
    assert answer.status_code == 400 and "'ignore_tags'" in answer.json()["message"]


def test_its_languages(client, served):
    for kind, more in (("source", {}), ("target", {"supports_formality": False})):
        for one in served.client.get("/v2/languages", params={"type": kind}).json():
            assert one == {"language": one["language"], "name": one["name"], **more}
    assert [(one.code, one.name) for one in client.get_source_languages()] == [("EN", "English"), ("DE", "German")]
    targets = client.get_target_languages()
    assert {one.code for one in targets} == {"DE", "EN-GB", "EN-US", "FR"}
    assert not any(one.supports_formality for one in targets)


def test_usage_counts_characters(served):
    client = deepl.Translator("another-key", server_url=f"{served.url}/")
    before = client.get_usage().character.count
    client.translate_text(["One man.", "Two"], target_lang="DE", source_lang="EN")
    assert before == 0 and client.get_usage().character.count == 11 and not client.get_usage().any_limit_reached


def test_glossaries(client, served, translators):
    made = client.create_glossary("mine", source_lang="EN", target_lang="DE", entries={"dogs": "Katzen", "man": "Herr"})
    assert made.ready and made.entry_count == 2 and (made.source_lang, made.target_lang) == ("EN", "DE")
    assert client.get_glossary_entries(made) == {"dogs": "Katzen", "man": "Herr"}
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary(made.glossary_id).name == "mine"
    found = client.translate_text(TEXT, source_lang="EN", target_lang="DE", glossary=made)
    expected = translators["en", "de"].translate(TEXT, glossary={"dogs": "Katzen", "man": "Herr"}).text
    assert found.text == expected and "Katzen" in found.text
    of_csv = client.create_glossary_from_csv("csv", "EN", "DE", '"a ""b""",c\r\nd,e,en,de\r\n')
    assert client.get_glossary_entries(of_csv) == {'a "b"': "c", "d": "e"}
    other = deepl.Translator("not-mine", server_url=f"{served.url}/")
    with pytest.raises(deepl.GlossaryNotFoundException):
        other.get_glossary(made.glossary_id)
    assert other.list_glossaries() == []
    pairs = {(one.source_lang, one.target_lang) for one in client.get_glossary_languages()}
    assert pairs == {("en", "de"), ("de", "en"), ("en", "fr"), ("de", "fr")}
    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_glossaries_of_several_languages(served, translators):
    client = deepl.DeepLClient("a-third-key", server_url=f"{served.url}/")
    entries = deepl.api_data.MultilingualGlossaryDictionaryEntries
    made = client.create_multilingual_glossary(
        "both", [entries("EN", "DE", {"dogs": "Katzen"}), entries("DE", "EN", {"Hunde": "cats"})]
    )
    assert [(one.source_lang, one.target_lang, one.entry_count) for one in made.dictionaries] == [
        ("EN", "DE", 1),
        ("DE", "EN", 1),
    ]
    found = client.translate_text(TEXT, source_lang="EN", target_lang="DE", glossary=made)
    assert found.text == translators["en", "de"].translate(TEXT, glossary={"dogs": "Katzen"}).text
    back = client.translate_text("Zwei Hunde.", source_lang="DE", target_lang="EN-GB", glossary=made)
    assert back.text == translators["de", "en"].translate("Zwei Hunde.", glossary={"Hunde": "cats"}).text
    made = client.update_multilingual_glossary_dictionary(made, entries("EN", "DE", {"man": "Herr", "dogs": "Hunde"}))
    assert [one.entry_count for one in made.dictionaries] == [2, 1]
    told = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert [one.entries for one in told] == ["dogs\tHunde\nman\tHerr"]
    assert client.update_multilingual_glossary_name(made, "other").name == "other"
    replaced = client.replace_multilingual_glossary_dictionary(made, entries("EN", "FR", {"dogs": "chats"}))
    assert (replaced.target_lang, replaced.entry_count) == ("FR", 1) and client.list_glossaries() == []
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)
    client.delete_multilingual_glossary_dictionary(made, source_lang="EN", target_lang="FR")
    path, asked = f"/v3/glossaries/{made.glossary_id}/dictionaries", {"source_lang": "EN", "target_lang": "DE"}
    answer = served.client.delete(path, params=asked, headers={"Authorization": "DeepL-Auth-Key a-third-key"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert [one.name for one in client.list_glossaries()] == ["other"]
    assert [one.glossary_id for one in client.list_multilingual_glossaries()] == [made.glossary_id]
    with pytest.raises(deepl.DeepLException, match="one dictionary at least"):
        client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
    for wrong in ({"dictionaries": 5}, {"dictionaries": [5]}, {"dictionaries": [{}]}, {"name": ""}):
        answer = served.client.patch(
            f"/v3/glossaries/{made.glossary_id}", json=wrong, headers={"Authorization": "DeepL-Auth-Key a-third-key"}
        )
        assert answer.status_code == 400, wrong
    client.delete_multilingual_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary(made.glossary_id)
    assert served.client.get("/v3/nothing").json() == {"message": "Not found"}
    asked = {"name": "a", "dictionaries": []}
    assert served.post("/v3/glossaries", json=asked).status_code == 400


def test_a_glossary_has_a_hundred_dictionaries_at_most():
    assert deepl_glossary_routes._limited(range(100)) == range(100)
    with pytest.raises(ServeError, match="a glossary has at most 100 dictionaries"):
        deepl_glossary_routes._limited(range(101))


def test_glossaries_that_are_refused(client, served):
    for entries, form in (
        ("a", "tsv"),
        ("a\tb\na\tc", "tsv"),
        ("\tb", "tsv"),
        ("", "tsv"),
        ("a\tb", "xml"),
        ("a\x01\tb", "tsv"),
    ):
        said = {"name": "x", "source_lang": "en", "target_lang": "de", "entries": entries, "entries_format": form}
        answer = served.post("/v2/glossaries", json=said)
        assert answer.status_code == 400 and set(answer.json()) <= {"message", "detail"}, entries
    with pytest.raises(deepl.DeepLException, match="not supported"):
        client.create_glossary("x", source_lang="ja", target_lang="de", entries={"a": "b"})
    made = client.create_glossary("x", source_lang="de", target_lang="en", entries={"a": "b"})
    with pytest.raises(deepl.DeepLException, match="Glossary languages"):
        client.translate_text("a", source_lang="EN", target_lang="DE", glossary=made.glossary_id)
    client.delete_glossary(made)


def test_documents(client, served, translators, tmp_path):
    german = translators["en", "de"]
    page = "<p>One <b>man</b> &amp; <i>two</i> dogs.</p>"
    for name, text, options, characters in (
        ("a.txt", f"{TEXT}\n\nOne man.\n", {}, len(f"{TEXT}One man.")),
        ("b.html", page, {"html": True}, len(page)),
    ):
        source, target = tmp_path / name, tmp_path / f"translated_{name}"
        source.write_text(text, "utf-8")
        status = client.translate_document_from_filepath(source, target, target_lang="DE")
        assert status.done and status.billed_characters == characters
        assert target.read_text("utf-8") == german.translate(text, **options).text
    glossary = client.create_glossary("mine", source_lang="EN", target_lang="DE", entries={"dogs": "Katzen"})
    handle = client.translate_document_upload(
        TEXT, filename="c.txt", source_lang="EN", target_lang="DE", glossary=glossary
    )
    found = b"".join(client.translate_document_download(handle).iter_content())
    assert found.decode() == german.translate(TEXT, glossary={"dogs": "Katzen"}).text
    assert re.fullmatch("[0-9A-F]{32}", handle.document_id) and re.fullmatch("[0-9A-F]{64}", handle.document_key)
    client.delete_glossary(glossary)
    upper = client.translate_document_upload(TEXT, filename="D.TXT", target_lang="DE", output_format="txt")
    assert client.translate_document_get_status(upper).done
    with pytest.raises(deepl.DeepLException, match="Document not found"):
        client.translate_document_get_status(deepl.DocumentHandle(handle.document_id, "0" * 64))
    answer = served.post(f"/v2/document/{handle.document_id}", json={"document_key": "0" * 64})
    assert (answer.status_code, answer.json()) == (404, {"message": "Document not found"})
    for name, said in (("a.pdf", {}), ("a.txt", {"output_format": "docx"}), ("a.txt", {"target_lang": "JA"})):
        asked = {"target_lang": "DE", **said}
        answer = served.post("/v2/document", files={"file": (name, TEXT)}, data=asked)
        assert answer.status_code == 400 and set(answer.json()) <= {"message", "detail"}, answer.text
    for given in (
        {"data": {"target_lang": "DE"}},
        {"files": {"file": ("a.txt", b"\xff")}, "data": {"target_lang": "DE"}},
    ):
        assert served.post("/v2/document", **given).status_code == 400


def test_what_is_wrong_is_told(client, served):
    with pytest.raises(deepl.DeepLException, match="doesn't support formality"):
        client.translate_text("a", target_lang="DE", formality="more")
    client.translate_text("a", target_lang="DE", formality="prefer_more")
    with pytest.raises(deepl.DeepLException, match="not supported"):
        client.translate_text("a", target_lang="JA")
    with pytest.raises(deepl.DeepLException, match="'source_lang' not supported"):
        client.translate_text("a", source_lang="FR", target_lang="DE")
    for said in (
        {"target_lang": "DE"},
        {"text": ["a"]},
        {"text": 5, "target_lang": "DE"},
        {"text": "a", "target_lang": "DE", "tag_handling": "x"},
    ):
        answer = served.post("/v2/translate", json=said)
        assert answer.status_code == 400 and answer.json()["message"]


def test_deep_translator(served, translators, monkeypatch):
    monkeypatch.setattr(
        "deep_translator.deepl.BASE_URLS", {"DEEPL_FREE": f"{served.url}/v2/", "DEEPL": f"{served.url}/v2/"}
    )
    client = DeeplTranslator(api_key="any", source="en", target="de", use_free_api=True)
    assert client.translate(TEXT) == translators["en", "de"].translate(TEXT).text


def test_as_mastodon_asks(served, translators):
    form = {"text": ["<p>One man.</p>", "Two dogs."], "target_lang": "DE", "tag_handling": "html"}
    answer = served.post("/v2/translate", data=form, headers={"Authorization": "DeepL-Auth-Key x"}).json()
    assert [one["text"] for one in answer["translations"]] == ["<p>Ein Mann.</p>", "Zwei Hunde."]
    assert "billed_characters" not in answer["translations"][0]
    beneath = served.post("/deepl/v2/translate", json={"text": ["One man."], "target_lang": "DE"})
    assert beneath.json()["translations"][0]["text"] == "Ein Mann."


def test_a_detected_language_has_no_country():
    """The official client has an enumeration of these."""
    with serving(f"en-GB-de={DIRECTORIES['int8']}") as served:
        answer = served.json("/v2/translate", {"text": "One man.", "source_lang": "EN", "target_lang": "DE"})
        assert [one["detected_source_language"] for one in answer["translations"]] == ["EN"]
