"""Command line: `cpunmt translate | translate-file | score | serve | info | convert | ls | fetch | warmup | doctor`.

Exit status: 0, 1 after an error (one line on stderr), 2 for wrong usage, 128 + its number after a signal (130 after
Ctrl-C), and 141, as a shell reports it of other programs, when nobody reads the output any more.
"""

import argparse

import cpunmt
from cpunmt.commands import batch, ensembles, registry
from cpunmt.commands.lines.output_lines import OutputFormat
from cpunmt.commands.lines.text_arguments import texts_of
from cpunmt.commands.lines.translate import translate_lines
from cpunmt.commands.machine import commands as machine
from cpunmt.commands.model_choice import add_model, model_of
from cpunmt.commands.serve import serve_arguments
from cpunmt.commands.translate_file import LEFT_OUT, document_arguments, refuse_contradictions, translate_file
from cpunmt.errors import CpunmtError
from cpunmt.files.console import one_line, say, tell
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ACTIVATION_SCALES
from cpunmt.options.arguments import MOST_THREADS
from cpunmt.options.foreign_names import MARIAN_FLAGS, MEANT_FLAGS
from cpunmt.options.option_field import kind
from cpunmt.options.options import SCORING, Options, make_options
from cpunmt.results.alignments import alignment_kind
from cpunmt.values.checks import whole
from cpunmt.values.command_line import Parser

