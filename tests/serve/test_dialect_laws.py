"""Laws of all dialects: each translation equals a Translator's, and limits are exact."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.options.glossary.glossary import Glossary
from cpunmt.serve.dialects.deepl_glossaries import MOST_TERMS, merged, read_entries, tab_separated
from cpunmt.serve.errors import ServeError
from tests.sample_models.real_model import SHIPPED
from tests.serve.serving import serving
from tests.serve.test_equality import LINES

LETTERS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=30)
OTHERS = st.sampled_from(["", " ", "Zwei Hunde.\n\nOne man."])
TEXTS = st.lists(st.one_of(st.sampled_from(LINES), LETTERS, OTHERS), min_size=1, max_size=4)
# Path -> names of texts, source and target, what else is said, whether a request has several texts; how to read them.
V2 = "/language/translate/v2"
LISTS = {
    "/v1/translate": ("text", "source", "target", {}, lambda said: [one["text"] for one in said["translations"]]),
    "/translate": ("q", "source", "target", {}, lambda said: said["translatedText"]),
    "/translate/batch": ("texts", "from", "to", {}, lambda said: said["results"]),
    "/imme": (
        "text_list",
        "source_lang",
        "target_lang",
        {},
        lambda said: [one["text"] for one in said["translations"]],
    ),
    "/kiss": ("texts", "from", "to", {}, lambda said: [one["text"] for one in said["translations"]]),
    "/v2/translate": ("text", "source_lang", "target_lang", {}, lambda said: [o["text"] for o in said["translations"]]),
    "/deepl": ("text", "source_lang", "target_lang", {}, lambda said: [one["text"] for one in said["translations"]]),
    V2: (
        "q",
        "source",
        "target",
        {"format": "text"},
        lambda s: [o["translatedText"] for o in s["data"]["translations"]],
    ),
}
ALONE = {
    "/v1/translate": ("text", "source", "target", {}, lambda said: said["translations"][0]["text"]),
    "/translate": ("q", "source", "target", {}, lambda said: said["translatedText"]),
    "/kiss": ("text", "from", "to", {}, lambda said: said["text"]),
    "/deeplx": ("text", "source_lang", "target_lang", {}, lambda said: said["data"]),
    "/google/translate_a/single": ("q", "sl", "tl", {}, lambda said: said[0][0][0]),
    f"{V2} ": ("q", "source", "target", {"format": "text"}, lambda s: s["data"]["translations"][0]["translatedText"]),
}


@given(TEXTS, st.sampled_from(sorted(LISTS)), st.sampled_from(["json", "data", "params"]))
def test_lists_come_back_in_order(served, student, texts, path, how):
    name, source, target, more, read = LISTS[path]
    answer = served.post(path, **{how: {name: texts, source: "en", target: "de", **more}})
    if path == "/translate" and how != "json" and len(texts) == 1:  # of a form that is one text
        assert answer.status_code == 400 if not texts[0] else read(answer.json()) == student.translate(texts[0]).text
        return
    assert answer.status_code == 200, answer.text
    assert read(answer.json()) == [one.text for one in student.translate(texts)]


@given(TEXTS, st.sampled_from(sorted(ALONE)), st.sampled_from(["json", "data", "params"]))
def test_one_text_comes_back(served, student, texts, path, how):
    name, source, target, more, read = ALONE[path]
    answer = served.post(path.strip(), **{how: {name: texts[0], source: "en", target: "de", **more}})
    if path == "/translate" and not texts[0]:
        assert answer.json() == {"error": "Invalid request: missing q parameter"}
        return
    assert answer.status_code == 200 and read(answer.json()) == student.translate(texts[0]).text, answer.text


TARGETS = {  # how each writes the language that it has found
    "/translate": ("q", "target", lambda said: [one["language"] for one in said["detectedLanguage"]], str),
    "/imme": ("text_list", "target_lang", lambda said: [o["detected_source_lang"] for o in said["translations"]], str),
    "/kiss": ("texts", "to", lambda said: [one["src"] for one in said["translations"]], str),
    "/v2/translate": (
        "text",
        "target_lang",
        lambda said: [o["detected_source_language"] for o in said["translations"]],
        str.upper,
    ),
    V2: ("q", "target", lambda said: [o["detectedSourceLanguage"] for o in said["data"]["translations"]], str),
    "/v1/translate": ("text", "target", lambda said: [one["source"] for one in said["translations"]], str),
}


@given(TEXTS, st.sampled_from(sorted(TARGETS)))
def test_each_text_has_a_language_of_its_own(served, texts, path):
    name, target, read, written = TARGETS[path]
    said = {"source": "auto"} if path == "/translate" else {}
    detected = [served.service.detector.best(text).language for text in texts]
    made = served.json(path, {name: texts, target: "fr", **said})  # which all of them lead to
    assert read(made) == list(map(written, detected))


@pytest.fixture(scope="module")
def own():
    with serving(str(SHIPPED), max_alternatives=3) as server:
        yield server


@pytest.mark.parametrize(
    "most, options",
    [
        (4, lambda count: {"beam_size": count}),
        (4, lambda count: {"beam_size": 4, "num_hypotheses": count}),
        (10, lambda count: {"max_length_factor": count}),
        (1000, lambda count: {"glossary": {f"term{number}": "x" for number in range(count)}}),
    ],
    ids=["beam_size", "num_hypotheses", "max_length_factor", "glossary"],
)
def test_options_have_limits(own, most, options):
    asked = {"text": "One man.", "source": "en", "target": "de"}
    for count, status in ((most - 1, 200), (most, 200), (most + 1, 400)):
        answer = own.post("/v1/translate", json={**asked, "options": options(count)})
        assert answer.status_code == status, (count, answer.text)
    answer = own.post("/v1/translate", json={**asked, "options": {**options(most), "beam_size": 0}})
    assert answer.status_code == 400


def test_alternatives_have_a_limit(own):
    asked = {"q": "One man.", "source": "en", "target": "de"}
    for count, status in ((0, 200), (3, 200), (4, 400), (-1, 400)):
        assert own.post("/translate", json={**asked, "alternatives": count}).status_code == status, count


def dictionary(**more):
    return {"source_lang": "en", "target_lang": "de", "entries": "man\tHerr", "entries_format": "tsv", **more}


def test_glossaries_have_limits(own):
    def status(**said):
        answer = own.post("/v3/glossaries", json={"name": "n", "dictionaries": [dictionary()], **said})
        if answer.status_code == 201:
            assert own.client.delete(f"/v3/glossaries/{answer.json()['glossary_id']}").status_code == 204
        return answer.status_code

    assert [status(name="n" * count) for count in (0, 1, 1024, 1025)] == [400, 201, 201, 400]
    assert [status(dictionaries=[dictionary()] * count) for count in (0, 1, 100, 101)] == [400, 201, 201, 400]


TERMS = st.text("ab c\"',", min_size=1, max_size=5).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.dictionaries(TERMS, st.text("xyz", min_size=1, max_size=5), min_size=1, max_size=9))
def test_terms_are_written_as_they_are_read(terms):
    written = tab_separated(Glossary(terms))
    assert dict(read_entries(written, "tsv").items()) == terms
    quoted = "\r\n".join(",".join('"' + field.replace('"', '""') + '"' for field in pair) for pair in terms.items())
    assert dict(read_entries(f"\n{quoted}\n", "csv").items()) == terms


def test_terms_have_a_limit():
    def lines(count, first=0):
        return "\n".join(f"term{number}\tx" for number in range(first, first + count))

    for count in (1, MOST_TERMS):
        assert len(read_entries(lines(count), "tsv")) == count
    full = read_entries(lines(MOST_TERMS), "tsv")
    for refused in (lambda: read_entries(lines(MOST_TERMS + 1), "tsv"), lambda: read_entries("", "tsv")):
        with pytest.raises(ServeError, match="Invalid glossary entries"):
            refused()
    assert len(merged(full, read_entries("term5\ty", "tsv"))) == MOST_TERMS
    assert dict(merged(full, read_entries("term5\ty", "tsv")).items())["term5"] == "y"  # the new one wins
    with pytest.raises(ServeError, match="Invalid glossary entries"):
        merged(full, read_entries("other\ty", "tsv"))


def test_answers_of_events_are_the_answer(served):
    """A stream's increments, joined, are its result's text, equal to that of a request without a stream."""
    asked = {"text": " ".join(LINES[:5]), "source": "en", "target": "de", "return": ["scores"]}
    lines = served.post("/v1/translate", json={**asked, "stream": True}).text.strip().split("\n\n")
    events = [(one.split("\n")[0].removeprefix("event: "), json.loads(one.split("\ndata: ")[1])) for one in lines]
    assert [name for name, _ in events] == ["text"] * (len(events) - 1) + ["result"] and len(events) > 3
    (alone,) = served.json("/v1/translate", asked)["translations"]
    assert "".join(data["text"] for _, data in events[:-1]) == events[-1][1]["text"] and events[-1][1] == alone
