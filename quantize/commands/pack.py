"""`quantize pack`: packs a checkpoint into a model directory, and reports the error of each matrix."""

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpunmt import __version__
from cpunmt.engine.engine import Engine
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.console import say, tell
from cpunmt.files.output_files import check_directory, refuse_overwriting, scratch_directory, told
from cpunmt.files.tables import aligned
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.packed_directory import NAMES, shortlist_arguments, vocabulary_arguments, write_directory
from cpunmt.model.tensors import Model, matrices
from cpunmt.options.options import SPOKEN
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.checkpoints.checkpoint import OURS, open_directory, open_file, sha256_of
from quantize.checkpoints.float_checkpoint import float_tensors
from quantize.checkpoints.layer_errors import LEAST, LayerError, pack_tensors, poor
from quantize.checkpoints.stored_weights import stored_bytes
from quantize.commands.pack_options import (
    CALIBRATION_LINES,
    HELD_BACK,
    add_pack_options,
    chosen_range,
    conflict,
    kept_schemes,
)
from quantize.commands.shared_options import given_sets, languages_of, vocabulary_paths
from quantize.evaluation.bit_budget import Choice, Predictions, choose_bits, remembered
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
    config, packed, errors, quantization, choice = _quantized(given, checkpoint)
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
    last = f"{given.out}: {config.scheme}, {size / 1e6:.1f} MB"
    if choice:
        last += f"; {choice.whole:.5f} nats from float32 (budget: {given.budget:g})"
    tell(*table(errors, choice, {error.name: stored_bytes(packed, error.name) for error in errors}), last)
    if choice and choice.whole > given.budget > 0:
        told = f"--budget {given.budget:g} is too small: int8 throughout (but for --keep) takes {choice.whole:.2g} nats"
        say(f"cpunmt-quantize: warning: {told}")
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
    """Returns (config, packed tensors, errors of the matrices, their description for metadata.json, Choice or None)."""
    config = checkpoint.config
    schemes = exceptions(config, kept_schemes(given, config))
    chosen = chosen_range(given)
    statistics, calibration, predictions = _calibrated(given, checkpoint) if given.calibration else (None, None, None)
    alphas = None
    if given.activation_scales == "static":
        alphas = static_alphas(config, statistics, given.percentile) if statistics else checkpoint.alphas
        if alphas is None:
            raise ModelFileError(
                f"{given.checkpoint}: holds no activation scales (..._QuantMultA); give --calibration TEXT to find them"
            )
    quantizer, choice = matrix_quantizer(config, chosen, statistics), None
    if predictions:
        quantizer = remembered(quantizer)
        with progress_bar(len(matrices(config)) - len(schemes), "matrices", "measuring") as done:
            choice = choose_bits(
                config,
                checkpoint.tensors,
                given.scheme,
                given.budget,
                predictions,
                kept=schemes,
                quantizer=quantizer,
                alphas=alphas,
                done=done,
            )
        schemes = choice.schemes
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
    if predictions and choice:
        quantization["budget"] = {
            "nats": given.budget,
            "sentences": predictions.sentences,
            "divergence": round(choice.whole, 7),
            "alone": {name: round(nats, 7) for name, nats in choice.alone.items()},
        }
    return config, packed, errors, quantization, choice


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
    if given.recommend:
        checkpoint = checkpoint._replace(config=checkpoint.config.changed(**dict(given.recommend)))
    if given.shortlist:
        checkpoint = checkpoint._replace(shortlist=Shortlist.load(given.shortlist, *checkpoint.vocabularies))
    return checkpoint


def _calibrated(given: argparse.Namespace, checkpoint: Any) -> Any:
    """Returns (statistics of all inputs on the calibration text, their description for metadata.json, Predictions).

    The last are None without --budget.
    """
    count = given.calibration_lines or CALIBRATION_LINES
    config, tensors = checkpoint.config, float_tensors(checkpoint.tensors)
    vocabulary = checkpoint.vocabularies[0]
    if config.languages:
        sources, prompts, lines = directed_sources(given.calibration, vocabulary, config, count, languages_of(given))
    else:
        sources, lines = calibration_sources(given.calibration, vocabulary, config, count)
        prompts = [config.prompt] * len(sources)
    shortlist = checkpoint.shortlist if checkpoint.shortlist and checkpoint.shortlist.is_default else None
    prompts = prompts or [()] * len(sources)
    targets, predictions = greedy_translations(config, tensors, sources, shortlist, prompts), None
    if given.budget is not None:
        if len(sources) == 1:
            raise CpunmtError(f"{given.calibration}: has 1 usable sentence, and --budget needs 2: it holds one back")
        engine = Engine(Model(*packed_tensors(config, tensors, "float32")))
        predictions = Predictions(engine, sources[::HELD_BACK], targets[::HELD_BACK], prompts[::HELD_BACK])
        del sources[::HELD_BACK], targets[::HELD_BACK]
    with progress_bar(len(sources), "sentences", "calibrating") as done:
        statistics = input_statistics(config, tensors, sources, targets, done)
    digest = sha256_of(given.calibration, "calibration text")
    return statistics, {"sentences": len(sources), "lines": lines, "sha256": digest}, predictions


def table(errors: list[LayerError], choice: Choice | None = None, sizes: Mapping[str, int] | None = None) -> list[str]:
    """Returns one line for each matrix, under a heading; no lines if nothing was quantized.

    With a choice of bits it has the `sizes` of the matrices in bytes, too, and their divergences alone in 4 bits.
    """
    rows = [
        [name, scheme, f"{shape[0]} x {shape[1]}", f"{decibels:.2f}", f"{100 * clipped:.4f}"]
        for name, scheme, shape, decibels, clipped, *_ in errors
    ]
    heading = ["matrix", "scheme", "shape", "SQNR dB", "clipped %"]
    if choice and sizes:
        heading += ["kB", "nats in 4 bits"]
        for row in rows:
            row += [f"{sizes[row[0]] / 1e3:.1f}", f"{choice.alone[row[0]]:.5f}" if row[0] in choice.alone else ""]
    return aligned(heading, rows, 2)


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
