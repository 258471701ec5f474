"""Greedy translations by the NumPy reference with 8-bit columns of several kinds, for `bench.schemes`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bench.harness.quality import bleu
from bench.harness.texts import evenly
from cpunmt import Translator
from cpunmt.layers.schemes import int8
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.checkpoints.layer_errors import decibels
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.reference.integers import IntegerReference, offset_columns
from quantize.reference.network import Reference

SIGMAS = (3, 5, 7, 10)
COLUMNS: dict[str, Callable] = {  # name -> weights to integers and scales
    "ours: max": int8.quantize_columns,
    "ours: min(max, 7 sigma)": partial(int8.quantize_columns, sigmas=7),
    "Kim et al.: min to max": partial(offset_columns, sigmas=None),
    **{f"Kim et al.: mean +- {n} sigma": partial(offset_columns, sigmas=n) for n in SIGMAS},
}


def measure(model: Path, sets: list[EvaluationSet], count: int) -> list[dict]:
    """Returns rows by kind of columns, float32 first: the least signal to noise of a matrix, BLEU and the share of
    float32's translations of `count` sentences of each set. `model` is packed as float32.
    """
    config, tensors = read_float_checkpoint(model)
    translator, rows, exact = Translator(model), [], None
    chosen = [evenly(list(zip(one.sources, one.references, strict=True)), count) for one in sets]
    weights = [tensor for name, tensor in tensors.items() if tensor.ndim == 2 and name.endswith(".weight")]
    for name, columns in {"float32": None, **COLUMNS}.items():
        reference = IntegerReference(config, tensors, columns) if columns else Reference(config, tensors)
        texts = [[translate(translator, reference, source) for source, _ in pairs] for pairs in chosen]
        exact, judged = exact or texts, {}
        for one, pairs, said, expected in zip(sets, chosen, texts, exact, strict=True):
            same = sum(a == b for a, b in zip(said, expected, strict=True)) / len(said)
            judged[one.name] = {"bleu": bleu(said, [references for _, references in pairs]), "same": same}
        worst = min(_signal_to_noise(matrix, *columns(matrix)) for matrix in weights) if columns else None
        rows.append({"name": name, "worst_sqnr_db": worst, "sets": judged})
    return rows


def translate(translator: Translator, reference: Reference, text: str) -> str:
    """Translates one sentence greedily, with the model's shortlist."""
    config, shortlist = reference.config, translator.loaded.engine.shortlist
    source, ids = list(translator.source_vocabulary.encode(text)), []
    candidates = np.arange(config.vocab_size)
    if shortlist is not None:
        candidates = shortlist.candidates(source, config.shared_vocabulary)
    candidates = candidates[candidates != config.unk_id]
    state = reference.start(reference.encode(source))
    while len(ids) < config.max_length_factor * len(source) and ids[-1:] != [config.eos_id]:
        logits, state = reference.step(state, ids[-1:] or [0], candidates)
        ids.append(int(candidates[logits[0].argmax()]))
    return translator.target_vocabulary.decode([piece for piece in ids if piece != config.eos_id])


def _signal_to_noise(weights, q, scales) -> float:
    return float(decibels(np.square(weights).sum(), np.square(weights - q * scales).sum()))


def show(rows: list[dict], count: int):
    print(f"\n8-bit products in NumPy, output layer and embeddings float32, {count} sentences of each set")
    heads = "".join(f"{name + ': BLEU':>20} {'same %':>7}" for name in rows[0]["sets"])
    print(f"{'':30}{'worst SQNR dB':>14}{heads}")
    for row in rows:
        worst = "" if row["worst_sqnr_db"] is None else f"{row['worst_sqnr_db']:.1f}"
        sets = "".join(f"{one['bleu']:20.2f} {100 * one['same']:7.1f}" for one in row["sets"].values())
        print(f"{row['name']:30}{worst:>14}{sets}", flush=True)
