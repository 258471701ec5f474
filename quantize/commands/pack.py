"""`quantize pack`: packs a checkpoint into a model directory, and reports the error of each matrix."""

import argparse
import math
from pathlib import Path
from typing import Any

from cpunmt import __version__
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.console import say, tell
from cpunmt.files.output_files import check_directory, refuse_overwriting, scratch_directory, told
from cpunmt.files.tables import aligned
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import NAMES, shortlist_arguments, vocabulary_arguments, write_directory
from cpunmt.options.options import SPOKEN
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.checkpoints.checkpoint import OURS, open_directory, open_file, sha256_of
from quantize.checkpoints.float_checkpoint import float_tensors
from quantize.checkpoints.layer_errors import LEAST, LayerError, pack_tensors, poor
from quantize.commands.pack_options import CALIBRATION_LINES, add_pack_options, chosen_range, conflict, kept_schemes
from quantize.commands.shared_options import given_sets, languages_of, vocabulary_paths
from quantize.evaluation.gate import check
from quantize.languages import NOT_OF_MANY, direction
from quantize.progress import progress_bar
from quantize.rounding.calibration import (
    calibration_sources,
    directed_sources,
    greedy_translations,
    input_statistics,
    static_alphas,
)
from quantize.rounding.matrix_quantizer import exceptions, matrix_quantizer


def add_parser(commands: Any) -> Any:
    """Adds `pack` to the commands of `quantize`."""
    pack = commands.add_parser(
        "pack",
        help="a checkpoint -> a packed model directory",
        description="Quantize a float32 checkpoint and write a model directory that cpunmt loads.",
    )
    add_pack_options(pack)
    return pack


def run(given: argparse.Namespace) -> None:
    """Runs the command (`given`: see `pack_options`); prints the table of errors.

    Raises ModelFileError for a file that is missing, broken or of another model, CpunmtError for a pattern that matches
    no matrix and for a broken limit, ValueError for a reserved metadata key.
    """
    _refuse(given)
    sets = given_sets(given)
    checkpoint = _opened(given)
    _refuse_languages(given, checkpoint)
    config, packed, errors, quantization = _quantized(given, checkpoint)
    ours = {"made_by": f"cpunmt {__version__}", "checkpoint": checkpoint.described, "quantization": quantization}
    beside = {
        **shortlist_arguments(checkpoint.shortlist, checkpoint.vocabularies),
        "metadata": {**checkpoint.metadata, **dict(given.metadata), **ours},
        **vocabulary_arguments(
            checkpoint.config, checkpoint.files, checkpoint.vocabularies, checkpoint.files[0].ids_from
        ),
    }
    if given.gate:
        baseline = packed_tensors(checkpoint.config, float_tensors(checkpoint.tensors), "float32")
        _keep_limits(given, sets, (config, packed), baseline, beside)
    write_directory(given.out, config, packed, force=given.force, **beside)
    size = sum(file.stat().st_size for file in Path(given.out).iterdir() if file.is_file())
    tell(*table(errors), f"{given.out}: {config.scheme}, {size / 1e6:.1f} MB")
    if found := poor(errors):
        say(f"cpunmt-quantize: warning: {_warning(given, found, len(errors))}")


def _refuse(given: argparse.Namespace) -> None:
    """Raises for obstacles that can be found before the work begins."""
    if not Path(given.checkpoint).exists():  # before advice on the options that it would need
        raise ModelFileError(
            f"{given.checkpoint}: not found; expected a Marian file (model.npz) or a model's directory"
        )
    wrong = conflict(given, Path(given.checkpoint).is_dir())
    if wrong:
        given.parser.error(wrong)
    refuse_overwriting([given.out], [given.checkpoint])
    check_directory(given.out, given.force, NAMES)
    taken = [key for key, _ in given.metadata if key in OURS]
    if taken:
        raise ValueError(f"metadata: the key {taken[0]!r} is written by this command; choose another name")


def _refuse_languages(given: argparse.Namespace, checkpoint: Any) -> None:
    """Raises CpunmtError for languages that do not fit the model, and for a shortlist if it has many."""
    config, languages = checkpoint.config, languages_of(given)
    if not config.languages:
        if languages != (None, None):
            raise CpunmtError(NOT_OF_MANY)
        return
    if checkpoint.shortlist and checkpoint.shortlist.is_default:
        raise CpunmtError(
            f"{given.checkpoint}: not supported: a shortlist of a model of {len(config.languages)} languages, where a "
            "piece has candidates in all of them; leave --shortlist out, or make clusters (`quantize clusters`)"
        )
    if given.test or languages != (None, None):
        direction(config, checkpoint.vocabularies[0], *languages)


