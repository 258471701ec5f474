"""Reads Marian's binary model (`.bin`, version 1), memory-mapped; `.bin.gz` and `.bin.zst` are expanded in memory.

Little-endian, N items:

    u64 version | u64 N | N x (u64 name length, u64 type, u64 rank, u64 data length) | N names, each with its NUL |
    N shapes (rank x i32) | u64 padding | padding zeros | N data, one after the other

An item's data are its elements, then for intgemm types a float32 multiplier, and up to 255 bytes of padding. Weights of
intgemm types are stored transposed, [out, in], embeddings (names with "Wemb") are not; the shape is the original
weight's. Multipliers of embeddings' activations have the same form: one int8 and a multiplier.

Sources: `src/common/binary.cpp` and `types.h` of https://github.com/marian-nmt/marian-dev and of its fork
https://github.com/browsermt/marian-dev, which number the intgemm types differently.
"""

import math
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import Bytes, expanded
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.formats.marian.nematus_names import IGNORED

OPTIONS = "special:model.yml"
ALPHA = "_QuantMultA"  # suffix of a calibrated activation multiplier, after the name of its weight

_FLOATS: dict[int, np.dtype[Any]] = {0x402: np.dtype("<f2"), 0x404: np.dtype("<f4"), 0x408: np.dtype("<f8")}
_INT8, _INT16 = np.dtype("i1"), np.dtype("<i2")
_INTEGERS: dict[int, np.dtype[Any]] = {0x4101: _INT8, 0x10001: _INT8, 0x4102: _INT16, 0x10002: _INT16}
_TEXT = (0x101, 0x201)
_OTHER = {
    0x802: "FBGEMM packed16",
    0x1801: "FBGEMM packed8 for AVX2",
    0x2801: "FBGEMM packed8 for AVX-512",
    0x18001: "intgemm8 for SSSE3",
    0x11001: "intgemm8 for AVX2",
    0x12001: "intgemm8 for AVX-512",
    0x13001: "intgemm8 for AVX-512 VNNI",
    0x14002: "intgemm16 for SSE2",
    0x11002: "intgemm16 for AVX2",
    0x12002: "intgemm16 for AVX-512",
    **{0x100 + size: f"int{8 * size}" for size in (1, 2, 4, 8)},
    **{0x200 + size: f"uint{8 * size}" for size in (1, 2, 4, 8)},
}
MAX_FILE = 1 << 36  # bytes
_MAX_ITEMS = 1 << 13  # a model of 128 + 128 layers with all its alphas has 8,000
_MAX_TEXT = 1 << 16  # bytes of options; beyond the limit of `parse_yaml`, so longer ones are refused there
_NAME = re.compile(r"[!-.0-\[\]-~]{1,255}")  # ASCII that prints, without / and \
_PADDING = 256  # bytes; less than this follows an item's data


class _Item(NamedTuple):
    name: str
    type: int
    shape: tuple[int, ...]
    begin: int  # byte in the file
    length: int


class BinFile(NamedTuple):
    """The content of a `.bin` file."""

    options: bytes  # special:model.yml
    tensors: dict[str, Weight]
    alphas: dict[str, float]  # name of a weight -> multiplier of the activations it is multiplied with; may be empty


def read_marian_bin(path: str | os.PathLike[str]) -> BinFile:
    """Reads a `.bin` file, packed or not.

    Float32 tensors and integers are read-only views of the memory map (copies if they are not aligned there); float16
    and float64 become float32.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, encrypted, or packed for one kind of CPU; or Marian never writes a value of it:
        NaN or infinity in a float tensor, a multiplier that is not positive, -128 in an int8 tensor.
    """
    where = os.fspath(path)
    content = expanded(where, "model", MAX_FILE)
    options, tensors, alphas = None, dict[str, Weight](), {}
    for item in _items(content, where):
        if item.name == OPTIONS:
            options = _text(content, item, where)
        elif item.name.startswith("special:"):
            continue
        elif item.name in IGNORED:
            tensors[item.name] = np.empty(0, np.float32)
        elif item.name.endswith(ALPHA):
            alphas[item.name.removesuffix(ALPHA)] = _alpha(content, item, where)
        elif item.type in _INTEGERS:
            tensors[item.name] = _integers(content, item, where)
        else:
            tensors[item.name] = _floats(content, item, where)
    if options is None:
        raise ModelFileError(f"{where}: holds no {OPTIONS}; expected a model.bin written by Marian's marian-conv")
    return BinFile(options, tensors, alphas)


