"""A safetensors file whose tensors can be used in place: 64-byte aligned, memory-mapped, read-only.

    u64 header length | header: JSON {name: {dtype, shape, data_offsets}} and spaces | tensor data

Offsets count from the end of the header, which spaces pad to a multiple of 64. The format allows no bytes between two
tensors, so a gap is itself a tensor: `padding.<n>`, uint8, at most 63 zeros, after each tensor whose size is not a
multiple of 64 (the last included: a load of a whole vector never leaves the file). Any safetensors library reads the
file and shows those entries; this reader checks and drops them. It is our own because theirs copies tensors, and
weights should be mapped.

Format: https://github.com/huggingface/safetensors#format
"""

import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import AnyPath, Bytes, map_bytes, parse_json

Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
}
_FLOATS: dict[str, np.dtype[Any]] = {
    **{"F32": np.dtype("<f4"), "F16": np.dtype("<f2")},
    **{"BF16": np.dtype("<u2"), "F64": np.dtype("<f8")},
}
_Types = Mapping[str, np.dtype[Any]]
_Entry = tuple[np.dtype[Any], tuple[int, ...], int, int]  # dtype, shape, begin, end
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_PADDING = "padding."
_TEXTS = "__metadata__"  # free text in the format
_MAX_HEADER = 2 << 20  # bytes; 150 tensors need 16 KiB, and parsed JSON takes up to 20 times its size
_MAX_FILE = 1 << 40
_REPACK = "fetch or pack the model again"


def write_safetensors(path: AnyPath, tensors: Mapping[str, Array]) -> None:
    """Writes `tensors` (name -> array) to the new file `path`, in the order of the dict.

    The same tensors give the same bytes. Any stride is accepted; dtypes are those of `DTYPES`.

    Raises
    ------
    ValueError
        A name that is not letters, digits and `_` joined by dots or that starts with "padding.", another
        dtype, NaN or infinity.
    OSError
        From the file system.
    """
    header = _header(tensors, {})
    with open(path, "xb") as file:
        file.write(header)
        file.writelines(_data(tensors))


def safetensors_bytes(tensors: Mapping[str, Array], texts: Mapping[str, str]) -> bytes:
    """Returns the content of such a file, with free text (name -> str) in its header. Raises ValueError as above."""
    return b"".join([_header(tensors, texts), *_data(tensors)])


def _header(tensors: Mapping[str, Array], texts: Mapping[str, str]) -> bytes:
    """Returns all before the tensor data."""
    header: dict[str, Any] = {_TEXTS: texts} if texts else {}
    offset = 0
    for name, array in tensors.items():
        _check_writable(name, array)
        header[name] = _entry(array.dtype, array.shape, offset, offset + array.nbytes)
        offset += array.nbytes
        gap = -offset % ALIGNMENT
        if gap:
            header[f"{_PADDING}{len(header)}"] = _entry(np.dtype(np.uint8), (gap,), offset, offset + gap)
            offset += gap
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > _MAX_HEADER:
        raise ValueError(f"{len(tensors)} tensors make a header of {len(text)} bytes, expected at most {_MAX_HEADER}")
    return len(text).to_bytes(8, "little") + text


def _data(tensors: Mapping[str, Array]) -> Iterator[Any]:
    for array in tensors.values():
        yield np.ascontiguousarray(array).data if array.size else b""
        yield bytes(-array.nbytes % ALIGNMENT)


