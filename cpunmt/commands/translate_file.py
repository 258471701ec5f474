"""`cpunmt translate-file`: translates documents to documents of the same formats."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from cpunmt.commands.flag_names import error_line
from cpunmt.commands.flags import add_options, checked_options
from cpunmt.commands.lines import streams
from cpunmt.commands.lines.doubts import Doubts, add_doubts
from cpunmt.commands.lines.run_statistics import RunStatistics
from cpunmt.commands.model_choice import add_model, translator_arguments
from cpunmt.commands.wrong_direction import WrongDirection
from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, say, stream_errors, tell
from cpunmt.files.line_stream import write_all
from cpunmt.files.output_files import refuse_overwriting, write_file
from cpunmt.markup.pages import Page
from cpunmt.markup.units import Unit, bare, parts_of
from cpunmt.options.options import Options
from cpunmt.translator.translator import Translator
from cpunmt.values.command_line import Parser

# Options that the format decides, or that do not apply to text.
LEFT_OUT = ("html", "xml", "num_hypotheses", "min_alternative_expansion_prob")


def translate_file_arguments(parser: Parser) -> None:
    parser.add_argument(
        "paths",
        metavar="IN",
        nargs="+",
        help="files to translate; with --out also folders, of which all files of a format that is known; - is standard "
        "input, whose translation goes to standard output",
    )
    files = parser.group(streams.GROUP)
    files.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where the translation of the one IN goes; - is standard output (default: as IN, with the language: "
        "report.de.md)",
    )
    files.add_argument(
        "--out", metavar="DIR", help="where all translations go, named as their sources are; it is made if need be"
    )
    from cpunmt.documents.known_formats import FORMATS

    files.add_argument(
        "--format",
        metavar="NAME",
        help=f"format of all IN: {', '.join(FORMATS)} (default: by the ends of their names)",
    )
    files.add_argument(
        "--select",
        metavar="PART",
        action="append",
        default=[],
        help="translate this part only, where a format has parts to choose; can be given several times",
    )
    files.add_argument("--encoding", metavar="NAME", help="encoding of text files, as cp1252 (default: UTF-8)")
    files.add_argument("--force", action="store_true", help="replace files that are there")
    files.add_argument(
        "--stats", action="store_true", help="report on stderr how much was done in which time, and what is doubtful"
    )
    add_doubts(parser, "file")
    add_model(parser)
    names = [name for name in Options.__dataclass_fields__ if not name.startswith("return_") and name not in LEFT_OUT]
    add_options(parser, names)
    parser.most_used = (
        *("paths", "output", "out", "format", "select", "force", "model", "source_lang", "target_lang"),
        *("glossary", "beam_size"),
    )


def _refuse_contradictions(given: argparse.Namespace) -> None:
    """Ends the command with a usage error if outputs and inputs contradict each other."""
    folders = [path for path in given.paths if path != streams.STANDARD and os.path.isdir(path)]
    if given.output is not None and given.out is not None:
        given.parser.error("give -o FILE for one translation, or --out DIR for all, not both")
    if given.output is not None and len(given.paths) > 1:
        given.parser.error(f"-o is for the translation of one file, and {len(given.paths)} are given; use --out DIR")
    if given.output is not None and os.path.isdir(given.output):
        given.parser.error(f"{given.output} is a directory; give -o the name of a file, or --out {given.output}")
    if folders and given.out is None:
        given.parser.error(f"{folders[0]} is a directory; give --out DIR, where the translations go")
    for path in given.paths:
        if " " in path and not os.path.exists(path) and not os.path.splitext(path.rstrip("."))[1]:
            text = shlex.quote(path)
            given.parser.error(f"there is no file {text}; to translate a text: cpunmt translate {text}")
    if streams.STANDARD in given.paths:
        if len(given.paths) > 1 or given.out is not None:
            given.parser.error("- is standard input, and has no name for --out and beside other files; give it alone")
        if given.format is None:
            given.parser.error("- is standard input, whose name does not tell its format; give --format")


def translate_file(given: argparse.Namespace) -> int:
    """Translates the files on the command line and prints the names of the new files.

    Returns 1 if one of several files could not be translated: it is reported, and the others are translated. Raises
    CpunmtError if the model or the only file cannot be used, or an option does not fit the model. It also does so
    before any translation, if a source is missing or a target exists.
    """
    options = checked_options(given)
    _refuse_contradictions(given)
    from cpunmt.documents import translate as documents  # imports the readers of all formats

    sources = list(_sources(given, documents))
    for path, _ in sources:
        if path != streams.STANDARD:
            documents.check_input(path, given.format)
    began = time.perf_counter()
    translator = _Told(translator_arguments(given), options)
    if given.stats:
        translator.statistics = RunStatistics(time.perf_counter() - began, "texts")
    targets = [_target(given, documents, translator, path, folder) for path, folder in sources]
    for (path, _), target in zip(sources, targets, strict=True):
        if isinstance(target, Path):
            if given.out is not None:
                _make_folder(target.parent)
            documents.check_output(path, target, given.force)
    written = [target for target in targets if target != streams.STANDARD]
    refuse_overwriting([*written, given.doubts], [path for path, _ in sources])
    failed = 0
    with contextlib.ExitStack() as stack:
        if given.doubts is not None:
            translator.record = stack.enter_context(streams.opened_output(given.doubts))
        for (path, _), target in zip(sources, targets, strict=True):
            try:
                _translate(given, documents, translator, path, target)
            except (CpunmtError, ValueError) as error:
                if len(sources) == 1:
                    raise CpunmtError(str(error)) from None
                say(f"cpunmt: error: {error_line(error)}")
                failed += 1
    if translator.statistics:
        translator.statistics.report(translator.counts)
    return 1 if failed else 0


class _Told:
    """A Translator of documents that counts its results and looks for doubtful ones."""

    def __init__(self, model: dict[str, Any], options: dict[str, Any]):
        self.translator = Translator(**model)
        self.statistics: RunStatistics | None = None
        self.record: streams.Output | None = None
        try:
            self.language = self.translator.language_into(options)
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        self.options = options
        self.languages = self.translator.languages
        self.counts: dict[str, int] = {}

    def begin(self, path: str) -> None:
        """Begins a file."""
        self.path = path
        source = self.options.get("source_lang") or self.languages.source
        self.direction = WrongDirection(source, self.language)
        self.doubts = Doubts(self.translator, self.options, self.statistics is not None, self.record)

    def translating(self, options: dict[str, Any], pages: bool = False) -> Callable[[Sequence[Unit]], list[Page]]:
        """Returns a function that translates units, as `Translator.translating` does."""
        translate = self.translator.translating(options, pages)

        def counted(units: Sequence[Unit]) -> list[Page]:
            began = time.perf_counter()
            made = translate(units)
            results = [page.result() for page in made]
            texts = [bare(parts_of(unit.words)) for unit in units]
            self.doubts.add_texts(self.path, texts, results)
            self.direction.add(texts, [result.text for result in results])
            if self.statistics:
                self.statistics.add(texts, results, time.perf_counter() - began)
            return made

        return counted

    def end(self, name: str | None) -> None:
        """Reports the doubtful translations of the file `name`."""
        self.doubts.report(name)
        self.direction.report(self.path)
        for heading, count in self.doubts.counts.items():
            self.counts[heading] = self.counts.get(heading, 0) + count


def _sources(given: argparse.Namespace, documents: ModuleType) -> Iterator[tuple[str, str]]:
    """Yields (path, folder below --out for its translation) of each file; in folders, of files of known formats."""
    for path in given.paths:
        if path == streams.STANDARD or not os.path.isdir(path):
            yield path, ""
            continue
        found = 0
        for folder, names, files in os.walk(path):
            own = [name for name in names if os.path.realpath(Path(folder, name)) != os.path.realpath(given.out)]
            names[:] = sorted(name for name in own if not name.startswith("."))
            for name in sorted(files):
                if not name.startswith(".") and documents.is_found(os.path.join(folder, name), given.format):
                    found += 1
                    yield os.path.join(folder, name), os.path.relpath(folder, path)
        if not found:
            raise CpunmtError(f"{path}: has no file of a known format; `cpunmt translate-file --help` names them")


def _target(given: argparse.Namespace, documents: ModuleType, translator: _Told, path: str, folder: str) -> Path | str:
    if given.output == streams.STANDARD or (path == streams.STANDARD and given.output is None):
        return streams.STANDARD
    if given.output is not None:
        return Path(given.output)
    below = None if given.out is None else Path(given.out, folder)
    found: Path = documents.output_of(path, translator.language, given.format, below)
    return found


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CpunmtError(f"{folder}: cannot be made: {error.strerror}; give --out another directory") from None


def _translate(
    given: argparse.Namespace, documents: ModuleType, translator: _Told, path: str, target: Path | str
) -> None:
    """Translates one file and prints the path of its translation."""
    translator.begin(path)
    with contextlib.ExitStack() as stack:
        bar: Any = None

        def progress(done: int, total: int) -> None:
            nonlocal bar
            if bar is None:
                bar = stack.enter_context(progress_bar(total=total, unit=" texts", dynamic_ncols=True))
            bar.update(done - bar.n)

        settings = {"format": given.format, "select": given.select, "encoding": given.encoding}
        settings["progress"] = progress if is_watched() else None
        if streams.STANDARD not in (path, target):
            own = translator.language, translator.options
            documents.translate_document(translator, path, target, *own, force=given.force, **settings)
            tell(str(target))
        else:
            content = _standard_input(documents.MOST_BYTES) if path == streams.STANDARD else documents.content_of(path)
            name = "standard input" if path == streams.STANDARD else path
            made = documents.translated_content(translator, content, name, translator.options, **settings)
            if target == streams.STANDARD:
                with streams.opened_output(target) as output, stream_errors("cannot write the output"):
                    write_all(output.descriptor, made)
            else:
                write_file(target, made)
                tell(str(target))
    translator.end(None if len(given.paths) == 1 else str(path))


def _standard_input(most: int) -> bytes:
    """Returns all bytes of standard input. Raises CpunmtError for more than `most`, or if it cannot be read."""
    content = bytearray()
    with (
        streams.opened_input(None) as descriptor,
        stream_errors("cannot read the input"),
        open(descriptor, "rb", closefd=False) as file,
    ):
        while len(content) <= most and (block := file.read(1 << 20)):
            content += block
    if len(content) > most:
        raise CpunmtError(f"standard input has more than {most} bytes, which is the limit; cut it into parts")
    return bytes(content)
