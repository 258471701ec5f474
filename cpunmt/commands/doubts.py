"""Translations that someone should look at: cut off at the length limit, or looking like loops."""

from cpunmt.files.console import say
from cpunmt.translation.repetition import repeats

_SHOWN = 5  # numbers of lines that are told


class Doubts:
    """The lines of a run whose translations are doubtful, by their numbers from 1."""

    def __init__(self, translator, options: dict):
        self._translator, self._options = translator, options
        self._cut, self._loops = _Lines(), _Lines()

    def add(self, number: int, texts, results):
        """Look at the results of a window of lines, before which there were `number`."""
        for line, (text, result) in enumerate(zip(texts, results, strict=True), number + 1):
            if result.truncated:
                self._cut.add(line)
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
            advice.append(f"{self._more_room()} gives more room")
        if found:
            say(f"cpunmt: of the translations {' and '.join(found)}; look at them: {', '.join(advice)}")

    def _more_room(self) -> str:
        if "max_length" in self._options:
            return f"--max-length above {self._options['max_length']}"
        factor = self._options.get("max_length_factor", self._translator.config.max_length_factor)
        return f"--max-length-factor above {factor:g}"


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
