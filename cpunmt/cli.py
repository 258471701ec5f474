"""Command line: `cpunmt translate | info | warmup`.

Exit status: 0, 1 after an error (one line on stderr), 2 for wrong usage, 130 after Ctrl-C, and 141, as a shell
reports it of other programs, when nobody reads the output any more.
"""

import argparse
import dataclasses
import math
import os
import signal
import sys
import threading
from pathlib import Path

import cpunmt
from cpunmt import program
from cpunmt.architecture import checkpoint_tensors, expected_tensors
from cpunmt.errors import CpunmtError
from cpunmt.model_files.packed_directory import read_directory, verify
from cpunmt.model_files.safetensors_file import check_tensors
from cpunmt.options import MARIAN_FLAGS, Options, make_options
from cpunmt.simd import isa
from cpunmt.translate_command import translate_file


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; wrong usage raises SystemExit, and Ctrl-C ends the process."""
    if sys.stderr is None:  # closed by whoever started us
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  stays open
    given = _parser().parse_args(arguments)
    try:
        return _run_interruptible(given)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python flushes when it shuts down
        return 141
    except (CpunmtError, OSError) as error:
        text = "; ".join(line.strip() for line in str(error).splitlines())
        print(f"cpunmt: error: {text}", file=sys.stderr)
        return 1


def _run_interruptible(given) -> int:
    """Run the command in a thread, so that Ctrl-C ends it at once: Python sees it only in the main thread, and
    there only between two calls of compiled code."""
    writing, done, ended = threading.Lock(), threading.Event(), []

    def work():
        try:
            ended.append(given.run(given, writing))
        except BaseException as error:
            ended.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="cpunmt", daemon=True).start()
    try:
        done.wait()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        writing.acquire(timeout=1)  # lines that are being written come out whole
        os._exit(130)  # not sys.exit: compiled code is still running in memory that it would take away
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def _translate(given, writing) -> int:
    options = {
        option.name: getattr(given, option.name)
        for option in dataclasses.fields(Options)
        if getattr(given, option.name) is not None
    }
    try:
        make_options(options)
    except ValueError as error:
        given.parser.error(str(error))
    translate_file(given.input, given.output, given.model or _default_model(), options, given.stats, writing)
    return 0


def _default_model() -> str:
    chosen = os.environ.get("CPUNMT_MODEL")
    if chosen:
        return chosen
    checkout = Path(__file__).resolve().parents[1] / "models" / "ende-student"
    if checkout.is_dir():
        return str(checkout)
    raise CpunmtError("no model: name its directory with -m DIR or in the environment variable CPUNMT_MODEL")


def _info(given, writing) -> int:
    path = given.directory or _default_model()
    packed = read_directory(path)
    config = packed.config
    check_tensors(packed.tensors, expected_tensors(config), Path(path) / "weights.safetensors")
    parameters = sum(math.prod(shape) for shape in checkpoint_tensors(config).values())
    sets = len(set(config.decoder_parameters))
    lines = {
        "model": path,
        "compute type": config.scheme,
        "parameters": f"{parameters:,}",
        "encoder": f"{config.encoder_layers} Transformer layers",
        "decoder": f"{config.decoder_layers} {config.cell.upper()} layers, {sets} set(s) of parameters",
        "dimensions": f"{config.model_dim} model, {config.ffn_dim} feed-forward, {config.heads} heads",
        "vocabulary": f"{config.vocab_size} pieces, {'joint' if config.shared_vocabulary else 'one of each language'}",
        "shortlist": "yes" if packed.shortlist else "no",
        "longest source": f"{config.max_source_length} pieces; longer sentences are split",
        "longest target": f"{config.max_length_factor:g} x source pieces",
    }
    lines |= {key.replace("_", " "): value for key, value in packed.metadata.items() if isinstance(value, str)}
    width = max(map(len, lines)) + 2
    for name, value in lines.items():
        print(f"{name + ':':{width}}{value}")
    if given.verify:
        for name, digest in verify(path).items():
            print(f"{digest}  {name}")
    sys.stdout.flush()
    return 0


def _warm_up(given, writing) -> int:
    where = program.cache_file()
    progress = iter
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.monitor_interval = 0

        def progress(kernels):
            return tqdm(kernels, desc="compiling", unit=" kernels", file=sys.stderr)
    else:
        print(f"cpunmt: compiling for {isa.current().value}, unless that has been done ...", file=sys.stderr)
    if not program.warm_up(progress):
        return 1  # stderr has said why
    print(where, flush=True)
    return 0


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings):
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message):
        """Exit with 2 after one line; argparse would print the whole synopsis first."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="cpunmt", description="Fast neural machine translation on one CPU core.")
    parser.add_argument("--version", action="version", version=f"cpunmt {cpunmt.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    translate = commands.add_parser(
        "translate",
        help="translate lines of text: n lines in, n lines out",
        description="Translate lines of UTF-8 text: n lines in, n lines out, in order. Lines that are there are "
        "translated at once, so it can be used interactively; a file is sorted by length in windows and is fast.",
    )
    translate.add_argument(
        "-m",
        "--model",
        metavar="DIR",
        help="model directory (default: $CPUNMT_MODEL, else models/ende-student of a checkout)",
    )
    translate.add_argument("-i", "--input", metavar="FILE", help="text to translate (default: standard input)")
    translate.add_argument("-o", "--output", metavar="FILE", help="its translation (default: standard output)")
    translate.add_argument("--stats", action="store_true", help="tell on stderr how much was done in which time")
    _add_options(translate)
    translate.set_defaults(run=_translate, parser=translate)

    info = commands.add_parser("info", help="describe a model", description="Describe a model directory.")
    info.add_argument("directory", metavar="DIR", nargs="?", help="model directory (default: as of translate)")
    info.add_argument("--verify", action="store_true", help="compare size and SHA-256 of every file")
    info.set_defaults(run=_info)

    warm_up = commands.add_parser(
        "warmup",
        help="compile now what the first translation would compile",
        description="Compile the program for this processor, unless that has been done, and print where it is kept.",
    )
    warm_up.set_defaults(run=_warm_up)
    return parser


def _add_options(parser):
    """One flag for each field of Options, and Marian's spellings."""
    for option in dataclasses.fields(Options):
        rule = option.metadata
        flags = ["--" + option.name.replace("_", "-")]
        flags += [flag for flag, (name, value) in MARIAN_FLAGS.items() if name == option.name and value is None]
        default = "" if option.default is None else f" (default: {option.default})"
        parser.add_argument(
            *sorted(flags, key=lambda flag: flag.startswith("--")),
            dest=option.name,
            type=None if rule["choices"] else float if "float" in str(option.type) else int,
            choices=rule["choices"],
            metavar=None if rule["choices"] else "N",
            help=rule["help"] + default,
        )
    for flag, (name, value) in MARIAN_FLAGS.items():
        if value is not None:
            spelling = f"--{name.replace('_', '-')} {value}"
            parser.add_argument(flag, dest=name, action="store_const", const=value, help=f"the same as {spelling}")
