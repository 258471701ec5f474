"""MTranServer's dialect, and its answers for browser extensions."""

import pytest

TEXT, SAID = "Two dogs are playing in the snow.", "Zwei Hunde spielen im Schnee."


@pytest.fixture
def ask(served):
    return served.json


def test_its_own(ask, served, translators):
    assert ask("/translate", {"from": "en", "to": "de", "text": TEXT}) == {"result": SAID}
    plain = ask("/translate", {"from": "en", "to": "de", "text": "Men & dogs."})
    assert plain == {"result": translators["en", "de"].translate("Men & dogs.").text} and "&amp;" not in plain["result"]
    page = "<p>The <b>children</b> are playing in the garden.</p>"
    told = {"result": translators["en", "de"].translate(page, html=True).text}
    assert ask("/translate", {"from": "auto", "to": "de", "text": page, "html": True}) == told
    assert ask("/translate/batch", {"from": "en", "to": "de", "texts": [TEXT, "", "One man."]}) == {
        "results": [SAID, "", "Ein Mann."]
    }
    assert ask("/detect", {"text": SAID}) == {"language": "de"}
    assert served.client.get("/version").json()["version"] and served.client.get("/__heartbeat__").status_code == 200
    assert served.client.get("/__lbheartbeat__").status_code == 200


def test_hcfy(ask):
    asked = {"name": "x", "text": f"{TEXT}\n\nOne man.", "destination": ["德语", "英语"], "source": "英语"}
    assert ask("/hcfy", asked) == {
        "text": asked["text"], "from": "英语", "to": "德语", "result": [SAID, "", "Ein Mann."],
    }  # fmt: skip
    british = ask("/hcfy", {"text": TEXT, "destination": ["英语", "德语"], "source": "en-GB"})  # is English, too
    assert (british["to"], british["result"]) == ("德语", [SAID])
    back = ask("/hcfy", {"name": "x", "text": SAID, "destination": ["德语", "英语"]})
    assert (back["from"], back["to"]) == ("德语", "英语") and "dogs" in back["result"][0]


def test_deepl(ask):
    found = ask("/deeplx", {"text": TEXT, "source_lang": "EN", "target_lang": "DE"})
    assert (found["code"], found["data"], found["source_lang"]) == (200, SAID, "EN")
    assert ask("/deeplx", {"text": TEXT, "source_lang": "DE", "target_lang": "EN"})["source_lang"] == "DE"
    assert ask("/deepl", {"text": TEXT, "source_lang": "EN", "target_lang": "DE"}) == {
        "translations": [{"detected_source_language": "EN", "text": SAID}]
    }


@pytest.mark.parametrize("path", ["/translate/batch", "/imme", "/kiss", "/hcfy", "/deeplx"])
def test_what_is_wrong_is_told(served, path):
    for said in ({}, {"text": 5}, {"from": "en", "to": "zz", "texts": ["a"], "text": "a"}):
        answer = served.post(path, json=said)
        assert answer.status_code == 400 and list(answer.json()) == ["error"]