def _check_writable(name: object, array: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith(_PADDING):
        raise ValueError(f"tensor name {name!r}: expected letters, digits and '_' joined by dots, not 'padding.'")
    if not isinstance(array, np.ndarray) or array.dtype not in _DTYPE_NAMES:
        found = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"tensor {name!r} has dtype {found}, expected one of {', '.join(map(str, _DTYPE_NAMES))}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"tensor {name!r} holds NaN or infinity; the checkpoint is broken")


def _entry(dtype: np.dtype[Any], shape: tuple[int, ...], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": _DTYPE_NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}


def read_safetensors(path: AnyPath) -> dict[str, Array]:
    """Returns the tensors of `path`: name -> read-only array, all views of one memory map, nothing copied.

    Raises
    ------
    ModelFileError
        The file differs from the form of `write_safetensors`: every byte after the header belongs to exactly
        one tensor, and every tensor starts at a multiple of 64. Values are not checked.
    """
    return _tensors(path)[0]


def read_described_safetensors(path: AnyPath) -> tuple[dict[str, Array], dict[str, str]]:
    """Also returns the free text of the header, name -> str. Raises ModelFileError also if it is not text."""
    tensors, texts = _tensors(path)
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise _broken(path, f"{_TEXTS} is {reprlib.repr(texts)}, expected names and texts")
    return tensors, texts


def _tensors(path: AnyPath) -> tuple[dict[str, Array], Any]:
    content, start, entries, texts = _entries(path, DTYPES, ALIGNMENT)
    tensors = {}
    for name, (dtype, shape, begin, _) in entries.items():
        if name.startswith(_PADDING):
            if dtype != np.uint8 or len(shape) != 1 or shape[0] >= ALIGNMENT:
                raise _broken(path, f"tensor {name!r} is {_described(dtype, shape)}, expected under 64 bytes uint8")
        elif begin % ALIGNMENT:
            raise _broken(path, f"tensor {name!r} starts at byte {begin}, expected a multiple of 64")
        else:
            tensors[name] = np.ndarray(shape, dtype, buffer=content, offset=start + begin)
    return tensors, texts


def read_float_tensors(path: AnyPath) -> "dict[str, Array | Bfloat16]":
    """Returns the tensors of a file of any library, at any alignment: name -> read-only array, nothing copied.

    float16, float32 and float64 stay as they are. NumPy has no bfloat16: such a tensor is `Bfloat16`.

    Raises
    ------
    ModelFileError
        The file is damaged, or has a tensor of another type. Values are not checked.
    """
    content, start, entries, _ = _entries(path, _FLOATS, 1)
    tensors: dict[str, Array | Bfloat16] = {}
    for name, (dtype, shape, begin, _) in entries.items():
        array: Array = np.ndarray(shape, dtype, buffer=content, offset=start + begin)
        tensors[name] = Bfloat16(array) if dtype.kind == "u" else array
    return tensors


class Bfloat16(NamedTuple):
    """A tensor of bfloat16: the upper halves of float32s."""

    halves: np.ndarray[tuple[Any, ...], np.dtype[np.uint16]]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.halves.shape

    def floats(self) -> np.ndarray[tuple[Any, ...], np.dtype[np.float32]]:
        """Returns them as float32, C-contiguous."""
        return (self.halves.astype(np.uint32, order="C") << 16).view(np.float32)


def _entries(path: AnyPath, dtypes: _Types, alignment: int) -> tuple[Bytes, int, dict[str, _Entry], Any]:
    """Returns the content, the start of tensor data, the entries by name, and free text. Each byte is of one tensor."""
    content = map_bytes(path, "tensor file", _MAX_FILE)
    size = content.size
    length = int.from_bytes(content[:8].tobytes(), "little")
    longest = min(max(size - 8, 0), _MAX_HEADER)
    if size < 8 or length > longest:
        raise _broken(path, f"header of {length} bytes in a file of {size}, expected at most {longest}")
    start = 8 + length
    if start % alignment:
        raise _broken(path, f"tensor data starts at byte {start}, expected a multiple of {alignment}")
    header = parse_json(content[8:start].tobytes(), f"{path}: tensor header")
    texts = header.pop(_TEXTS, {})
    found: dict[str, _Entry] = {}
    for name, entry in header.items():
        found[name] = _, _, _, end = _parse_entry(path, name, entry, dtypes)
        if end > size - start:
            raise _broken(path, f"tensor {name!r} ends at byte {end} of the data, which has {size - start}")
    _check_covered(path, [(begin, end, name) for name, (_, _, begin, end) in found.items()], size - start)
    return content, start, found, texts


def _broken(path: AnyPath, problem: str) -> ModelFileError:
    return ModelFileError(f"{path}: {problem}; {_REPACK}")


def _parse_entry(path: AnyPath, name: str, entry: Any, dtypes: _Types) -> _Entry:
    """Returns (dtype, shape, begin, end) of a header entry, consistent with each other."""
    if not _NAME.fullmatch(name) or len(name) > 256:
        raise _broken(path, f"tensor name {name[:80]!r}, expected at most 256 letters, digits, '_' and dots")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _broken(path, f"tensor {name!r} is {reprlib.repr(entry)}, expected dtype, shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    dtype = dtypes.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise _broken(path, f"tensor {name!r} has dtype {reprlib.repr(code)}, expected one of {', '.join(dtypes)}")
    if not _are_sizes(shape) or len(shape) > 8:
        raise _broken(path, f"tensor {name!r} has shape {reprlib.repr(shape)}, expected at most 8 sizes below 2^40")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise _broken(path, f"tensor {name!r} has data_offsets {reprlib.repr(offsets)}, expected two below 2^40")
    begin, end = offsets
    needed = math.prod(shape) * dtype.itemsize
    if end - begin != needed:
        raise _broken(path, f"tensor {name!r}, {_described(dtype, shape)}, has {end - begin} bytes, expected {needed}")
    return dtype, tuple(shape), begin, end


def _are_sizes(values: object) -> bool:
    return type(values) is list and all(type(value) is int and 0 <= value <= _MAX_FILE for value in values)


def _check_covered(path: AnyPath, spans: list[tuple[int, int, str]], size: int) -> None:
    """Raises ModelFileError unless every byte of the data belongs to exactly one tensor."""
    covered, before = 0, "the header"
    for begin, end, name in sorted(spans):
        if begin != covered:
            problem = "overlaps" if begin < covered else "leaves a gap after"
            raise _broken(path, f"tensor {name!r} at byte {begin} {problem} {before}, expected byte {covered}")
        covered, before = end, f"tensor {name!r}"
    if covered != size:
        raise _broken(path, f"{size} bytes of tensor data, the tensors take {covered}")


def check_tensors(tensors: Mapping[str, Array], expected: Mapping[str, tuple[Any, Any]], where: AnyPath) -> None:
    """Checks names, dtypes and shapes of all tensors at once; `expected` has (dtype, shape) of each. A size of 0 stands
    for any other.

    Raises one ModelFileError, which begins with `where`, with a line for each missing, unexpected and wrong tensor.
    """
    problems = [f"missing {name!r} {_described(*expected[name])}" for name in expected.keys() - tensors.keys()]
    problems += [f"unexpected {name!r}" for name in tensors.keys() - expected.keys()]
    for name in expected.keys() & tensors.keys():
        dtype, shape = expected[name]
        found = tensors[name]
        sizes = tuple(size or max(1, given) for size, given in zip(shape, found.shape, strict=False))
        if found.dtype != dtype or found.shape != sizes or len(shape) != len(sizes):
            problems.append(f"{name!r} is {_described(found.dtype, found.shape)}, expected {_described(dtype, shape)}")
    if problems:
        lines = "\n  ".join(sorted(problems))
        raise ModelFileError(f"{where}: {len(problems)} wrong tensor(s); {_REPACK}\n  {lines}")


def check_finite(tensors: Mapping[str, Array], where: AnyPath) -> None:
    """Raises ModelFileError, naming each, if float tensors hold NaN or infinity."""
    with np.errstate(invalid="ignore"):
        broken = [
            repr(name)
            for name, array in tensors.items()
            if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max()))
        ]
    if broken:
        raise ModelFileError(f"{where}: NaN or infinity in {', '.join(sorted(broken))}; {_REPACK}")


def _described(dtype: Any, shape: Iterable[int]) -> str:
    return f"{np.dtype(dtype)} {tuple(shape)}"
