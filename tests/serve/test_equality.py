"""Any requests, in any number at once: each answer equals a Translator's, to the bit."""

import threading

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt.serve import service
from tests.serve.serving import serving
from tests.support.command_line import sentences
from tests.support.speeds import slow_after

LINES = sentences(60)
LONG = " ".join(LINES)
TEXTS = st.one_of(
    st.integers(900, 1100).map(lambda size: LONG[:size]),  # with 1,000 characters a request gets a thread of its own
    st.sampled_from(LINES),
    st.lists(st.sampled_from(LINES), min_size=2, max_size=5).map(" ".join),
    st.sampled_from(["", " ", "12.5 %", "ALL CAPITALS.", "See https://example.org/a?b=c now.", "It costs 1,234.50 €.",
                     "One.\n\nTwo dogs.\r\nThree", "NUL \x00 in it.", "🙂 A man.", "\u200b", "Das ist Deutsch."]),
    st.text(max_size=40).filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)),
)  # fmt: skip
OPTIONS = st.sampled_from(
    [
        {},
        {"beam_size": 4},
        {"num_hypotheses": 3},
        {"split": "line"},
        {"html": True},
        {"length_penalty": 0.6, "beam_size": 2},
        {"return_alignments": True, "return_token_log_probs": True},
        {"glossary": {"man": "Herr"}},
        {"sampling_topk": 5, "seed": 7},
    ]
)
PAIRS = st.sampled_from([("en", "de"), ("de", "en"), ("en", "fr")])
REQUESTS = st.tuples(PAIRS, st.lists(TEXTS, min_size=1, max_size=4), OPTIONS)


def asked(client, request):
    """Returns the server's answer for texts."""
    (source, target), texts, options = request
    options = dict(options)
    body = {"text": texts, "source": source, "target": target, "return": ["sentences", "scores", "alternatives"]}
    body["html"] = options.pop("html", False)
    if options.pop("return_alignments", False) and options.pop("return_token_log_probs"):
        body["return"].append("alignments")
    answer = client.post("/v1/translate", json={**body, "options": options})
    assert answer.status_code == 200, answer.text
    return answer.json()["translations"]


def expected(translators, request):
    """Returns a Translator's results for them."""
    pair, texts, options = request
    for result in translators[pair].translate(texts, **options):
        every = result.to_dict()
        found = {name: every[name] for name in ("text", "truncated", "repeats", "score", "log_prob", "sentences")}
        found |= {"source": pair[0], "target": pair[1]}
        found["alternatives"] = [
            {name: one[name] for name in ("text", "score", "log_prob")} for one in every["alternatives"]
        ]
        if options.get("return_alignments") and "alignments" in every:
            found |= {name: every[name] for name in ("pieces", "source_pieces", "alignments") if name in every}
        if "glossary" in every:
            found["glossary"] = every["glossary"]
        yield found


def all_answered(served, requests):
    """Returns the answers to simultaneous requests."""
    found = [None] * len(requests)
    start = threading.Barrier(len(requests))

    def send(number):
        with httpx.Client(base_url=served.url, timeout=60) as client:
            start.wait()
            found[number] = asked(client, requests[number])

    threads = [threading.Thread(target=send, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(REQUESTS, min_size=1, max_size=6))
def test_all_answers_are_those_of_a_translator(served, translators, requests):
    answers = all_answered(served, requests)
    for request, answer in zip(requests, answers, strict=True):
        assert answer == list(expected(translators, request))


@pytest.mark.parametrize("workers, batch_tokens, cache_mb", slow_after(1, [(3, 16, 0), (1, 4096, 1)]))
def test_so_they_are_with_other_settings(translators, workers, batch_tokens, cache_mb):
    requests = [(("en", ("de", "fr")[n % 2]), LINES[n : n + 5], {"beam_size": 1 + n % 3}) for n in range(12)]
    with serving(workers=workers, batch_tokens=batch_tokens, cache_mb=cache_mb) as served:
        for _ in range(2):  # the second time some are kept
            answers = all_answered(served, requests)
            assert answers == [list(expected(translators, request)) for request in requests]


def test_both_ways_say_the_same(served, translators, monkeypatch):
    """Short texts are split and joined in the event loop, others in a thread."""
    texts = [*LINES[:3], "One man.\n\nTwo dogs. ", "", "12 %"]
    runs, run = [], served.service.run
    monkeypatch.setattr(served.service, "run", lambda *given: runs.append(1) or run(*given))
    for little in (1000, -1):
        monkeypatch.setattr(service, "_LITTLE", little)
        for options in ({}, {"beam_size": 2, "num_hypotheses": 2}, {"split": "line"}):
            request = (("en", "de"), texts, options)
            assert asked(served.client, request) == list(expected(translators, request))
        assert len(runs) == (0 if little > 0 else 3)


def test_a_stream_is_the_text(served, translators):
    for text in ["One man. Two dogs.\n\nThree women.", "", "12 %", " ".join(LINES[:20])]:
        for options in ({}, {"html": True}):
            told = events(served, {"text": text, "source": "en", "target": "de", **options})
            assert told[-1][0] == "result" and {name for name, _ in told[:-1]} <= {"text"}
            whole = translators["en", "de"].translate(text, **options).text
            assert "".join(data["text"] for _, data in told[:-1]) == whole == told[-1][1]["text"]
    assert len(events(served, {"text": " ".join(LINES[:20]), "target": "de", "source": "en"})) > 20


def events(served, body):
    """Returns (name, data) of each event."""
    import json

    with served.client.stream("POST", "/v1/translate", json={**body, "stream": True}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        blocks = "".join(answer.iter_text()).split("\n\n")
    assert blocks[-1] == ""
    lines = [block.split("\n") for block in blocks[:-1]]
    assert all(len(pair) == 2 for pair in lines)
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines]
