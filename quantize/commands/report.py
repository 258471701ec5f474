"""`quantize report`: reports a model's quantization errors as a table, JSON and a picture, and checks limits."""

import argparse
import json
from typing import Any

from cpunmt.files.console import say, tell
from cpunmt.files.output_files import check_file, refuse_overwriting, write_file
from cpunmt.model.config import MOST_BEAM
from cpunmt.options.options import SPOKEN, VOCABULARIES
from quantize.commands.shared_options import (
    LIMITS,
    add_gate_options,
    add_languages,
    add_options,
    given_sets,
    languages_of,
    whole,
)
from quantize.evaluation.gate import judge
from quantize.evaluation.report import measure, work
from quantize.evaluation.report_picture import load_figure, picture
from quantize.evaluation.report_table import report_lines
from quantize.evaluation.sparsity import MOST_SENTENCES
from quantize.progress import progress_bar

_MODELS = """
model MODEL     a packed model's directory
--baseline DIR  the same model packed with --scheme float32
"""
_OPTIONS = f"""
--activations TEXT  source text, a sentence a line: how much of what ReLUs leave is zero, by layer, on {MOST_SENTENCES}
                    of its sentences
--json FILE         write everything as JSON, with the sentences that differ
--picture FILE      draw it, as PNG
--vocabulary NAME   as of `cpunmt translate`
--beam-size N       as of `cpunmt translate`
--rounds N          how often speed is measured; 0: not at all (default: 5)
--samples N         how often a test set is resampled for the interval; 0: not at all (default: 1000)
--force             replace the files of --json and --picture
"""


def add_parser(commands: Any) -> Any:
    """Adds `report` to the commands of `quantize`."""
    parser = commands.add_parser(
        "report",
        help="what quantization cost a packed model: layers, size, quality, speed",
        description="Compare a packed model with the same model packed as float32. Exit status 1 if a limit is broken.",
        epilog=f"{LIMITS} The picture is drawn by matplotlib, which comes with the same extra. For speed, bind the "
        "process to a core: taskset -c 1 python -m quantize report ...",
    )
    add_options(parser, _MODELS, baseline={"required": True})
    add_gate_options(parser)
    add_languages(parser)
    kinds = {"beam_size": whole(1, MOST_BEAM), "rounds": whole(0, 1000), "samples": whole(0, 1_000_000)}
    add_options(parser, _OPTIONS, vocabulary={"choices": VOCABULARIES, "metavar": None}, **kinds)
    return parser


def run(given: argparse.Namespace) -> int:
    """Runs the command; returns 1 if a limit is broken.

    Raises CpunmtError for obstacles, as early as possible.
    """
    for path in filter(None, (given.json, given.picture)):
        check_file(path, given.force)
    read = [given.model, given.baseline, *(path for _, path in given.test)]
    read += [given.activations] if given.activations else []
    refuse_overwriting([given.json, given.picture], read)
    if given.picture:
        load_figure()
    sets = given_sets(given)
    settings = {"vocabulary": given.vocabulary, "beam_size": given.beam_size}
    settings |= zip(SPOKEN, languages_of(given), strict=True)
    with progress_bar(work(sets, given.rounds), "sentences") as progress:
        report = measure(
            given.model,
            given.baseline,
            sets,
            settings,
            rounds=given.rounds,
            samples=given.samples,
            activations=given.activations,
            progress=progress,
        )
    verdicts = judge(report, given.gate)
    report["gate"] = [verdict.to_json() for verdict in verdicts]
    tell(*report_lines(report, verdicts))
    if given.json:
        write_file(given.json, (json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
    if given.picture:
        write_file(given.picture, picture(report))
    broken = [verdict for verdict in verdicts if not verdict.kept]
    if broken:
        say(f"{given.parser.prog}: {len(broken)} of {len(verdicts)} limits broken")
    return 1 if broken else 0
