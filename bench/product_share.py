"""The share of the core's peak that the matrix products of real translations reach.

Multiplications of a translation are counted from the model's config; the time of their kernels is measured by
bench/programs/profiled.py; the peak is that of their instructions on registers alone.
"""

import time

import numpy as np

from bench import limits
from bench.harness.timing import seconds_of
from bench.programs import compiled
from bench.programs.profiled import PRODUCTS, Profiled
from bench.programs.running import running
from cpunmt.architectures.transformer.tensors import decoder_linears, encoder_linears
from cpunmt.model.config import SCHEMES, ModelConfig
from cpunmt.simd.tile_shapes import MATRIX_ROWS

_PEAKS = {
    "int8": ("matrix_peak", limits.MATRIX_PRODUCTS) if MATRIX_ROWS else ("int8_peak", limits.PRODUCTS8),
    "int16": ("int16_peak", limits.PRODUCTS16),
    "float32": ("float_peak", limits.FLOAT_PRODUCTS),
}


def multiplications(config: ModelConfig, sources: list, targets: list[int], candidates: list[int]) -> int:
    """Counts the products of greedy translations, with those of self-attention if PRODUCTS compute them.

    Parameters
    ----------
    sources, targets, candidates : of each sentence, pieces with </s>, and pieces to choose from
    """
    architecture, pieces = config.architecture, sum(sources)
    d, layers, sets = architecture.model_dim, architecture.encoder_layers, architecture.decoder_parameters
    encoder = sum(
        linear.depth * linear.columns
        for layer in range(layers)
        for linear in encoder_linears(architecture, layer).values()
    )
    total = encoder * pieces
    total += layers * sum(2 * d * length * length for length in sources)  # scores, and values
    per_step = 0
    for layer, parameters in enumerate(sets):
        for path, linear in decoder_linears(architecture, parameters).items():
            if path != "cross_attention.key_value":
                per_step += linear.depth * linear.columns
            elif parameters not in sets[:layer]:  # once per sentence
                total += linear.depth * linear.columns * pieces
    total += per_step * sum(targets)
    return total + d * sum(count * steps for count, steps in zip(candidates, targets, strict=True))


def peak(scheme: str) -> float:
    """Returns the peak multiplications per second for `scheme`: the best of some tries."""
    name, products = _PEAKS[SCHEMES[scheme]]
    program = compiled.load()
    run, data, out = getattr(program, name), np.zeros(128, np.uint8), np.zeros(4096, np.float32)
    return 20_000 * products / min(seconds_of(lambda: run(data, 20_000, out), 30, time.perf_counter))


def product_share(translator, lines: list[str], profiled: Profiled) -> float:
    """Returns the share of the core's peak that the products of `translator.translate(lines)` reach while they run.

    All matrices of the model must have one scheme.
    """
    model = translator.loaded
    engine, ids = model.engine, model.source_vocabulary.encode_batch(lines)
    with running(engine, profiled):
        translator.translate(lines, split="none")
        profiled.counts[:] = 0
        began = time.perf_counter()
        results = translator.translate(lines, split="none")
        passed = time.perf_counter() - began
    targets = [len(result.pieces) + (not result.truncated) for result in results]
    shared = model.config.shared_vocabulary
    candidates = [
        model.config.vocab_size if engine.shortlist is None else len(engine.shortlist.candidates(source, shared))
        for source in ids
    ]
    cycles = profiled.counts[:, [profiled.names.index(name) for name in PRODUCTS], 0].sum()
    seconds = passed * cycles / profiled.counts[:, :, 0].sum()
    sources = [len(source) for source in ids]
    return multiplications(model.config, sources, targets, candidates) / seconds / peak(model.config.scheme)
