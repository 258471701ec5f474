"""`cpunmt score`: lines of sources and targets in, a score for each pair out."""

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator

from cpunmt.commands.lines import streams
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.line_stream import count_lines, decode_line, encode_line
from cpunmt.files.windows import windows
from cpunmt.results.results import ScoringResult
from cpunmt.translator.translator import WINDOW, Translator

NOT_SCORED = b"nan\n"  # in place of the score of a pair that has none
_REPORTED = 10  # such pairs that are told one by one


def score_lines(source, target, output, model, options, per_token) -> int:
    """Score line by line; returns how many pairs could not be scored.

    Such a pair, without one tab or too long, is told on stderr with the number of its line; its score is `nan`.

    Parameters
    ----------
    source, target : path of a file of lines, both or none: None for standard input with a tab between the two. One of
        them may be "-", standard input
    output : path; None or "-" for standard output
    options : dict of `Translator.score_batch`
    per_token : bool
        Write the log-probability of each piece too.
    model : see `translate_lines`

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, an option does not fit the model, or the files have not
        equally many lines.
    BrokenPipeError
        Nobody reads the output any more.
    """
    with contextlib.ExitStack() as stack:
        inputs = [
            stack.enter_context(streams.opened_input(path)) for path in ([None] if source is None else [source, target])
        ]
        write_to = stack.enter_context(streams.opened_output(output))
        for descriptor in inputs:
            streams.refuse_same_file(descriptor, write_to, output)
        if source is not None:
            _refuse_same(*inputs)
            _refuse_unequal(*[count_lines(descriptor) for descriptor in inputs], source, target)
        translator = Translator(**model)
        try:
            translator.score([], [], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        pairs = _pairs_of_tabs(inputs[0]) if source is None else _pairs_of_files(inputs, (source, target))
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
    """Lines that could not be scored: the first are told one by one, of the others how many there were."""

    def __init__(self):
        self.count = 0

    def add(self, line: int, problem):
        self.count += 1
        if self.count <= _REPORTED:
            say(f"cpunmt: line {line}: not scored: {problem}")

    def report(self):
        if self.count > _REPORTED:
            say(f"cpunmt: {self.count} lines in all were not scored")


def _scores(translator, texts, options, number, problems) -> list[ScoringResult | None]:
    """Results of pairs of texts, the first of which is line `number` + 1; None for what cannot be scored."""
    whole = [i for i, pair in enumerate(texts) if len(pair) == 2]
    found = [None] * len(texts)
    try:
        results = translator.score([texts[i][0] for i in whole], [texts[i][1] for i in whole], **options)
    except ValueError:  # of one of them; which it is shows one by one, and company changes no result
        results = [_score(translator, *texts[i], options) for i in whole]
    for i, result in zip(whole, results, strict=True):
        found[i] = result
    for i, (pair, result) in enumerate(zip(texts, found, strict=True)):
        if len(pair) != 2:
            problems.add(number + i + 1, f"it has {len(pair) - 1} tabs, expected source, tab, target")
        elif isinstance(result, ValueError):
            problems.add(number + i + 1, result)
            found[i] = None
    return found


def _score(translator, source, target, options) -> ScoringResult | ValueError:
    try:
        return translator.score(source, target, **options)
    except ValueError as error:
        return error


def _line(result: ScoringResult, per_token: bool) -> bytes:
    fields = [f"{result.score:g}"]
    if per_token:
        fields.append(" ".join(f"{log_prob:g}" for log_prob in result.log_probs))
    return encode_line("\t".join(fields))


def _refuse_same(source: int, target: int):
    """Of one pipe or terminal each would read some lines."""
    found = os.fstat(source)
    can_be_read_twice = stat.S_ISREG(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not os.isatty(source))
    if source == target or (os.path.samestat(found, os.fstat(target)) and not can_be_read_twice):
        raise CpunmtError(
            "--source and --target are the same stream; leave both out to read source, tab, target from standard input"
        )


def _refuse_unequal(lines, others, source, target):
    """Before anything is written; of a pipe it is not known how many lines it has."""
    if None not in (lines, others) and lines != others:
        raise CpunmtError(f"{source} has {lines} lines and {target} has {others}, expected as many")


def _pairs_of_files(descriptors, paths) -> Iterator[list[tuple[bytes, bytes]]]:
    lines = [
        itertools.chain.from_iterable(streams.input_windows(descriptor, streams.FIRST, WINDOW))
        for descriptor in descriptors
    ]
    for window in windows(itertools.zip_longest(*lines), streams.FIRST, WINDOW):
        complete = [pair for pair in window if None not in pair]
        if complete:
            yield complete
        if len(complete) < len(window):
            shorter = paths[0] if window[-1][0] is None else paths[1]
            raise CpunmtError(f"{shorter}: has fewer lines than the other file, expected as many")


def _pairs_of_tabs(descriptor) -> Iterator[list[tuple[bytes, ...]]]:
    for window in streams.input_windows(descriptor, streams.FIRST, WINDOW):
        yield [tuple(line.split(b"\t")) for line in window]
