"""CTranslate2's container: every version is read as it was written, and damage is one error."""

import struct

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.ctranslate2.model_bin import read_model_bin
from cpunmt.formats.packed.safetensors_file import Bfloat16
from tests.sample_models.ctranslate2_writer import bfloat16, model_bytes, text
from tests.support.refusal import refusal
from tests.support.speeds import slow_after

ARRAYS = {
    "a/weight": np.arange(6, dtype=np.int8).reshape(2, 3),
    "a/weight_scale": np.array([2, 4], np.float32),
    "b/bias": np.array([0.5, -1.5], np.float32),
    "heads": np.int16(8),
}
ALIASES = {"c/weight": "a/weight", "c/bias": "b/bias"}


def written(path, content=None, **options):
    path.write_bytes(model_bytes(ARRAYS, ALIASES, **options) if content is None else content)
    return path


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6])
def test_every_version_is_read(version, tmp_path):
    found = read_model_bin(written(tmp_path / "model.bin", version=version, revision=4))
    assert (found.version, found.specification, found.revision) == (version, "TransformerSpec", 4)
    for name, array in ARRAYS.items():
        read = found.variables[name]
        assert read.dtype == array.dtype and np.array_equal(read, array) and not read.flags.writeable
    if version == 2:
        assert np.array_equal(found.variables["c/weight_scale"], ARRAYS["a/weight_scale"]) and not found.aliases
    else:  # of a weight's scale, too
        assert found.aliases == ALIASES | {"c/weight_scale": "a/weight_scale"}


def test_every_type_is_read(tmp_path):
    numbers = np.array([[0.5, -3.0], [1.0, 2.0]])
    arrays = {kind: numbers.astype(kind) for kind in ("float32", "float16", "int32", "int16", "int8")}
    found = read_model_bin(written(tmp_path / "model.bin", model_bytes(arrays | {"bfloat16": bfloat16(numbers)})))
    for kind, array in arrays.items():
        assert found.variables[kind].dtype == kind and np.array_equal(found.variables[kind], array)
    halves = found.variables["bfloat16"]
    assert isinstance(halves, Bfloat16) and np.array_equal(halves.floats(), numbers)


def header(variables=1, version=6, specification=b"\x10\0TransformerSpec\0"):
    return struct.pack("<I", version) + specification + struct.pack("<II", 7, variables)


def variable(name="x", rank=1, sizes=(2,), kind=1, told=2, data=b"\1\2"):
    return text(name) + struct.pack(f"<B{len(sizes)}IBI", rank, *sizes, kind, told) + data


NO_ALIAS = struct.pack("<I", 0)


def aliases(*pairs):
    return struct.pack("<I", len(pairs)) + b"".join(text(name) + text(target) for name, target in pairs)


BROKEN = {
    "older": (header(version=1), "version 1, expected 2 to 6: not a CTranslate2 model"),
    "newer": (header(version=7), "version 7, expected 2 to 6"),
    "no NUL": (header(specification=b"\x03\0abc"), "the specification at byte 4 is b'abc', expected a text that ends"),
    "two NULs": (header() + b"\x04\0a\0b\0" + bytes(9), "expected a text that ends with its only NUL"),
    "no name": (header() + b"\0\0" + bytes(20), "a variable's name at byte 30 is b''"),
    "empty name": (header() + variable(""), "expected 1 to 255 letters, digits"),
    "long name": (header() + variable("x" * 256), "expected 1 to 255 letters, digits"),
    "strange name": (header() + variable("a/../b c"), "expected 1 to 255 letters, digits"),
    "name of slashes": (header() + variable("a//b"), "expected 1 to 255 letters, digits"),
    "many variables": (header(variables=2**32 - 1) + variable(), "4294967295 variables, expected at most 1 in"),
    "two names": (header(variables=2) + 2 * variable() + NO_ALIAS, "x occurs twice"),
    "rank": (header() + variable(rank=5, sizes=(1,) * 5), "x has rank 5, expected at most 4"),
    "type": (header() + variable(kind=6), "x has type 6, expected 0 to 5"),
    "old type": (header(version=3) + variable(kind=8), "x has type 8, expected 1, 2 or 4 bytes"),
    "bytes": (header() + variable(told=3), "x has 3 bytes, expected 2 for int8 [2]"),
    "items": (header(version=3) + variable(kind=2, told=3), "x has 6 bytes, expected 4 for int16 [2]"),
    "sizes": (header() + variable(rank=4, sizes=(2**32 - 1,) * 4), "has 2 bytes, expected 3402823"),
    "empty": (header() + variable(sizes=(0,), told=0, data=b""), "x has 0 bytes, expected 0 for int8 [0]"),
    "cut": (header() + variable(sizes=(90,), told=90), "the data of x at byte 44 needs 90 bytes, but the file has 2"),
    "no aliases": (header() + variable(), "the number of aliases at byte 46 needs 4 bytes"),
    "many aliases": (header() + variable() + struct.pack("<I", 9), "9 aliases, expected at most 0"),
    "alias of nothing": (header() + variable() + aliases(("a", "b")), "a stands for b, which is not a variable"),
    "cycle": (header() + variable() + aliases(("a", "b"), ("b", "a")), "a stands for b, which is not a variable"),
    "chain": (header() + variable() + aliases(("a", "x"), ("b", "a")), "b stands for a, which is not a variable"),
    "alias of itself": (header() + variable() + aliases(("x", "x")), "x occurs twice"),
    "two aliases": (header() + variable() + aliases(("a", "x"), ("a", "x")), "a occurs twice"),
    "more": (header() + variable() + NO_ALIAS + b"\0", "1 bytes follow the last of 0 aliases"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name, tmp_path):
    content, message = BROKEN[name]
    path = written(tmp_path / "model.bin", content)
    found = refusal(read_model_bin, path)
    assert found.startswith(f"{path}: ") and message in found and "\n" not in found


def test_a_sound_file_of_these_parts_is_read(tmp_path):
    content = header() + variable() + aliases(("a", "x"))
    assert read_model_bin(written(tmp_path / "model.bin", content)).aliases == {"a": "x"}


@pytest.mark.parametrize("version", slow_after(1, [6, 2, 3, 4, 5]))
def test_a_file_cut_anywhere_is_refused(version, tmp_path):
    content = model_bytes(ARRAYS, ALIASES, version=version)
    for end in range(1, len(content)):
        with pytest.raises(ModelFileError):
            read_model_bin(written(tmp_path / "model.bin", content[:end]))
