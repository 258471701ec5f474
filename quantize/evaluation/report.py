"""The whole report on a quantized model, as JSON values: its layers, size, quality and speed against float32."""

import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cpunmt import Translator, __version__
from cpunmt.decoding.call_settings import settings_of
from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA
from cpunmt.formats.any_directory import kind_of, model_folder
from cpunmt.formats.packed.packed_directory import WEIGHTS, read_directory, verify
from cpunmt.formats.packed.safetensors_file import check_tensors
from cpunmt.layers.stored import Linear
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors, linears, matrices, table_sizes
from cpunmt.options.options import Options, make_options, model_options
from cpunmt.options.suppressed_sequences import with_ids
from cpunmt.registry.store import model_languages
from cpunmt.values.checks import inner
from quantize.checkpoints.layer_errors import layer_error
from quantize.checkpoints.stored_weights import step_bytes, stored_bytes, stored_matrix
from quantize.evaluation.agreement import Translated, agreement, translated
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.sparsity import model_sparsity
from quantize.evaluation.speed import compare_speed, machine, sampled
from quantize.evaluation.text_metrics import Metrics, compare_bleu, compare_chrf, load_metrics
from quantize.languages import Tagged, named_options

FORMAT_VERSION = 1  # of the JSON: raised when a key is removed or changes its meaning


class Subject(NamedTuple):
    """A packed model under evaluation, or its baseline."""

    path: Path
    described: dict[str, Any]  # its description in the report
    tensors: dict[str, Any]
    loaded: LoadedModel
    options: Options


def work(sets: list[EvaluationSet], rounds: int) -> int:
    """Returns the total that `progress` of `measure` adds up to."""
    return sum(4 * len(one.sources) + 2 * rounds * len(sampled(one.sources)) for one in sets)


def measure(
    model: str | os.PathLike[str],
    baseline: str | os.PathLike[str],
    sets: list[EvaluationSet],
    settings: dict[str, Any] | None = None,
    *,
    rounds: int = 5,
    samples: int = 1000,
    activations: str | os.PathLike[str] | None = None,
    progress: Callable[..., Any] = lambda done, doing="": None,
) -> dict[str, Any]:
    """Measures `model`, a packed directory, against `baseline`, the same model packed as float32.

    Parameters
    ----------
    settings : options of `Translator.translate` for both: vocabulary, beam_size, source_lang, target_lang
    rounds : of the comparison of speed, 0 skips it
    samples : of the interval of a difference in BLEU, 0 skips it
    activations : source text, a sentence a line, for measuring the zeros of ReLUs' outputs; None skips it
    progress : called with the number of further finished sentences, and with the current task when it changes

    Raises CpunmtError: a directory is broken, they are not one model, or the metrics of text are not installed.
    """
    settings = {key: value for key, value in (settings or {}).items() if value is not None}
    ours, theirs = _subject(model, settings), _subject(baseline, settings)
    _check_pair(ours, theirs)
    language = ours.described["target_language"] or theirs.described["target_language"]
    metrics = load_metrics(language) if sets else None  # before the work: it may not be installed
    progress(0, "layers")
    layers = compare_layers((ours.loaded.config, ours.tensors), (theirs.loaded.config, theirs.tensors))
    active = _activations(ours, activations, progress) if activations else None
    judged = [_judge_set(ours, theirs, one, metrics, samples, progress) for one in sets if metrics]
    if rounds and sets:
        translators = Translator(model), Translator(baseline)
        for one, found in zip(sets, judged, strict=True):
            progress(0, f"{one.name}: speed")
            found["speed"] = compare_speed(*translators, one.sources, settings, rounds, progress)
    return {
        "format": "cpunmt quantization report",
        "format_version": FORMAT_VERSION,
        "versions": _versions(bool(sets)),
        "machine": machine(),
        "settings": settings,
        "model": ours.described,
        "baseline": theirs.described,
        "notes": _notes(ours, theirs),
        "size": _size(ours, theirs),
        "layers": layers,
        "sets": judged,
        "activations": active,
    }


