"""Command line: the commands, and the help on a wrong one.

Exit status: 0, 1 after an error (one line on stderr), 2 for wrong usage, 128 + its number after a signal (130 after
Ctrl-C), and 141, as shells report it, when the reader has closed the output.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from typing import Any, NamedTuple

import cpunmt
from cpunmt.commands.flag_names import error_line
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say, tell
from cpunmt.process.run import imported
from cpunmt.values.command_line import Parser
from cpunmt.values.spelling import nearest

_INDENT = 18  # columns of a command's name in the help


class Command(NamedTuple):
    """A command: its module in this folder has the functions NAME_arguments(parser) and NAME(given) -> status.

    help         its line in the list of commands
    description  the beginning of its own help
    examples     the end of that: command lines, with a remark after #
    group        its heading in the list of commands
    also         words of other programs for it
    """

    name: str
    module: str
    help: str
    description: str
    examples: tuple[str, ...]
    group: str
    also: str = ""

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments when the parser is first used, so that no command imports another's modules."""
        module, function = imported(f"cpunmt.commands.{self.module}"), self.name.replace("-", "_")
        getattr(module, f"{function}_arguments")(parser)
        parser.set_defaults(run=getattr(module, function), parser=parser)


_TRANSLATING, _MODELS, _MACHINE = "translate", "models", "this machine"
COMMANDS = (
    Command(
        "translate",
        "lines.translate",
        "texts, or lines of a file: n lines in, n lines out",
        "Translate lines of UTF-8 text: n lines in, n lines out, in order (with --n-best, n lists). A line from a pipe "
        "or a terminal is translated when it arrives; the lines of a file are translated together, which is faster. "
        "With --html or --xml each line is a document of its own: for a page of several lines take translate-file.",
        (
            'cpunmt translate -m firefox:ende "Two dogs."',
            "cpunmt translate -m firefox:ende -i english.txt -o german.txt",
            'cpunmt translate --from en --to de "Two dogs."  # chooses a fetched model',
            'cpunmt translate -m firefox:ende --html "<p>Two <b>dogs</b>.</p>"',
            'cpunmt translate -m firefox:ende --n-best 4 "Two dogs."  # the four best',
        ),
        _TRANSLATING,
        "text line trans",
    ),
    Command(
        "translate-file",
        "translate_file",
        "documents: Word, PDF, subtitles, catalogues and 15 other formats",
        "Translate the texts in a document, of one of the formats that --format names. All else in it stays, to the "
        "byte. It is written when all of it is done, and its name is printed.",
        (
            "cpunmt translate-file -m firefox:ende report.docx  # writes report.de.docx",
            "cpunmt translate-file -m firefox:ende page.html -o seite.html",
            "cpunmt translate-file -m firefox:ende handbook --out handbuch  # a folder",
            "cpunmt translate-file -m firefox:ende --select title data.json",
        ),
        _TRANSLATING,
        "file document documents docx pdf",
    ),
    Command(
        "batch",
        "batch",
        "corpora, with several processes; a run that was ended can be resumed",
        "Translate files of any size: text, JSONL, Parquet. Each is cut to parts that together are its translation, "
        "row for row. A run that was ended goes on where it was. With --score, pairs are scored.",
        (
            "cpunmt batch -m firefox:ende corpus.txt.zst --out german --workers 8",
            "cpunmt batch -m firefox:ende rows.parquet --column text --out german",
            "cpunmt batch -m ende --score --reverse deen pairs.tsv --out scores",
        ),
        _TRANSLATING,
        "corpus bulk parquet",
    ),
    Command(
        "score",
        "lines.score",
        "pairs of lines: the probability of given translations",
        "Write for each pair of lines how probable the second is as translation of the first: its log-probability per "
        "piece (--length-penalty 0: in all), over the whole vocabulary.",
        (
            "cpunmt score -m firefox:ende --source english.txt --target german.txt",
            "cpunmt score -m firefox:ende < pairs.tsv  # source, tab, target",
        ),
        _TRANSLATING,
        "rescore evaluate",
    ),
    Command(
        "serve",
        "serve",
        "over HTTP: a page, and the interfaces of LibreTranslate, DeepL and Google",
        "Translate over HTTP, with one or several models; where there is none for two languages, through others. It "
        "speaks the dialects of LibreTranslate, DeepL, Google and MTranServer, and one of its own; a browser gets a "
        "page to translate with. Models that are named by their languages are fetched if they are missing.",
        (
            "cpunmt serve en-de de-en  # then open http://127.0.0.1:5000",
            "cpunmt serve --languages en,de,fr --host 0.0.0.0",
            "cpunmt serve models/ende --port 8080 --workers 2",
        ),
        _TRANSLATING,
        "server start web http",
    ),
    Command(
        "models",
        "registry",
        "list the installed models",
        "List the installed models: the fetched ones, the packages of argos-translate, and the one that commands use "
        "without -m. It needs no network.",
        ("cpunmt models", "cpunmt models en de  # those of both languages"),
        _MODELS,
        "installed list",
    ),
    Command(
        "ls",
        "registry",
        "list the models that can be fetched",
        "List the models of Firefox, OPUS-MT and Argos that can be fetched, and the fetched ones. Older releases are "
        "shown for a TEXT with @. Models of the Hugging Face hub are not listed, but can be fetched: hf:OWNER/NAME.",
        (
            "cpunmt ls ende",
            "cpunmt ls 'en > de'  # from English to German",
            "cpunmt ls firefox: fr",
        ),
        _MODELS,
        "search available find",
    ),
    Command(
        "fetch",
        "registry",
        "download a model",
        "Download models into $CPUNMT_MODELS_DIR or the user's data folder, check them, and print their directories. "
        "What was interrupted is continued. Afterwards their names can stand for their directories.",
        (
            "cpunmt fetch firefox:ende firefox:deen",
            "cpunmt fetch hf:Helsinki-NLP/opus-mt-en-de",
            "cpunmt fetch argos:en-de@1.0  # this version",
        ),
        _MODELS,
        "download install get pull add",
    ),
    Command(
        "info",
        "models",
        "describe a model",
        "Describe a model directory.",
        ("cpunmt info firefox:ende", "cpunmt info models/ende --verify  # compares every file with its SHA-256"),
        _MODELS,
        "show describe inspect",
    ),
    Command(
        "convert",
        "models",
        "write a model of another program in the form that loads fastest",
        "Write another program's model as a packed directory: it loads in a third of the time, and is mapped into "
        "memory, shared between processes. The translations are the same.",
        ("cpunmt convert opus-mt-en-de packed", "cpunmt convert firefox:ende packed"),
        _MODELS,
        "pack import",
    ),
    Command(
        "warmup",
        "machine.commands",
        "compile now what the first translation would compile",
        "Compile the program for this processor, if that is still to do, and print where it is kept. Without Numba: "
        "print where the program is that came with the wheel.",
        ("cpunmt warmup",),
        _MACHINE,
        "compile build",
    ),
    Command(
        "doctor",
        "machine.commands",
        "report whether cpunmt is right and fast here, and what to do if not",
        "Report versions, the processor and the path that is taken, which compiled program runs, where it came from, "
        "whether its results are those of every processor, and its speed in a test of two seconds. Exit status 1 if "
        "something is odd: then the last lines say what to do.",
        ("cpunmt doctor", "cpunmt doctor --json > machine.json"),
        _MACHINE,
        "check diagnose test bench",
    ),
    Command(
        "completion",
        "completion",
        "print a script with which a shell completes commands and flags",
        "Print a script that completes commands, flags and their values with the Tab key, for this version of cpunmt.",
        (
            "cpunmt completion bash > ~/.local/share/bash-completion/completions/cpunmt",
            'cpunmt completion zsh > "${fpath[1]}/_cpunmt"',
            "cpunmt completion fish > ~/.config/fish/completions/cpunmt.fish",
        ),
        _MACHINE,
        "complete",
    ),
)
_EXAMPLES = (
    "cpunmt fetch firefox:ende  # English to German",
    'cpunmt translate -m firefox:ende "Two dogs."',
    "cpunmt translate-file -m firefox:ende report.docx",
    "cpunmt serve en-de de-en  # a page at http://127.0.0.1:5000",
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit status; wrong usage raises SystemExit."""
    try:
        parser = command_parser()
        words = sys.argv[1:] if arguments is None else arguments
        while words[:1] == ["help"]:  # `cpunmt help COMMAND`
            words = [*words[1:], "--help"]
        given = parser.parse_args(words)
        if not hasattr(given, "run"):  # no command
            tell(parser.format_help(), _next_step())
            return 2
        status: int = given.run(given)
        return status
    except BrokenPipeError:
        return 141
    except (CpunmtError, OSError, MemoryError) as error:
        say(f"cpunmt: error: {error_line(error)}")
        return 1


def _next_step() -> str:
    """Returns what to type next, by what is installed."""
    from cpunmt.commands.model_choice import default_model
    from cpunmt.registry.store import installed

    names = [model.name for model in installed()]
    if names:
        return f"Next: cpunmt translate -m {names[0]} TEXT; cpunmt models lists what is installed."
    if default := default_model():
        return f'Next: cpunmt translate "Two dogs." uses {default}; cpunmt ls lists other models.'
    return "Next: no model is installed; cpunmt fetch firefox:ende gets one, cpunmt ls lists all."


class _Commands(Parser):
    """The parser of the command's name."""

    def format_help(self) -> str:
        """Formats the list of commands by groups: argparse has no groups of commands."""
        width = shutil.get_terminal_size().columns
        lines = ["usage: cpunmt COMMAND ...", "", str(self.description)]
        for group in dict.fromkeys(one.group for one in COMMANDS):
            lines += ["", f"{group}:"]
            for one in COMMANDS:
                if one.group == group:
                    name, rest = f"  {one.name}".ljust(_INDENT), " " * _INDENT
                    lines += textwrap.wrap(one.help, width - 2, initial_indent=name, subsequent_indent=rest)
        lines += ["", "cpunmt COMMAND --help shows a command's flags; -h, of many, the most used ones."]
        return "\n".join([*lines, "", "examples:", *[f"  {line}" for line in _EXAMPLES], ""])

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Ends with a usage error that says what to type, unless `value` is a command."""
        if value not in {one.name for one in COMMANDS}:
            self.error(f"no command is called {value!r}{_meant(value)}")


def _meant(word: str) -> str:
    """Returns the end of the message on an unknown command: the command that was probably meant."""
    import shlex  # needed only for a mistake

    from cpunmt.registry.store import is_name

    also = {theirs: one.name for one in COMMANDS for theirs in one.also.split()}
    also |= {"version": "--version", "quantize": "cpunmt-quantize"}  # our own, of another form
    known = also.get(word.lower()) or nearest(word, [one.name for one in COMMANDS])
    quoted = shlex.quote(word)
    if os.path.isfile(word):
        return f"; it is a file: cpunmt translate-file {quoted}"
    if is_name(word):
        return f"; it names a model: cpunmt fetch {quoted}, then cpunmt translate -m {quoted} TEXT"
    if known:
        return f" (did you mean {known}?)"
    if any(letter.isspace() for letter in word.strip()):
        return f"; to translate a text: cpunmt translate {quoted}"
    return f"; choose from {', '.join(one.name for one in COMMANDS)}"


def command_parser() -> argparse.ArgumentParser:
    parser = _Commands(prog="cpunmt", description="Fast neural machine translation on one CPU core.")
    parser.add_argument("-V", "--version", action="version", version=f"cpunmt {cpunmt.__version__}")
    made: type[argparse.ArgumentParser] = Parser
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=made)
    for one in COMMANDS:
        commands.add_parser(one.name, fill=one.fill, help=one.help, description=one.description, examples=one.examples)
    return parser
