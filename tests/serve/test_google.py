"""Google's dialect, by its own client."""

import json

import pytest
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import BadRequest
from google.auth.credentials import AnonymousCredentials
from google.cloud import translate_v2

from cpunmt.serve.dialects.google import google
from cpunmt.serve.errors import ServeError

TEXT = "Two dogs are playing in the snow."


@pytest.fixture
def client(served):
    return translate_v2.Client(
        credentials=AnonymousCredentials(), client_options=ClientOptions(api_endpoint=served.url)
    )


def test_its_client_translates(client, translators):
    found = client.translate(TEXT, target_language="de", format_="text")
    assert found == {
        "translatedText": translators["en", "de"].translate(TEXT).text,
        "detectedSourceLanguage": "en",
        "input": TEXT,
    }
    texts = ["One <b>man</b> &amp; two dogs.", "Three women."]
    found = client.translate(texts, target_language="de", source_language="en")  # HTML, if nothing is said
    assert [one["translatedText"] for one in found] == [
        one.text for one in translators["en", "de"].translate(texts, html=True)
    ]
    assert "detectedSourceLanguage" not in found[0]


def test_its_client_asks_for_languages(client):
    assert client.get_languages() == [
        {"language": code, "name": name} for code, name in (("en", "English"), ("de", "German"), ("fr", "French"))
    ]
    found = client.detect_language(["Zwei Hunde spielen im Schnee.", "5"])
    assert (found[0]["language"], found[0]["input"]) == ("de", "Zwei Hunde spielen im Schnee.")
    assert found[0]["confidence"] > 0.9 and found[1]["confidence"] == 0


def test_what_is_wrong_is_told(client, served):
    with pytest.raises(BadRequest, match="zz is not supported"):
        client.translate(TEXT, target_language="zz")
    answer = served.client.get("/language/translate/v2", params={"q": "a", "key": "k"})
    assert answer.status_code == 400 and answer.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert answer.json()["error"]["message"] == answer.json()["error"]["errors"][0]["message"]


def test_by_address_alone(served):
    asked = {"q": ["One man.", "Two dogs."], "source": "en", "target": "de", "format": "text", "key": "any"}
    told = {"data": {"translations": [{"translatedText": "Ein Mann."}, {"translatedText": "Zwei Hunde."}]}}
    for path in ("/language/translate/v2", "/google/language/translate/v2"):
        assert served.client.get(path, params=asked).json() == told
        assert served.post(path, data=asked).json() == told
    found = served.client.get(
        "/google/translate_a/single",
        params={"client": "gtx", "sl": "auto", "tl": "de", "dt": "t", "q": "One man walks."},
    ).json()
    assert found[0][0][1] == "One man walks." and found[2] == "en" and "Mann" in found[0][0][0]


@pytest.mark.parametrize("source", ["auto", "en"])
def test_arrays_and_objects_say_the_same(served, translators, source):
    # googletrans reads data[8][0] and data[8][-2][0]; extensions ask for objects, and read ld_result.
    asked = {"client": "gtx", "sl": source, "tl": "de", "dt": ["t", "bd"], "q": TEXT}
    path = "/google/translate_a/single"
    arrays = served.client.get(path, params={**asked, "dj": 0}).json()
    objects = served.client.get(path, params={**asked, "dj": 1}).json()
    text = translators["en", "de"].translate(TEXT).text
    (share,) = [one["confidence"] for one in served.json("/v1/detect", {"text": TEXT})["detections"][0][:1]]
    sure = share if source == "auto" else 1
    assert arrays[0] == [[text, TEXT, None, None, 1]] and arrays[8] == [["en"], None, [sure], ["en"]]
    assert objects["sentences"] == [{"trans": text, "orig": TEXT, "backend": 1}]
    assert (arrays[2], arrays[6]) == (objects["src"], objects["confidence"]) == ("en", sure)
    found = objects["ld_result"]
    assert [found[name] for name in ("srclangs", "srclangs_confidences", "extended_srclangs")] == [
        ["en"],
        [sure],
        ["en"],
    ]


def test_errors_have_googles_names():
    names = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
    for status, name in {**names, 503: "UNAVAILABLE", 500: "UNKNOWN", 413: "UNKNOWN"}.items():
        answer = google.failed(ServeError(status, "said", retry_after=7))
        error = json.loads(answer.body)["error"]
        assert (answer.status_code, error["code"], error["status"], error["message"]) == (status, status, name, "said")
        assert answer.headers["retry-after"] == "7"
        # the rest of such a request would be read as the next one
        assert answer.headers.get("connection") == ("close" if status in (408, 413) else None)