NAMED_OTHERWISE = {"return_alternatives": "--alternatives"}  # option -> its flag: they are the translations themselves


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; wrong usage raises SystemExit."""
    try:
        given = _parser().parse_args(arguments)
        return given.run(given)
    except BrokenPipeError:
        return 141
    except (CpunmtError, OSError, MemoryError) as error:
        say(f"cpunmt: error: {one_line(error)}")
        return 1


def _translate(given) -> int:
    options = _options(given, Options.__dataclass_fields__)
    alignment = options.pop("return_alignments", None)
    form = OutputFormat("num_hypotheses" in options, alignment, "return_token_log_probs" in options)
    if alignment is not None:
        options["return_alignments"] = True
    checked = {name: value for name, value in options.items() if (name, value) != ("num_hypotheses", 0)}
    _checked(given, {name: value for name, value in checked.items() if name != "glossary"})
    markup = next((name for name in ("html", "xml") if options.get(name)), None)
    if markup and (form.alignment is not None or form.word_scores):
        flag = "--word-scores" if form.alignment is None else "--alignment"
        given.parser.error(f"{flag} tells of pieces, and the result of --{markup} has none; leave one of them out")
    texts = texts_of(given)
    if "glossary" in options:
        from cpunmt.options.glossary.glossary import Glossary

        options["glossary"] = Glossary.from_tsv(options["glossary"])  # once
    arguments = _of_translator(given)
    translate_lines(texts or given.input, given.output, arguments, options, form, given.stats)
    return 0


def _translate_file(given) -> int:
    options = _options(given, Options.__dataclass_fields__)
    _checked(given, {name: value for name, value in options.items() if name != "glossary"})
    refuse_contradictions(given)
    return translate_file(given, _of_translator, options)


def _batch(given) -> int:
    options = _options(given, Options.__dataclass_fields__)
    _checked(given, {name: value for name, value in options.items() if name != "glossary"})
    return batch.run(given, _of_translator(given), options)


def _score(given) -> int:
    from cpunmt.commands.lines.score import score_lines

    if (given.source is None) != (given.target is None):
        given.parser.error("give both --source and --target, or neither: then standard input has both, with a tab")
    options = _options(given, SCORING)
    _checked(given, options)
    files = given.source, given.target, given.output
    return 1 if score_lines(*files, _of_translator(given), options, given.per_token) else 0


def _of_translator(given) -> dict:
    """The arguments of the Translator that the command line asks for."""
    first = model_of(given.model, given.source_language, given.target_language)
    paths = ensembles.paths_of(first, given)
    return {"model_path": paths, "weights": given.weights, "inter_threads": given.inter_threads}


def _options(given, names) -> dict:
    """What the command line says of the options `names`."""
    return {name: value for name in names if (value := getattr(given, name, None)) is not None}


def _checked(given, options):
    """Wrong usage unless the options can be right for some model."""
    try:
        make_options(options)
        whole("inter_threads", given.inter_threads, 1, MOST_THREADS)
    except ValueError as error:
        message = str(error)
        for name, flag in NAMED_OTHERWISE.items():
            message = message.replace(f"{name}=True", flag).replace(name, flag)
        given.parser.error(message)
    if (given.source_language is None) != (given.target_language is None):
        given.parser.error("give both --from and --to, or neither")
    if given.model is not None and given.source_language is not None:
        given.parser.error("give -m, or --from and --to: they choose a model")
    ensembles.check_weights(given)


def _alignment(text) -> str | float:
    """`alignment_kind`; of a ValueError argparse would not tell what it says."""
    try:
        return alignment_kind(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _info(given) -> int:
    from cpunmt.commands import models  # the readers of other programs' files, which few commands need

    ensembles.check_weights(given)
    paths = ensembles.paths_of(model_of(given.directory), given)
    for number, path in enumerate(paths):
        lines = models.describe(path, given.verify)
        width = max(map(len, lines)) + 2
        tell(*[""] * (number > 0), *[f"{name + ':':{width}}{value}" for name, value in lines.items()])
    if len(paths) > 1:
        tell("", models.describe_ensemble(paths, given.weights))
    return 0


def _convert(given) -> int:
    from cpunmt.commands.models import convert

    tell(*convert(model_of(given.directory), given.out, given.scheme, given.activation_scales, given.force))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="cpunmt", description="Fast neural machine translation on one CPU core.")
    parser.add_argument("--version", action="version", version=f"cpunmt {cpunmt.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    commands.add_parser(
        "translate",
        fill=_translate_arguments,
        meant=MEANT_FLAGS,
        help="translate lines of text: n lines in, n lines out",
        description="Translate lines of UTF-8 text: n lines in, n lines out, in order (with --n-best, n lists). Lines "
        "that are there are translated at once, so it can be used interactively; a file is sorted by length in "
        "windows and is fast.",
    )
    commands.add_parser(
        "translate-file",
        fill=_file_arguments,
        help="translate the texts in a file of another format, and keep all else in it",
        description="Translate the texts in a document, of the formats that docs/documents.md lists. All else in it "
        "stays, to the byte. It is written when all of it is done, and its name is printed.",
    )
    commands.add_parser(
        "batch",
        fill=_batch_arguments,
        help="translate corpora with several processes, part by part; what is done is not done again",
        description="Translate files of any size: text, JSONL, Parquet. Each is cut to parts that together are its "
        "translation, row for row. A run that was ended goes on where it was. With --score, pairs are scored.",
    )
    commands.add_parser(
        "score",
        fill=_score_arguments,
        help="score given translations: n pairs of lines in, n scores out",
        description="Write for each pair of lines how probable the second is as translation of the first: its "
        "log-probability per piece (--length-penalty 0: in all), over the whole vocabulary.",
    )
    commands.add_parser(
        "serve",
        fill=serve_arguments,
        help="translate over HTTP, for clients of LibreTranslate, DeepL, Google and MTranServer",
        description="Translate over HTTP, with one or several models; where there is none for two languages, through "
        "others. It speaks the dialects of LibreTranslate, DeepL, Google and MTranServer, and one of its own.",
    )
    commands.add_parser(
        "info", fill=_info_arguments, help="describe a model", description="Describe a model directory."
    )
    commands.add_parser(
        "convert",
        fill=_convert_arguments,
        help="write a model of Bergamot, Marian, OPUS-MT or Hugging Face in our form",
        description="Write another program's model as a packed directory: it loads in a third of the time, and is "
        "mapped into memory, shared between processes. The translations are the same.",
    )
    machine.add_commands(commands)
    registry.add_commands(commands)
    return parser


def _translate_arguments(parser):
    add_model(parser)
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="texts to translate, each a line (default: what -i says)"
    )
    parser.add_argument("-i", "--input", metavar="FILE", help="lines to translate (default: standard input)")
    parser.add_argument("-o", "--output", metavar="FILE", help="their translations (default: standard output)")
    parser.add_argument("--stats", action="store_true", help="tell on stderr how much was done in which time")
    _add_options(parser, Options.__dataclass_fields__)
    parser.set_defaults(run=_translate, parser=parser)


def _file_arguments(parser):
    document_arguments(parser)
    add_model(parser)
    names = [name for name in Options.__dataclass_fields__ if not name.startswith("return_") and name not in LEFT_OUT]
    _add_options(parser, names)
    parser.set_defaults(run=_translate_file, parser=parser)


def _batch_arguments(parser):
    batch.arguments(parser)
    add_model(parser, threads=False)
    names = [name for name in Options.__dataclass_fields__ if not name.startswith("return_")]
    _add_options(parser, [name for name in names if name not in batch.LEFT_OUT])
    parser.set_defaults(run=_batch, parser=parser, inter_threads=1)


def _score_arguments(parser):
    add_model(parser)
    parser.add_argument("--source", metavar="FILE", help="sources (default: standard input: source, tab, target)")
    parser.add_argument("--target", metavar="FILE", help="their translations, on as many lines")
    parser.add_argument("-o", "--output", metavar="FILE", help="scores (default: standard output)")
    parser.add_argument(
        "--per-token", "--word-scores", action="store_true", help="add a tab and the log-probability of each piece"
    )
    _add_options(parser, SCORING, {"vocabulary": "target pieces that share the probability (default: full)"})
    parser.set_defaults(run=_score, parser=parser)


def _info_arguments(parser):
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        help="model directory, a file in it, or the name of a fetched model (default: as of translate)",
    )
    parser.add_argument("--verify", action="store_true", help="compare size and SHA-256 of every file")
    ensembles.add_arguments(parser)
    parser.set_defaults(run=_info, parser=parser)


def _convert_arguments(parser):
    parser.add_argument("directory", metavar="DIR", help="the model's directory, or the name of a fetched model")
    parser.add_argument("out", metavar="OUT", help="the directory to write")
    parser.add_argument("--scheme", choices=SCHEMES, help="what the weights become (default: int8)")
    parser.add_argument(
        "--activation-scales",
        choices=ACTIVATION_SCALES,
        default="dynamic",
        help="int8: each row of activations has its own scale, or the model file's are used (default: dynamic)",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT, if it is a packed model")
    parser.set_defaults(run=_convert)


def _add_options(parser, names, other_help=None):
    """One flag for each option, and Marian's spellings. What only results in Python have has no flag of its own."""
    for name in names:
        option = Options.__dataclass_fields__[name]
        rule = option.metadata
        flags = [] if name.startswith("return_") else ["--" + name.replace("_", "-")]
        if name in NAMED_OTHERWISE:
            flags = [NAMED_OTHERWISE[name]]
        flags += [flag for flag, (of, value) in MARIAN_FLAGS.items() if of == name and value is None]
        if not flags:
            continue
        settings = {"dest": name, "help": (other_help or {}).get(name, rule["help"])}
        if name == "return_alignments":
            settings |= {"type": _alignment, "nargs": "?", "const": "hard", "metavar": "hard|soft|THRESHOLD"}
        elif kind(option) is bool:
            settings |= {"nargs": 0, "const": True}
            if option.default is None:  # it may be on by itself
                parser.add_argument(f"--no-{flags[0][2:]}", dest=name, nargs=0, const=False, help=f"not {flags[0]}")
        elif rule["takes"]:
            settings |= {"metavar": rule["takes"]}
        elif rule["choices"]:
            settings |= {"choices": rule["choices"]}
        else:
            settings |= {"type": kind(option), "metavar": "N"}
            if rule["alone"] is not None:
                settings |= {"nargs": "?", "const": rule["alone"]}
            if option.default is not None:
                settings["help"] += f" (default: {option.default})"
        parser.add_argument(*sorted(flags, key=lambda flag: flag.startswith("--")), **settings)
    for flag, (name, value) in MARIAN_FLAGS.items():
        if value is not None and name in names:
            spelling = f"--{name.replace('_', '-')} {value}"
            text = Options.__dataclass_fields__[name].metadata["help"] if value is True else f"the same as {spelling}"
            parser.add_argument(flag, dest=name, nargs=0, const=value, help=text)
