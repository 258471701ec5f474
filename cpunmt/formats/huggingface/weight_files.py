"""The files that hold the weights of a Hugging Face model: one, or shards that an index lists.

model.safetensors, pytorch_model.bin                        all tensors
model.safetensors.index.json, pytorch_model.bin.index.json  {"metadata": {...}, "weight_map": {tensor: file}}

If a directory has several of these, the first counts, in transformers' order; a caller who names another one gets that.
"""

import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import AnyPath, read_json
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.packed.safetensors_file import Bfloat16, read_float_tensors
from cpunmt.formats.pytorch.pytorch_file import read_torch_tensors

FloatTensors = Mapping[str, Array | Bfloat16]
INDEX = ".index.json"
_READERS: dict[str, Callable[[AnyPath], FloatTensors]] = {
    "model.safetensors": read_float_tensors,
    "pytorch_model.bin": read_torch_tensors,
}
WEIGHTS = tuple(name + ending for name in _READERS for ending in ("", INDEX))  # in order of preference
_MAX_INDEX = 1 << 20  # bytes; of 260 tensors 25 KiB
_MAX_SHARDS = 1000
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # a file of the same directory
_SHOWN = 5


def find_weights(folder: Path, chosen: str | None = None) -> Path | None:
    """Returns the file of the weights, or their index; `chosen`: the one of `WEIGHTS` that the caller named."""
    if chosen in WEIGHTS:
        return folder / chosen
    return next((folder / name for name in WEIGHTS if (folder / name).exists()), None)


def read_weights(path: Path) -> FloatTensors:
    """Returns the tensors of a file in `WEIGHTS`: name -> read-only array, nothing copied.

    Raises ModelFileError: a file is missing or damaged, or an index and its shards do not list the same tensors.
    """
    kind = path.name.removesuffix(INDEX)
    return _sharded(path, kind) if path.name.endswith(INDEX) else _READERS[kind](path)


def stored_type(arrays: FloatTensors) -> str:
    """Returns the narrowest type of the tensors."""
    types = {"bfloat16" if isinstance(array, Bfloat16) else str(array.dtype) for array in arrays.values()}
    return next(name for name in ("bfloat16", "float16", "float32", "float64") if name in types)


def _sharded(path: Path, kind: str) -> FloatTensors:
    places = _weight_map(path, kind)
    found: dict[str, Array | Bfloat16] = {}
    problems = []
    for file in sorted(set(places.values())):
        tensors = _READERS[kind](path.parent / file)
        listed = {name for name, place in places.items() if place == file}
        problems += [f"{name} is not in {file}" for name in sorted(listed - tensors.keys())]
        problems += [f"{name} of {file} is not listed" for name in sorted(tensors.keys() - listed)]
        found |= tensors
    if problems:
        more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise ModelFileError(
            f"{path}: does not list the tensors of its files: {'; '.join(problems[:_SHOWN])}{more}; fetch them again"
        )
    return found


def _weight_map(path: Path, kind: str) -> dict[str, str]:
    """Returns tensor -> name of the file that holds it."""
    places: Any = read_json(path, "index of tensors", _MAX_INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ModelFileError(f"{path}: weight_map is {reprlib.repr(places)}, expected names of tensors and files")
    ending = Path(kind).suffix
    for file in places.values():
        if not isinstance(file, str) or not _SHARD.fullmatch(file) or not file.endswith(ending):
            raise ModelFileError(
                f"{path}: weight_map names the file {reprlib.repr(file)}, expected one *{ending} of the same directory"
            )
    if len(set(places.values())) > _MAX_SHARDS:
        raise ModelFileError(f"{path}: weight_map names over {_MAX_SHARDS} files, expected at most that")
    return places
