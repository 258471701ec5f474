"""`cpunmt score`: lines of sources and targets in, a score for each pair out."""

import contextlib
import itertools
from collections.abc import Iterator

from cpunmt.errors import CpunmtError
from cpunmt.line_stream import count_lines, decode_line, encode_line
from cpunmt.results import ScoringResult
from cpunmt.streams import (
    FIRST,
    input_windows,
    opened_input,
    opened_output,
    progress_bar,
    refuse_same_file,
    report_replaced,
    write_lines,
)
from cpunmt.translator import WINDOW, Translator


def score_lines(source, target, output, model, options, per_token, threads, writing):
    """Score line by line.

    Parameters
    ----------
    source, target : path of a file of lines, both or none: None for standard input with a tab between the two
    output : path, or None for standard output
    options : dict of `Translator.score_batch`
    per_token : bool
        Write the log-probability of each piece too.
    model, threads, writing : see `translate_lines`

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, an option does not fit the model, the files have not
        equally many lines, a line of standard input has not one tab, or a sentence is too long to be scored.
    BrokenPipeError
        Nobody reads the output any more.
    """
    with contextlib.ExitStack() as stack:
        inputs = [stack.enter_context(opened_input(path)) for path in ([source, target] if source else [None])]
        for descriptor in inputs:
            refuse_same_file(descriptor, output)
        if source:
            _refuse_unequal(*[count_lines(descriptor) for descriptor in inputs], source, target)
        translator = Translator(model, inter_threads=threads)
        try:
            translator.score([], [], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        write_to = stack.enter_context(opened_output(output))
        pairs = _pairs_of_files(inputs, (source, target)) if source else _pairs_of_tabs(inputs[0])
        replaced = number = 0
        with progress_bar(inputs[0], write_to) as advance:
            for window in pairs:
                decoded = [decode_line(line) for pair in window for line in pair]
                replaced += sum(wrong for _, wrong in decoded)
                texts = [text for text, _ in decoded]
                try:
                    results = translator.score(texts[::2], texts[1::2], **options)
                except ValueError as error:
                    raise CpunmtError(f"lines {number + 1} to {number + len(window)}: {error}") from None
                write_lines(write_to, b"".join(_line(result, per_token) for result in results), writing)
                number += len(window)
                advance(len(window))
        report_replaced(replaced)


def _line(result: ScoringResult, per_token: bool) -> bytes:
    fields = [f"{result.score:g}"]
    if per_token:
        fields.append(" ".join(f"{log_prob:g}" for log_prob in result.log_probs))
    return encode_line("\t".join(fields))


def _refuse_unequal(lines, others, source, target):
    """Before anything is written; of a pipe it is not known how many lines it has."""
    if None not in (lines, others) and lines != others:
        raise CpunmtError(f"{source} has {lines} lines and {target} has {others}, expected as many")


def _pairs_of_files(descriptors, paths) -> Iterator[list[tuple[bytes, bytes]]]:
    lines = [itertools.chain.from_iterable(input_windows(descriptor, FIRST, WINDOW)) for descriptor in descriptors]
    pairs, size = itertools.zip_longest(*lines), FIRST
    while window := list(itertools.islice(pairs, size)):
        complete = [pair for pair in window if None not in pair]
        if complete:
            yield complete
        if len(complete) < len(window):
            shorter = paths[0] if window[-1][0] is None else paths[1]
            raise CpunmtError(f"{shorter}: has fewer lines than the other file, expected as many")
        size = min(2 * size, WINDOW)


def _pairs_of_tabs(descriptor) -> Iterator[list[tuple[bytes, bytes]]]:
    number = 0
    for window in input_windows(descriptor, FIRST, WINDOW):
        pairs = [tuple(line.split(b"\t")) for line in window]
        for i, pair in enumerate(pairs):
            if len(pair) != 2:
                if i:
                    yield pairs[:i]
                raise CpunmtError(f"line {number + i + 1}: has {len(pair) - 1} tabs, expected source, tab, target")
        yield pairs
        number += len(window)
