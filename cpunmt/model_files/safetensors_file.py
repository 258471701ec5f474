"""A safetensors file whose tensors can be used where they lie: 64-byte aligned, memory-mapped, read-only.

    u64 header length | header: JSON {name: {dtype, shape, data_offsets}} and spaces | tensor data

Offsets count from the end of the header, which spaces bring to a multiple of 64. The format allows no bytes
between two tensors, so a gap is itself a tensor: `padding.<n>`, uint8, at most 63 zeros, after each tensor
whose size is not a multiple of 64 (the last included: a load of a whole vector never leaves the file).
Any safetensors library reads the file and shows those entries; this reader checks and drops them.

Format: https://github.com/huggingface/safetensors#format
"""

import json
import math
import re

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files import map_bytes, parse_json

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
DTYPES = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
}
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_PADDING = "padding."
_MAX_HEADER = 2 << 20  # bytes; 150 tensors need 16 KiB, and parsed JSON takes up to 20 times its size
_MAX_FILE = 1 << 40
_REPACK = "fetch or pack the model again"


def write_safetensors(path, tensors):
    """Write `tensors` (name -> array) to the new file `path`, in the order of the dict.

    The same tensors give the same bytes. Any stride is accepted; dtypes are those of `DTYPES`.

    Raises
    ------
    ValueError
        A name that is not letters, digits and `_` joined by dots or that starts with "padding.", another
        dtype, NaN or infinity.
    OSError
        From the file system.
    """
    header, offset = {}, 0
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
    with open(path, "xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).data if array.size else b"")
            file.write(bytes(-array.nbytes % ALIGNMENT))


def _check_writable(name, array):
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith(_PADDING):
        raise ValueError(f"tensor name {name!r}: expected letters, digits and '_' joined by dots, not 'padding.'")
    if not isinstance(array, np.ndarray) or array.dtype not in _DTYPE_NAMES:
        found = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"tensor {name!r} has dtype {found}, expected one of {_allowed()}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"tensor {name!r} holds NaN or infinity; the checkpoint is broken")


def _entry(dtype, shape, begin, end):
    return {"dtype": _DTYPE_NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}


def _allowed():
    return ", ".join(str(dtype) for dtype in _DTYPE_NAMES)


def read_safetensors(path):
    """The tensors of `path`: name -> read-only array, all views of one memory map, nothing copied.

    Raises
    ------
    ModelFileError
        Anything but a file as `write_safetensors` makes it: every byte after the header belongs to exactly
        one tensor, and every tensor starts at a multiple of 64. Values are not looked at.
    """
    content = map_bytes(path, "tensor file", _MAX_FILE)
    size = content.size
    length = int.from_bytes(content[:8].tobytes(), "little")
    if size < 8 or length > min(size - 8, _MAX_HEADER):
        raise ModelFileError(
            f"{path}: header of {length} bytes, expected at most {min(max(size - 8, 0), _MAX_HEADER)} (the file has "
            f"{size}): truncated, or not a safetensors file; {_REPACK}"
        )
    start = 8 + length
    if start % ALIGNMENT:
        raise ModelFileError(f"{path}: tensor data starts at byte {start}, expected a multiple of 64; {_REPACK}")
    header = parse_json(content[8:start].tobytes(), f"{path}: tensor header")
    header.pop("__metadata__", None)  # free text in the format
    spans, tensors = [], {}
    for name, entry in header.items():
        dtype, shape, begin, end = _parse_entry(path, name, entry)
        if end > size - start:
            raise ModelFileError(
                f"{path}: tensor {name!r} ends at byte {end} of the data, which has {size - start}: truncated? {_REPACK}"
            )
        spans.append((begin, end, name))
        if name.startswith(_PADDING):
            if dtype != np.uint8 or len(shape) != 1 or shape[0] >= ALIGNMENT:
                raise ModelFileError(f"{path}: tensor {name!r} is not padding (uint8, under 64 bytes); {_REPACK}")
        elif begin % ALIGNMENT:
            raise ModelFileError(f"{path}: tensor {name!r} starts at byte {begin}, expected a multiple of 64; {_REPACK}")
        else:
            tensors[name] = np.ndarray(shape, dtype, buffer=content, offset=start + begin)
    _check_covered(path, spans, size - start)
    return tensors


def _parse_entry(path, name, entry):
    """(dtype, shape, begin, end) of a header entry, consistent with each other."""
    if not _NAME.fullmatch(name) or len(name) > 256:
        raise ModelFileError(
            f"{path}: tensor name {name[:80]!r}: expected at most 256 letters, digits and '_' joined by dots; {_REPACK}"
        )
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"{path}: tensor {name!r}: expected the fields dtype, shape and data_offsets; {_REPACK}")
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise ModelFileError(
            f"{path}: tensor {name!r} has dtype {str(entry['dtype'])[:80]!r}, expected one of {', '.join(DTYPES)}; {_REPACK}"
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(shape) > 8 or len(offsets) != 2:
        raise ModelFileError(
            f"{path}: tensor {name!r} has shape {str(shape)[:80]} and data_offsets {str(offsets)[:80]}, expected at most 8 "
            f"dimensions and 2 offsets, integers from 0 to 2^40; {_REPACK}"
        )
    begin, end = offsets
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ModelFileError(
            f"{path}: tensor {name!r} of dtype {dtype} and shape {shape} has {end - begin} bytes of data, expected "
            f"{math.prod(shape) * dtype.itemsize}; {_REPACK}"
        )
    return dtype, shape, begin, end


def _are_sizes(values):
    return type(values) is list and all(type(value) is int and 0 <= value <= _MAX_FILE for value in values)


def _check_covered(path, spans, size):
    """Every byte of the data belongs to exactly one tensor."""
    covered, before = 0, None
    for begin, end, name in sorted(spans):
        if begin != covered:
            problem = "overlaps" if begin < covered else "leaves a gap after"
            neighbour = f"tensor {before!r}" if before else "the header"
            raise ModelFileError(
                f"{path}: tensor {name!r} starts at byte {begin} and {problem} {neighbour}, expected byte {covered}; {_REPACK}"
            )
        covered, before = end, name
    if covered != size:
        raise ModelFileError(f"{path}: {size} bytes of data, the tensors take {covered}; {_REPACK}")


def check_tensors(tensors, expected, where):
    """Check names, dtypes and shapes of all tensors at once.

    Parameters
    ----------
    tensors : dict
        name -> array.
    expected : dict
        name -> (dtype, shape).
    where : str
        File or directory, for the message.

    Raises
    ------
    ModelFileError
        One message with a line for each missing, unexpected and wrong tensor.
    """
    problems = [f"missing {name!r} {_described(*expected[name])}" for name in expected.keys() - tensors.keys()]
    problems += [f"unexpected {name!r}" for name in tensors.keys() - expected.keys()]
    for name in expected.keys() & tensors.keys():
        dtype, shape = expected[name]
        found = tensors[name]
        if found.dtype != dtype or found.shape != tuple(shape):
            problems.append(f"{name!r} is {_described(found.dtype, found.shape)}, expected {_described(dtype, shape)}")
    if problems:
        lines = "\n  ".join(sorted(problems))
        raise ModelFileError(f"{where}: {len(problems)} wrong tensor(s); {_REPACK}\n  {lines}")


def _described(dtype, shape):
    return f"{np.dtype(dtype)} {tuple(shape)}"
