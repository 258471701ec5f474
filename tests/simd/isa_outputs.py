"""Prints everything that must be equal on all paths, as JSON. A script for tests, run with CPUNMT_ISA set.

python -m tests.simd.isa_outputs

integers        SHA-256 of the sums of `integer_cases()` and `word_cases()`
kernels         kernel -> SHA-256 of its floats
overflowing     scheme -> [[ids, log-probability as text], ...] of models whose numbers leave float32
recurrent       scheme -> [[ids, score in hexadecimal], ...] of random recurrent networks of every kind
extended        the same of Transformers with a config's `extensions`
codes alone     the same of some of both in 4 bits, without int8 weights beside the codes
translations    "int8" and "float32" -> [[ids, log-probability and score in hexadecimal], ...]
"""

import hashlib
import json

import numpy as np

from cpunmt.commands.machine import self_test
from cpunmt.engine import program as compiled
from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.kernels.matmul.int8_matmul import AFFINE
from cpunmt.kernels.records import ACTIVATIONS
from cpunmt.model import tensors
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from cpunmt.simd import isa
from tests.kernels import test_activations as activations
from tests.kernels import test_additive_attention as additive_attention
from tests.kernels import test_attention as attention
from tests.kernels import test_embedding as embedding
from tests.kernels import test_float_matmul as float_matmul
from tests.kernels import test_gates as gates
from tests.kernels import test_int8_matmul as int8_matmul
from tests.kernels import test_int16_matmul as int16_matmul
from tests.kernels import test_layer_norm as layer_norm
from tests.kernels import test_quantize_rows as quantize_rows
from tests.kernels import test_recurrent_cells as recurrent_cells
from tests.kernels import test_relative as relative
from tests.kernels import test_row_products as row_products
from tests.kernels import test_softmax as softmax
from tests.kernels import test_sparse_matmul as sparse_matmul
from tests.kernels import test_top_k as top_k
from tests.sample_models import real_model, recurrents
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.transformers import NAMED, OF_MARIAN, VOCAB, make_config

NETWORK_SCHEMES = ("int8", "log4", "int16", "float32")
SENTENCES = {"int8": 40, "float32": 8}  # the generic path has no fma: floats take it a second each


def integer_cases():
    """Yields (q, weights) of all sizes: 1 to 200 rows, up to 20 panels, and the largest magnitudes."""
    generator = np.random.default_rng(1)
    for rows in [*range(1, 14), 48, 63, 64, 65, 70, 96, 97, 200]:
        for panels in (1, 2, 3, 4, 5, 8, 20):
            depth = 16 * int(generator.integers(1, 9))
            q = generator.integers(-128, 128, (rows, depth), np.int8)
            yield q, generator.integers(-127, 128, (depth, 16 * panels - panels % 3), np.int8)
    for value in (127, -127, -128):
        yield np.full((7, 512), value, np.int8), np.full((512, 80), -127, np.int8)


def word_cases():
    """Yields the same for int16."""
    for seed, (q, weights) in enumerate(integer_cases()):
        yield int16_matmul.random_operands(seed, *q.shape, weights.shape[1])


