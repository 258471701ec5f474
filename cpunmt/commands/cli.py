"""Command line: `cpunmt translate | translate-file | score | serve | info | convert | ls | fetch | warmup | doctor`.

Exit status: 0, 1 after an error (one line on stderr), 2 for wrong usage, 128 + its number after a signal (130 after
Ctrl-C), and 141, as shells report it, when the reader has closed the output.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import cpunmt
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.process.run import imported
from cpunmt.values.command_line import Parser


class Command(NamedTuple):
    """A command: its module in this folder has the functions NAME_arguments(parser) and NAME(given) -> status."""

    name: str
    module: str
    help: str
    description: str

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments when the parser is first used, so that no command imports another's modules."""
        module, function = imported(f"cpunmt.commands.{self.module}"), self.name.replace("-", "_")
        getattr(module, f"{function}_arguments")(parser)
        parser.set_defaults(run=getattr(module, function), parser=parser)


COMMANDS = (
    Command(
        "translate",
        "lines.translate",
        "translate lines of text: n lines in, n lines out",
        "Translate lines of UTF-8 text: n lines in, n lines out, in order (with --n-best, n lists). Lines that are "
        "there are translated at once, so it can be used interactively; a file is sorted by length in windows and is "
        "fast.",
    ),
    Command(
        "translate-file",
        "translate_file",
        "translate the texts in a file of another format, and keep all else in it",
        "Translate the texts in a document, of the formats that docs/documents.md lists. All else in it stays, to the "
        "byte. It is written when all of it is done, and its name is printed.",
    ),
    Command(
        "batch",
        "batch",
        "translate corpora with several processes, part by part; what is done is not done again",
        "Translate files of any size: text, JSONL, Parquet. Each is cut to parts that together are its translation, "
        "row for row. A run that was ended goes on where it was. With --score, pairs are scored.",
    ),
    Command(
        "score",
        "lines.score",
        "score given translations: n pairs of lines in, n scores out",
        "Write for each pair of lines how probable the second is as translation of the first: its log-probability per "
        "piece (--length-penalty 0: in all), over the whole vocabulary.",
    ),
    Command(
        "serve",
        "serve",
        "translate over HTTP, for clients of LibreTranslate, DeepL, Google and MTranServer",
        "Translate over HTTP, with one or several models; where there is none for two languages, through others. It "
        "speaks the dialects of LibreTranslate, DeepL, Google and MTranServer, and one of its own.",
    ),
    Command("info", "models", "describe a model", "Describe a model directory."),
    Command(
        "convert",
        "models",
        "write a model of Bergamot, Marian, OPUS-MT, CTranslate2 or Hugging Face in our form",
        "Write another program's model as a packed directory: it loads in a third of the time, and is mapped into "
        "memory, shared between processes. The translations are the same.",
    ),
    Command(
        "warmup",
        "machine.commands",
        "compile now what the first translation would compile",
        "Compile the program for this very processor, unless that has been done, and print where it is kept. Without "
        "Numba: print where the program is that came with the wheel.",
    ),
    Command(
        "doctor",
        "machine.commands",
        "tell what cpunmt runs on here, whether it is right and fast, and what to do where not",
        "Tell versions, the processor and the path that is taken, which compiled program runs and where it came from, "
        "whether its results are those of every processor, and its speed in a test of two seconds. Exit status 1 if "
        "something is odd: then the last lines say what to do.",
    ),
    Command(
        "ls",
        "registry",
        "list the models that can be fetched",
        "List the models of Firefox and of OPUS-MT that can be fetched, and the fetched ones. Older releases are "
        "shown for a TEXT with @. Models of the Hugging Face hub are not listed, but can be fetched: hf:OWNER/NAME.",
    ),
    Command(
        "fetch",
        "registry",
        "download a model",
        "Download models into $CPUNMT_MODELS_DIR or the user's data folder, check them, and print their directories. "
        "What was interrupted is continued. Afterwards their names can stand for their directories.",
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit status; wrong usage raises SystemExit."""
    try:
        given = command_parser().parse_args(arguments)
        status: int = given.run(given)
        return status
    except BrokenPipeError:
        return 141
    except (CpunmtError, OSError, MemoryError) as error:
        from cpunmt.commands.flags import error_line

        say(f"cpunmt: error: {error_line(error)}")
        return 1


def command_parser() -> argparse.ArgumentParser:
    made: type[argparse.ArgumentParser] = Parser
    parser = made(prog="cpunmt", description="Fast neural machine translation on one CPU core.")
    parser.add_argument("--version", action="version", version=f"cpunmt {cpunmt.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for one in COMMANDS:
        commands.add_parser(one.name, fill=one.fill, help=one.help, description=one.description)
    return parser
