"""Our safetensors files: read by the public library too, aligned, never copied, and strictly checked."""

import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.safetensors_file import (
    DTYPES,
    check_finite,
    check_tensors,
    read_described_safetensors,
    read_float_tensors,
    read_safetensors,
    safetensors_bytes,
    write_safetensors,
)
from tests.support.refusal import refusal

names = st.from_regex(r"[a-z0-9_]{1,9}(\.[a-z0-9_]{1,9}){0,3}", fullmatch=True).filter(
    lambda name: not name.startswith("padding.")
)
some_arrays = st.sampled_from(list(DTYPES.values())).flatmap(
    lambda dtype: arrays.arrays(
        dtype,
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7),
        elements={"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else None,
    )
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


def equal(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def write_raw(path, header, data=b""):
    """Writes a file of any header, padded to the format's alignment."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype="U8", shape=(64,), begin=0, end=64):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@given(tensors=st.dictionaries(names, some_arrays, max_size=4))
def test_round_trip_and_the_public_library(tensors, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round.safetensors"
    path.unlink(missing_ok=True)
    write_safetensors(path, tensors)
    read = read_safetensors(path)
    assert equal(read, tensors)
    assert list(read) == list(tensors)
    by_library = safetensors.numpy.load_file(path)
    padding = {name: array for name, array in by_library.items() if name.startswith("padding.")}
    assert equal({name: array for name, array in by_library.items() if name not in padding}, tensors)
    assert all(array.dtype == np.uint8 and array.size < 64 and not array.any() for array in padding.values())
    assert path.stat().st_size % 64 == 0


@given(tensors=st.dictionaries(names, some_arrays, min_size=1, max_size=4))
def test_tensors_are_aligned_read_only_views_of_one_map(tensors, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "views.safetensors"
    path.unlink(missing_ok=True)
    write_safetensors(path, tensors)
    read = read_safetensors(path)
    for array in read.values():
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert not array.flags.writeable
        assert array.base is next(iter(read.values())).base
        assert isinstance(array.base, np.memmap)


def test_any_stride_is_written_in_c_order(path):
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    write_safetensors(path, {"t": array.T, "s": array[::2, ::3], "f": np.asfortranarray(array)})
    read = read_safetensors(path)
    assert read["t"].tolist() == array.T.tolist()
    assert read["s"].tolist() == array[::2, ::3].tolist()
    assert read["f"].tolist() == array.tolist()


def test_same_tensors_same_bytes(tmp_path):
    tensors = {"b": np.ones(3, np.float16), "a": np.zeros((2, 2), np.int8)}
    for name in ("one", "two"):
        write_safetensors(tmp_path / name, tensors)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("a", np.zeros(3), "float64"),
        ("a", np.zeros(3, ">f4"), "expected one of"),
        ("a", np.zeros(3, bool), "bool"),
        ("a", [1.0], "list"),
        ("a", np.array([1, np.nan], np.float32), "NaN"),
        ("a", np.array([1, -np.inf], np.float16), "infinity"),
        ("", np.zeros(3, np.int8), "expected letters"),
        ("a..b", np.zeros(3, np.int8), "expected letters"),
        ("__metadata__ ", np.zeros(3, np.int8), "expected letters"),
        ("a/b", np.zeros(3, np.int8), "expected letters"),
        ("padding.a", np.zeros(3, np.int8), "expected letters"),
        (7, np.zeros(3, np.int8), "expected letters"),
    ],
)
def test_what_the_file_cannot_hold_is_a_value_error_and_writes_nothing(path, name, array, message):
    with pytest.raises(ValueError, match=message):
        write_safetensors(path, {"good": np.zeros(3, np.int8), name: array})
    assert not path.exists()


@given(texts=st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3))
def test_free_text_is_kept_and_the_public_library_sees_it(texts, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "described.safetensors"
    tensors = {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": np.ones(16, np.float32)}
    path.write_bytes(safetensors_bytes(tensors, texts))
    found, read = read_described_safetensors(path)
    assert equal(found, tensors) and read == texts and equal(read_safetensors(path), tensors)
    with safetensors.safe_open(path, "numpy") as opened:
        assert (opened.metadata() or {}) == texts
    if not texts:
        path.unlink()
        write_safetensors(path, tensors)
        assert path.read_bytes() == safetensors_bytes(tensors, texts)


@pytest.mark.parametrize("texts", [None, [], "text", {"a": 1}, {"a": ["b"]}, {"a": {"b": "c"}}])
def test_free_text_that_is_none(path, texts):
    write_raw(path, {"__metadata__": texts, "a": entry()}, bytes(64))
    assert list(read_safetensors(path)) == ["a"]  # it is not used
    assert "__metadata__ is " in refusal(read_described_safetensors, path)


@pytest.mark.parametrize("length", [255, 256, 257])
def test_a_name_has_at_most_256_characters(path, length):
    write_raw(path, {"a" * length: entry()}, bytes(64))
    if length <= 256:
        assert list(read_safetensors(path)) == ["a" * length]
    else:
        assert "expected at most 256 letters" in refusal(read_safetensors, path)


def test_an_existing_file_is_not_overwritten(path):
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        write_safetensors(path, {})
    assert path.read_text() == "precious"


def test_a_file_written_by_hand(path):
    write_raw(path, {"__metadata__": {"by": "hand"}, "a.b": entry("I16", (32,), 0, 64)}, bytes(range(64)))
    read = read_safetensors(path)
    assert read["a.b"].tolist() == np.frombuffer(bytes(range(64)), "<i2").tolist()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[]", "is a JSON list, expected an object"),
        (b"{", "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not valid JSON|is 99"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"a": {"dtype": "U8", "dtype": "I8"}}', "'dtype' occurs twice"),
        ({"a": 5}, "'a' is 5, expected dtype"),
        ({"a": {**entry(), "x": 1}}, "expected dtype, shape and data_offsets"),
        ({"a": entry("F64", (8,))}, "has dtype 'F64', expected one of F32"),
        ({"a": entry(["U8"])}, "has dtype"),
        ({"a": {**entry(), "shape": 64}}, "has shape 64"),
        ({"a": entry(shape=(-64,))}, "has shape"),
        ({"a": entry(shape=(64.0,))}, "has shape"),
        ({"a": entry(shape=(True,), end=1)}, "has shape"),
        ({"a": entry(shape=(1,) * 9, end=1)}, "at most 8"),
        ({"a": entry(shape=(2**63,))}, "has shape"),
        ({"a": entry(shape=(2**40,) * 8)}, "has 64 bytes, expected"),
        ({"a": entry(shape=(63,))}, "has 64 bytes, expected 63"),
        ({"a": entry("F32", (64,))}, "has 64 bytes, expected 256"),
        ({"a": entry(begin=64, end=0)}, "has -64 bytes"),
        ({"a": {**entry(), "data_offsets": [0]}}, "has data_offsets"),
        ({"a": {**entry(), "data_offsets": [-64, 0]}}, "has data_offsets"),
        ({"a": {**entry(), "data_offsets": ["0", "64"]}}, "has data_offsets"),
        ({"a": entry(shape=(192,), end=192)}, "ends at byte 192 of the data, which has 128"),
        ({"a": entry(begin=64, end=128)}, "'a' at byte 64 leaves a gap after the header"),
        ({"a": entry(), "b": entry()}, "'b' at byte 0 overlaps tensor 'a'"),
        ({"a": entry(shape=(128,), end=128), "b": entry(begin=64, end=128)}, "overlaps"),
        ({"a": entry()}, "128 bytes of tensor data, the tensors take 64"),
        ({}, "128 bytes of tensor data, the tensors take 0"),
        ({"a": entry(shape=(32,), end=32), "b": entry(shape=(96,), begin=32, end=128)}, "starts at byte 32"),
        ({"a": entry(), "padding.1": entry(begin=64, end=128)}, "expected under 64 bytes"),
        (
            {"a": entry(), "padding.1": entry("I8", (32,), 64, 96), "b": entry(shape=(32,), begin=96, end=128)},
            "under 64",
        ),
        ({"a": entry(), "padding.1": entry(shape=(8, 8), begin=64, end=128)}, "expected under 64 bytes"),
        ({"a/../b": entry()}, "tensor name 'a/../b'"),
        ({"": entry()}, "tensor name ''"),
        ({"a" * 257: entry()}, "at most 256"),
    ],
)
def test_a_hostile_header_is_refused(path, header, message):
    text = refusal(read_safetensors, write_raw(path, header, bytes(128)))
    assert message in text or any(part in text for part in message.split("|"))


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**32, (2 << 20) + 56, 121, 57])
def test_a_hostile_header_length_is_refused(path, length):
    path.write_bytes(length.to_bytes(8, "little") + b"{}" + b" " * 118)
    assert "header of" in refusal(read_safetensors, path) or "multiple of 64" in refusal(read_safetensors, path)


def test_files_that_are_none(path):
    assert "not found" in refusal(read_safetensors, path)
    path.write_bytes(b"")
    assert "empty" in refusal(read_safetensors, path)
    for short, message in ((1, "header of 0 bytes in a file of 1"), (7, "in a file of 7"), (8, "starts at byte 8")):
        path.write_bytes(bytes(short))
        assert message in refusal(read_safetensors, path)


def test_a_header_of_any_length_is_read_as_floats(path):
    text = json.dumps({"a": entry("F32", (1,), 0, 4)}).encode()
    for spaces in (0, 1):
        content = text + b" " * spaces
        path.write_bytes(len(content).to_bytes(8, "little") + content + b"\0\0\x80\x3f")
        assert read_float_tensors(path)["a"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("shape", "fits"), [((1, 3), True), ((9, 3), True), ((0, 3), False), ((9, 2), False), ((9,), False)]
)
def test_a_size_of_any_number(shape, fits):
    tensors, expected = {"positions": np.zeros(shape, np.float32)}, {"positions": (np.float32, (0, 3))}
    if fits:
        check_tensors(tensors, expected, "model")
    else:
        with pytest.raises(ModelFileError, match="'positions' is float32"):
            check_tensors(tensors, expected, "model")


def test_check_tensors_reports_everything_at_once():
    tensors = {"a": np.zeros((2, 3), np.int8), "b": np.zeros(4, np.float32), "c": np.zeros(1, np.int8)}
    right = {"a": ("int8", (2, 3)), "b": (np.float32, (4,)), "c": (np.int8, [1])}
    check_tensors(tensors, right, "model")
    wrong = {"a": (np.int8, (3, 2)), "b": (np.float16, (4,)), "d": (np.int32, (7, 8))}
    with pytest.raises(ModelFileError) as caught:
        check_tensors(tensors, wrong, "model")
    assert str(caught.value).splitlines() == [
        "model: 4 wrong tensor(s); fetch or pack the model again",
        "  'a' is int8 (2, 3), expected int8 (3, 2)",
        "  'b' is float32 (4,), expected float16 (4,)",
        "  missing 'd' int32 (7, 8)",
        "  unexpected 'c'",
    ]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(wrong):
    tensors = {"good": np.ones(5, np.float32), "empty": np.ones(0, np.float32), "ids": np.ones(3, np.int8)}
    check_finite(tensors, "file")
    tensors |= {"b.bias": np.array([1, wrong], np.float32), "a.scale": np.array([[wrong]], np.float16)}
    with pytest.raises(ModelFileError, match="^file: NaN or infinity in 'a.scale', 'b.bias'; "):
        check_finite(tensors, "file")
