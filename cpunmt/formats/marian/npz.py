"""Reads the arrays of an untrusted `.npz` file (a zip of `.npy` members).

`numpy.load` is not used: it evaluates a Python literal per member, inflates without a limit and believes the shape it
reads. Here the header must have the form that NumPy and Marian write, members must be stored (not deflated), and sizes
are compared before anything is allocated. So the arrays are never larger than the file itself, and no member can name
an object to be unpickled.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0.
"""

import encodings.cp437  # noqa: F401  zipfile would import it with the first name: not under the lock of first use
import io
import math
import os
import re
import zipfile
from collections.abc import Collection

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import Bytes, expanded
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.marian.marian_bin import MAX_FILE

_MAGIC = b"\x93NUMPY\x01\x00"
_DTYPES = {"<f2": "<f2", "<f4": "<f4", "<f8": "<f8", "|i1": "i1", "<i1": "i1", "|u1": "u1"}
_EMPTY = np.empty(0, np.float32)
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,15}(?:, [0-9]{1,15})*)?),?\),? ?\} *\n?"
)


def read_npz(path: str | os.PathLike[str], ignored: Collection[str] = ()) -> dict[str, Array]:
    """Returns every member of the file: name without `.npy` -> read-only array of its own dtype and shape.

    Members in `ignored` are empty, whatever their content.

    The file may be packed (`.npz.gz`, `.npz.zst`); it is then expanded in memory first. Accepted: stored members in C
    order, dtypes float16/32/64 and (u)int8, little-endian.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, or a member is compressed, encrypted, repeated, of another dtype or
        order, or not of the size in its header.
    """
    where = os.fspath(path)
    try:
        content = expanded(where, "model", MAX_FILE)
        with zipfile.ZipFile(where if isinstance(content, np.memmap) else io.BytesIO(content.tobytes())) as archive:
            members = _checked_members(archive, content, where)
            return {
                name: _EMPTY if name in ignored else _parse_npy(archive.read(info), f"{where}: {name}")
                for name, info in members.items()
            }
    except ModelFileError:
        raise
    except Exception as error:
        # zipfile raises a dozen kinds on damaged input: struct.error, RuntimeError, NotImplementedError, ...
        text = str(error)[:200]  # zipfile quotes whole names
        raise ModelFileError(f"{where}: cannot be read as an .npz file ({text}); copy or export it again") from error


def _checked_members(archive: zipfile.ZipFile, content: Bytes, where: str) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    # zipfile lists the members within the directory's size, and ignores the number at the end of the file
    end = content[content.size - 22 - len(archive.comment) :].tobytes()
    told = int.from_bytes(end[10:12], "little")
    if told != len(archive.infolist()):
        raise ModelFileError(
            f"{where}: lists {len(archive.infolist())} members, but says that it has {told}; copy it again"
        )
    for info in archive.infolist():
        name = info.filename
        while name.endswith(".npy"):  # files saved again by other tools carry it twice
            name = name.removesuffix(".npy")
        if name in members:
            raise ModelFileError(f"{where}: {name} occurs twice; export the model again")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise ModelFileError(f"{where}: {name} is compressed or encrypted; save the file with numpy.savez")
        members[name] = info
    # Members may overlap in a hostile zip, so their sum must fit.
    claimed = sum(max(info.file_size, info.compress_size) for info in members.values())
    if claimed > content.size:
        raise ModelFileError(f"{where}: members claim {claimed} bytes but the file has {content.size}; copy it again")
    return members


def _parse_npy(data: bytes, where: str) -> Array:
    if data[:8] != _MAGIC or len(data) < 10:
        raise ModelFileError(f"{where}: does not start like a .npy array of version 1.0; export the model again")
    start = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:start])
    if header is None:
        raise ModelFileError(f"{where}: .npy header {data[10:start][:80]!r} is not one that NumPy or Marian writes")
    descr, fortran_order = header[1].decode(), header[2] == b"True"
    if descr not in _DTYPES:
        raise ModelFileError(f"{where}: dtype {descr!r}, expected one of {', '.join(_DTYPES)}")
    if fortran_order:
        raise ModelFileError(f"{where}: Fortran order, expected C order; save numpy.ascontiguousarray of it")
    dtype = np.dtype(_DTYPES[descr])
    shape = tuple(int(size) for size in header[3].split(b", ") if size)
    expected = math.prod(shape) * dtype.itemsize
    if expected != len(data) - start:
        raise ModelFileError(
            f"{where}: shape {shape} needs {expected} bytes, the member holds {len(data) - start}; copy the file again"
        )
    return np.frombuffer(data, dtype, offset=start).reshape(shape)
