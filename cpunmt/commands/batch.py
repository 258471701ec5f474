"""`cpunmt batch`: corpora in, parts of their translations out."""

import argparse
import contextlib
import re
import time

from cpunmt.corpora.job import LEFT_OUT as LEFT_OUT
from cpunmt.files.console import is_watched, progress_bar, say
from cpunmt.registry.store import located

SHARD_ROWS = 50_000
MOST_ROWS = 10_000_000
MOST_WORKERS = 1024


def arguments(parser):
    """The arguments of the command that are no options of a translation."""
    parser.add_argument(
        "inputs", metavar="INPUT", nargs="+", help="lines of text, .jsonl, .parquet or .tsv; texts also .gz or .zst"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="where the parts go; it is made if it is not there")
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        default=1,
        help="processes, each on one core; the output is the same (default: 1)",
    )
    parser.add_argument(
        "--shard-rows",
        metavar="N",
        type=int,
        default=SHARD_ROWS,
        help=f"rows of a part, which is made as a whole or not at all (default: {SHARD_ROWS})",
    )
    parser.add_argument(
        "--part", metavar="I/N", type=_share, help="only every Nth part, from the Ith on (from 0): for arrays of jobs"
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        default="source",
        help="the column of JSON and Parquet to translate (default: source)",
    )
    parser.add_argument(
        "--into",
        metavar="NAME",
        default="translation",
        help="the new column with the translation (default: translation)",
    )
    parser.add_argument("--with-score", nargs=0, const=True, default=False, help="a column `score`, too")
    parser.add_argument("--cache", metavar="FILE", help="keep translations in this file, and use those that are there")
    parser.add_argument(
        "--score", nargs=0, const=True, default=False, help="score pairs instead, with the model and --reverse"
    )
    parser.add_argument("--reverse", metavar="DIR", help="the model of the other direction, for --score")
    parser.add_argument(
        "--target-column", metavar="NAME", default="target", help="the other side of pairs to score (default: target)"
    )
    parser.add_argument(
        "--min-score", metavar="X", type=float, help="flag rows of a lower score (see --length-penalty)"
    )
    parser.add_argument(
        "--max-length-ratio", metavar="R", type=float, help="flag rows whose one side has more than R times the pieces"
    )
    parser.add_argument("--no-loops", nargs=0, const=True, default=False, help="flag translations that look like loops")
    parser.add_argument(
        "--no-truncated", nargs=0, const=True, default=False, help="flag those that the length limit cut off"
    )
    parser.add_argument("--language", metavar="CODE", help="flag translations that are in another language than this")
    parser.add_argument("--drop", nargs=0, const=True, default=False, help="leave flagged rows out (not of text)")
    parser.add_argument("--price", metavar="DOLLARS", type=float, help="of a core for an hour: tells what words cost")


def _share(text):
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not found or not int(found[1]) < int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r}, expected I/N with I from 0 to N - 1, such as 0/8")
    return int(found[1]), int(found[2])


def run(given, model: dict, options: dict) -> int:
    """Translate, or score, the inputs that `given` names, with the `Translator` of these arguments.

    Raises CpunmtError, see `Batch` and `Pool`.
    """
    from cpunmt.corpora.batch import Batch, checked_corpora
    from cpunmt.corpora.job import Filters, Job
    from cpunmt.corpora.pool import Pool
    from cpunmt.corpora.translation_cache import settle
    from cpunmt.corpora.worker import work_of

    _refuse_contradictions(given, options)
    target = given.target_column if given.score else None
    try:
        filters = Filters(given.min_score, given.max_length_ratio, given.no_loops, given.no_truncated, given.language)
        job = Job(given.column, given.into, target, given.with_score, filters, given.drop)
        corpora = checked_corpora(given.inputs, given.out, job)
    except ValueError as error:
        given.parser.error(str(error))
    models = [{"model_path": list(map(str, model["model_path"])), "weights": model["weights"]}]
    models += [{"model_path": [str(located(given.reverse))]}] if given.score else []
    work = work_of(models, options, job, given.cache)
    made = Batch(corpora, given.out, given.shard_rows, given.part or (0, 1))
    with Pool(work, given.workers) as pool:
        began = time.perf_counter()
        with _bar(made) as advance:
            made.run(pool, advance)
        _report(made.totals, time.perf_counter() - began, given.workers, given.price)
    if given.cache is not None:
        settle(given.cache)
    return 0


def _refuse_contradictions(given, options):
    """Wrong usage, whatever the inputs are."""
    for name, most in (("workers", MOST_WORKERS), ("shard_rows", MOST_ROWS)):
        if not 1 <= getattr(given, name) <= most:
            given.parser.error(f"--{name.replace('_', '-')} is {getattr(given, name)}, expected 1 to {most}")
    if not given.out:
        given.parser.error("--out is empty, expected a directory")
    if given.price is not None and not given.price > 0:
        given.parser.error(f"--price is {given.price:g}, expected dollars above 0")
    if given.score != (given.reverse is not None):
        given.parser.error("give --score and --reverse both, or neither: pairs are scored by models of both directions")
    if given.score:
        of_texts = ["cache", "with_score", "no_loops", "no_truncated", "language"]
        flags = [name for name in of_texts if getattr(given, name)] + list(options)
        if flags:
            given.parser.error(
                f"--{flags[0].replace('_', '-')} is of translations, and --score makes none; leave it out"
            )


@contextlib.contextmanager
def _bar(made):
    """A function to call with how many rows and words more are done; shows a bar if someone sees it."""
    if not is_watched():
        yield lambda rows, words: None
        return
    words_done, began = 0, time.perf_counter()
    with progress_bar(total=made.count(), unit=" rows", dynamic_ncols=True) as bar:

        def advance(rows, words):
            nonlocal words_done
            words_done += words
            bar.set_postfix_str(f"{words_done / (time.perf_counter() - began):.0f} words/s", refresh=False)
            bar.update(rows)

        yield advance


def _report(totals, seconds, workers, price):
    """One line on stderr for each figure."""
    rate = totals.words / seconds
    lines = [("parts", f"{totals.parts}"), ("rows", f"{totals.rows}")]
    if totals.parts_there:
        lines.append(("there already", f"{totals.parts_there} parts, {totals.rows_there} rows"))
    lines += [("words", f"{totals.words}"), ("distinct rows", f"{totals.distinct}")]
    if totals.flagged:
        lines.append(("flagged rows", f"{totals.flagged}"))
    lines += [("time", f"{seconds:.1f} s, {workers} worker{'s' * (workers > 1)}"), ("speed", f"{rate:.0f} words/s")]
    per_hour = 3600 * rate / workers
    lines.append(("per core-hour", f"{per_hour / 1e6:.2f} million words"))
    if price and per_hour:
        lines.append(("per dollar", f"{per_hour / price / 1e6:.1f} million words"))
        lines.append(("per million words", f"{price / per_hour * 1e6:.5f} dollars"))
    for name, value in lines:
        say(f"{name + ':':20}{value}")