def check_names(names: Iterable[str], where: str) -> None:
    """Raises ModelFileError for a name that Marian never writes, or that belongs to an unsupported kind of model."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise ModelFileError(
                f"{where}: tensor name {name[:80]!r}, expected 1 to 255 printing ASCII characters without slashes; "
                f"fetch the file again"
            )
        if "->" in name:
            raise ModelFileError(
                f"{where}: tensor {name!r} is of Marian's layer framework (type transformer-new), which is not "
                f"supported; expected a model of type transformer"
            )


def check_alpha(value: float, name: str, where: str) -> float:
    """Returns `value` as a float. Raises ModelFileError unless it is positive and finite."""
    if not 0 < value < np.inf:
        raise ModelFileError(f"{where}: {name} is {value}, expected a positive number; calibrate the model again")
    return float(value)


def _items(content: Bytes, where: str) -> list[_Item]:
    """Returns the table of items, every number in it checked against the size of the file."""
    size = content.size
    version, count = (_number(content, offset, where) for offset in (0, 8))
    if version == 2:
        raise ModelFileError(f"{where}: version 2, an encrypted model; expected version 1, decrypt it with Marian")
    if version != 1:
        raise ModelFileError(
            f"{where}: version {version:#x}, expected 1: not a Marian .bin file; an .npz file needs the ending .npz"
        )
    if not 1 <= count <= min(_MAX_ITEMS, (size - 16) // 32):
        raise _truncated(where, f"{count} items in {size} bytes", f"1 to {_MAX_ITEMS} items of at least 32 bytes")
    table = np.frombuffer(content, "<u8", 4 * count, 16).reshape(count, 4).tolist()
    names_at = 16 + 32 * count
    shapes_at = names_at + sum(row[0] for row in table)
    padding_at = shapes_at + 4 * sum(row[2] for row in table)
    if padding_at + 8 > size:
        raise _truncated(where, f"names and shapes that end at byte {padding_at}", f"at most {size - 8}")
    data_at = padding_at + 8 + _number(content, padding_at, where)
    end = data_at + sum(row[3] for row in table)
    if end != size:
        raise _truncated(where, f"a file of {size} bytes", f"{end} by its header")
    names = []
    for length, *_ in table:
        names.append(_name(content[names_at : names_at + min(length, 300)].tobytes(), length, where))
        names_at += length
    check_names(names, where)
    if len(set(names)) < count:
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(f"{where}: {twice} occurs twice; convert the model again")
    items = []
    for name, (_, type_, rank, length) in zip(names, table, strict=True):
        if not 1 <= rank <= 4:
            raise _wrong(where, name, f"has {rank} dimensions, expected 1 to 4")
        shape = tuple(np.frombuffer(content, "<i4", rank, shapes_at).tolist())
        if min(shape) < 1 and name not in IGNORED:
            raise _wrong(where, name, f"has shape {shape}, expected positive sizes")
        items.append(_Item(name, type_, shape, data_at, length))
        shapes_at += 4 * rank
        data_at += length
    return items


def _number(content: Bytes, offset: int, where: str) -> int:
    if content.size < offset + 8:
        raise _truncated(where, f"a file of {content.size} bytes", f"at least {offset + 8}")
    return int.from_bytes(content[offset : offset + 8].tobytes(), "little")


def _name(text: bytes, length: int, where: str) -> str:
    if len(text) != length or text.find(b"\0") != length - 1:
        raise ModelFileError(
            f"{where}: tensor name {text[:80]!r} of {length} bytes, expected 2 to 256 of which only the last is NUL; "
            f"fetch the file again"
        )
    return text[:-1].decode("latin-1")


def _text(content: Bytes, item: _Item, where: str) -> bytes:
    if item.type not in _TEXT or item.length < math.prod(item.shape):
        raise _wrong(where, OPTIONS, f"has type {item.type:#x} and {item.length} bytes, expected int8 {item.shape}")
    return content[item.begin : item.begin + min(math.prod(item.shape), _MAX_TEXT)].tobytes()


def _check_length(item: _Item, itemsize: int, extra: int, where: str) -> None:
    needed = math.prod(item.shape) * itemsize + extra
    if not needed <= item.length < needed + _PADDING:
        found = f"{item.length} bytes for shape {item.shape}"
        raise _wrong(where, item.name, f"has {found}, expected {needed}, or up to {needed + _PADDING - 1} with padding")


def _view(content: Bytes, item: _Item, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Returns the elements of an item: a view of the file, or a copy if they are not aligned there."""
    view: Array = np.ndarray(shape, dtype, buffer=content, offset=item.begin)
    if not view.flags.aligned:
        view = view.copy()
        view.flags.writeable = False
    return view


