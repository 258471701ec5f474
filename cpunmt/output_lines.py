"""The lines that `cpunmt translate` writes: a translation, or Marian's and Moses' formats of more than that.

translation ||| 0-0 1-2 ||| WordScores= -0.1 -0.2        each behind the first where it was asked for
0 ||| translation ||| ... ||| F0= -0.3 ||| -0.1          n-best: number of the line, log-probability, score
"""

from typing import NamedTuple

from cpunmt.alignments import alignment_text
from cpunmt.line_stream import encode_line
from cpunmt.results import Hypothesis, Result


class OutputFormat(NamedTuple):
    """What to write of a Result."""

    n_best: bool = False  # a line for each hypothesis, not one with the best
    alignment: str | float | None = None  # "hard", "soft" or a threshold
    word_scores: bool = False


def output_lines(number: int, result: Result, form: OutputFormat) -> bytes:
    """The lines of the `number`-th sentence, counted from 0."""
    if form == _PLAIN:
        return encode_line(result.text)
    if not form.n_best:
        return encode_line(" ||| ".join(_fields(result.hypotheses[0], form)))
    lines = []
    for hypothesis in result.hypotheses:
        scores = [f"F0= {hypothesis.log_prob:g}", f"{hypothesis.score:g}"]
        lines.append(encode_line(" ||| ".join([str(number), *_fields(hypothesis, form), *scores])))
    return b"".join(lines)


_PLAIN = OutputFormat()


def _fields(hypothesis: Hypothesis, form: OutputFormat) -> list[str]:
    fields = [hypothesis.text]
    if form.alignment is not None:
        fields.append(alignment_text(hypothesis.attention, form.alignment))
    if form.word_scores:
        fields.append(" ".join(["WordScores=", *(f"{value:.5f}" for value in hypothesis.token_log_probs)]))
    return fields
