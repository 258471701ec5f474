"""Marian's .bin: what was written is read back, without copies. What is refused: test_marian_bin_refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import StoredIntegers
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
        assert stored.values.shape == (weights.shape if name == "Wemb" else weights.shape[::-1])
        assert stored.values.dtype == precision and isinstance(stored.values.base, np.memmap)
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
    """What the format says, on values that lie exactly between two integers."""
    weights = np.array([[127, 0.5], [1.5, -2.5]], np.float32)
    write_marian_bin(path, {"a_Wq": weights, "x_Wemb": weights}, SMALL_OPTIONS, "int8")
    found = read_marian_file(path).tensors
    assert found["a_Wq"].values.tolist() == [[127, 2], [0, -2]]  # [out, in]
    assert found["x_Wemb"].values.tolist() == [[127, 0], [2, -2]]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_alphas_are_those_of_the_weights(path, tensors, alphas, precision):
    write_marian_bin(path, tensors, SMALL_OPTIONS, precision, alphas)
    model = read_marian_file(path)
    assert model.tensors.keys() == tensors.keys()
    assert model.alphas.keys() == alphas.keys()
    # That of an embedding is stored as 127 and 127 / alpha, so it is rounded twice.
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
    """As much as aligns what comes next, and not a byte more: that would be another shape."""
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


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_gzipped_files_are_the_same(path, tensors, alphas, precision):
    path.write_bytes(gzip.compress(write_marian_bin(path, tensors, SMALL_OPTIONS, precision, alphas)))
    zipped = read_marian_file(path)
    write_marian_bin(path, tensors, SMALL_OPTIONS, precision, alphas)
    plain = read_marian_file(path)
    assert zipped.options == plain.options and zipped.alphas == plain.alphas
    for name, array in zipped.tensors.items():
        other = plain.tensors[name]
        if isinstance(array, StoredIntegers):
            assert array[1:] == other[1:]
            array, other = array.values, other.values
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, other)


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
