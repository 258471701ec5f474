"""Makes SentencePiece models of tokenizer.json, the file that transformers 5 saves in their place.

The file has the pieces in the order of their ids, their scores or merges, and the compiled rules of normalization. So
it holds all that the model had. Other tokenizers than those made of a SentencePiece model are refused.
"""

import base64
import binascii
import functools
import itertools
import os
import reprlib
import struct
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded, parse_json

NAME = "tokenizer.json"
_WORD = "\u2581"
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3  # SentencePiece's types of pieces
_KINDS = {"Unigram": 1, "BPE": 2}  # and of models
_UNUSED = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "byte_fallback": False}
_MAX_FILE = 64 << 20  # bytes; NLLB-200's has half
_MOST_PIECES, _MAX_PIECE = 1 << 20, 1024
_MAX_MERGED = 64  # characters of a piece made of others, whose every cut is looked up; SentencePiece's have 16
_MOST_MERGED = 1 << 22  # of all of them, which take 1 s; NLLB-200's 256,000 pieces of 16 would fit


class TokenizerJson(NamedTuple):
    """The content of a tokenizer.json: a serialized SentencePiece model, and its added pieces with their ids.

    Ids and types of the added pieces are not checked.
    """

    model: bytes
    added: dict[Any, Any]


def read_tokenizer_json(path: str | os.PathLike[str]) -> TokenizerJson:
    """Reads a file. Raises ModelFileError: it is missing, damaged, over 64 MiB, or of another kind of tokenizer.

    The last one that was read is kept: a model needs it several times, and a large one takes seconds.
    """
    try:
        status = os.stat(path)
        stamp = status.st_mtime_ns, status.st_size, status.st_ino
    except OSError:
        stamp = 0, 0, 0  # reading it says what is wrong
    return _read(os.fspath(path), stamp)


@functools.lru_cache(1)
def _read(path: str, stamp: tuple[int, int, int]) -> TokenizerJson:
    where = f"{path}: vocabulary"
    fields = parse_json(expanded(path, "vocabulary", _MAX_FILE).tobytes(), where)
    added = fields.get("added_tokens")
    entries = [entry for entry in added if isinstance(entry, dict)] if isinstance(added, list) else []
    special = {entry["content"] for entry in entries if entry.get("special") and isinstance(entry.get("content"), str)}
    found = {entry["content"]: entry.get("id") for entry in entries if isinstance(entry.get("content"), str)}
    return TokenizerJson(_model(fields, special, where), found)


def _model(fields: Mapping[str, Any], special: Collection[str], where: str) -> bytes:
    """Returns the serialized SentencePiece model; `special`: pieces that texts do not have."""
    model = fields.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(model, dict) or not isinstance(kind, str) or kind not in _KINDS:
        raise _refused(where, f"a model of type {reprlib.repr(kind)}")
    for name, usual in _UNUSED.items():
        if model.get(name, usual) not in (usual, None):
            raise _refused(where, f"{name} {reprlib.repr(model[name])}")
    rules = _rules(fields, where)
    entries = _scored(model.get("vocab"), where) if kind == "Unigram" else _ranked(model, where)
    pieces = list(itertools.dropwhile(lambda entry: entry[0] in special, reversed(entries)))[::-1]
    made = [
        _field(1, _field(1, piece.encode("utf-8", "replace")) + _FLOAT + struct.pack("<f", score) + _number(3, type_))
        for piece, score in pieces
        for type_ in [_UNKNOWN if piece == "<unk>" else _CONTROL if piece in special else _NORMAL]
    ]
    return b"".join([*made, _field(2, _number(3, _KINDS[kind])), _field(3, _field(2, rules))])


def _refused(where: str, problem: str) -> ModelFileError:
    return ModelFileError(
        f"{where}: not supported: {problem}; put the SentencePiece model of the tokenizer beside it, from the "
        "repository of the original model"
    )


