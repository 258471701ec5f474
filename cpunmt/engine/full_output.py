"""The output layer of a model over its whole vocabulary, in the forms that searches read.

packed     a LINEAR record, for products of many rows
halves     a HALVES record: bounds of all logits from half of the bytes (search.bounded_output)
entries    ENTRY [pieces] of the model's table, for products with some of its rows
"""

import ctypes
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.workspace import multiplied, output_layers
from cpunmt.files.input_files import forget_pages
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import HALF_LEVELS, PANEL, panels
from cpunmt.layers.filling import decoded_rows
from cpunmt.model.tensors import Model
from cpunmt.process.first_use import LOCK

# Of an int8 table for which bounds are used. With 2 MB they save 7 % of the time without scores and cost 6 % with them,
# with 16 MB they save at least 14 and 9 % (bench/bounded_output).
LEAST_BYTES = 1 << 22
# Of a table with whose rows products are so slow, if they are picked from it, that all rows may be faster (records:
# PICKED_COST). With 4 MB picked ones are always faster, with 16 MB they are as fast.
LEAST_WHOLE_BYTES = 1 << 24
AT_ONCE = 256  # panels that are packed before the memory of the file's rows is given back
_VECTORS = ("scales", "start", "totals", "bias")
# Addresses in records -> bytes of a piece: of vectors as they are, of others for each depth and byte of a weight.
_OF_TABLE = {"rows": 1, "codes": 0.5, **dict.fromkeys(_VECTORS, 4)}
_OF_LAYER = {"weights": 1, "codes": 0.5, **dict.fromkeys(_VECTORS, 4)}
LEAST_SCALE, LARGEST_SCALE = np.float32(1e-30), np.float32(1e30)  # of a column whose sums are ordinary floats


class Form(NamedTuple):
    """A record [1], and the arrays that it points to."""

    record: np.ndarray
    kept: Any


def packed(model: Model, program: Any) -> Form:
    """Packs the whole table: LINEAR [1]."""
    config, size, count = model.config, model.config.vocab_size, panels(model.config.vocab_size)
    table, depth, pointers = model.record["output"], config.architecture.model_dim, np.empty(PANEL, np.int64)
    codes_alone = not table["rows"][0]
    record, kept = _room(model, count, weight_bytes=int(codes_alone))
    record["panels"], record["multiplier"] = count, model.record["output_multiplier"]
    if codes_alone:
        record["weights"] = 0
    if table["codes"][0]:
        kept.append(np.empty(PANEL * count * depth // 2, np.uint8))
        record["codes"], record["levels"] = kept[-1].ctypes.data, table["levels"]
    stored = model.output_weights.stored
    for first in range(0, count, AT_ONCE):
        begin, end = PANEL * first, min(PANEL * (first + AT_ONCE), size)
        rows, layer = _moved(table, _OF_TABLE, begin, depth), _moved(record, _OF_LAYER, begin, depth)
        layer["panels"] = min(AT_ONCE, count - first)
        program.gather_output(rows, 0, end - begin, depth, pointers, 0, layer)
        if table["codes"][0]:
            program.gather_codes(rows, end - begin, depth, layer)
        forget_pages(stored[begin:end])
    if model.output_weights.scales is not None:
        forget_pages(model.output_weights.scales)
    return Form(record, kept)


def _moved(record: np.ndarray, fields: Mapping[str, float], pieces: int, depth: int) -> np.ndarray:
    """Returns a TABLE or LINEAR record [1] of the pieces behind the first ones. `fields`: see _OF_TABLE."""
    found: np.ndarray = record.copy()
    for name, size in fields.items():
        each = int(size) if name in _VECTORS else int(size * depth * records.WEIGHT_BYTES[int(record["scheme"][0])])
        found[name] += np.where(found[name] != 0, each * pieces, 0)
    return found


def halves(model: Model, program: Any) -> Form | None:
    """Makes HALVES [1]; None if they cannot bound the logits of this model, or save no time."""
    config, table = model.config, model.record[0]["output"]
    depth, size, count = config.architecture.model_dim, config.vocab_size, panels(config.vocab_size)
    if multiplied(config) != "int8" or table["codes"] or size * depth < LEAST_BYTES:
        return None  # codes of 4 bits are as few bytes as halves, and all of them
    if model.record["output_multiplier"] != 0:
        return None
    scales = _array_at(int(table["scales"]), np.float32, size)
    if not np.all((scales > LEAST_SCALE) & (scales < LARGEST_SCALE)):
        return None
    reserve_entries(model)
    layer, kept = _room(model, count, PANEL * count * depth // 2)
    reach, record = np.empty(PANEL * count, np.float32), np.zeros(1, records.HALVES)
    layer["panels"] = count
    layer["levels"] = HALF_LEVELS.ctypes.data
    layer["codes"] = layer["weights"]
    layer["weights"] = 0
    record["high"], record["reach"] = layer, reach.ctypes.data
    pointers, scratch = np.empty(PANEL, np.int64), np.empty(PANEL * depth, np.int8)
    program.split_halves(model.record["output"], size, depth, pointers, scratch, record)
    forget_pages(model.output_weights.stored)
    return Form(record, (kept, reach))


def reserve_entries(model: Model) -> None:
    """Makes the `entries` of a model's output table, and its int8 rows, unless it has them."""
    with LOCK:
        table, size = model.record[0]["output"], model.config.vocab_size
        if not table["rows"]:
            weights = model.output_weights
            model.rows = decoded_rows(weights.stored, weights.levels)
            table["rows"] = model.rows.ctypes.data
        if model.entries is None:
            vectors: dict[str, np.ndarray] = {}
            for name in ("bias", "scales", "totals", "start"):
                if table[name]:
                    vectors[name] = _array_at(int(table[name]), np.int32 if name == "start" else np.float32, size)
            model.entries = entries(**vectors)
            table["entries"] = model.entries.ctypes.data


def entries(
    bias: np.ndarray,
    scales: np.ndarray | None = None,
    totals: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Makes ENTRY [pieces] from a table's vectors [pieces]; vectors that its scheme lacks may be left out."""
    found = np.zeros(len(bias), records.ENTRY)
    for name, vector in (("scale", scales), ("total", totals), ("bias", bias), ("start", start)):
        if vector is not None:
            found[name] = vector
    return found


def _room(model: Model, count: int, weight_bytes: int | None = None) -> tuple[np.ndarray, list[np.ndarray]]:
    kept: list[np.ndarray] = []

    def allocate(dtype: Any, *shape: int) -> np.ndarray:
        kept.append(np.empty(shape, dtype))
        return kept[-1]

    return output_layers(model.config, 1, count, allocate, weight_bytes), kept


def _array_at(address: int, kind: Any, size: int) -> np.ndarray:
    memory = (ctypes.c_char * (np.dtype(kind).itemsize * size)).from_address(address)
    return np.frombuffer(memoryview(memory), kind)