def _quantized(given: argparse.Namespace, checkpoint: Any) -> Any:
    """Returns (config, packed tensors, errors of the matrices, their description for metadata.json)."""
    config = checkpoint.config
    schemes = exceptions(config, kept_schemes(given, config))
    chosen = chosen_range(given)
    statistics, calibration = _calibrated(given, checkpoint) if given.calibration else (None, None)
    alphas = None
    if given.activation_scales == "static":
        alphas = static_alphas(config, statistics, given.percentile) if statistics else checkpoint.alphas
        if alphas is None:
            raise ModelFileError(
                f"{given.checkpoint}: holds no activation scales (..._QuantMultA); give --calibration TEXT to find them"
            )
    quantizer = matrix_quantizer(config, chosen, statistics)
    with progress_bar(None, "matrices", "rounding") as done:
        config, packed, errors = pack_tensors(
            config,
            checkpoint.tensors,
            given.scheme,
            schemes=schemes,
            quantizer=lambda *matrix: (quantizer(*matrix), done(1))[0],
            alphas=alphas,
        )
    quantization: dict[str, Any] = {"scheme": config.scheme}
    if given.preset:
        quantization["preset"] = given.preset
    if schemes:
        quantization["exceptions"] = dict(config.schemes)
    if errors:
        quantization |= {"range": str(chosen), "activation_scales": config.activation_scales}
        if calibration:
            quantization["calibration"] = calibration
        quantization["matrices"] = {error.name: _described(error) for error in errors}
    return config, packed, errors, quantization


def _keep_limits(given: argparse.Namespace, sets: Any, model: Any, baseline: Any, beside: Any) -> None:
    """Raises CpunmtError if a model, (config, tensors), breaks a limit against its baseline."""
    with told(given.out), scratch_directory(given.out) as folder:
        paths = [folder / name for name in ("model", "float32")]
        for path, packed in zip(paths, (model, baseline), strict=True):
            write_directory(path, *packed, **beside)
        broken = check(paths[0], paths[1], sets, given.gate, dict(zip(SPOKEN, languages_of(given), strict=True)))
    if broken:
        raise CpunmtError(f"{given.out}: not written, limits are broken: {'; '.join(broken)}")


def _opened(given: argparse.Namespace) -> Any:
    """Opens the checkpoint, with the replacements on the command line."""
    if Path(given.checkpoint).is_dir():
        checkpoint = open_directory(given.checkpoint)
    else:
        checkpoint = open_file(given.checkpoint, vocabulary_paths(given))
    if given.max_length_factor is not None:
        config = checkpoint.config.changed(max_length_factor=given.max_length_factor)
        checkpoint = checkpoint._replace(config=config)
    if given.replace_unknowns:
        checkpoint = checkpoint._replace(config=checkpoint.config.changed(replace_unknowns=True))
    if given.shortlist:
        checkpoint = checkpoint._replace(shortlist=Shortlist.load(given.shortlist, *checkpoint.vocabularies))
    return checkpoint


def _calibrated(given: argparse.Namespace, checkpoint: Any) -> Any:
    """Returns (statistics of all inputs on the calibration text, their description for metadata.json)."""
    count = given.calibration_lines or CALIBRATION_LINES
    config, tensors = checkpoint.config, float_tensors(checkpoint.tensors)
    vocabulary = checkpoint.vocabularies[0]
    if config.languages:
        sources, prompts, lines = directed_sources(given.calibration, vocabulary, config, count, languages_of(given))
    else:
        sources, lines = calibration_sources(given.calibration, vocabulary, config, count)
        prompts = [config.prompt] * len(sources)
    shortlist = checkpoint.shortlist if checkpoint.shortlist and checkpoint.shortlist.is_default else None
    targets = greedy_translations(config, tensors, sources, shortlist, prompts)
    with progress_bar(len(sources), "sentences", "calibrating") as done:
        statistics = input_statistics(config, tensors, sources, targets, done)
    digest = sha256_of(given.calibration, "calibration text")
    return statistics, {"sentences": len(sources), "lines": lines, "sha256": digest}


def table(errors: list[LayerError]) -> list[str]:
    """Returns one line for each matrix, under a heading; no lines if nothing was quantized."""
    rows = [
        [name, scheme, f"{shape[0]} x {shape[1]}", f"{decibels:.2f}", f"{100 * clipped:.4f}"]
        for name, scheme, shape, decibels, clipped, *_ in errors
    ]
    return aligned(["matrix", "scheme", "shape", "SQNR dB", "clipped %"], rows, 2)


def _warning(given: argparse.Namespace, found: list[LayerError], count: int) -> str:
    """Returns a warning about the losses of the matrices `found`, the worst first, with advice."""
    worst = found[0]
    told = f"{len(found)} of {count} matrices lost more than rounding to {worst.scheme} should (SQNR below "
    told += f"{LEAST[worst.scheme]} dB), most of all {worst.name}: {worst.lowest:.1f} dB, which is "
    told += f"{100 * 10 ** (-worst.lowest / 10):.2g} % of the energy of its weights"
    told += " but for the largest one of each column. " if worst.rest < worst.signal_to_noise else ". "
    advice = []
    if chosen_range(given).kind == "sigma":
        advice.append("--range max or mse")
    if given.per_tensor or given.fixed_point:
        advice.append("scales per column (without --per-tensor, --fixed-point)")
    if not given.calibration:
        advice.append("--calibration TEXT")
    advice.append("more bits for those matrices (--keep PATTERN=SCHEME)")
    return f"{told}Try {', '.join(advice)}; `quantize report` tells what it costs in translations"


def _described(error: LayerError) -> dict[str, Any]:
    """Returns an error for metadata.json, which cannot hold infinity."""
    decibels = round(error.signal_to_noise, 2) if math.isfinite(error.signal_to_noise) else None
    return {"scheme": error.scheme, "sqnr_db": decibels, "clipped": round(error.clipped, 8)}
