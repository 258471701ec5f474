"""Lines of `cpunmt translate`: Marian's and Moses' formats, to the letter."""

import numpy as np
import pytest

from cpunmt.commands.lines.output_lines import OutputFormat, output_lines
from cpunmt.results.results import Hypothesis, Result

ATTENTION = np.array([[0.75, 0.25], [0.5, 0.5]], np.float32)
FIRST = Hypothesis("Ein Mann.", -0.25, -0.75, False, ("▁Ein", "▁Mann."), (-0.5, -0.125, -0.125), (ATTENTION,))
SECOND = Hypothesis("Mann", -12.3456789, -1e-7, True, ("▁Mann",), (-1.0,), (ATTENTION[1:, ::-1],))
RESULT = Result((FIRST, SECOND))
BLANK = Result((Hypothesis("", 0.0, 0.0, False, (), (0.0,), (np.zeros((0, 0), np.float32),)),))


@pytest.mark.parametrize(
    ("form", "expected", "blank"),
    [
        (OutputFormat(), "Ein Mann.\n", "\n"),
        (OutputFormat(alignment="hard"), "Ein Mann. ||| 0-0 0-1\n", " ||| \n"),
        (OutputFormat(alignment=0.3), "Ein Mann. ||| 0-0 0-1 1-1\n", " ||| \n"),
        (OutputFormat(alignment="soft"), "Ein Mann. ||| 0.75,0.25 0.5,0.5\n", " ||| \n"),
        (OutputFormat(word_scores=True), "Ein Mann. ||| WordScores= -0.50000 -0.12500 -0.12500\n", None),
        (
            OutputFormat(n_best=True),
            "7 ||| Ein Mann. ||| F0= -0.75 ||| -0.25\n7 ||| Mann ||| F0= -1e-07 ||| -12.3457\n",
            "7 |||  ||| F0= 0 ||| 0\n",
        ),
        (
            OutputFormat(True, "hard", True),
            "7 ||| Ein Mann. ||| 0-0 0-1 ||| WordScores= -0.50000 -0.12500 -0.12500 ||| F0= -0.75 ||| -0.25\n"
            "7 ||| Mann ||| 0-0 ||| WordScores= -1.00000 ||| F0= -1e-07 ||| -12.3457\n",
            "7 |||  |||  ||| WordScores= 0.00000 ||| F0= 0 ||| 0\n",
        ),
    ],
)
def test_formats(form, expected, blank):
    assert b"".join(output_lines(7, RESULT, form)).decode() == expected
    if blank is not None:
        assert b"".join(output_lines(7, BLANK, form)).decode() == blank


def test_a_line_feed_in_a_translation_ends_no_line():
    made = output_lines(0, Result((Hypothesis("a\nb", 0.0, 0.0, False, ()),)), OutputFormat(n_best=True))
    assert b"".join(made) == b"0 ||| a b ||| F0= 0 ||| 0\n"
