"""Answers of DeepL's dialect beside the description that DeepL publishes (MIT; see deepl_openapi.json)."""

import json
from pathlib import Path

import pytest

from tests.serve.json_schema import problem

ANSWERS = json.loads((Path(__file__).parent / "deepl_openapi.json").read_text("utf-8"))["answers"]
# Fields that clients read and the description lacks
BESIDES = {"entry_count", "dictionaries"}  # of glossaries of version 3


def unknown(value, schema):
    """Returns the names in an answer that the schema lacks."""
    if isinstance(value, list):
        return [name for one in value for name in unknown(one, schema.get("items", {}))]
    if not isinstance(value, dict):
        return []
    told = schema.get("properties", {})
    inner = [name for key, one in value.items() if key in told for name in unknown(one, told[key])]
    return [*(name for name in value if name not in told), *inner]


@pytest.fixture(scope="module")
def asked(served):
    """Returns a function that sends a request and checks the answer, and the requested paths."""
    seen = set()

    def ask(method, path, template=None, **given):
        answer = served.client.request(method, path, headers={"Authorization": "DeepL-Auth-Key k"}, **given)
        forms = ANSWERS[template or path][method.lower()]
        assert str(answer.status_code) in forms, answer.text
        schema = forms[str(answer.status_code)]
        seen.add((template or path, method.lower()))
        if schema is None:
            return answer
        told = answer.json()
        document = {"answers": ANSWERS}
        assert problem(told, schema, document) is None
        assert set(unknown(told, schema)) <= BESIDES
        return told

    ask.seen = seen
    return ask


def test_every_answer_is_as_described(asked):
    asked("POST", "/v2/translate", json={"text": ["Two dogs."], "source_lang": "EN", "target_lang": "DE"})
    full = {"text": ["A <b>man</b>."], "target_lang": "DE", "show_billed_characters": True, "tag_handling": "xml"}
    asked("POST", "/v2/translate", json={**full, "source_lang": "EN", "model_type": "latency_optimized"})
    asked("GET", "/v2/languages")
    asked("GET", "/v2/languages", params={"type": "target"})
    asked("GET", "/v2/usage")
    asked("GET", "/v2/glossary-language-pairs")
    two = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "dog\tHund", "entries_format": "tsv"}
    number = asked("POST", "/v2/glossaries", json=two)["glossary_id"]
    asked("GET", "/v2/glossaries")
    asked("GET", f"/v2/glossaries/{number}", "/v2/glossaries/{glossary_id}")
    asked("DELETE", f"/v2/glossaries/{number}", "/v2/glossaries/{glossary_id}")
    dictionary = {"source_lang": "en", "target_lang": "de", "entries": "dog\tHund", "entries_format": "tsv"}
    number = asked("POST", "/v3/glossaries", json={"name": "b", "dictionaries": [dictionary]})["glossary_id"]
    back = {"source_lang": "de", "target_lang": "en"}
    one, template = f"/v3/glossaries/{number}", "/v3/glossaries/{glossary_id}"
    asked("GET", "/v3/glossaries")
    asked("GET", one, template)
    asked("PATCH", one, template, json={"name": "c"})
    asked(
        "PUT", f"{one}/dictionaries", f"{template}/dictionaries", json={**dictionary, **back, "entries": "Katze\tcat"}
    )
    pair = {"source_lang": "en", "target_lang": "de"}
    asked("GET", f"{one}/entries", f"{template}/entries", params=pair)
    asked("DELETE", f"{one}/dictionaries", f"{template}/dictionaries", params=pair)
    asked("DELETE", one, template)
    file = {"file": ("a.txt", b"Two dogs.")}
    made = asked("POST", "/v2/document", files=file, data={"source_lang": "EN", "target_lang": "DE"})
    key = {"document_key": made["document_key"]}
    asked("POST", f"/v2/document/{made['document_id']}", "/v2/document/{document_id}", json=key)
    assert asked.seen == {(path, method) for path, methods in ANSWERS.items() for method in methods}