def _rules(fields: Mapping[str, Any], where: str) -> bytes:
    """Returns the compiled rules of normalization."""
    rules = b""
    for step in _steps(fields.get("normalizer"), "normalizers"):
        if step.get("type") == "Precompiled" and not rules and isinstance(step.get("precompiled_charsmap"), str):
            try:
                rules = base64.b64decode(step["precompiled_charsmap"], validate=True)
            except (binascii.Error, ValueError):
                raise ModelFileError(f"{where}: precompiled_charsmap is damaged; fetch the file again") from None
        elif (step.get("type"), step.get("pattern")) != ("Replace", {"Regex": " {2,}"}):
            raise _refused(where, f"the normalizer {reprlib.repr(step.get('type'))}")
    for step in _steps(fields.get("pre_tokenizer"), "pretokenizers"):
        if not _is_metaspace(step) and step != {"type": "WhitespaceSplit"}:
            raise _refused(where, f"the pre-tokenizer {reprlib.repr(step.get('type'))}, or its settings")
    return rules


def _is_metaspace(step: Mapping[str, Any]) -> bool:
    """Returns whether each word begins with SentencePiece's mark; until 2024 add_prefix_space and str_rep said so."""
    usual = {"type": "Metaspace", "replacement": _WORD, "str_rep": _WORD, "add_prefix_space": True}
    usual |= {"prepend_scheme": "always", "split": True}
    return {"type", "replacement"} <= step.keys() <= usual.keys() and all(step[name] == usual[name] for name in step)


def _steps(found: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """Yields the parts of a normalizer or a pre-tokenizer."""
    is_sequence = isinstance(found, dict) and found.get("type") == "Sequence" and isinstance(found.get(name), list)
    for step in found[name] if is_sequence else [found] if found is not None else []:
        yield step if isinstance(step, dict) else {}


def _scored(entries: Any, where: str) -> list[tuple[str, float]]:
    """Returns the pieces and scores of a unigram model."""
    known = isinstance(entries, list) and all(
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], float | int)
        for entry in entries
    )
    if not known or not all(-1e30 < score < 1e30 for _, score in entries):
        raise ModelFileError(f"{where}: vocab is not a list of pieces and their scores; fetch the file again")
    return _sized([(piece, float(score)) for piece, score in entries], where)


def _ranked(model: Mapping[str, Any], where: str) -> list[tuple[str, float]]:
    """Returns the pieces of a model of merges, with scores in the order of their ids.

    SentencePiece merges any two pieces whose text is a piece, the one with the best score first. Raises ModelFileError
    if the merges of the file are others, or have another order.
    """
    table: Any = model.get("vocab")
    merges = model.get("merges")
    known = isinstance(table, dict) and all(type(id_) is int for id_ in table.values())
    if not known or not table or sorted(table.values()) != list(range(len(table))):
        raise ModelFileError(f"{where}: vocab is not a table of pieces and ids from 0 on; fetch the file again")
    found = [(piece, -float(id_)) for piece, id_ in sorted(table.items(), key=lambda entry: entry[1])]
    found = _sized(found, where, _MAX_MERGED)
    characters = sum(map(len, table))
    if characters > _MOST_MERGED:
        raise _refused(where, f"merges of pieces with {characters} characters in all, over {_MOST_MERGED}")
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges] if isinstance(merges, list) else []
    texts = ["".join(pair) for pair in pairs if isinstance(pair, list) and all(isinstance(part, str) for part in pair)]
    order = [table.get(text, -1) for text in texts]
    expected = sum(piece[:cut] in table and piece[cut:] in table for piece in table for cut in range(1, len(piece)))
    if len(order) != len(pairs) or min(order, default=0) < 0 or order != sorted(order) or len(pairs) != expected:
        raise _refused(where, f"{len(pairs)} merges that are not those of SentencePiece ({expected})")
    return found


def _sized(entries: list[tuple[str, float]], where: str, most: int = _MAX_PIECE) -> list[tuple[str, float]]:
    longest = max((len(piece) for piece, _ in entries), default=0)
    if not 0 < len(entries) <= _MOST_PIECES or longest > most:
        raise ModelFileError(
            f"{where}: {len(entries)} pieces of up to {longest} characters, expected at most {_MOST_PIECES} of {most}"
        )
    return entries


_FLOAT = b"\x15"  # field 2, of 4 bytes


def _field(number: int, content: bytes) -> bytes:
    """Returns a field of bytes, in the form of protocol buffers."""
    return bytes([number << 3 | 2]) + _variable(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3]) + _variable(value)


def _variable(value: int) -> bytes:
    """Returns an integer as seven bits a byte, the lowest first."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
