"""Texts and options with translations known to the bit, by the shipped model.

python -m tests.quick.cases     writes tests/quick/known.json, which must be the same with every Python
"""

import json
from pathlib import Path

from cpunmt import Translator

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models" / "ende-tiny"
KNOWN = Path(__file__).with_name("known.json")
LINES = (ROOT / "tests" / "golden" / "sentences.en.txt").read_text("utf-8").split("\n")[:-1]

ODD = [
    "",
    " ",
    "\ud83d \u202eabc\u202c e\u0301e\u0301e\u0301",
    "WHY IS EVERYBODY SHOUTING AT THE TRAIN STATION?",
    "See https://example.org/?q=\u00e4&b=1 for 1,234.50 \u20ac, {name}, and 👩\u200d👩\u200d👧\u200d👦!",
    "Dr. Smith met Mr. Jones at 5 p.m. in St. Louis. They talked. Nobody listened...\n\n- One\n- Two",
    "A man, " * 60 + "and a dog.",  # longer than the model takes
    "\u4e2d\u6587 and \u0440\u0443\u0441\u0441\u043a\u0438\u0439 are languages.",
]
MARKED_UP = [
    "<p>A <b>man</b> is riding a <i>bicycle</i>.</p><p>Two <a href='x?a&amp;b'>dogs</a> &amp; a cat.</p>",
    "<ul><li>One man.<li>Two <span translate=no>women</span>.</ul><!-- nothing --><script>1 < 2</script>",
]
GROUPS: list[tuple[dict, list[str]]] = [
    ({}, LINES[:60] + ODD),
    ({"return_alignments": True, "return_token_log_probs": True}, LINES[60:75]),
    ({"beam_size": 4, "num_hypotheses": 3, "length_penalty": 0.6}, LINES[75:90]),
    ({"vocabulary": "full", "beam_size": 2, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3}, LINES[90:100]),
    ({"sampling_topk": 0, "num_hypotheses": 2, "sampling_temperature": 1.3, "seed": 7}, LINES[100:110]),
    ({"rerank": "mbr-chrf", "num_candidates": 4}, LINES[110:114]),
    ({"html": True}, MARKED_UP),
    (
        {"glossary": {"dog": "K\u00f6ter", "train station": "Hauptbahnhof"}},
        ["A dog is at the train station.", *LINES[:3]],
    ),
    ({"split": "none"}, ODD),
    ({"split": "paragraph", "protect": "none"}, ODD),
]


def told(result) -> list:
    """Returns all parts of a translation; floats to the last bit."""
    found = []
    for h in result.hypotheses:
        log_probs = None if h.token_log_probs is None else [value.hex() for value in h.token_log_probs]
        alignments = None if h.alignments is None else [list(pair) for pair in h.alignments]
        found.append([h.text, h.score.hex(), h.log_prob.hex(), list(h.pieces), h.truncated, log_probs, alignments])
    return found


def translated(translator: Translator) -> list[list[list]]:
    """Returns the parts of each text's translation, by group."""
    return [[told(result) for result in translator.translate(texts, **options)] for options, texts in GROUPS]


if __name__ == "__main__":
    KNOWN.write_text(json.dumps(translated(Translator(MODEL)), indent=None, separators=(",", ":")) + "\n", "utf-8")
