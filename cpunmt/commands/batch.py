"""`cpunmt batch`: writes the translations of corpora in parts."""

from __future__ import annotations

import argparse
import contextlib
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cpunmt.commands.flag_names import error_line, flag_of
from cpunmt.commands.flags import add_fields, add_options, checked_options, fields_of
from cpunmt.commands.model_choice import add_model, translator_arguments
from cpunmt.corpora.job import LEFT_OUT, SHARD_ROWS, Filters, Job
from cpunmt.files.console import is_watched, progress_bar, say
from cpunmt.options.options import SPOKEN, Options
from cpunmt.registry.store import located
from cpunmt.values.command_line import Parser

if TYPE_CHECKING:
    from cpunmt.corpora.batch import Advance, Batch, Totals

MOST_ROWS = 10_000_000
MOST_WORKERS = 1024


def batch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "inputs", metavar="INPUT", nargs="+", help="lines of text, .jsonl, .parquet or .tsv; texts also .gz or .zst"
    )
    work, scores = parser.group("work"), "scores of pairs"
    work.add_argument("--out", metavar="DIR", required=True, help="where the parts go; it is made if it is not there")
    work.add_argument(
        "--workers",
        metavar="N",
        type=int,
        default=1,
        help="processes, each on one core; the output is the same (default: 1)",
    )
    work.add_argument(
        "--shard-rows",
        metavar="N",
        type=int,
        default=SHARD_ROWS,
        help=f"rows of a part, which is made as a whole or not at all (default: {SHARD_ROWS})",
    )
    work.add_argument(
        "--part", metavar="I/N", type=_share, help="only every Nth part, from the Ith on (from 0): for arrays of jobs"
    )
    work.add_argument("--cache", metavar="FILE", help="keep translations in this file, and reuse them")
    work.add_argument(
        "--price", metavar="DOLLARS", type=float, help="price of a core for an hour; reports what words cost"
    )
    add_fields(parser, Job, "columns")
    add_fields(parser, Filters, "filters")
    parser.group(scores).add_argument(
        "--score", nargs=0, const=True, default=False, help="score pairs instead, with the model and --reverse"
    )
    parser.group(scores).add_argument("--reverse", metavar="DIR", help="the model of the other direction, for --score")
    parser.group(scores).add_argument(
        "--target-column", metavar="NAME", default="target", help="the other side of pairs to score (default: target)"
    )
    add_model(parser, threads=False)
    parser.set_defaults(inter_threads=1)
    names = [name for name in Options.__dataclass_fields__ if not name.startswith("return_") and name not in LEFT_OUT]
    add_options(parser, names)


def _share(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not found or not int(found[1]) < int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r}, expected I/N with I from 0 to N - 1, such as 0/8")
    return int(found[1]), int(found[2])


def batch(given: argparse.Namespace) -> int:
    """Translates, or scores, the inputs that the command line names.

    Raises CpunmtError, see `Batch` and `Pool`.
    """
    options = checked_options(given)
    model = translator_arguments(given)
    if given.score:
        options = {name: value for name, value in options.items() if name not in SPOKEN}
    from cpunmt.corpora.batch import Batch, checked_corpora
    from cpunmt.corpora.pool import Pool
    from cpunmt.corpora.translation_cache import settle
    from cpunmt.corpora.worker import work_of

    _refuse_contradictions(given, options)
    target = given.target_column if given.score else None
    try:
        filters = Filters(**fields_of(given, Filters.__dataclass_fields__))
        job = Job(**fields_of(given, Job.__dataclass_fields__), target=target, filters=filters)
        corpora = checked_corpora(given.inputs, given.out, job)
    except ValueError as error:
        given.parser.error(error_line(error))
    models = [{"model_path": list(map(str, model["model_path"])), "weights": model["weights"]}]
    if given.score:
        spoken = given.source_lang, given.target_lang
        models.append({"model_path": [str(located(given.reverse))]})
        models[0] |= zip(SPOKEN, spoken, strict=True)
        models[1] |= zip(SPOKEN, spoken[::-1], strict=True)
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


def _refuse_contradictions(given: argparse.Namespace, options: dict[str, Any]) -> None:
    """Ends with a usage error for arguments that are wrong for any input."""
    for name, most in (("workers", MOST_WORKERS), ("shard_rows", MOST_ROWS)):
        if not 1 <= getattr(given, name) <= most:
            given.parser.error(f"{flag_of(name)} is {getattr(given, name)}, expected 1 to {most}")
    if not given.out:
        given.parser.error("--out is empty, expected a directory")
    if given.price is not None and not given.price > 0:
        given.parser.error(f"--price is {given.price:g}, expected dollars above 0")
    if given.score != (given.reverse is not None):
        given.parser.error("give --score and --reverse both, or neither: pairs are scored by models of both directions")
    if given.score:
        of_texts = ["cache", "with_score", "no_loops", "no_truncated", "doubts", "language"]
        flags = [name for name in of_texts if getattr(given, name)] + list(options)
        if flags:
            given.parser.error(f"{flag_of(flags[0])} is of translations, and --score makes none; leave it out")


@contextlib.contextmanager
def _bar(made: Batch) -> Iterator[Advance]:
    """Yields a function to call with the numbers of further rows and words; shows a bar on a terminal."""
    if not is_watched():
        yield lambda rows, words: None
        return
    words_done, began = 0, time.perf_counter()
    with progress_bar(total=made.count(), unit=" rows", dynamic_ncols=True) as bar:

        def advance(rows: int, words: int) -> None:
            nonlocal words_done
            words_done += words
            bar.set_postfix_str(f"{words_done / (time.perf_counter() - began):.0f} words/s", refresh=False)
            bar.update(rows)

        yield advance


def _report(totals: Totals, seconds: float, workers: int, price: float | None) -> None:
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
