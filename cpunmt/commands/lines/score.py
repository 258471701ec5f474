"""`cpunmt score`: writes a score for each pair of source and target lines."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from cpunmt.commands.flags import add_options, checked_options
from cpunmt.commands.lines import streams
from cpunmt.commands.model_choice import add_model, translator_arguments
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.line_stream import count_lines, decode_line, encode_line
from cpunmt.files.windows import windows
from cpunmt.options.options import SCORING
from cpunmt.results.results import ScoringResult
from cpunmt.translator.translator import WINDOW, Translator
from cpunmt.values.command_line import Parser

NOT_SCORED = b"nan\n"  # instead of the score of a pair without one
_REPORTED = 10  # number of such pairs reported one by one


def score_arguments(parser: Parser) -> None:
    files = parser.group(streams.GROUP)
    files.add_argument("--source", metavar="FILE", help="sources (default: standard input: source, tab, target)")
    files.add_argument("--target", metavar="FILE", help="their translations, on as many lines")
    files.add_argument("-o", "--output", metavar="FILE", help="scores (default: standard output)")
    files.add_argument(
        "--per-token", "--word-scores", action="store_true", help="add a tab and the log-probability of each piece"
    )
    add_model(parser)
    add_options(parser, SCORING, {"vocabulary": "target pieces that share the probability (default: full)"})


def score(given: argparse.Namespace) -> int:
    """Scores the pairs that the command line names; returns 1 if some could not be scored."""
    if (given.source is None) != (given.target is None):
        given.parser.error("give both --source and --target, or neither: then standard input has both, with a tab")
    options = checked_options(given, SCORING)
    files = given.source, given.target, given.output
    return 1 if score_lines(*files, translator_arguments(given), options, given.per_token) else 0


def score_lines(
    source: str | None,
    target: str | None,
    output: str | None,
    model: dict[str, Any],
    options: dict[str, Any],
    per_token: bool,
) -> int:
    """Scores line by line; returns the number of pairs that could not be scored.

    Such a pair, without one tab or too long, is reported on stderr with the number of its line; its score is `nan`.

    Parameters
    ----------
    source, target : paths of files of lines, one of which may be "-", standard input; both None for standard input with
    a
        tab between the two
    output : path; None or "-" for standard output
    options : dict of `Translator.score_batch`
    per_token : bool
        Write the log-probability of each piece too.
    model : see `translate_lines`

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, an option does not fit the model, or the files have different
        numbers of lines.
    BrokenPipeError
        The reader has closed the output.
    """
    with contextlib.ExitStack() as stack:
        inputs = [
            stack.enter_context(streams.opened_input(path)) for path in ([None] if source is None else [source, target])
        ]
        write_to = stack.enter_context(streams.opened_output(output))
        for descriptor in inputs:
            streams.refuse_same_file(descriptor, write_to, output)
        if source is not None and target is not None:
            _refuse_same(*inputs)
            _refuse_unequal(count_lines(inputs[0]), count_lines(inputs[1]), source, target)
        translator = Translator(**model)
        try:
            translator.score([], [], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        if source is None or target is None:
            pairs: Iterator[Sequence[Sequence[bytes]]] = _pairs_of_tabs(inputs[0])
        else:
            pairs = _pairs_of_files(inputs, (source, target))
        replaced = number = 0
        problems = _Problems()
        with streams.line_bar(inputs[0], write_to.descriptor) as advance:
            for window in pairs:
                decoded = [[decode_line(line) for line in pair] for pair in window]
                replaced += sum(wrong for pair in decoded for _, wrong in pair)
                texts = [[text for text, _ in pair] for pair in decoded]
                results = _scores(translator, texts, options, number, problems)
                write_to.write(NOT_SCORED if result is None else _line(result, per_token) for result in results)
                number += len(window)
                advance(len(window))
        streams.report_replaced(replaced)
        problems.report()
    return problems.count


class _Problems:
    """Lines that could not be scored: reports the first one by one, and the number of others."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, line: int, problem: object) -> None:
        self.count += 1
        if self.count <= _REPORTED:
            say(f"cpunmt: line {line}: not scored: {problem}")

    def report(self) -> None:
        if self.count > _REPORTED:
            say(f"cpunmt: {self.count} lines in all were not scored")


def _scores(
    translator: Translator, texts: Sequence[list[str]], options: dict[str, Any], number: int, problems: _Problems
) -> list[ScoringResult | None]:
    """Returns the results of pairs of texts, the first of which is line `number` + 1; None if it cannot be scored."""
    whole = [i for i, pair in enumerate(texts) if len(pair) == 2]
    found: list[ScoringResult | None] = [None] * len(texts)
    results: Sequence[ScoringResult | ValueError]
    try:
        results = translator.score([texts[i][0] for i in whole], [texts[i][1] for i in whole], **options)
    except ValueError:  # one is wrong: scores them one by one to find it; the results are the same
        results = [_score(translator, texts[i], options) for i in whole]
    of_pairs = iter(results)
    for i, pair in enumerate(texts):
        if len(pair) != 2:
            problems.add(number + i + 1, f"it has {len(pair) - 1} tabs, expected source, tab, target")
        elif isinstance(result := next(of_pairs), ValueError):
            problems.add(number + i + 1, result)
        else:
            found[i] = result
    return found


def _score(translator: Translator, pair: list[str], options: dict[str, Any]) -> ScoringResult | ValueError:
    try:
        result: ScoringResult = translator.score(*pair, **options)
    except ValueError as error:
        return error
    return result


def _line(result: ScoringResult, per_token: bool) -> bytes:
    fields = [f"{result.score:g}"]
    if per_token:
        fields.append(" ".join(f"{log_prob:g}" for log_prob in result.log_probs))
    return encode_line("\t".join(fields))


def _refuse_same(source: int, target: int) -> None:
    """Refuses one pipe or terminal for both: each would read some of its lines."""
    found = os.fstat(source)
    can_be_read_twice = stat.S_ISREG(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not os.isatty(source))
    if source == target or (os.path.samestat(found, os.fstat(target)) and not can_be_read_twice):
        raise CpunmtError(
            "--source and --target are the same stream; leave both out to read source, tab, target from standard input"
        )


def _refuse_unequal(lines: int | None, others: int | None, source: str, target: str) -> None:
    """Refuses files of unequal numbers of lines before anything is written; a pipe's number is unknown."""
    if None not in (lines, others) and lines != others:
        raise CpunmtError(f"{source} has {lines} lines and {target} has {others}, expected as many")


def _pairs_of_files(descriptors: Sequence[int], paths: tuple[str, str]) -> Iterator[list[tuple[bytes, bytes]]]:
    lines = [
        itertools.chain.from_iterable(streams.input_windows(descriptor, streams.FIRST, WINDOW))
        for descriptor in descriptors
    ]
    for window in windows(itertools.zip_longest(*lines), streams.FIRST, WINDOW):
        complete: list[tuple[bytes, bytes]] = [pair for pair in window if None not in pair]  # type: ignore[misc]
        if complete:
            yield complete
        if len(complete) < len(window):
            shorter = paths[0] if window[-1][0] is None else paths[1]
            raise CpunmtError(f"{shorter}: has fewer lines than the other file, expected as many")


def _pairs_of_tabs(descriptor: int) -> Iterator[list[tuple[bytes, ...]]]:
    for window in streams.input_windows(descriptor, streams.FIRST, WINDOW):
        yield [tuple(line.split(b"\t")) for line in window]
