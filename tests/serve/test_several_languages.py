"""A model of several target languages: each sentence gets the request's language."""

import pytest

from cpunmt import Translator
from cpunmt.options.languages import language_name
from cpunmt.serve.model_host import ModelHost
from tests.sample_models.real_model import SHIPPED
from tests.serve.serving import serving

MODEL = SHIPPED.parent / "ende-deen"
TEXTS = ["A man is riding a bicycle. Two dogs are playing!", "", "12", "  A house.\n\nA tree:\nhttp://example.com "]


@pytest.fixture(scope="module")
def translator():
    return Translator(MODEL)


@pytest.fixture(scope="module")
def several():
    with serving(str(MODEL)) as served:
        yield served


def test_it_is_served_in_all_its_directions(several):
    assert several.client.get("/languages").json() == [
        {"code": "en", "name": "English", "targets": ["en", "de"]},
        {"code": "de", "name": "German", "targets": ["de", "en"]},
    ]


@pytest.mark.parametrize("html", [False, True])
def test_its_texts_are_translated_as_if_they_named_the_language(several, translator, html):
    for source, target, texts in (
        ("en", "de", TEXTS),
        ("de", "en", ["Ein Mann fährt Rad. Zwei Hunde spielen.", "<b>Ein</b> Haus."]),
    ):
        asked = {"text": texts, "source": source, "target": target, "html": html, "return": ["sentences", "scores"]}
        made = several.json("/v1/translate", asked)["translations"]
        for text, one in zip(texts, made, strict=True):
            expected = translator.translate(f">>{target}<< {text}", html=html)
            if html:
                assert one["text"].strip() == expected.text.removeprefix(f"&gt;&gt;{target}&lt;&lt; ").strip()
                continue
            assert (one["text"].strip(), one["score"]) == (expected.text.strip(), expected.score)
            spans = [sentence["source"] for sentence in one["sentences"]]
            assert spans == [[begin - 7, end - 7] for begin, end in (own.source for own in expected.sentences)]


def test_offsets_are_those_of_the_text_that_was_sent(several, translator):
    text = "Two dogs are playing. A man is riding a bicycle."
    asked = {"text": text, "source": "en", "target": "de", "return": ["alignments"]}
    (one,) = several.json("/v1/translate", asked)["translations"]
    result = translator.translate(f">>de<< {text}", return_alignments=True)
    for sentence, own in zip(one["sentences"], result.sentences, strict=True):
        theirs = [[[max(own.source[0] - 7, s - 7) for s in source], list(t)] for source, t in own.alignments]
        assert sentence["alignments"] == theirs


def test_streams_and_languages_of_their_own(several, translator):
    asked = {"text": "One man. Two dogs.", "source": "en", "target": "de", "stream": True}
    events = several.post("/v1/translate", json=asked).text
    assert translator.translate(">>de<< One man. Two dogs.").text in events
    named = several.json("/translate", {"q": ">>en<< Ein Mann.", "source": "de", "target": "de"})
    assert named == {"translatedText": ">>en<< Ein Mann."}  # it is German already


def test_it_is_no_link_of_a_chain():
    host = ModelHost([str(MODEL), f"de-fr={SHIPPED}"])
    assert host.targets_of("en") == ["de"] and host.targets_of("de") == ["en", "fr"]
    alone = ModelHost([f"en-de={MODEL}"])
    assert alone.models[0].has_several and alone.targets_of("en") == ["de"] and alone.sources == ["en"]


def test_a_language_that_its_vocabulary_does_not_name(tmp_path):
    with serving(f"en-fr={MODEL}") as served:
        answer = served.post("/translate", json={"q": "One man.", "source": "en", "target": "fr"})
        assert (answer.status_code, "does not name en to fr" in answer.json()["error"]) == (503, True)


def test_names(translator):
    vocabulary = translator.source_vocabulary
    assert language_name(vocabulary, ["xx", "de"]) == ">>de<< " and language_name(vocabulary, ["xx"]) is None