def _subject(path: Any, settings: Any) -> Subject:
    path = model_folder(path)
    if kind_of(path) != "packed":
        raise ModelFileError(
            f"{path}: not packed by cpunmt; `cpunmt convert` (or `quantize pack`) makes what is needed"
        )
    digests = verify(path)
    packed = read_directory(path)
    check_tensors(packed.tensors, expected_tensors(packed.config), path / WEIGHTS)
    loaded = load_model(path)
    options = make_options(settings, model_options(loaded.config))
    if options.suppress_sequences is not None:
        sequences = with_ids(options.suppress_sequences, loaded.target_vocabulary, False)
        options = options.changed(suppress_sequences=sequences)
    languages = model_languages(loaded.metadata, str(path))
    options = named_options(options, loaded.config, loaded.source_vocabulary, languages)
    shortlist = loaded.engine.shortlist
    if options.vocabulary == "shortlist" and shortlist is None:
        raise CpunmtError(f"{path}: has no shortlist; choose --vocabulary full")
    used = options.vocabulary or ("shortlist" if shortlist is not None and shortlist.is_default else "full")
    options = options.changed(vocabulary=used)
    names = sorted([*digests, METADATA])
    described = {
        "path": str(path),
        "scheme": packed.config.scheme,
        "schemes": dict(packed.config.schemes),
        "activation_scales": packed.config.activation_scales,
        "vocabulary": used,
        "beam_size": options.beam_size,
        "bytes": sum((path / name).stat().st_size for name in names),
        "files": {name: {"bytes": (path / name).stat().st_size, "sha256": digests.get(name)} for name in names},
        "weights_sha256": digests[WEIGHTS],
        "checkpoint_sha256": inner(packed.metadata, "checkpoint", "sha256", kind=object),
        "target_language": inner(packed.metadata, "target_language", kind=str),
    }
    return Subject(path, described, packed.tensors, loaded, options)


def _check_pair(ours: Subject, theirs: Subject) -> None:
    stored = sorted({theirs.loaded.config.scheme_of(name) for name in matrices(theirs.loaded.config)})
    if stored != ["float32"]:
        raise CpunmtError(f"{theirs.path}: the baseline is {' and '.join(stored)}, expected float32")
    models = ours.loaded, theirs.loaded
    if len({tuple(checkpoint_tensors(model.config).items()) for model in models}) > 1:
        raise CpunmtError(f"{ours.path} and {theirs.path} differ in architecture; give the same model as float32")
    for side in ("source_vocabulary", "target_vocabulary"):
        vocabularies = [getattr(model, side) for model in models]
        if len({tuple(vocabulary.pieces(range(vocabulary.size))) for vocabulary in vocabularies}) > 1:
            raise CpunmtError(f"{ours.path} and {theirs.path} differ in their vocabularies; give the same model")


def _judge_set(
    ours: Subject, theirs: Subject, one: EvaluationSet, metrics: Metrics, samples: Any, progress: Any
) -> dict[str, Any]:
    pair = ours, theirs
    made: list[Translated] = []
    for who, name in zip(pair, ("model", "baseline"), strict=True):
        progress(0, f"{one.name}: {name} translates")
        made.append(translated(who.loaded, one.sources, who.options, progress))
    progress(0, f"{one.name}: forced decoding")
    ours_and_theirs = (ours.loaded, theirs.loaded), (ours.options, theirs.options), (made[0], made[1])
    found = agreement(*ours_and_theirs)
    progress(len(one.sources), f"{one.name}: BLEU and chrF")
    texts = made[0].texts, made[1].texts
    bleu = compare_bleu(metrics.bleu, *texts, one.references, samples) if one.references else None
    chrf = compare_chrf(metrics.chrf, *texts, one.references) if one.references else None
    similarity = metrics.chrf.corpus_score(texts[0], [texts[1]]).score
    progress(len(one.sources), f"{one.name}: BLEU and chrF")
    return {
        "name": one.name,
        "file": one.path,
        "sha256": one.sha256,
        "sentences": len(one.sources),
        "words": one.words,
        "references": max(map(len, one.references), default=0),
        "bleu": bleu,
        "chrf": chrf,
        "agreement": {
            **{"sentences": found.sentences, "identical": sum(found.identical), "tokens": found.tokens},
            **{"places": found.places, "chrf": similarity},
            **{"log_prob_difference": found.log_prob_difference, "outside": found.outside},
        },
        "speed": None,
        "differing": [
            {"line": line, "source": source, "baseline": theirs_said, "model": ours_said}
            for line, (source, ours_said, theirs_said, same) in enumerate(
                zip(one.sources, *texts, found.identical, strict=True), 1
            )
            if not same
        ],
    }


