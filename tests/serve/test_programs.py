"""The requests of programs that use such servers, as their sources send them: Weblate, Discourse, Mastodon, Nextcloud.

Sources: `weblate/machinery/libretranslate.py` and `deepl.py` of https://github.com/WeblateOrg/weblate,
`app/services/discourse_translator/libre_translate.rb` of https://github.com/discourse/discourse-translator,
`app/lib/translation_service/` of https://github.com/mastodon/mastodon, `lib/LibretranslateProvider.php` of
https://github.com/v1r0x/integration_libretranslate with `src/LibreTranslate.php` of
https://github.com/jefs42/libretranslate, and `lib/Service/DeeplService.php` of
https://github.com/nextcloud/integration_deepl.
"""

from operator import itemgetter

import pytest

KEY = {"Authorization": "DeepL-Auth-Key a:fx"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_EMPTY_FORM = {"headers": {"Content-Type": "multipart/form-data; boundary=--x"}, "content": b"----x--\r\n"}
texts = itemgetter("translatedText")


def translations(answer):
    return [one["text"] for one in answer["translations"]]


def codes(answer):
    return sorted({one.get("code") or one["language"] for one in answer})


def parts(**fields):
    return {"files": {name: (None, value) for name, value in fields.items()}}


# program, method, path, the request, what the program reads of the answer, and what it finds there
REQUESTS = [
    ("weblate", "GET", "/languages", {}, codes, ["de", "en", "fr"]),
    (
        "weblate",
        "POST",
        "/translate",
        {"json": {"api_key": "", "q": ["One man.", "Two dogs."], "source": "en", "target": "de"}},
        texts,
        ["Ein Mann.", "Zwei Hunde."],
    ),
    ("weblate", "GET", "/v2/languages?type=source", {"headers": KEY}, codes, ["DE", "EN"]),
    ("weblate", "GET", "/v2/languages?type=target", {"headers": KEY}, codes, ["DE", "EN-GB", "EN-US", "FR"]),
    (
        "weblate",
        "POST",
        "/v2/translate",
        {
            "headers": KEY,
            "json": {
                "text": ['<x id="0"></x> dogs.', "One man."],
                "source_lang": "EN",
                "target_lang": "DE",
                "formality": "default",
                "tag_handling": "xml",
                "ignore_tags": ["x"],
                "context": "",
                "model_type": "prefer_quality_optimized",
            },
        },
        lambda answer: ['<x id="0"></x>' in translations(answer)[0], translations(answer)[1]],
        [True, "Ein Mann."],
    ),
    ("weblate", "GET", "/v2/glossaries", {"headers": KEY}, itemgetter("glossaries"), []),
    ("discourse", "GET", "/languages", {}, codes, ["de", "en", "fr"]),
    (
        "discourse",
        "POST",
        "/detect",
        {"headers": FORM, "content": "q=Two+dogs+are+playing+in+the+snow.&api_key="},
        lambda answer: answer[0]["language"],
        "en",
    ),
    (
        "discourse",
        "POST",
        "/translate",
        {"headers": FORM, "content": "q=%3Cp%3EOne+man.%3C%2Fp%3E&source=en&target=de&format=html&api_key="},
        texts,
        "<p>Ein Mann.</p>",
    ),
    ("mastodon", "GET", "/languages", {}, lambda answer: sorted(answer[0]["targets"]), ["de", "en", "fr"]),
    (
        "mastodon",
        "POST",
        "/translate",
        {"json": {"q": ["<p>Two dogs.</p>"], "source": "auto", "target": "de", "format": "html", "api_key": None}},
        lambda answer: [*texts(answer), answer["detectedLanguage"][0]["language"]],
        ["<p>Zwei Hunde.</p>", "en"],
    ),
    (
        "mastodon",
        "POST",
        "/v2/translate",
        {
            "headers": KEY,
            "data": {"text": ["One man."], "source_lang": "EN", "target_lang": "de", "tag_handling": "html"},
        },
        lambda answer: [*translations(answer), answer["translations"][0]["detected_source_language"]],
        ["Ein Mann.", "EN"],
    ),
    ("nextcloud", "GET", "/frontend/settings", _EMPTY_FORM, itemgetter("apiKeys"), False),
    ("nextcloud", "GET", "/languages", _EMPTY_FORM, codes, ["de", "en", "fr"]),
    (
        "nextcloud",
        "POST",
        "/detect?q=Two+dogs+are+playing+in+the+snow.&api_key=",
        _EMPTY_FORM,
        lambda answer: answer[0]["language"],
        "en",
    ),
    (
        "nextcloud",
        "POST",
        "/translate",
        parts(q="One man.", format="html", source="en", target="de", api_key=""),
        texts,
        "Ein Mann.",
    ),
    (
        "nextcloud",
        "POST",
        "/v2/translate",
        {"headers": KEY, "data": {"text": "Zwei Hunde.", "target_lang": "en-US", "formality": "prefer_more"}},
        translations,
        ["Two dogs."],
    ),
]


@pytest.mark.parametrize(
    "program, method, path, asked, read, expected", REQUESTS, ids=[f"{row[0]} {row[2]}"[:30] for row in REQUESTS]
)
def test_a_program_finds_what_it_reads(served, program, method, path, asked, read, expected):
    answer = served.client.request(method, path, **asked)
    assert answer.status_code == 200, answer.text
    assert read(answer.json()) == expected
