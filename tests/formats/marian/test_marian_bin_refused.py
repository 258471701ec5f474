"""Marian's .bin: what is no such file is one clear ModelFileError, and costs no memory."""

import gzip
import tracemalloc

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian import read_marian_file
from tests.sample_models.marian_bin_writer import Item, bin_bytes, items_of, write_marian_bin
from tests.sample_models.marian_model import SMALL_OPTIONS, marian_options, options_item
from tests.support.refusal import cheap_refusal


def changed(items, name, **fields):
    """The items with one of them changed."""
    found = [item for item in items if item.name == name + b"\0"]
    assert len(found) == 1
    return [item._replace(**fields) if item is found[0] else item for item in items]


def numbers(*values) -> bytes:
    return np.array(values, "<u8").tobytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\1", "at least 8"),
        (numbers(1), "at least 16"),
        (numbers(1, 0), "0 items"),
        (numbers(2, 1) + bytes(64), "encrypted"),
        (numbers(3, 1) + bytes(64), "version 0x3, expected 1"),
        (b"PK\3\4" + bytes(64), "needs the ending .npz"),
        (numbers(1, 2**64 - 1) + bytes(64), "18446744073709551615 items in 80 bytes"),
        (numbers(1, 2**59) + bytes(64), "items in 80 bytes"),
        (numbers(1, 3) + bytes(64), "3 items in 80 bytes"),
        (numbers(1, 1 << 13 | 1) + bytes(32 * 8193), "1 to 8192 items"),
        (numbers(1, 1, 2**40, 0x404, 1, 4) + bytes(64), "names and shapes that end at byte 1099511627828"),
        (numbers(1, 1, 2, 0x404, 2**62, 4) + bytes(64), "names and shapes that end at byte"),
        (numbers(1, 1, 2, 0x404, 1, 2**63) + bytes(64), "a file of 112 bytes"),
        (numbers(1, 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1), "names and shapes that end at byte"),
        (numbers(1, 1, 4, 0x404, 1, 4) + b"abc\0\1\0\0\0" + numbers(2**63) + b"\0\0\0\0", "by its header"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 17140755\n", "git lfs pull"),
        (b"\x28\xb5\x2f\xfd" + bytes(64), "zstd"),
        (b"\x1f\x8b\x08" + bytes(64), "gzip"),
    ],
)
def test_headers_that_lie_are_refused(path, content, message):
    path.write_bytes(content)
    assert message in cheap_refusal(read_marian_file, path)


def test_missing_file_and_directory_are_refused(tmp_path):
    assert "not found" in cheap_refusal(read_marian_file, tmp_path / "none.bin")
    assert "not a regular file" in cheap_refusal(read_marian_file, tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (b"\0", "1 to 255 printing"),
        (b"", "1 to 255 printing"),
        (b"abc", "only the last is NUL"),
        (b"a\0b\0", "only the last is NUL"),
        (b"ab\0\0", "only the last is NUL"),
        (b"a/b\0", "without slashes"),
        (b"..\\b\0", "without slashes"),
        (b"a\nb\0", "printing ASCII"),
        (b"a b\0", "printing ASCII"),
        (b"a\x7f\0", "printing ASCII"),
        (b"\xc3\xa4\0", "printing ASCII"),
        (b"a" * 256 + b"\0", "1 to 255"),
        (b"a" * 100_000 + b"\0", "of 100001 bytes"),
        (b"encoder->layers->0\0", "transformer-new"),
        (b"y\0", "y occurs twice"),
    ],
)
def test_names_that_are_none_are_refused(path, name, message):
    one = np.ones((1, 1), "<f4").tobytes()
    path.write_bytes(bin_bytes([Item(name, 0x404, (1, 1), one), Item(b"y\0", 0x404, (1, 1), one)]))
    assert message in cheap_refusal(read_marian_file, path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shape": ()}, "has 0 dimensions, expected 1 to 4"),
        ({"shape": (1, 1, 1, 1, 1)}, "has 5 dimensions"),
        ({"shape": (16, 0)}, "has shape (16, 0), expected positive sizes"),
        ({"shape": (-16, -16)}, "expected positive sizes"),
        ({"shape": (2**31 - 1,) * 4}, "expected two dimensions"),
        ({"shape": (2**31 - 1,) * 2}, "bytes for shape (2147483647, 2147483647), expected 4611686014132420613,"),
        ({"shape": (17, 32)}, "has 512 bytes for shape (17, 32), expected 548"),
        ({"shape": (17, 16)}, "has the multiplier 0.0"),  # the padding would hold it
        ({"shape": (1, 16)}, "bytes for shape (1, 16), expected 20, or up to 275 with padding"),
        ({"shape": (256,)}, "has shape (256,), expected two dimensions"),
        ({"type": 0x404}, "has 512 bytes for shape (16, 16), expected 1024"),
        ({"type": 0x101}, "has type 0x101 (int8), expected float32, intgemm8"),
        ({"type": 0x208}, "(uint64)"),
        ({"type": 0x802}, "has type 0x802 (FBGEMM packed16), expected float32"),
        ({"type": 0x1801}, "(FBGEMM packed8 for AVX2)"),
        ({"type": 0x2801}, "(FBGEMM packed8 for AVX-512)"),
        ({"type": 0x18001}, "(intgemm8 for SSSE3)"),
        ({"type": 0x11001}, "(intgemm8 for AVX2), expected float32, intgemm8 or intgemm16"),
        ({"type": 0x12001}, "(intgemm8 for AVX-512)"),
        ({"type": 0x13001}, "(intgemm8 for AVX-512 VNNI)"),
        ({"type": 0x14002}, "(intgemm16 for SSE2)"),
        ({"type": 0x11002}, "--gemm-type intgemm8"),
        ({"type": 0x12002}, "(intgemm16 for AVX-512)"),
        ({"type": 2**64 - 1}, "(unknown)"),
        ({"data": bytes(255) + b"\x80" + np.float32(1).tobytes()}, "holds -128, expected -127 to 127"),
        *[
            ({"data": bytes(256) + np.float32(value).tobytes()}, "has the multiplier")
            for value in (0, -1, np.nan, np.inf, -np.inf, 1e-40)
        ],
    ],
)
def test_quantized_items_that_lie_are_refused(path, tensors, fields, message):
    items = changed(items_of(tensors, SMALL_OPTIONS, "int8"), b"encoder_l1_self_Wq", **fields)
    path.write_bytes(bin_bytes(items))
    found = cheap_refusal(read_marian_file, path)
    assert ": encoder_l1_self_Wq " in found and message in found


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("code", [0x402, 0x404, 0x408])
def test_values_that_are_not_finite_are_refused(path, value, code):
    data = np.array([1, value, 2], {0x402: "<f2", 0x404: "<f4", 0x408: "<f8"}[code]).tobytes()
    path.write_bytes(bin_bytes([Item(b"x\0", code, (3,), data), *items_of({}, SMALL_OPTIONS)]))
    assert "x holds NaN or infinity" in cheap_refusal(read_marian_file, path)


