"""/spec: LibreTranslate's dialect as Swagger 2.0. Answers conform to it, and described requests are accepted."""

import pytest

from cpunmt.serve.dialects.libretranslate import libre
from cpunmt.serve.openapi import described
from tests.serve.json_schema import problem

DOCUMENT = described("swagger.json")
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
ASKED = {"q": "Two dogs.", "source": "auto", "target": "de", "format": "html", "alternatives": 2, "api_key": "any"}
# Ours and other servers': they are in /openapi.json.
ELSEWHERE = {("/spec", "get"), ("/detect", "get"), ("/download_file/{name}", "get"), ("/health", "get")}


def check(answer, path, method):
    found = DOCUMENT["paths"][path][method]["responses"][str(answer.status_code)]
    assert problem(answer.json(), found["schema"], DOCUMENT) is None, answer.text


def fields(path, method, required=None):
    """Returns the names and values of its parameters, all or the required ones."""
    given = {"file": ("a.txt", "Two dogs."), **ASKED}
    parameters = DOCUMENT["paths"][path][method]["parameters"]
    names = [one["name"] for one in parameters if required is None or one["required"] == required]
    return {name: given[name] for name in names}


def test_it_is_what_the_server_tells(served):
    assert served.client.get("/spec").json() == DOCUMENT and DOCUMENT["swagger"] == "2.0"
    routes = {(one.path, method.lower()) for one in libre.routes for method in one.methods if method != "HEAD"}
    assert routes ^ set(OPERATIONS) == ELSEWHERE
    names = [methods[method]["operationId"] for methods in DOCUMENT["paths"].values() for method in methods]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path, method", OPERATIONS)
@pytest.mark.parametrize("required", [None, True])
def test_answers_are_as_it_says(served, path, method, required):
    form = fields(path, method, required)
    files = {name: form.pop(name) for name in ("file",) if name in form}
    ways = [{"data": form, "files": files}] if files else [{"data": form}, {"json": form}]
    for way in ways if method == "post" else [{}]:
        answer = served.client.request(method, path, **way)
        assert answer.status_code == (403 if path == "/suggest" else 200), answer.text
        check(answer, path, method)


@pytest.mark.parametrize("path, method", [one for one in OPERATIONS if one[1] == "post" and one[0] != "/suggest"])
def test_what_it_requires_is_required(served, path, method):
    form = {name: value for name, value in fields(path, method).items() if name != "file"}
    needed = set(fields(path, method, True)) - {"file"}
    files = {"files": {"file": ("a.txt", "Two dogs.")}} if "file" in fields(path, method) else {}
    for name in needed:
        answer = served.post(path, data={key: value for key, value in form.items() if key != name}, **files)
        assert answer.status_code == 400
        check(answer, path, method)
    for one in DOCUMENT["paths"][path][method]["parameters"]:
        if "enum" in one or "minimum" in one:
            answer = served.post(path, data={**form, one["name"]: "-1"}, **files)
            assert answer.status_code == 400
            check(answer, path, method)


def test_lists_are_answered_with_lists(served):
    answer = served.post("/translate", json={**ASKED, "q": ["One man.", "Two dogs."]})
    check(answer, "/translate", "post")
    assert all(len(value) == 2 for value in answer.json().values())
