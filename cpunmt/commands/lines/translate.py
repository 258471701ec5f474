"""`cpunmt translate`: a file of lines in, a file of as many lines out, or of as many n-best lists."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator

from cpunmt.commands.lines import streams
from cpunmt.commands.lines.doubts import Doubts
from cpunmt.commands.lines.output_lines import OutputFormat, output_lines
from cpunmt.commands.lines.run_statistics import RunStatistics
from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import decode_line
from cpunmt.files.windows import windows
from cpunmt.translator.translator import WINDOW, Translator


def translate_lines(source, target, model, options, form: OutputFormat, stats):
    """Translate line by line; tell on stderr which translations are doubtful.

    Parameters
    ----------
    source : path; None or "-" for standard input; or a list of texts, of which each line is one
    target : path; None or "-" for standard output
    model : dict of the arguments of a `Translator`
    options : dict of translation options; `num_hypotheses` 0 means all that a search keeps
    stats : bool
        Tell on stderr how long it took.

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, or an option does not fit the model.
    BrokenPipeError
        Nobody reads the output any more.
    """
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        read_from = None if isinstance(source, list) else stack.enter_context(streams.opened_input(source))
        output = stack.enter_context(streams.opened_output(target))
        if read_from is not None:
            streams.refuse_same_file(read_from, output, target)
        translator = Translator(**model)
        if options.get("num_hypotheses") == 0:
            most = options.get("num_candidates") or options.get("beam_size", translator.options.beam_size)
            options = {**options, "num_hypotheses": most}
        try:
            translator.translate([], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        statistics = RunStatistics(time.perf_counter() - began) if stats else None
        doubts = Doubts(translator, options)
        first = 1 if os.isatty(output.descriptor) else streams.FIRST
        if read_from is None:
            lines, bar = windows(_lines(source), first, WINDOW), streams.no_bar()
        else:
            lines = streams.input_windows(read_from, first, WINDOW)
            bar = streams.line_bar(read_from, output.descriptor)
        with bar as advance:
            for number, texts, results, seconds in _translated(translator, lines, output, options, form):
                if statistics:
                    statistics.add(texts, results, seconds)
                doubts.add(number, texts, results)
                advance(len(texts))
    doubts.report()
    if statistics:
        statistics.report(doubts.counts)


def _lines(texts) -> list[bytes]:
    """As they would stand in a file with a line feed behind each text."""
    return b"\n".join(map(os.fsencode, texts)).split(b"\n")


def _translated(translator, input_windows, output, options, form) -> Iterator[tuple]:
    """Translate and write window by window; of each (lines before it, texts, results, seconds that it took)."""
    number = replaced = 0
    for window in input_windows:
        began = time.perf_counter()
        texts = []
        for line in window:
            text, wrong = decode_line(line)
            texts.append(text)
            replaced += wrong
        results = translator.translate(texts, **options)
        lines = (output_lines(number + i, result, form) for i, result in enumerate(results))
        output.write(itertools.chain.from_iterable(lines))
        yield number, texts, results, time.perf_counter() - began
        number += len(window)
    streams.report_replaced(replaced)