def compare_layers(
    model: tuple[ModelConfig, dict[str, Any]], baseline: tuple[ModelConfig, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the errors of every table, then of every linear layer in the order of use.

    Both models, (config, tensors), are of one architecture.

    JSON has no infinity: a matrix that lost nothing has null.
    """
    found = []
    layers: list[str | Linear] = [*table_sizes(model[0]), *linears(model[0])]
    for layer in layers:
        name = layer if isinstance(layer, str) else layer.name
        stored, original = stored_matrix(*model, layer), stored_matrix(*baseline, layer)
        error = layer_error(name, stored.scheme, original.weights, stored.weights, stored.reach)
        lossless = math.isinf(error.signal_to_noise)
        found.append(
            {
                "name": name,
                "scheme": error.scheme,
                "shape": list(error.shape),
                "bytes": stored_bytes(model[1], name),
                "baseline_bytes": stored_bytes(baseline[1], name),
                "sqnr_db": None if lossless else round(error.signal_to_noise, 3),
                "clipped": error.clipped,
                "worst_columns": [{"column": c, "sqnr_db": round(decibels, 3)} for c, decibels in error.worst],
            }
        )
    return found


def _activations(ours: Subject, path: Any, progress: Any) -> dict[str, Any]:
    progress(0, "activations")
    loaded = ours.loaded
    shortlist = loaded.engine.shortlist if ours.described["vocabulary"] == "shortlist" else None
    search = settings_of(ours.options).search
    vocabulary = Tagged(loaded.source_vocabulary, search)
    count, found = model_sparsity(loaded.config, ours.tensors, path, vocabulary, shortlist, search.prompt)
    return {"file": str(path), "sentences": count, "layers": [layer._asdict() for layer in found]}


def _size(ours: Subject, theirs: Subject) -> dict[str, Any]:
    weights = [who.described["files"][WEIGHTS]["bytes"] for who in (ours, theirs)]
    whole = [who.described["bytes"] for who in (ours, theirs)]
    return {
        "bytes": whole[0],
        "baseline_bytes": whole[1],
        "ratio": whole[0] / whole[1],
        "weights_ratio": weights[0] / weights[1],
        "step_bytes": step_bytes(ours.loaded.config, ours.tensors),
        "baseline_step_bytes": step_bytes(theirs.loaded.config, theirs.tensors),
    }


def _notes(ours: Subject, theirs: Subject) -> list[str]:
    notes = []
    checkpoints = [who.described["checkpoint_sha256"] for who in (ours, theirs)]
    if None not in checkpoints and checkpoints[0] != checkpoints[1]:
        notes.append("the model was packed from another checkpoint than its baseline")
    for key, told in (("vocabulary", "choose from different vocabularies"), ("beam_size", "have different beams")):
        if ours.described[key] != theirs.described[key]:
            notes.append(f"they {told}: model {ours.described[key]}, baseline {theirs.described[key]}")
    return notes


def _versions(judges_text: bool) -> dict[str, Any]:
    found = {"cpunmt": __version__, "python": platform.python_version(), "numpy": np.__version__}
    if judges_text:
        import sacrebleu

        found["sacrebleu"] = sacrebleu.__version__
    return found