def _floats(content: Bytes, item: _Item, where: str) -> Array:
    dtype = _FLOATS.get(item.type)
    if dtype is None:
        known = _OTHER.get(item.type, "unknown")
        raise _wrong(
            where,
            item.name,
            f"has type {item.type:#x} ({known}), expected float32, intgemm8 or intgemm16 (the kinds for every CPU); "
            f"convert the float32 model with `marian-conv --gemm-type intgemm8`, or use the float32 model",
        )
    _check_length(item, dtype.itemsize, 0, where)
    array = _view(content, item, dtype, item.shape)
    with np.errstate(over="ignore", invalid="ignore"):  # too large a float64 becomes infinity
        array = array if item.type == 0x404 else array.astype(np.float32)
        finite = np.isfinite(array.min()) and np.isfinite(array.max())
    if not finite:
        raise _wrong(where, item.name, "holds NaN or infinity; the model is broken")
    return array


def _integers(content: Bytes, item: _Item, where: str) -> StoredIntegers:
    if len(item.shape) != 2:
        raise _wrong(where, item.name, f"has shape {item.shape}, expected two dimensions for a quantized weight")
    if "Wemb" in item.name:
        return StoredIntegers(*_quantized(content, item, item.shape, where))
    values, multiplier = _quantized(content, item, item.shape[::-1], where)
    return StoredIntegers(values.T, multiplier)


def _quantized(content: Bytes, item: _Item, shape: tuple[int, ...], where: str) -> tuple[Array, float]:
    """Returns (integers, multiplier) of an item of an intgemm type."""
    dtype = _INTEGERS[item.type]
    _check_length(item, dtype.itemsize, 4, where)
    values = _view(content, item, dtype, shape)
    after = item.begin + values.nbytes
    multiplier = float(np.frombuffer(content[after : after + 4].tobytes(), "<f4")[0])
    largest = np.iinfo(dtype).max
    # 1e-30: the largest weight, `largest / multiplier`, must be a float32 too.
    if not 1e-30 <= multiplier < math.inf:
        raise _wrong(where, item.name, f"has the multiplier {multiplier}, expected a positive number; convert it again")
    if values.min() < -largest:  # symmetric, or the kernels' sums of products could overflow
        raise _wrong(where, item.name, f"holds {-largest - 1}, expected {-largest} to {largest}; convert it again")
    return values, multiplier


def _alpha(content: Bytes, item: _Item, where: str) -> float:
    if math.prod(item.shape) != 1:
        raise _wrong(where, item.name, f"has shape {item.shape}, expected one number")
    if item.type in _INTEGERS:
        values, multiplier = _quantized(content, item, (1,), where)
        value = np.float32(values[0] / multiplier)
    else:
        value = float(_floats(content, item, where).reshape(()))
    return check_alpha(value, item.name, where)


def _wrong(where: str, name: str, problem: str) -> ModelFileError:
    return ModelFileError(f"{where}: {name} {problem}")


def _truncated(where: str, found: str, expected: str) -> ModelFileError:
    return ModelFileError(f"{where}: {found}, expected {expected}; the file is damaged, fetch it again")
