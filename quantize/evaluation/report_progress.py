"""The bar that shows how far a report is: on stderr, if someone looks at it."""

import contextlib
import sys

from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.report import work


@contextlib.contextmanager
def report_progress(sets: list[EvaluationSet], rounds: int):
    """The function that `quantize.evaluation.report.measure` calls; see there."""
    if not sys.stderr.isatty():
        yield lambda doing, done: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own
    with tqdm(total=work(sets, rounds), unit=" sentences", file=sys.stderr, dynamic_ncols=True, leave=False) as bar:

        def show(doing: str, done: int):
            bar.set_description_str(doing, refresh=doing != bar.desc)
            bar.update(done)

        yield show
