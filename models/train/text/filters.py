"""Filters of pairs for training: rules that need no model."""

from collections import Counter
from typing import NamedTuple

from cpunmt.text.pairs import length_ratio
from models.train.text.corpora import Corpus, Example
from models.train.text.held_out import normalized


class Limits(NamedTuple):
    """Limits for good pairs, in characters."""

    longest: int = 600
    ratio: float = 3.0  # of the lengths, each plus `slack`
    slack: int = 15
    repeats: int = 6  # from this many repetitions of a word in a row, a loop of a machine translation


LIMITS = Limits()


def fault(source: str, target: str, limits: Limits = LIMITS) -> str | None:
    """Returns why a pair is bad, or None."""
    if max(len(source), len(target)) > limits.longest:
        return "too long"
    if length_ratio(source, target, limits.slack) > limits.ratio:
        return "lengths do not fit"
    if len(source.split()) > 3 and normalized(source) == normalized(target):
        return "copied"
    if _most_running(target) >= limits.repeats > _most_running(source):
        return "loops"
    return None


def filtered(corpus: Corpus, limits: Limits = LIMITS) -> tuple[Corpus, Counter]:
    """Returns the corpus without texts that fit no text on the other side, and the number of pairs with each fault."""
    kept, faults = [], Counter()
    for example in corpus.examples:
        good = set()
        for source in example.sources:
            for target in example.targets:
                found = fault(source, target, limits)
                if found is None:
                    good.add((source, target))
                else:
                    faults[found] += 1
        sources = tuple(text for text in example.sources if any((text, target) in good for target in example.targets))
        targets = tuple(text for text in example.targets if any((source, text) in good for source in sources))
        if sources:
            kept.append(Example(sources, targets))
    return corpus._replace(examples=kept), faults


def _most_running(text):
    most, running, before = 0, 0, None
    for word in text.split():
        running = running + 1 if word == before else 1
        most, before = max(most, running), word
    return most
