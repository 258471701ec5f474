"""The description of the API: it has every route, and every answer conforms to it."""

import json
import re

import pytest

from cpunmt.options.options import SERVED
from cpunmt.serve.app import DIALECTS
from cpunmt.serve.dialects.own import RETURNS
from cpunmt.serve.openapi import described
from tests.serve.json_schema import problem

DOCUMENT = described()
TEXT = {"text": "One man. Two dogs.", "source": "en", "target": "de"}
ASKED = [  # (method, path, JSON or query); requests that create and delete a glossary come below
    ("post", "/v1/translate", TEXT),
    ("post", "/v1/translate", {"text": ["One man.", ""], "target": "de", "return": list(RETURNS), "html": False}),
    ("post", "/v1/translate", {**TEXT, "options": {"num_hypotheses": 2, "glossary": {"man": "Herr"}}}),
    ("post", "/v1/translate", {**TEXT, "return": ["scores", "alternatives"], "options": {"num_hypotheses": 3}}),
    ("post", "/v1/detect", {"text": ["One man.", "5"]}),
    ("get", "/v1/models", None),
    ("get", "/openapi.json", None),
    ("get", "/health", None),
    ("get", "/ready", None),
    ("get", "/metrics", None),
    ("post", "/translate", {"q": "One man.", "source": "auto", "target": "de", "alternatives": 2}),
    ("post", "/translate", {"q": ["One man."], "source": "auto", "target": "de", "alternatives": 2}),
    ("post", "/translate", {"text": "One man.", "from": "en", "to": "de"}),
    ("post", "/detect", {"q": "One man."}),
    ("get", "/detect", {"text": "One man."}),
    ("get", "/languages", None),
    ("get", "/frontend/settings", None),
    ("get", "/spec", None),
    ("get", "/v2/translate", {"text": "One man.", "target_lang": "DE"}),
    ("post", "/v2/translate", {"text": ["One man."], "target_lang": "DE", "show_billed_characters": True,
                              "model_type": "quality_optimized"}),
    ("post", "/deepl/v2/translate", {"text": ["One man."], "target_lang": "DE"}),
    ("get", "/deepl/v2/translate", {"text": "One man.", "target_lang": "DE"}),
    *[(method, f"{prefix}/v2/{path}", None) for prefix in ("", "/deepl") for method in ("get", "post")
      for path in ("languages", "usage")],
    *[("get", f"{prefix}/v2/{path}", None) for prefix in ("", "/deepl")
      for path in ("glossaries", "glossary-language-pairs")],
    ("get", "/v2/languages", {"type": "target"}),
    ("post", "/deepl", {"text": "One man.", "target_lang": "DE"}),
    *[(method, f"{prefix}/language/translate/v2{path}", said)
      for prefix in ("", "/google") for method in ("get", "post")
      for path, said in (("", {"q": "One man.", "target": "de"}), ("/languages", {"target": "en"}),
                         ("/detect", {"q": "One"}))],
    ("get", "/google/translate_a/single", {"q": "One man.", "tl": "de", "sl": "en"}),
    ("post", "/google/translate_a/single", {"q": "One man.", "tl": "de", "sl": "en"}),
    ("post", "/translate/batch", {"texts": ["One man."], "from": "en", "to": "de"}),
    ("post", "/imme", {"text_list": ["One man."], "source_lang": "en", "target_lang": "de"}),
    ("post", "/kiss", {"texts": ["One man."], "from": "en", "to": "de"}),
    ("post", "/kiss", {"text": "One man.", "from": "en", "to": "de"}),
    ("post", "/hcfy", {"text": "One man.", "destination": ["德语"], "source": "英语"}),
    ("post", "/deeplx", {"text": "One man.", "source_lang": "EN", "target_lang": "DE"}),
    *[("get", path, None) for path in ("/version", "/__heartbeat__", "/__lbheartbeat__")],
]  # fmt: skip


def body(answer):
    kind = answer.headers.get("content-type", "").partition(";")[0]
    return kind, answer.json() if kind == "application/json" else answer.text


def check(answer, path, method):
    """Checks that an answer conforms to the description."""
    responses = DOCUMENT["paths"][path][method]["responses"]
    found = responses.get(str(answer.status_code)) or responses["default"]
    assert (answer.status_code < 300) == (found is not responses["default"]), answer.text
    if "content" not in found:
        assert answer.content == b""
        return
    kind, content = body(answer)
    assert kind in found["content"], (path, kind)
    assert problem(content, found["content"][kind]["schema"], DOCUMENT) is None


