"""Reads the container of CTranslate2's models, `model.bin` of versions 2 to 6, memory-mapped.

Little-endian, without padding; a text is its length with the NUL (u16), its bytes, and the NUL:

    u32 version | text specification | u32 revision | u32 N | N variables | u32 M | M aliases
    variable    text name | u8 rank | u32 sizes [rank] | u8 type | u32 bytes | data
    alias       text name | text of the variable that it stands for

Aliases came with version 3. Before version 4 a variable has u8 bytes of an item and u32 items in place of type and
bytes.

Source: `src/models/model.cc` and `python/ctranslate2/specs/model_spec.py` of https://github.com/OpenNMT/CTranslate2.
"""

import math
import os
import re
from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import Bytes, expanded
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.packed.safetensors_file import Bfloat16

VERSIONS = range(2, 7)
MAX_FILE = 1 << 36  # bytes
_MAX_VARIABLES = 1 << 14  # a model of 128 + 128 layers has 8,000, with the scales of its integers
_MAX_RANK = 4
_LEAST_VARIABLE, _LEAST_ALIAS = 11, 8  # bytes of the shortest ones
_TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
_ITEMS = {4: "float32", 2: "int16", 1: "int8"}  # before version 4, by the bytes of an item
_DTYPES = {"float32": "<f4", "int8": "i1", "int16": "<i2", "int32": "<i4", "float16": "<f2", "bfloat16": "<u2"}
_NAME = re.compile(r"(?=.{1,255}$)[A-Za-z0-9_.]+(?:/[A-Za-z0-9_.]+)*")
_BESIDE = ("_scale", "_zero")  # an alias of a weight stands for these variables beside it, too
Variable = Array | Bfloat16


class ModelBin(NamedTuple):
    """The content of a `model.bin`. Variables are read-only views of the memory map, at any address."""

    version: int
    specification: str
    revision: int
    variables: dict[str, Variable]
    aliases: dict[str, str]  # name -> the variable that it stands for, which is never an alias


def read_model_bin(path: str | os.PathLike[str]) -> ModelBin:
    """Reads a `model.bin`, packed or not. Every size in it is checked against the file before it is used.

    Raises
    ------
    ModelFileError
        The file is missing, truncated or damaged, or of a newer version.
    """
    where = os.fspath(path)
    file = _Reader(expanded(where, "model", MAX_FILE), where)
    version = file.number(4, "the version")
    if version not in VERSIONS:
        raise ModelFileError(
            f"{where}: version {version}, expected {VERSIONS[0]} to {VERSIONS[-1]}: not a CTranslate2 model, or one of "
            "a newer CTranslate2"
        )
    specification, revision = file.text("the specification", any_text=True), file.number(4, "the revision")
    variables: dict[str, Variable] = {}
    for _ in range(file.count(_LEAST_VARIABLE, "variables")):
        name = file.text("a variable's name")
        if name in variables:
            raise file.broken(f"{name} occurs twice")
        variables[name] = file.variable(name, version)
    aliases = dict(file.alias(variables) for _ in range(file.count(_LEAST_ALIAS, "aliases"))) if version > 2 else {}
    file.end(len(aliases))
    return ModelBin(version, specification, revision, variables, _with_scales(aliases, variables))


class _Reader:
    """Reads the items of a file in order."""

    def __init__(self, content: Bytes, where: str) -> None:
        self._content, self._where, self._at = content, where, 0
        self._aliases: set[str] = set()

    def broken(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self._where}: {problem}; the file is damaged, fetch or convert the model again")

    def _skip(self, length: int, what: str) -> int:
        """Moves over `length` bytes and returns the first one's place."""
        begin, left = self._at, self._content.size - self._at
        if length > left:
            raise self.broken(f"{what} at byte {begin} needs {length} bytes, but the file has {left} more")
        self._at += length
        return begin

    def _bytes(self, length: int, what: str) -> bytes:
        begin = self._skip(length, what)
        return self._content[begin : begin + length].tobytes()

    def number(self, width: int, what: str) -> int:
        """Reads an unsigned integer of `width` bytes."""
        return int.from_bytes(self._bytes(width, what), "little")

    def count(self, least: int, what: str) -> int:
        """Reads the number of items that follow, each of at least `least` bytes."""
        count = self.number(4, f"the number of {what}")
        most = min(_MAX_VARIABLES, (self._content.size - self._at) // least)
        if count > most:
            raise self.broken(f"{count} {what}, expected at most {most} in the rest of the file")
        return count

    def text(self, what: str, any_text: bool = False) -> str:
        """Reads a text: a name, unless it may be `any_text`."""
        begin = self._at
        length = self.number(2, f"the length of {what}")
        found = self._bytes(length, what)
        if not found or found.find(b"\0") != length - 1:
            raise self.broken(f"{what} at byte {begin} is {found[:80]!r}, expected a text that ends with its only NUL")
        text = found[:-1].decode("latin-1")
        if not any_text and not _NAME.fullmatch(text):
            raise self.broken(
                f"{what} at byte {begin} is {text[:80]!r}, expected 1 to 255 letters, digits, '_', '.', '/'"
            )
        return text

    def variable(self, name: str, version: int) -> Variable:
        rank = self.number(1, f"the rank of {name}")
        if rank > _MAX_RANK:
            raise self.broken(f"{name} has rank {rank}, expected at most {_MAX_RANK}")
        shape = tuple(self.number(4, f"the shape of {name}") for _ in range(rank))
        kind = self.number(1, f"the type of {name}")
        if version > 3:
            type_, told = _TYPES[kind] if kind < len(_TYPES) else None, self.number(4, f"the size of {name}")
        else:
            type_, told = _ITEMS.get(kind), kind * self.number(4, f"the size of {name}")
        if type_ is None:
            numbers = f"0 to {len(_TYPES) - 1}" if version > 3 else "1, 2 or 4 bytes"
            raise self.broken(f"{name} has type {kind}, expected {numbers}")
        dtype = np.dtype(_DTYPES[type_])
        needed = math.prod(shape) * dtype.itemsize
        if told != needed or not needed:
            raise self.broken(f"{name} has {told} bytes, expected {needed} for {type_} {list(shape)}")
        begin = self._skip(needed, f"the data of {name}")
        array: Array = np.ndarray(shape, dtype, buffer=self._content, offset=begin)
        return Bfloat16(array) if type_ == "bfloat16" else array

    def alias(self, variables: dict[str, Any]) -> tuple[str, str]:
        """Reads (name, the variable that it stands for)."""
        name, target = self.text("an alias"), self.text("the variable of an alias")
        if name in variables or name in self._aliases:
            raise self.broken(f"{name} occurs twice")
        if target not in variables:  # nor is it another alias: there are no chains, and so no cycles
            raise self.broken(f"{name} stands for {target}, which is not a variable")
        self._aliases.add(name)
        return name, target

    def end(self, aliases: int) -> None:
        left = self._content.size - self._at
        if left:
            raise self.broken(f"{left} bytes follow the last of {aliases} aliases, expected the end of the file")


def _with_scales(aliases: dict[str, str], variables: dict[str, Variable]) -> dict[str, str]:
    """Adds aliases of the scales of weights that have an alias."""
    found = dict(aliases)
    for name, target in aliases.items():
        for suffix in _BESIDE:
            if target + suffix in variables and name + suffix not in variables:
                found.setdefault(name + suffix, target + suffix)
    return found
