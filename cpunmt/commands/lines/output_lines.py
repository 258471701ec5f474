"""The output lines of `cpunmt translate`: a translation, or Marian's and Moses' extended formats.

translation ||| 0-0 1-2 ||| WordScores= -0.1 -0.2        each field after the first is optional
0 ||| translation ||| ... ||| F0= -0.3 ||| -0.1          n-best: number of the line, log-probability, score
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpunmt.files.line_stream import encode_line, encode_text
from cpunmt.results.alignments import alignment_text
from cpunmt.results.results import Hypothesis, Result


class OutputFormat(NamedTuple):
    """The format of a Result's output."""

    n_best: bool = False  # a line for each hypothesis instead of the best
    alignment: str | float | None = None  # "hard", "soft" or a threshold
    word_scores: bool = False


def output_lines(number: int, result: Result, form: OutputFormat) -> Iterator[bytes]:
    """Yields the lines of the `number`-th sentence, counted from 0, in pieces: a soft alignment may be very large."""
    if form == _PLAIN:
        yield encode_line(result.text)
        return
    for hypothesis in result.hypotheses if form.n_best else result.hypotheses[:1]:
        fields = list(_fields(hypothesis, form))
        if form.n_best:
            fields = [[str(number)], *fields, [f"F0= {hypothesis.log_prob:g}"], [f"{hypothesis.score:g}"]]
        for place, field in enumerate(fields):
            if place:
                yield b" ||| "
            for text in field:
                yield encode_text(text)
        yield b"\n"


_PLAIN = OutputFormat()


def _fields(hypothesis: Hypothesis, form: OutputFormat) -> Iterator[Iterable[str]]:
    yield [hypothesis.text]
    if form.alignment is not None:
        yield alignment_text(hypothesis.attention_parts or (), form.alignment)
    if form.word_scores:
        yield [" ".join(["WordScores=", *(f"{value:.5f}" for value in hypothesis.token_log_probs or ())])]
