"""Attention with terms of distance: within the error of its products, for sentences and for single queries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack
from cpunmt.kernels.tables import distance_buckets
from quantize.reference.formulas import distance_bucket
from tests.definitions.kernels import relative_attention_reference
from tests.kernels.rows import MISALIGNED, ROWS, SEEDS
from tests.kernels.test_attention import padded, path_attention
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards

SCALE = 0.5
shapes = st.sampled_from([(1, 16), (2, 32), (3, 48), (4, 128), (5, 160)])  # heads, width of all
terms = st.tuples(st.sampled_from(["bias", "vectors"]), st.sampled_from([1, 2, 7, 16, 40]))


class Layer:
    """Random operands of attention, in guarded memory."""

    def __init__(self, seed, shape, length, kind, reach, misaligned=0):
        self.heads, self.dim, self.length, self.guard = *shape, length, Guards(misaligned)
        self.head_dim = self.dim // self.heads
        generator = np.random.default_rng(seed)
        self.qkv = generator.standard_normal((length, 3 * self.dim)).astype(np.float32)
        self.bias = self.vectors = None
        relative = np.zeros(1, records.RELATIVE)
        relative["reach"] = reach
        if kind == "bias":
            self.bias = generator.standard_normal((self.heads, 2 * reach + 1)).astype(np.float32)
            relative["bias"] = self.guard.copy(self.bias / np.float32(SCALE)).ctypes.data
        else:
            self.vectors = generator.standard_normal((2, 2 * reach + 1, self.head_dim)).astype(np.float32)
            for name, part in zip(("keys", "values"), self.vectors, strict=True):
                relative[name] = self.guard.copy(part).ctypes.data
            relative["packed_keys"] = self.guard.copy(pack(self.vectors[0][: reach + 1].T)).ctypes.data
        described, scratch = np.zeros(1, records.SETTINGS), np.zeros(1, records.SCRATCH)
        described["model_dim"], described["attention_dim"], described["heads"] = 16, self.dim, self.heads
        described["attention_scale"] = SCALE
        room = {
            "packed": (self.head_dim, padded(length)),
            "scores": (max(length, self.heads), padded(length)),
            "sums": (self.heads,),
            "y": (length, self.dim),
            "relative": (max((2 * reach + 1) * padded(length), self.heads * (reach + 16)),),
        }
        for name, size in room.items():
            scratch[name] = self.guard.empty(size, np.float32).ctypes.data
        scratch["pointers"] = self.guard.empty(16, np.int64).ctypes.data
        self.described = described, scratch, relative

    def sentence(self, program):
        """Returns the contexts of all positions by the kernel for sentences."""
        out = self.guard.empty((self.length, self.dim), np.float32)
        program.self_attention(*self.described, self.guard.copy(self.qkv), self.length, out)
        self.guard.check()
        return out.copy()

    def last(self, program):
        """Returns the context of the last position by the kernel for single queries."""
        q, k, v = np.split(self.qkv, 3, axis=1)
        *described_by, relative = self.described
        numbers = range(0, 3 * self.length, 3)
        return path_attention(program, described_by, q[-1], k, v, numbers, self.heads, self.guard, relative)

    def expected(self, queries=slice(None)):
        q, k, v = np.split(self.qkv, 3, axis=1)
        return relative_attention_reference(q[queries], k, v, self.heads, SCALE, self.bias, self.vectors)


@given(SEEDS, shapes, ROWS, terms, MISALIGNED)
@settings(deadline=None, max_examples=40)
def test_sentences_equal_their_reference(program, seed, shape, length, kind, misaligned):
    layer = Layer(seed, shape, length, *kind, misaligned)
    # scores of up to 60 have errors of 60 * 2^-24 * head_dim at most, which softmax keeps; measured: below 2e-6
    np.testing.assert_allclose(layer.sentence(program), layer.expected(), atol=1e-5)


@given(SEEDS, shapes, ROWS, terms, MISALIGNED)
@settings(deadline=None, max_examples=40)
def test_single_queries_equal_their_reference(program, seed, shape, length, kind, misaligned):
    layer = Layer(seed, shape, length, *kind, misaligned)
    np.testing.assert_allclose(layer.last(program), layer.expected(slice(-1, None))[0], atol=1e-5)


@given(SEEDS, shapes, ROWS, st.integers(1, 20))
@settings(deadline=None, max_examples=20)
def test_terms_of_zero_change_nothing(program, seed, shape, length, reach):
    layer = Layer(seed, shape, length, "bias", reach)
    settings_, scratch, relative = layer.described
    zeros = np.zeros(layer.heads * (2 * reach + 1), np.float32)
    relative["bias"] = zeros.ctypes.data
    with_zeros = layer.sentence(program), layer.last(program)
    layer.described = settings_, scratch, 0
    assert same_bits(layer.sentence(program), with_zeros[0]) and same_bits(layer.last(program), with_zeros[1])


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (4, 3), (5, 4), (8, 6), (512, 1024), (63, 1000)])
def test_buckets_are_those_of_the_formula(buckets, furthest, both_ways):
    found = distance_buckets(buckets, furthest, both_ways)
    expected = [distance_bucket(d, buckets, furthest, both_ways) for d in range(-furthest, furthest + 1)]
    assert found.tolist() == expected
    for beyond in (-furthest - 1, -5 * furthest, furthest + 1, 7 * furthest):  # counts as the furthest one
        assert distance_bucket(beyond, buckets, furthest, both_ways) == found[-1 if beyond > 0 else 0]


def test_known_buckets():
    """T5 has 32 buckets. The encoder splits them between two directions: of 16 buckets, 8 hold a single distance. The
    decoder looks in one direction, and uses all 32."""
    encoder, decoder = distance_buckets(32, 128, True), distance_buckets(32, 128, False)
    behind = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 16: 10, 32: 12, 64: 14, 90: 14, 91: 15, 128: 15}
    assert {n: encoder[128 - n] for n in behind} == behind
    assert {n: encoder[128 + n] for n in behind if n} == {n: 16 + bucket for n, bucket in behind.items() if n}
    assert decoder[128:].tolist() == [0] * 129 and decoder[:113:16].tolist() == [31, 30, 29, 28, 26, 24, 21, 16]
