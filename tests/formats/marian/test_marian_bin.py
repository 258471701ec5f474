"""Marian's .bin: written files are read back, without copies; all others are one ModelFileError, and cost no memory."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import StoredIntegers
from cpunmt.formats.marian.marian import output_alpha, read_marian_file
from tests.sample_models.marian_bin_writer import (
    FLOAT32,
    Item,
    bin_bytes,
    is_quantized,
    items_of,
    predicted_size,
    student_shapes,
    write_marian_bin,
)
from tests.sample_models.marian_model import SMALL, SMALL_OPTIONS, marian_options, options_item
from tests.support.refusal import cheap_refusal

GOLDEN = Path(__file__).parents[2] / "golden" / "firefox_model_sizes.txt"


@pytest.fixture(scope="module")
def alphas(tensors):
    names = [name for name in tensors if is_quantized(name)] + ["none"]
    return {name: float(np.float32(11.3 + i)) for i, name in enumerate(names)}


def test_float32_is_read_where_it_lies(path, tensors):
    write_marian_bin(path, tensors, SMALL_OPTIONS)
    options, found, alphas = read_marian_file(path)
    assert options == marian_options(**SMALL) and alphas == {}
    assert sorted(found) == list(found) == sorted(tensors)
    for name, array in found.items():
        assert array.dtype == np.float32 and array.shape == tensors[name].shape
        np.testing.assert_array_equal(array, tensors[name], err_msg=name)
        assert not array.flags.owndata and not array.flags.writeable and isinstance(array.base, np.memmap)
        assert array.ctypes.data % 64 == 0


@pytest.mark.parametrize("precision", ["int8", "int16"])
def test_integers_are_the_rounded_weights(path, tensors, precision):
    write_marian_bin(path, tensors, SMALL_OPTIONS, precision)
    found = read_marian_file(path).tensors
    assert found.keys() == tensors.keys()
    assert {name for name, array in found.items() if isinstance(array, StoredIntegers)} == {
        name for name in tensors if is_quantized(name)
    }
    for name, stored in found.items():
        weights = tensors[name]
        if not is_quantized(name):
            np.testing.assert_array_equal(stored, weights, err_msg=name)
            continue
        assert stored.values.flags.c_contiguous == (name == "Wemb") and stored.shape == weights.shape
        assert stored.values.dtype == precision and np.shares_memory(stored.values, stored.values.base)
        assert not stored.values.flags.writeable and not stored.values.flags.owndata
        largest = np.abs(weights).max()
        expected = float(np.float32(127) / largest) if precision == "int8" else 1024
        assert stored.multiplier == expected
        oriented = stored.values
        # A value and its integer differ by half a step, and by rounding: the product's 2^-24 of at most 127 (or 4096).
        assert np.abs(weights.astype(np.float64) * stored.multiplier - oriented).max() <= 0.5 + 2**-12
        restored = stored.weights()
        assert restored.dtype == np.float32 and restored.flags.c_contiguous
        np.testing.assert_allclose(restored, oriented / expected, rtol=3e-7)


def test_halves_are_rounded_to_even(path):
    """The format's rounding, on values exactly between two integers."""
    weights = np.array([[127, 0.5], [1.5, -2.5]], np.float32)
    write_marian_bin(path, {"a_Wq": weights, "x_Wemb": weights}, SMALL_OPTIONS, "int8")
    found = read_marian_file(path).tensors
    assert found["a_Wq"].values.tolist() == [[127, 0], [2, -2]]
    assert found["x_Wemb"].values.tolist() == [[127, 0], [2, -2]]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_alphas_are_those_of_the_weights(path, tensors, alphas, precision):
    write_marian_bin(path, tensors, SMALL_OPTIONS, precision, alphas)
    model = read_marian_file(path)
    assert model.tensors.keys() == tensors.keys()
    assert model.alphas.keys() == alphas.keys()
    # An embedding's alpha is stored as 127 and 127 / alpha, so it is rounded twice.
    for name, value in alphas.items():
        assert model.alphas[name] == (pytest.approx(value, rel=2e-7) if name == "Wemb" else value)


def test_output_alpha_is_that_without_a_name_first():
    assert output_alpha({"none": 1.0, "decoder_Wemb": 2.0, "Wemb": 3.0}, "decoder_Wemb") == 1
    assert output_alpha({"decoder_Wemb": 2.0, "Wemb": 3.0}, "decoder_Wemb") == 2
    assert output_alpha({"Wemb": 3.0}, "decoder_Wemb") == 3
    assert output_alpha({"encoder_l1_self_Wq": 4.0}, "Wemb") is None


