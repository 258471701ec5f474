"""Translations that someone should look at: cut off at the length limit, or looking like loops."""

import math

from cpunmt.files.console import say
from cpunmt.translation.options import Options
from cpunmt.translation.repetition import repeats

_SHOWN = 5  # numbers of lines that are told


class Doubts:
    """The lines of a run whose translations are doubtful, by their numbers from 1."""

    def __init__(self, translator, options: dict):
        self._translator = translator
        self._cut, self._loops = _Lines(), _Lines()
        self._limits = {
            "max_length": options.get("max_length"),
            "max_length_factor": options.get("max_length_factor", translator.config.max_length_factor),
        }
        self._reached = set()  # those that cut a translation off, or may have

    def add(self, number: int, texts, results):
        """Look at the results of a window of lines, before which there were `number`."""
        for line, (text, result) in enumerate(zip(texts, results, strict=True), number + 1):
            if result.truncated:
                self._cut.add(line)
                for sentence, best in _sentences(text, result):
                    self._reached |= self._limits_of(sentence, len(best.pieces)) if best.truncated else set()
            if result.repeats and any(self._is_loop(text, sentence) for sentence in result.sentences):
                self._loops.add(line)

    def _is_loop(self, text, sentence) -> bool:
        """Whether a sentence's translation repeats something, and the sentence itself does not."""
        return sentence.repeats and not repeats(self._translator.tokenize(text[slice(*sentence.source)]))

    @property
    def counts(self) -> dict[str, int]:
        """Heading -> how many there were."""
        return {"cut off": self._cut.count, "loops": self._loops.count}

    def report(self):
        """One line on stderr, if there is any: how many, where, and what to do."""
        found, advice = [], []
        if self._loops.count:
            verb = "looks like a loop" if self._loops.count == 1 else "look like loops"
            found.append(f"{self._loops.count} {verb} ({self._loops})")
            advice.append("--beam-size 4 may end a loop")
        if self._cut.count:
            verb = "was" if self._cut.count == 1 else "were"
            found.append(f"{self._cut.count} {verb} cut off at the length limit ({self._cut})")
            advice += self._more_room()
        if found:
            what_to_do = f": {', '.join(advice)}" if advice else ""
            say(f"cpunmt: of the translations {' and '.join(found)}; look at them{what_to_do}")

    def _limits_of(self, text: str, pieces: int) -> set[str]:
        """The limits that may have cut off a translation of so many pieces; in a sentence of parts each has its own."""
        longest, factor = self._limits.values()
        if longest is None or pieces < longest:
            return {"max_length_factor"}
        source = len(self._translator.tokenize(text)) + 1
        in_parts = source > self._translator.config.max_source_length
        return set(self._limits) if in_parts or math.ceil(factor * source) <= longest else {"max_length"}

    def _more_room(self) -> list[str]:
        """What to do about the limits that were reached; none can be above its maximum."""
        known = Options.__dataclass_fields__
        above = [
            f"--{name.replace('_', '-')} above {value:g}"
            for name, value in self._limits.items()
            if name in self._reached and value < known[name].metadata["high"]
        ]
        return [f"{' and '.join(above)} give{'s' * (len(above) == 1)} more room"] if above else []


def _sentences(text, result):
    """Each sentence of a text, and its translation."""
    parts = result.hypotheses[0]._parts
    return [(text[slice(*part.source)], part.translation) for part in parts] or [(text, result)]


class _Lines:
    """How many lines, and the numbers of the first."""

    def __init__(self):
        self.count, self._first = 0, []

    def add(self, number):
        self.count += 1
        if self.count <= _SHOWN:
            self._first.append(number)

    def __str__(self):
        more = f" and {self.count - _SHOWN} more" if self.count > _SHOWN else ""
        return f"line{'s' if self.count > 1 else ''} {', '.join(map(str, self._first))}{more}"