def test_it_has_every_route():
    routes = {
        (route.path, method.lower())
        for dialect in DIALECTS for route in dialect.routes for method in route.methods if method != "HEAD"
    }  # fmt: skip
    told = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert told == routes
    names = [one["operationId"] for methods in DOCUMENT["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"\w+(-\w+)*", name) for name in names)
    schemas = DOCUMENT["components"]["schemas"]
    assert set(schemas["Options"]["properties"]) == set(SERVED)
    assert schemas["TranslateRequest"]["properties"]["return"]["items"]["enum"] == list(RETURNS)


@pytest.mark.parametrize("method, path, said", ASKED, ids=lambda one: one if isinstance(one, str) else "")
def test_answers_are_as_it_says(served, method, path, said):
    how = {"params": said} if method == "get" else {"json": said or {}}
    answer = served.client.request(method, path, **how)
    assert answer.status_code == 200, answer.text
    check(answer, path, method)
    request = DOCUMENT["paths"][path][method].get("requestBody")
    if request and said is not None:
        assert problem(said, request["content"]["application/json"]["schema"], DOCUMENT) is None


@pytest.mark.parametrize("path, method", [(p, m) for p, ms in DOCUMENT["paths"].items() for m in ms if m == "post"])
def test_errors_are_as_it_says(served, path, method):
    answer = served.post(path, content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 403)
    check(answer, path, method)


PAIR = {"source_lang": "en", "target_lang": "de"}
DICTIONARY = {**PAIR, "entries": "man\tHerr"}
OTHER = {"source_lang": "de", "target_lang": "en", "entries": "Herr,man", "entries_format": "csv"}
FILE = {"files": {"file": ("a.txt", "One man.")}, "data": {"target_lang": "DE"}}
# (what makes one, the field with its number, requests below its path and their status)
MADE = {
    "/v2/glossaries": (
        {"json": {"name": "a", **DICTIONARY}}, "glossary_id",
        [("", "get", {}, 200), ("/entries", "get", {}, 200), ("", "delete", {}, 204), ("", "delete", {}, 404)],
    ),
    "/v3/glossaries": (
        {"json": {"name": "a", "dictionaries": [DICTIONARY, OTHER]}}, "glossary_id",
        [("", "get", {}, 200), ("", "patch", {"json": {"name": "b", "dictionaries": [DICTIONARY]}}, 200),
         ("/entries", "get", {"params": PAIR}, 200), ("/dictionaries", "put", {"json": DICTIONARY}, 200),
         ("/dictionaries", "delete", {"params": PAIR}, 204), ("/dictionaries", "delete", {"params": PAIR}, 404),
         ("", "delete", {}, 204), ("", "patch", {"json": {}}, 404)],
    ),
    "/v2/document": (
        FILE, "document_id",
        [(path, method, {how: {"document_key": key}}, status) for path in ("", "/result")
         for method, how in (("post", "json"), ("get", "params")) for key, status in (("KEY", 200), ("other", 404))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("prefix", ["", "/deepl"])
@pytest.mark.parametrize("path", MADE)
def test_what_is_kept_is_as_it_says(served, prefix, path):
    how, field, requests = MADE[path]
    made = served.post(prefix + path, **how)
    check(made, prefix + path, "post")
    if "document" not in path:
        check(served.client.get(prefix + path), prefix + path, "get")
    number, key = made.json()[field], made.json().get("document_key", "")
    for below, method, how, status in requests:
        how = json.loads(json.dumps(how).replace('"KEY"', json.dumps(key)))
        answer = served.client.request(method, f"{prefix}{path}/{number}{below}", **how)
        assert answer.status_code == status, (below, method, answer.text)
        check(answer, f"{prefix}{path}/{{number}}{below}", method)


def test_files_are_as_it_says(served):
    said = {"source": "en", "target": "de"}
    answer = served.post("/translate_file", files={"file": ("a.txt", "One man.")}, data=said)
    check(answer, "/translate_file", "post")
    check(served.client.get(answer.json()["translatedFileUrl"]), "/download_file/{name}", "get")
    check(served.client.get("/download_file/none"), "/download_file/{name}", "get")
    check(served.post("/suggest", json={}), "/suggest", "post")


def test_a_value_that_is_otherwise_is_seen():
    assert problem({"text": "a"}, {"$ref": "#/components/schemas/Translation"}, DOCUMENT) == "it lacks source"
    assert problem(
        {"status": 5},
        DOCUMENT["paths"]["/health"]["get"]["responses"]["200"]["content"]["application/json"]["schema"],
        DOCUMENT,
    )
    assert problem([1, 2, 3], {"type": "array", "items": {"type": "integer"}, "maxItems": 2}, DOCUMENT)
    assert problem(5, {"oneOf": [{"type": "integer"}, {"type": "number"}]}, DOCUMENT)
    assert problem({"a": 1}, {"type": "object", "additionalProperties": False}, DOCUMENT)
    assert problem(2, {"type": "number", "maximum": 1}, DOCUMENT) and problem(1, {"enum": [2]}, DOCUMENT)
