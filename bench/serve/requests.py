"""Requests of all dialects, with their right answers: made with `Translator`, without a server."""

import html
import json
import random
from typing import NamedTuple
from urllib.parse import urlencode

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
_PAIR = {"source": "en", "target": "de"}
# Wrong requests: path, body, its type, and the statuses that answer it
WRONG = [
    ("/translate", b"{", JSON, (400,)),
    ("/translate", b"\xff\xfe", JSON, (400,)),
    ("/translate", json.dumps({"q": 5, **_PAIR}).encode(), JSON, (400,)),
    ("/translate", json.dumps({"q": "a", "source": "xx", "target": "de"}).encode(), JSON, (400,)),
    ("/translate", b'{"q": "\\ud800", "source": "en", "target": "de"}', JSON, (400,)),
    ("/translate", b"[" * 100_000, JSON, (400,)),
    ("/translate", b"q=" + b"a" * 60_000 + b"&source=en&target=de", FORM, (400,)),
    ("/v1/translate", json.dumps({"text": "a", "target": "de", "options": {"nothing": 1}}).encode(), JSON, (400,)),
    ("/v2/translate", b"text=a", FORM, (400,)),
    ("/v2/translate", json.dumps({"text": ["a"] * 2000, "target_lang": "DE"}).encode(), JSON, (400,)),
    ("/language/translate/v2", json.dumps({"q": "a", "target": "xx"}).encode(), JSON, (400,)),
    ("/translate/batch", json.dumps({"texts": {}, "from": "en", "to": "de"}).encode(), JSON, (400,)),
    ("/nothing", b"", "", (404,)),
    ("/languages/", b"", "", (404, 405)),
]


class Texts(NamedTuple):
    """Parts of a request: a text, several texts, and the translator of the right answers."""

    number: int
    text: str
    several: list
    translator: object

    def of_text(self, **options):
        return self.translator.translate(self.text, **options)

    def of_several(self):
        return [result.text for result in self.translator.translate(self.several)]


def questions(model, lines, seed):
    """Returns [(path, body, content type, test of an answer)]: of sentences, paragraphs, lists, HTML and options."""
    from cpunmt import Translator

    chosen, translator, found = random.Random(seed), Translator(model), []
    for number, line in enumerate(lines):
        text = " ".join(chosen.choices(lines, k=6)) if number % 13 == 12 else line
        several = chosen.choices(lines, k=chosen.randrange(1, 9))
        found.append(_KINDS[number % len(_KINDS)](Texts(number, text, several, translator)))
    return found


def _json(path, asked, right):
    return path, json.dumps(asked).encode(), JSON, lambda answer: right(json.loads(answer))


def _libre(texts):
    made = texts.of_text().text
    return _json("/translate", {"q": texts.text, **_PAIR}, lambda told: told == {"translatedText": made})


def _libre_list(texts):
    made = texts.of_several()
    return _json("/translate", {"q": texts.several, **_PAIR}, lambda told: told == {"translatedText": made})


def _libre_form(texts):
    made = texts.of_text().text
    body = urlencode({"q": texts.text, **_PAIR}).encode()
    return "/translate", body, FORM, lambda answer: json.loads(answer) == {"translatedText": made}


def _html(texts):
    document = f"<p>{html.escape(texts.text)}</p><ul><li>A <b>{html.escape(texts.several[0])}</b></ul>"
    made = texts.translator.translate(document, html=True).text
    asked = {"q": document, "format": "html", **_PAIR}
    return _json("/translate", asked, lambda told: told == {"translatedText": made})


def _deepl(texts):
    made = texts.of_several()
    fields = [*(("text", text) for text in texts.several), ("source_lang", "EN"), ("target_lang", "DE")]

    def right(answer):
        return [one["text"] for one in json.loads(answer)["translations"]] == made

    return "/v2/translate", urlencode(fields).encode(), FORM, right


def _google(texts):
    made = texts.of_several()

    def right(told):
        return [one["translatedText"] for one in told["data"]["translations"]] == made

    return _json("/language/translate/v2", {"q": texts.several, "format": "text", **_PAIR}, right)


def _batch(texts):
    made = texts.of_several()
    asked = {"texts": texts.several, "from": "en", "to": "de"}
    return _json("/translate/batch", asked, lambda told: told["results"] == made)


def _own(texts):
    options = {"beam_size": 4, "num_hypotheses": 2}
    best, *others = texts.of_text(**options).hypotheses
    asked = {"text": texts.text, **_PAIR, "return": ["alternatives", "scores"], "options": options}

    def right(told):
        (one,) = told["translations"]
        is_best = (one["text"], one["score"]) == (best.text, best.score)
        return is_best and [other["text"] for other in one["alternatives"]] == [other.text for other in others]

    return _json("/v1/translate", asked, right)


def _sampled(texts):
    options = {"sampling_topk": 8, "seed": texts.number}
    made = texts.of_text(**options).text
    asked = {"text": texts.text, **_PAIR, "options": options}
    return _json("/v1/translate", asked, lambda told: told["translations"][0]["text"] == made)


def _streamed(texts):
    made = texts.of_text().text
    body = json.dumps({"text": texts.text, **_PAIR, "stream": True}).encode()

    def right(answer):
        events = [event.split("\n") for event in answer.decode().strip().split("\n\n")]
        told = [(name.partition(": ")[2], json.loads(data.partition(": ")[2])) for name, data in events]
        parts = "".join(data["text"] for name, data in told if name == "text")
        return parts == made == told[-1][1]["text"] and told[-1][0] == "result"

    return "/v1/translate", body, JSON, right


_KINDS = (_libre, _libre_list, _libre_form, _html, _deepl, _google, _batch, _own, _sampled, _streamed)