def test_float64_beyond_float32_is_refused(path):
    path.write_bytes(bin_bytes([Item(b"x\0", 0x408, (1,), np.array([1e300]).tobytes()), *items_of({}, SMALL_OPTIONS)]))
    assert "x holds NaN or infinity" in cheap_refusal(read_marian_file, path)


@pytest.mark.parametrize("value", [0, -3, np.nan, np.inf])
def test_alphas_that_are_no_multipliers_are_refused(path, value):
    data = np.array([value], "<f4").tobytes()
    path.write_bytes(bin_bytes([Item(b"a_Wq_QuantMultA\0", 0x404, (1, 1), data), *items_of({}, SMALL_OPTIONS)]))
    assert "a_Wq_QuantMultA" in cheap_refusal(read_marian_file, path)
    path.write_bytes(bin_bytes([Item(b"a_Wq_QuantMultA\0", 0x404, (1, 2), data * 2), *items_of({}, SMALL_OPTIONS)]))
    assert "expected one number" in cheap_refusal(read_marian_file, path)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_alphas_in_npz_are_checked_too(tmp_path, value):
    path = tmp_path / "model.npz"
    member = {"special:model.yml": options_item(marian_options())}
    for array in (np.array([value], np.float32), np.ones((1, 2), np.float32), np.ones(1, np.int8)):
        np.savez(path, a_Wq_QuantMultA=array, **member)
        with pytest.raises(ModelFileError, match="a_Wq_QuantMultA"):
            read_marian_file(path)


def test_a_table_of_many_small_items_costs_little(path):
    """8,192 items of 45 bytes: the list of them is what is allocated."""
    items = [Item(b"%04x\0" % i, 0x404, (1,), b"\0\0\0\0") for i in range(8191)] + items_of({}, SMALL_OPTIONS)
    path.write_bytes(bin_bytes(items))
    tracemalloc.start()
    assert len(read_marian_file(path).tensors) == 8191
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": 0x404}, "has type 0x404"),
        ({"shape": (1 << 20,)}, "expected int8 (1048576,)"),
        ({"data": b"- a\n- list\0", "shape": (11,)}, "not a mapping"),
        ({"data": b"a: &x [1]\nb: *x\0", "shape": (16,)}, "neither aliases nor deep nesting"),
        ({"data": b"a: 1\na: 2\0", "shape": (10,)}, "'a' occurs twice"),
        ({"data": b"1: 2\0", "shape": (5,)}, "not a mapping of option names"),
        ({"data": b"a: " + b"1" * 100_000, "shape": (100_003,)}, "expected at most 16384"),
    ],
)
def test_options_that_are_none_are_refused(path, tensors, fields, message):
    path.write_bytes(bin_bytes(changed(items_of(tensors, SMALL_OPTIONS), b"special:model.yml", **fields)))
    found = cheap_refusal(read_marian_file, path)
    assert "special:model.yml" in found and message in found


def test_a_file_without_options_is_refused(path, tensors):
    path.write_bytes(bin_bytes(items_of(tensors, SMALL_OPTIONS)[:-1]))
    assert "holds no special:model.yml" in cheap_refusal(read_marian_file, path)


def test_lengths_that_do_not_add_up_are_refused(path, tensors):
    content = write_marian_bin(path, tensors, SMALL_OPTIONS)
    for wrong in (content[:-1], content + b"\0", content[: len(content) // 2]):
        path.write_bytes(wrong)
        assert f"a file of {len(wrong)} bytes, expected {len(content)} by its header" in cheap_refusal(
            read_marian_file, path
        )
    items = changed(items_of(tensors, SMALL_OPTIONS), b"special:model.yml", length=len(SMALL_OPTIONS))
    path.write_bytes(bin_bytes(items))
    assert "by its header" in cheap_refusal(read_marian_file, path)


def test_a_gzip_bomb_is_refused(path):
    path.write_bytes(gzip.compress(numbers(1, 1) + bytes(64 << 20)))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="expands to more than"):
        read_marian_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * (16 * path.stat().st_size + (1 << 20)) + (2 << 20)