def digest(arrays) -> str:
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def kernel_outputs(program):
    """Returns kernel -> arrays, from operands that are equal everywhere."""
    for rows, sixteens in ((1, 1), (3, 4), (17, 16), (70, 3)):
        depth = 16 * sixteens
        generator = np.random.default_rng(rows)
        x, weights, bias = (float_matmul.random_matrix(generator, *n) for n in ((rows, depth), (depth, 80), (80,)))
        yield "float_linear", float_matmul.multiply(program, x, weights, bias)
        q, scales = quantize_rows.check(program, x)
        yield "quantize_rows", q
        yield "quantize_rows", scales
        w = generator.integers(-127, 128, (depth, 80), np.int8)
        yield "int8_linear", int8_matmul.multiply(program, q, w, AFFINE, np.abs(bias), bias, scales)
        positive, layer = np.maximum(x, 0), (w, np.abs(bias), bias)
        for how in (None, sparse_matmul.ALWAYS):
            for multiplier in (0.0, 30.0):
                yield "sparse_linear", sparse_matmul.multiply(program, positive, layer, AFFINE, multiplier, how)
        coded = w[:, 0][np.arange(16) % depth], (w & 15).view(np.uint8)  # levels and codes
        yield "int8_linear", int8_matmul.multiply(program, q, coded, AFFINE, np.abs(bias), bias, scales)
        for count in (1, rows):
            operands = q[:count], coded, AFFINE, np.abs(bias), bias, scales[:count]
            yield "int8_linear", int8_matmul.multiply(program, *operands, alone=True)
        q16, scales16 = quantize_rows.check16(program, x, 2047)
        yield from (("quantize_rows16", array) for array in (q16, scales16))
        w16 = w * np.int16(200)
        yield "int16_linear", int16_matmul.multiply(program, q16, w16, AFFINE, np.abs(bias), bias, scales16)
        for dtype in row_products.SCHEMES:
            table, vectors = row_products.random_table(rows, 79, depth, dtype)
            if dtype == np.int8:
                offset = isa.activation_offset()
                vectors["start"] -= np.int32(offset) * table.sum(axis=1, dtype=np.int32)
            pieces = row_products.chosen_pieces(rows, 79, 79 - rows)
            yield "score_pieces", row_products.score(program, table, vectors, x, pieces)
        operands = layer_norm.random_operands(rows, rows, depth)
        yield "residual_layer_norm", layer_norm.normalize(program, *operands)[0]
        yield "residual_layer_norm", layer_norm.normalize(program, *operands, root_mean_square=True)[0]
        for function in range(len(ACTIVATIONS)):
            yield "gate_rows", gates.gate(program, np.concatenate([3 * x, x], axis=1), function)
        for cell in recurrent_cells.WIDTHS:
            operands = recurrent_cells.random_operands(cell, rows, rows, depth)
            yield from ((f"{cell}_row", array) for array in recurrent_cells.step(program, cell, operands))
        operands = additive_attention.random_operands(rows, rows, depth, 2.0)
        yield "additive_scores", additive_attention.scores(program, *operands)
        yield "softmax_rows", softmax.softmax(program, 5 * x, 0.5)
        yield "softmax_columns", softmax.softmax_columns(program, 5 * x, 0.5)
        qkv = attention.random_matrix(rows, rows, 3 * depth)
        yield "self_attention", attention.self_attention(program, qkv, sixteens)
        query, keys, values = np.split(attention.random_matrix(rows, 2 * rows + 1, depth), [1, rows + 1])
        yield "cross_attention_row", attention.cross_attention(program, query[0], keys, values, sixteens)
        for kind in ("bias", "vectors"):
            layer = relative.Layer(rows, (sixteens, depth), rows, kind, 5)
            yield "self_attention", layer.sentence(program)
            yield "path_attention_row", layer.last(program)
        yield "embed", embedding.embed(program, w.T.copy(), np.abs(bias), x, 79, rows - 1)
        yield "embed", embedding.embed(program, w16.T.copy(), np.abs(bias), x, 79, rows - 1)
        yield "embed", embedding.embed(program, x, None, x, rows // 2, 0)
        scores = np.full(rows * depth, softmax.LOWEST, np.float32)
        scores[: rows * depth - 7] = x.ravel()[7:]
        yield "log_sum_exp", np.float64(program.log_sum_exp(scores, len(scores)))
        yield from (("top_k", a) for k in (1, 7) for a in top_k.choose(program, scores, k))
    yield "sigmoid", activations.sigmoid(program, np.linspace(-18, 18, 1 << 16, dtype=np.float32))
    yield "exp", activations.powers(program, np.linspace(-90, 0, 15 << 12, dtype=np.float32))


def translations(scheme):
    sources = list(real_model.sources(SENTENCES[scheme]))
    limits = [2 * len(source) for source in sources]
    engine = real_model.engine(scheme)
    made = engine.translate(sources, limits) + engine.translate(sources[:4], limits[:4], Search(full=True))
    made += engine.translate(sources[::4], limits[::4], Search(beam_size=4, num_hypotheses=3, attention=True))
    drawn = Search(beam_size=3, num_hypotheses=3, sampling_topk=0, sampling_topp=0.95, sampling_temperature=1.3, seed=7)
    made += engine.translate(sources[::4], limits[::4], drawn)
    made += engine.translate(sources[::4], limits[::4], drawn._replace(full=True, sampling_topk=20))
    changed = Search(beam_size=3, repetition_penalty=1.2, no_repeat_ngram_size=2, suppressed=((5,), (9, 10)))
    made += engine.translate(sources[::4], limits[::4], changed)
    return [[list(h.ids), float(h.log_prob).hex(), float(h.score).hex()] for found in made for h in found]


def overflowing(scheme):
    """Returns translations of models with weights so large that sums become infinite or NaN."""
    made, plain, normed = [], make_config(), recurrents.make_config(layer_norm="marian", stack=(32, 48))
    t5, related = (make_config(**NAMED[name]) for name in ("T5", "relative positions"))
    for seed, (sizes, name) in enumerate(
        (
            (plain, "encoder.0.feed_forward.norm.scale"),
            (plain, "encoder.0.self_attention.query_key_value.bias"),
            (normed, "attention.key.norm.scale"),
            (normed, "encoder.forward.0.0.state_norm.bias"),
            (normed, "relu.0.bias"),
            (normed, "top.state.norm.scale"),
            (t5, "encoder.0.self_attention.pre_norm.scale"),
            (t5, "decoder.relative_bias"),
            (related, "encoder.0.self_attention.relative_keys"),
            (related, "decoder.0.cell.relative_values"),
        )
    ):
        config, tensors = packed_tensors(sizes, random_tensors(sizes, seed), scheme)
        tensors[name] = tensors[name] * np.float32(1e38)
        engine = Engine(Model(config, tensors))
        sources = random_sources(seed, config.vocab_size, 8)
        for search in (Search(), Search(beam_size=3, num_hypotheses=3)):
            made += [[h.ids, repr(h.log_prob)] for found in engine.translate(sources, [12] * 8, search) for h in found]
    return made


RECURRENT = [recurrents.make_config(**options) for options in recurrents.NAMED.values()]
EXTENDED = [make_config(**options) for name, options in NAMED.items() if name not in OF_MARIAN]


def network_translations(configs, scheme, large=tensors.LARGE):
    """Returns translations of random networks, greedily and by a beam. `large`: see cpunmt.model.tensors."""
    made, tensors.LARGE = [], large
    for seed, config in enumerate(configs):
        engine, sources = engine_of(config, random_tensors(config, seed), scheme), random_sources(seed, VOCAB, 6)
        for search in (Search(), Search(beam_size=3, num_hypotheses=3, attention=True)):
            for found in engine.translate(sources, [9] * 6, search):
                made += [[h.ids, float(h.score).hex()] for h in found]
    return made


def main():
    program = compiled.load()
    kernels = {}
    for name, array in kernel_outputs(program):
        kernels.setdefault(name, []).append(array)
    made = {
        "isa": isa.current().value,
        "self_test": self_test.digest(program),
        "integers": digest(
            module.multiply(program, *case)
            for module, cases in ((int8_matmul, integer_cases()), (int16_matmul, word_cases()))
            for case in cases
        ),
        "kernels": {name: digest(arrays) for name, arrays in kernels.items()},
        "overflowing": {scheme: overflowing(scheme) for scheme in ("int8", "code4", "int16", "float32")},
        "recurrent": {scheme: network_translations(RECURRENT, scheme) for scheme in NETWORK_SCHEMES},
        "extended": {scheme: network_translations(EXTENDED, scheme) for scheme in NETWORK_SCHEMES},
        "codes alone": {"log4": network_translations(RECURRENT[::4] + EXTENDED[::4], "log4", large=0)},
        "translations": {scheme: translations(scheme) for scheme in real_model.DIRECTORIES},
    }
    print(json.dumps(made))


if __name__ == "__main__":
    main()
