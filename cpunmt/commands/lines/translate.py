"""`cpunmt translate`: writes a translation, or an n-best list, for each line of a file."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cpunmt.commands.flags import add_options, check_options, options_of
from cpunmt.commands.lines import streams
from cpunmt.commands.lines.doubts import Doubts, add_doubts
from cpunmt.commands.lines.output_lines import OutputFormat, output_lines
from cpunmt.commands.lines.run_statistics import RunStatistics
from cpunmt.commands.model_choice import add_model, translator_arguments
from cpunmt.decoding.loading import contains_model
from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, say
from cpunmt.files.line_stream import decode_line
from cpunmt.files.output_files import refuse_overwriting
from cpunmt.files.windows import windows
from cpunmt.options.options import Options
from cpunmt.registry.store import is_name
from cpunmt.results.results import Result
from cpunmt.translator.translator import WINDOW, Translator
from cpunmt.values.command_line import Parser

# The flags of lists, and one that is taken for theirs.
_HELP = {
    "num_hypotheses": "translations of each sentence, best first; at most beam_size (without N: as many as beam_size); "
    "a search may find fewer (default: 1)",
    "length_penalty": "exponent a of the score (log_prob - p n) / n^a of a translation of n pieces, where p is "
    "word_penalty; -n is Marian's name of it, not a number of translations: see --n-best (default: 1)",
}
_FILE_NAME = re.compile(r"\S+\.[A-Za-z]+")


def translate_arguments(parser: Parser) -> None:
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="texts to translate, each a line (default: the lines of -i)"
    )
    files = parser.group(streams.GROUP)
    files.add_argument("-i", "--input", metavar="FILE", help="lines to translate (default: standard input)")
    files.add_argument("-o", "--output", metavar="FILE", help="their translations (default: standard output)")
    files.add_argument(
        "--stats", action="store_true", help="report on stderr how much was done in which time, and what is doubtful"
    )
    add_doubts(parser, "number of the line")
    add_model(parser)
    add_options(parser, Options.__dataclass_fields__, _HELP)
    parser.most_used = (
        *("text", "input", "output", "model", "source_lang", "target_lang"),
        *("html", "glossary", "beam_size", "num_hypotheses"),
    )


def translate(given: argparse.Namespace) -> int:
    """Translates the lines or texts that the command line names."""
    options = options_of(given, Options.__dataclass_fields__)
    alignment = options.pop("return_alignments", None)
    form = OutputFormat("num_hypotheses" in options, alignment, "return_token_log_probs" in options)
    if alignment is not None:
        options["return_alignments"] = True
    check_options(given, {name: value for name, value in options.items() if (name, value) != ("num_hypotheses", 0)})
    markup = next((name for name in ("html", "xml") if options.get(name)), None)
    if markup and (form.alignment is not None or form.word_scores):
        flag = "--word-scores" if form.alignment is None else "--alignment"
        given.parser.error(f"{flag} is about pieces, which the result of --{markup} lacks; leave one of them out")
    texts = _texts_of(given)
    if "glossary" in options:
        from cpunmt.options.glossary.glossary import Glossary

        options["glossary"] = Glossary.from_tsv(options["glossary"])  # once
    model = translator_arguments(given)
    translate_lines(texts or given.input, given.output, model, options, form, given.stats, given.doubts)
    return 0


def _texts_of(given: argparse.Namespace) -> list[str] | None:
    """Returns the texts on the command line; None if there are none, or "-", which stands for standard input.

    Ends with a usage error if a text is the name of a file, model or directory without its flag. Says on stderr if the
    texts are probably the name of a missing file, or, on a terminal, the words of a sentence.
    """
    texts: list[str] = given.text
    if given.text in ([], [streams.STANDARD]):
        return None
    if given.input is not None:
        given.parser.error(f"give TEXT, or a file of lines with -i, not both: {given.text[0]!r} and {given.input!r}")
    for text in given.text:
        if any(letter.isspace() for letter in text):
            continue
        if is_name(text):
            _refuse_text(given, text, "names a model; -m {} translates with it")
        if os.path.isfile(text):
            is_document = _is_document(text) and not _is_document(text, "txt")
            advice = "cpunmt translate-file {} translates it" if is_document else "-i {} translates the lines in it"
            _refuse_text(given, text, f"is a file; {advice}")
        if os.path.isdir(text) and (os.sep in text or contains_model(text)):
            _refuse_text(given, text, "is a directory; -m {} names a model")
    if len(texts) == 1 and _FILE_NAME.fullmatch(texts[0]) and _is_document(texts[0]):
        say(f"cpunmt: there is no file {texts[0]}, so its name is translated")
    if len(texts) > 1 and is_watched() and not any(letter.isspace() for text in texts for letter in text):
        quoted = shlex.quote(" ".join(texts))
        say(f"cpunmt: these are {len(texts)} texts; as one sentence they need quotes: cpunmt translate {quoted}")
    return texts


def _is_document(name: str, format: str | None = None) -> bool:
    from cpunmt.documents.translate import has_format  # the readers of all formats, needed only for a mistake

    return has_format(name, format)


def _refuse_text(given: argparse.Namespace, text: str, problem: str) -> None:
    """Ends with a usage error. `problem`: the mistake and the remedy; {} is the text in shell quotes."""
    quoted = shlex.quote(text)
    word = f"`printf '%s\\n' {quoted} | cpunmt translate` translates the word itself"
    given.parser.error(f"{text} {problem.format(quoted)}, {word}")


def translate_lines(
    source: str | list[str] | None,
    target: str | None,
    model: dict[str, Any],
    options: dict[str, Any],
    form: OutputFormat,
    stats: bool,
    doubts_file: str | None = None,
) -> None:
    """Translates line by line; reports doubtful translations on stderr.

    Parameters
    ----------
    source : path; None or "-" for standard input; or a list of texts, of which each line is one
    target : path; None or "-" for standard output
    model : dict of the arguments of a `Translator`
    options : dict of translation options; `num_hypotheses` 0 means all that a search keeps
    stats : bool
        Report times and doubts on stderr.
    doubts_file : path of a list of doubtful sentences; None: no list

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, or an option does not fit the model.
    BrokenPipeError
        The reader has closed the output.
    """
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        given = source if isinstance(source, list) else None
        read_from = None if isinstance(source, list) else stack.enter_context(streams.opened_input(source))
        if doubts_file is not None:
            read = None if isinstance(source, list) or source == streams.STANDARD else source
            refuse_overwriting([doubts_file, None if target == streams.STANDARD else target], [read])
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
        record = None if doubts_file is None else stack.enter_context(streams.opened_output(doubts_file))
        doubts = Doubts(translator, options, stats, record)
        first = 1 if os.isatty(output.descriptor) else streams.FIRST
        if read_from is None:
            lines, bar = windows(_lines(given or []), first, WINDOW), streams.no_bar()
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


def _lines(texts: Iterable[str]) -> list[bytes]:
    """Returns the lines of a file in which a line feed follows each text."""
    return b"\n".join(map(os.fsencode, texts)).split(b"\n")


def _translated(
    translator: Translator,
    input_windows: Iterable[Sequence[bytes]],
    output: streams.Output,
    options: dict[str, Any],
    form: OutputFormat,
) -> Iterator[tuple[int, list[str], list[Result], float]]:
    """Translates and writes window by window; yields (lines before it, texts, results, seconds)."""
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