@pytest.mark.parametrize(("precision", "codes"), [("int8", (0x4101, 0x10001)), ("int16", (0x4102, 0x10002))])
def test_both_numberings_of_integers_are_read(path, tensors, precision, codes):
    items = items_of(tensors, SMALL_OPTIONS, precision)
    found = []
    for code in codes:
        path.write_bytes(bin_bytes([item._replace(type=code) if item.type == codes[0] else item for item in items]))
        found.append(read_marian_file(path).tensors["encoder_l1_ffn_W1"].values.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(("code", "dtype"), [(0x402, "<f2"), (0x408, "<f8")])
def test_other_float_widths_become_float32(path, code, dtype):
    values = np.array([[1.5, -2, 0.25]])
    path.write_bytes(
        bin_bytes([Item(b"x\0", code, (1, 3), values.astype(dtype).tobytes()), *items_of({}, SMALL_OPTIONS)])
    )
    array = read_marian_file(path).tensors["x"]
    assert array.dtype == np.float32 and array.tolist() == values.tolist()


@pytest.mark.parametrize("padding", [0, 1, 7, 256, 1000])
def test_padding_is_what_the_file_says(path, tensors, padding):
    """Without padding data need not be aligned: then it is copied."""
    items = [item._replace(data=item.data[: 4 * int(np.prod(item.shape))]) for item in items_of(tensors, SMALL_OPTIONS)]
    path.write_bytes(bin_bytes(items, padding=padding))
    for name, array in read_marian_file(path).tensors.items():
        assert array.flags.aligned and not array.flags.writeable
        np.testing.assert_array_equal(array, tensors[name])


def test_less_than_a_block_may_follow_the_data_of_an_item(path):
    """Only as many bytes as align the next item: more would be another shape."""
    for more, fits in ((0, True), (255, True), (256, False)):
        item = Item(b"x\0", FLOAT32, (2, 3), np.arange(6, dtype="<f4").tobytes() + bytes(more))
        path.write_bytes(bin_bytes([item, *items_of({}, SMALL_OPTIONS)]))
        if fits:
            assert read_marian_file(path).tensors["x"].ravel().tolist() == [0, 1, 2, 3, 4, 5]
        else:
            with pytest.raises(ModelFileError, match="expected 24, or up to 279 with padding"):
                read_marian_file(path)


def test_options_end_at_the_first_nul(path, tensors):
    """Newer Marian pads them, in the data alone or in the shape too."""
    items, padded = items_of(tensors, SMALL_OPTIONS), SMALL_OPTIONS + bytes(-len(SMALL_OPTIONS) % 256)
    for fields in ({"data": padded}, {"data": padded, "shape": (len(padded),)}):
        path.write_bytes(bin_bytes([*items[:-1], items[-1]._replace(**fields)]))
        assert read_marian_file(path).options == marian_options(**SMALL)


def test_other_special_items_are_skipped(path, tensors):
    items = [*items_of(tensors, SMALL_OPTIONS), Item(b"special:other\0", 0x999, (3,), b"abc")]
    path.write_bytes(bin_bytes(items))
    assert read_marian_file(path).tensors.keys() == tensors.keys()


def test_the_container_is_told_by_its_first_bytes(tmp_path, tensors):
    member = {"special:model.yml": options_item(marian_options(**SMALL), 300)}
    alpha = {"encoder_l1_self_Wq_QuantMultA": np.array([7.5], np.float32)}
    np.savez(tmp_path / "model.npz", **tensors, **alpha, **member)
    binary = write_marian_bin(tmp_path / "model.bin", tensors, SMALL_OPTIONS, alphas={"encoder_l1_self_Wq": 7.5})
    (tmp_path / "model.bin.gz").write_bytes(gzip.compress(binary))
    (tmp_path / "model.npz.gz").write_bytes(gzip.compress((tmp_path / "model.npz").read_bytes()))
    for name in ("model.npz", "model.bin", "model.bin.gz", "model.npz.gz"):
        model = read_marian_file(tmp_path / name)
        assert model.options == marian_options(**SMALL) and model.alphas == {"encoder_l1_self_Wq": 7.5}
        assert model.tensors.keys() == tensors.keys()
        for key, array in model.tensors.items():
            np.testing.assert_array_equal(array, tensors[key])


def test_predicted_sizes_are_those_of_the_writer(path, tensors, alphas):
    for given in ({}, alphas):
        for precision in ("float32", "int8", "int16"):
            content = write_marian_bin(path, tensors, SMALL_OPTIONS, precision, given)
            shapes = {name: array.shape for name, array in tensors.items()}
            shapes |= {f"{name}_QuantMultA": (1, 1) for name in given}
            assert len(content) == predicted_size(shapes, len(SMALL_OPTIONS), precision)


@pytest.mark.parametrize("line", GOLDEN.read_text().splitlines()[1:], ids=lambda line: line.split()[0])
def test_predicted_sizes_are_the_published_ones(line):
    numbers = line.split()
    dim, ffn, encoder, decoder, source, target = map(int, numbers[1:7])
    shapes = student_shapes(
        dim=dim,
        ffn=ffn,
        encoder=encoder,
        decoder=decoder,
        source=source,
        target=target,
        shared=numbers[7] == "yes",
        alphas=True,
    )
    assert predicted_size(shapes, int(numbers[8]), "int8") == int(numbers[9])


def test_the_shapes_of_a_student_are_those_of_the_models_in_tests(tensors):
    shapes = student_shapes(dim=16, ffn=48, encoder=1, decoder=2, source=24, target=24, shared=True, alphas=False)
    assert shapes == {name: array.shape for name, array in tensors.items()}


def changed(items, name, **fields):
    """Returns the items with one of them changed."""
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
        (
            numbers(3, 1) + bytes(64),
            "version 0x3, expected 1: not a Marian .bin file",
        ),
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


@pytest.mark.slow
def test_a_table_of_many_small_items_costs_little(path):
    """8,192 items of 45 bytes: only their list is allocated."""
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
