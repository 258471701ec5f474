"""The definition of parts, written as slowly and plainly as possible: a row at a time, no caches, no clever cuts.

Parts of `cpunmt.corpora` are compared with them, byte by byte where the format allows it.
"""

import functools
import io
import json
import math

from cpunmt import Translator
from cpunmt.results.repetition import repeats
from cpunmt.results.results import DOUBTS
from tests.sample_models.real_model import SHIPPED

# Texts on which filters differ: equal ones, blank ones, copied ones, loops of the model's and of the text's own, long
# and short sides, and line breaks within lines.
TEXTS = ["A man.", "Two dogs are playing.", "", " ", "12 %", "SYNOPSIS", "Qwrt zzgh plk mnbv!"]
TEXTS += ["dog dog cat x " * 40, "A\u2028dog.\x85", "no\x0bno", "a\ttab", "Zwei Hunde.", "ja, ja"]


class Said:
    """The results of a translator, which translates each text alone and once."""

    def __init__(self, translator, **options):
        self.translator, self.options, self.known = translator, options, {}

    def __call__(self, text):
        if text not in self.known:
            self.known[text] = self.translator.translate(text, **self.options)
        return self.known[text]

    def score(self, text):
        return self(text).score

    def ratio(self, text):
        sides = self(text).num_source_pieces + 1, len(self(text).hypotheses[0].pieces) + 1
        return max(sides) / min(sides)

    def flags(self, text, filters):
        """Returns the names of a translation's faults."""
        result = self(text)
        of_pieces = filters if result.num_source_pieces else {}
        named = DOUBTS if filters.get("doubts") == "all" else filters.get("doubts", "").split(",")
        wrong = {
            "score": of_pieces.get("min_score") is not None and self.score(text) < filters["min_score"],
            "ratio": of_pieces.get("max_length_ratio") is not None and self.ratio(text) > filters["max_length_ratio"],
        }
        wrong |= {name: name in named and name in result.doubts for name in DOUBTS}
        wrong["loop"] |= filters.get("no_loops", False) and result.repeats and not repeats(text.split())
        wrong["truncated"] |= filters.get("no_truncated", False) and result.truncated
        return [name for name, is_wrong in wrong.items() if is_wrong]


@functools.cache
def tiny():
    """Returns a Translator of the shipped model."""
    return Translator(SHIPPED)


@functools.cache
def tiny_said(**options):
    """Returns what it says, with these options."""
    return Said(tiny(), **options)


def new_fields(text, said, filters, with_score=False):
    """Returns the fields that are added to a row with this text; `text` is None for a row without one."""
    fields = {"translation": None if text is None else said(text).text}
    if with_score:
        fields["score"] = None if text is None else said.score(text)
    if filters:
        fields["flags"] = [] if text is None else said.flags(text, filters)
    return fields


def text_part(lines, said, filters):
    """Returns the part for lines of text; a flagged line is empty."""
    made = [new_fields(line, said, filters) for line in lines]
    return "".join(("" if one.get("flags") else one["translation"]) + "\n" for one in made)


def json_part(lines, said, filters, with_score=False, drop=False):
    """Returns the part for lines of JSON: an object for each row, None for a blank line."""
    part = []
    for line in lines:
        if not line.strip(" \t\r"):
            part.append(None)
            continue
        row = json.loads(line)
        added = new_fields(row["source"], said, filters, with_score)
        if drop and added.pop("flags", None):
            continue
        part.append({**row, **added})
    return part


def counts(texts, said, filters):
    """Returns the counts in the sidecar of rows with these texts."""
    flags = [said.flags(text, filters) if text is not None else [] for text in texts]
    names = [name for found in flags for name in found]
    return {
        "rows": len(texts),
        "words": sum(len(text.split()) for text in texts if text is not None),
        "distinct": len({text for text in texts if text is not None}),
        "flagged": len([found for found in flags if found]),
        "flags": {name: names.count(name) for name in names},
    }


def cut(rows, size):
    """Cuts rows into shards of `size`; without rows, returns one empty shard."""
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)] or [[]]


def parquet_table(content):
    """Reads the bytes of a Parquet file as a list of dicts."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()


def edges(values):
    """Returns limits at each of these values, just below it and just above it."""
    return [edge for value in values for edge in (math.nextafter(value, -9), value, math.nextafter(value, 9e9))]


def pair_lengths(source, target, forward, backward):
    """Returns the numbers of pieces of the sides, </s> included, by two translators, one each way."""
    return [
        len(forward.source_vocabulary.encode(source)),
        len(forward.target_vocabulary.encode(target)),
        len(backward.source_vocabulary.encode(target)),
        len(backward.target_vocabulary.encode(source)),
    ]


def pair_score(source, target, forward, backward, longest):
    """Returns the dual conditional cross-entropy of a pair; 0 for a blank side or one of more than `longest` pieces."""
    lengths = pair_lengths(source, target, forward, backward)
    if max(lengths) > longest or min(lengths) == 1:
        return 0.0
    one, other = (
        -sum(result.log_probs) / len(result.log_probs)
        for result in (forward.score(source, target), backward.score(target, source))
    )
    return math.exp(-(abs(one - other) + (one + other) / 2))


def pair_ratio(source, target, forward):
    """Returns how many times more pieces one side has, </s> included."""
    sides = pair_lengths(source, target, forward, forward)[:2]
    return max(sides) / min(sides)


def pair_flags(score, source, target, forward, filters):
    """Returns the names of a pair's faults."""
    ratio = pair_ratio(source, target, forward)
    wrong = {
        "score": filters.get("min_score") is not None and score < filters["min_score"],
        "ratio": filters.get("max_length_ratio") is not None and ratio > filters["max_length_ratio"],
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]
