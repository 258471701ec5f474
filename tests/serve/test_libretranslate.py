"""LibreTranslate's dialect, by its clients and in other uses."""

import pytest
from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI

from tests.sample_models.real_model import GERMAN as MODEL
from tests.serve.serving import serving

ENGLISH, GERMAN = "Two dogs are playing in the snow.", "Ein Mann fährt Fahrrad."


def test_its_python_client(served, translators):
    client = LibreTranslateAPI(served.url)
    assert client.translate(ENGLISH, "en", "de") == translators["en", "de"].translate(ENGLISH).text
    assert client.detect(GERMAN)[0] == {"confidence": 85, "language": "de"}  # others have the rest
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["en", "de", "fr"]},
        {"code": "de", "name": "German", "targets": ["de", "en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},  # else clients take it for one that nothing leads to
    ]


def test_a_language_is_listed_once_however_models_write_it():
    with serving(f"en-zh={MODEL}", f"zh-Hans-pb={MODEL}", f"en-pt-BR={MODEL}", f"en-pt={MODEL}") as served:
        listed = {one["code"]: one["targets"] for one in LibreTranslateAPI(served.url).languages()}
        assert listed == {
            "en": ["en", "zh-Hans", "pt-BR", "pt"],
            "zh-Hans": ["zh-Hans", "pt-BR"],
            "pt-BR": ["pt-BR"],
            "pt": ["pt"],
        }
        google = served.client.get("/language/translate/v2/languages").json()["data"]["languages"]
        assert google == [{"language": code} for code in ("en", "zh-CN", "pt")]


def test_deep_translator(served, translators):
    client = LibreTranslator(source="en", target="de", api_key="any", custom_url=f"{served.url}/")
    assert client.translate(ENGLISH) == translators["en", "de"].translate(ENGLISH).text
    texts = [ENGLISH, "One man & one woman + 5 %?"]
    assert client.translate_batch(texts) == [one.text for one in translators["en", "de"].translate(texts)]


def test_forms_have_their_own_line_ends(served, translators):
    answer = served.post("/translate", data={"q": "One man.\r\nTwo dogs.", "source": "en", "target": "de"})
    assert answer.json()["translatedText"] == translators["en", "de"].translate("One man.\nTwo dogs.").text
    answer = served.json("/translate", {"q": "One man.\r\nTwo dogs.", "source": "en", "target": "de"})
    assert answer["translatedText"] == translators["en", "de"].translate("One man.\r\nTwo dogs.").text
    parts = {name: (None, value) for name, value in {"q": "One man.", "source": "en", "target": "de"}.items()}
    assert served.post("/translate", files=parts).json() == {"translatedText": "Ein Mann."}


def test_a_list_gives_a_list(served, translators):
    # As Weblate and Mastodon ask; the second reads a detection for each text.
    texts = [ENGLISH, "", GERMAN]
    found = served.json("/translate", {"q": texts, "source": "auto", "target": "de", "format": "html"})
    assert found["translatedText"] == [translators["en", "de"].translate(ENGLISH, html=True).text, "", GERMAN]
    assert [one["language"] for one in found["detectedLanguage"]] == ["en", "en", "de"]
    assert [one["confidence"] for one in found["detectedLanguage"]][1:] == [0, 85]
    assert served.json("/translate", {"q": [], "source": "en", "target": "de"}) == {"translatedText": []}
    form = {"q": ["One man.", "Two dogs."], "source": "en", "target": "de"}
    assert served.post("/translate", data=form).json() == {"translatedText": ["Ein Mann.", "Zwei Hunde."]}


def test_alternatives(served, translators):
    results = translators["en", "de"].translate([ENGLISH, "One man."], num_hypotheses=4)
    others = [[one.text for one in result.hypotheses[1:]] for result in results]
    said = {"source": "en", "target": "de", "alternatives": 3}
    assert served.json("/translate", {**said, "q": ENGLISH})["alternatives"] == others[0] and len(others[0]) == 3
    assert served.json("/translate", {**said, "q": [ENGLISH, "One man."]})["alternatives"] == others
    assert served.json("/translate", {**said, "q": ENGLISH, "format": "html"})["alternatives"] == []
    assert "alternatives" not in served.json("/translate", {**said, "q": ENGLISH, "alternatives": 0})


def test_codes_in_any_case_and_with_countries(served):
    for source, target in (("EN", "DE"), ("en-US", "de-AT"), ("en_gb", "de")):
        found = served.json("/translate", {"q": "One man.", "source": source, "target": target})
        assert found == {"translatedText": "Ein Mann."}
    assert served.json("/translate", {"q": "One man.", "source": "en", "target": "en"})["translatedText"] == "One man."


@pytest.mark.parametrize(
    "said, message",
    [
        ({"source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "", "source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "de"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "zz", "target": "de"}, "zz is not supported"),
        ({"q": "a", "source": "en", "target": "zz"}, "zz is not supported"),
        ({"q": "a", "source": "<b>", "target": "de"}, "the language is not supported"),
        ({"q": "a", "source": "fr", "target": "de"}, "de is not available as a target language from fr"),
        ({"q": "a" * 50_001, "source": "en", "target": "de"},
         "Invalid request: request (50001) exceeds text limit (50000)"),
        ({"q": "a", "source": "en", "target": "de", "format": "pdf"},
         "Invalid request: the format is not supported, expected text or html"),
        ({"q": "a", "source": "en", "target": "de", "alternatives": 11},
         "Invalid request: alternatives must be an integer from 0 to 10"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(served, said, message):
    answer = served.post("/translate", json=said)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_no_way_between_two_languages():
    from tests.sample_models.real_model import DIRECTORIES, GERMAN

    with serving(str(DIRECTORIES["int8"]), f"fr-it={GERMAN}") as served:
        answer = served.post("/translate", json={"q": "a", "source": "en", "target": "it"})
        assert answer.json() == {"error": "it is not available as a target language from en"}


def test_what_a_page_asks(served):
    found = served.client.get("/frontend/settings").json()
    assert found["charLimit"] == 50_000 and found["frontendTimeout"] == 500 and found["keyRequired"] is False
    assert found["language"] == {
        "source": {"code": "en", "name": "English"},
        "target": {"code": "de", "name": "German"},
    }
    assert served.client.get("/health").json() == {"status": "ok"}
    assert served.post("/suggest", json={"q": "a", "s": "b", "source": "en", "target": "de"}).status_code == 403
    assert served.client.get("/spec").json()["swagger"] == "2.0"


def test_files(served, translators):
    for name, content, options in (
        ("a.txt", f"{ENGLISH}\n\nOne man.\n", {}),
        ("b.HTML", "<p>One <b>man</b> &amp; <i>two</i> dogs.</p>", {"html": True}),
    ):
        answer = served.post("/translate_file", files={"file": (name, content)}, data={"source": "en", "target": "de"})
        url = answer.json()["translatedFileUrl"]
        assert url.startswith(f"{served.url}/download_file/") and url.endswith(f"_de{name[1:].lower()}")
        assert served.client.get(url).text == translators["en", "de"].translate(content, **options).text
    assert served.client.get("/download_file/none_de.txt").json() == {"error": "The file does not exist any more"}
    for given in ({"file": ("a.exe", "x")}, {"file": ("a.txt", b"\xff")}, {"other": ("a.txt", "x")}):
        answer = served.post("/translate_file", files=given, data={"source": "en", "target": "de"})
        assert answer.status_code == 400 and answer.json()["error"].startswith("Invalid request")
