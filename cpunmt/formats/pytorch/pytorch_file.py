"""Reads the tensors of a state dict that `torch.save` wrote (`pytorch_model.bin`), as views of the mapped file.

zip       since PyTorch 1.6: ROOT/data.pkl describes the tensors, ROOT/data/KEY is a storage, ROOT/byteorder is "little"
legacy    before: five pickles, which are a magic number, 1001, facts about the system, the state dict and the keys of
          its storages; then of each storage int64 count and numbers

The pickles are interpreted by `state_pickle`, which runs nothing. The sizes of storages must be those that it states.
Source: torch/serialization.py in https://github.com/pytorch/pytorch.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import AnyPath, Bytes, expanded
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.packed.safetensors_file import Bfloat16
from cpunmt.formats.pytorch.state_pickle import MAX_PICKLE, STORAGES, Storage, TensorView, described, read_pickle
from cpunmt.formats.pytorch.stored_zip import LOCAL, stored_members

_MAX_FILE = 1 << 40
_LEGACY = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")  # the pickle of torch's magic number
_VERSION = 1001
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
# Names of one table may share a storage. More would let a small file become large when it is converted.
_MOST_SHARED = 8
_AGAIN = "fetch or save it again"


def read_torch_tensors(path: AnyPath) -> dict[str, Array | Bfloat16]:
    """Returns the tensors of the file: name -> read-only array in the file's type, at any strides, nothing copied.

    Raises
    ------
    ModelFileError
        The file is missing or damaged, or holds anything but a dict of tensors. Values are not checked.
    """
    where = str(path)
    content = expanded(path, "tensor file", _MAX_FILE)
    if content[:4].tobytes() == LOCAL:
        state, data = _zip(content, where)
    elif content[: len(_LEGACY)].tobytes() == _LEGACY:
        state, data = _legacy(content, where)
    else:
        raise ModelFileError(f"{where}: does not begin like a file of torch.save; {_AGAIN}")
    views = _views(state, where)
    return {name: _array(view, data[view.storage.key]) for name, view in views.items()}


def _zip(content: Bytes, where: str) -> tuple[Any, dict[str, Bytes]]:
    """Returns the state dict, and the bytes of each of its storages by key."""
    members = stored_members(content, where)
    roots = [name.removesuffix("/data.pkl") for name in members if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(roots) != 1:
        raise ModelFileError(f"{where}: has {len(roots)} members data.pkl, expected one; {_AGAIN}")
    root = roots[0]
    order = members.get(f"{root}/byteorder")
    if order is not None and order[:8].tobytes() != b"little":
        raise ModelFileError(f"{where}: is big-endian, expected little-endian numbers; save it on another machine")
    pickled = members[f"{root}/data.pkl"]
    state, end = _pickle(pickled, where)
    if end != pickled.size:
        raise ModelFileError(f"{where}: pickle: ends at byte {end} of {pickled.size}; {_AGAIN}")
    data = {}
    for storage in _storages(state, where):
        found = members.get(f"{root}/data/{storage.key}")
        expected = storage.size * np.dtype(STORAGES[storage.kind]).itemsize
        if found is None or found.size != expected:
            size = "is missing" if found is None else f"has {found.size} bytes"
            raise ModelFileError(f"{where}: storage {storage.key[:80]!r} {size}, expected {expected} bytes; {_AGAIN}")
        data[storage.key] = found
    return state, data


def _legacy(content: Bytes, where: str) -> tuple[Any, dict[str, Bytes]]:
    """Returns the state dict, and the bytes of each of its storages by key."""
    position, found = len(_LEGACY), []
    for _ in range(4):
        value, size = _pickle(content[position:], where)
        found.append(value)
        position += size
    version, system, state, keys = found
    if version != _VERSION or not isinstance(system, dict) or system.get("little_endian") is not True:
        raise ModelFileError(f"{where}: is not of protocol {_VERSION} and little-endian, expected both; {_AGAIN}")
    storages = {storage.key: storage for storage in _storages(state, where)}
    if type(keys) is not list or any(type(key) is not str for key in keys) or sorted(keys) != sorted(storages):
        raise ModelFileError(f"{where}: lists other storages than its tensors lie in; {_AGAIN}")
    data = {}
    for key in keys:
        count = int.from_bytes(content[position : position + 8].tobytes(), "little")
        size = storages[key].size * np.dtype(STORAGES[storages[key].kind]).itemsize
        position += 8
        if count != storages[key].size or position + size > content.size:
            raise ModelFileError(
                f"{where}: storage {key[:80]!r} of {count} numbers at byte {position} of {content.size}, expected "
                f"{storages[key].size} numbers, {size} bytes; {_AGAIN}"
            )
        data[key] = content[position : position + size]
        position += size
    if position != content.size:
        raise ModelFileError(f"{where}: has {content.size} bytes, the storages end at {position}; {_AGAIN}")
    return state, data


def _pickle(content: Bytes, where: str) -> tuple[Any, int]:
    return read_pickle(content[:MAX_PICKLE].tobytes(), where)


def _views(state: Any, where: str) -> dict[str, TensorView]:
    """Returns the named tensors of a state dict."""
    if not isinstance(state, dict):
        raise ModelFileError(f"{where}: holds {described(state)}, expected a dict of tensors")
    for name, value in state.items():
        if type(name) is not str or not _NAME.fullmatch(name) or len(name) > 256:
            raise ModelFileError(
                f"{where}: tensor name {str(name)[:80]!r}, expected at most 256 letters, digits, '_' and dots"
            )
        if not isinstance(value, TensorView):
            raise ModelFileError(
                f"{where}: {name!r} is {described(value)}, expected a tensor; save the model's state dict alone "
                "(torch.save(model.state_dict(), path))"
            )
    return state


def _storages(state: Any, where: str) -> set[Storage]:
    """Returns the storages in use. Raises ModelFileError where tensors share one more often than a model's do."""
    views: Mapping[str, TensorView] = _views(state, where)
    used: Counter[Storage] = Counter()
    for view in views.values():
        used[view.storage] += math.prod(view.shape)
    for storage, count in used.items():
        if count > _MOST_SHARED * storage.size:
            raise ModelFileError(
                f"{where}: tensors of {count} numbers share storage {storage.key[:80]!r} of {storage.size}, expected "
                f"at most {_MOST_SHARED} times its size"
            )
    return set(used)


def _array(view: TensorView, data: Bytes) -> Array | Bfloat16:
    dtype = np.dtype(STORAGES[view.storage.kind])
    strides = tuple(stride * dtype.itemsize for stride in view.strides)
    array: Array
    if 0 in view.shape:
        array = np.empty(view.shape, dtype)
        array.flags.writeable = False
    else:
        array = np.ndarray(view.shape, dtype, buffer=data, offset=view.offset * dtype.itemsize, strides=strides)
    return Bfloat16(array) if view.storage.kind == "BFloat16Storage" else array
