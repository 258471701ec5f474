"""`cpunmt translate`: a file of lines in, a file of as many lines out, or of as many n-best lists."""

import os
import time

from cpunmt.errors import CpunmtError
from cpunmt.line_stream import decode_line
from cpunmt.output_lines import OutputFormat, output_lines
from cpunmt.run_statistics import RunStatistics
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


def translate_lines(source, target, model, options, form: OutputFormat, threads, stats, writing):
    """Translate line by line.

    Parameters
    ----------
    source, target : path, or None for standard input and output
    model : directory
    options : dict of translation options; `num_hypotheses` 0 means `beam_size`
    threads : int
        How many translate side by side.
    stats : bool
        Tell on stderr how long it took.
    writing : lock
        Held while lines are written, so that an interrupt can wait for the end of one.

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, or an option does not fit the model.
    BrokenPipeError
        Nobody reads the output any more.
    """
    began = time.perf_counter()
    with opened_input(source) as read_from:
        refuse_same_file(read_from, target)
        translator = Translator(model, inter_threads=threads)
        if options.get("num_hypotheses") == 0:
            options = {**options, "num_hypotheses": options.get("beam_size", translator.options.beam_size)}
        try:
            translator.translate([], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        with opened_output(target) as write_to:
            statistics = RunStatistics(translator, time.perf_counter() - began) if stats else None
            _translate(translator, read_from, write_to, options, form, statistics, writing)
    if statistics:
        statistics.report()


def _translate(translator, read_from, write_to, options, form, statistics, writing):
    number = replaced = 0
    with progress_bar(read_from, write_to) as advance:
        for window in input_windows(read_from, 1 if os.isatty(write_to) else FIRST, WINDOW):
            began = time.perf_counter()
            texts = []
            for line in window:
                text, wrong = decode_line(line)
                texts.append(text)
                replaced += wrong
            results = translator.translate(texts, **options)
            lines = [output_lines(number + i, result, form) for i, result in enumerate(results)]
            write_lines(write_to, b"".join(lines), writing)
            if statistics:
                statistics.add(texts, results, time.perf_counter() - began)
            number += len(window)
            advance(len(window))
    report_replaced(replaced)
