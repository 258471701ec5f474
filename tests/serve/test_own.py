# ruff: noqa: RUF001 - words in other scripts
"""Our own dialect: the fields of an answer, and the error that ends a stream."""

import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.sentence_layers.judge import Judge
from tests.serve.scheduling import WAIT, until
from tests.serve.serving import MODELS, serving
from tests.serve.test_limits import Held

RETURNS = ("sentences", "alignments", "alternatives", "scores", "doubts")
PAIR = {"source": "en", "target": "de"}
ASKED = {"text": "One man. Two dogs.", **PAIR}


@settings(max_examples=20, deadline=None)
@given(st.sets(st.sampled_from(RETURNS)))
def test_an_answer_has_the_fields_that_were_asked_for(served, returns):
    body = {**ASKED, "return": sorted(returns), "options": {"num_hypotheses": 2}}
    (found,) = served.json("/v1/translate", body)["translations"]
    expected = {"text", "source", "target", "truncated", "repeats"} | (
        returns & {"sentences", "alternatives", "doubts"}
    )
    scores = {"score", "log_prob"} if "scores" in returns else set()
    if "alignments" in returns:
        expected |= {"sentences"}
        assert "alignments" in found["sentences"][0]
    assert set(found) - {"alignments", "pieces", "source_pieces"} == expected | scores
    for one in found.get("alternatives", []):
        assert set(one) == {"text"} | scores
    assert len(found.get("alternatives", [0])) == 1  # beside the best


def test_doubts_are_found_once_and_outside_the_event_loop(served, monkeypatch):
    threads, real = [], Judge.doubts

    def doubts(*given):
        threads.append(threading.current_thread().name)
        return real(*given)

    monkeypatch.setattr(Judge, "doubts", doubts)
    asked = {**ASKED, "text": "A dog. A man.", "return": ["doubts", "sentences"]}
    served.json("/v1/translate", asked)
    assert len(threads) == 2 and all(name.startswith("cpunmt request") for name in threads)


def test_doubts(served):
    russian = "Привет, как дела у тебя сегодня вечером, друг мой?"
    asked = {**ASKED, "text": [f"A dog. {russian}", russian, "A dog."], "return": ["doubts", "sentences"]}
    found = served.json("/v1/translate", asked)["translations"]
    assert [one["doubts"] for one in found] == [["echo", "script"], ["echo", "script"], []]
    assert [one["doubts"] for one in found[0]["sentences"]] == [[], ["echo", "script"]]
    page = {**ASKED, "text": f"<p>A dog.</p><p>{russian}</p>", "html": True, "return": ["doubts", "sentences"]}
    (found,) = served.json("/v1/translate", page)["translations"]
    assert found["doubts"] == ["echo", "script"] and "doubts" not in found["sentences"][0]


def test_a_page_has_one_translation(served):
    page = {**ASKED, "text": "<p>A dog.</p>", "html": True, "return": ["alternatives"]}
    assert (
        served.json("/v1/translate", {**page, "options": {"num_hypotheses": 1}})["translations"][0]["alternatives"]
        == []
    )
    answer = served.post("/v1/translate", json={**page, "options": {"num_hypotheses": 2}})
    assert answer.status_code == 400 and "num_hypotheses must be 1 with html" in answer.json()["error"]["message"]


@pytest.mark.parametrize("wrong", [{"num_hypotheses": 8, "beam_size": 2}, {"end_token": "no such piece"}])
def test_a_stream_with_wrong_options_does_not_begin(served, wrong):
    answer = served.post("/v1/translate", json={**ASKED, "stream": True, "options": wrong})
    assert answer.status_code == 400 and answer.json()["error"]["code"] == 400


def test_an_error_in_a_stream_has_its_status(monkeypatch):
    """There is too much to do when the stream has begun: 503, as without one."""
    with serving(MODELS[0], deadline=0.01) as served:
        held = Held(served, monkeypatch)
        texts = [{"q": "One man."}, {"q": [f"Number {n} of the numbers." for n in range(200)]}]
        asking = [
            threading.Thread(target=served.post, args=("/translate",), kwargs={"json": {**PAIR, **one}})
            for one in texts
        ]
        asking[0].start()
        assert held.begun.wait(WAIT)
        asking[1].start()
        until(lambda: served.service.scheduler.queued == 200)
        text = " ".join(f"Another sentence of {n} words." for n in range(50))
        with served.client.stream("POST", "/v1/translate", json={**ASKED, "text": text, "stream": True}) as answer:
            assert answer.status_code == 200
            events = answer.read().decode().split("\n\n")
        held.go.set()
        for thread in asking:
            thread.join(WAIT)
        name, data = events[-2].split("\n")
        assert name == "event: error" and json.loads(data.removeprefix("data: "))["code"] == 503


@pytest.mark.parametrize(
    ("name", "shown"), [("hmtl", "hmtl"), ("a" * 49, "a" * 49), ("a" * 50, "one"), ("<b>", "one"), ("", "one")]
)
def test_an_unknown_option_is_named_if_it_may_be_one(served, name, shown):
    """Anything else would repeat a stranger's text."""
    answer = served.post("/v1/translate", json={**ASKED, "options": {name: 1}})
    assert answer.status_code == 400
    assert f"options has {shown}, which is not allowed" in answer.text
