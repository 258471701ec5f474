"""`cpunmt translate`: a file of lines in, a file of as many lines out, or of as many n-best lists."""

import itertools
import os
import time

from cpunmt.commands import streams
from cpunmt.commands.output_lines import OutputFormat, output_lines
from cpunmt.commands.run_statistics import RunStatistics
from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import decode_line
from cpunmt.translation.translator import WINDOW, Translator


def translate_lines(source, target, model, options, form: OutputFormat, threads, stats):
    """Translate line by line.

    Parameters
    ----------
    source, target : path; None or "-" for standard input and output
    model : directory
    options : dict of translation options; `num_hypotheses` 0 means `beam_size`
    threads : int
        How many translate side by side.
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
    with streams.opened_input(source) as read_from, streams.opened_output(target) as output:
        streams.refuse_same_file(read_from, output, target)
        translator = Translator(model, inter_threads=threads)
        if options.get("num_hypotheses") == 0:
            options = {**options, "num_hypotheses": options.get("beam_size", translator.options.beam_size)}
        try:
            translator.translate([], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        statistics = RunStatistics(translator, time.perf_counter() - began) if stats else None
        _translate(translator, read_from, output, options, form, statistics)
    if statistics:
        statistics.report()


def _translate(translator, read_from, output, options, form, statistics):
    number = replaced = 0
    with streams.line_bar(read_from, output.descriptor) as advance:
        for window in streams.input_windows(read_from, 1 if os.isatty(output.descriptor) else streams.FIRST, WINDOW):
            began = time.perf_counter()
            texts = []
            for line in window:
                text, wrong = decode_line(line)
                texts.append(text)
                replaced += wrong
            results = translator.translate(texts, **options)
            lines = (output_lines(number + i, result, form) for i, result in enumerate(results))
            output.write(itertools.chain.from_iterable(lines))
            if statistics:
                statistics.add(texts, results, time.perf_counter() - began)
            number += len(window)
            advance(len(window))
    streams.report_replaced(replaced)
