"""The output layer of a model over its whole vocabulary, in the forms that searches read.

packed     a LINEAR record, for products of many rows
halves     a HALVES record: bounds of all logits from half of the bytes (search.bounded_output)
entries    ENTRY [pieces] of the model's table, for products with some of its rows
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.workspace import multiplied, output_layers
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import HALF_LEVELS, PANEL, panels
from cpunmt.model.tensors import Model
from cpunmt.process.first_use import LOCK

# Of an int8 table for which bounds are used. With 2 MB they save 7 % of the time without scores and cost 6 % with them,
# with 16 MB they save at least 14 and 9 % (bench/bounded_output).
LEAST_BYTES = 1 << 22
LEAST_SCALE, LARGEST_SCALE = np.float32(1e-30), np.float32(1e30)  # of a column whose sums are ordinary floats


class Form(NamedTuple):
    """A record [1], and the arrays that it points to."""

    record: np.ndarray
    kept: Any


def packed(model: Model, program: Any) -> Form:
    """Packs the whole table: LINEAR [1]."""
    config, count = model.config, panels(model.config.vocab_size)
    record, kept = _room(model, count)
    record["panels"], record["multiplier"] = count, model.record["output_multiplier"]
    pointers, table, depth = np.empty(PANEL, np.int64), model.record["output"], config.architecture.model_dim
    program.gather_output(table, 0, config.vocab_size, depth, pointers, record)
    if table[0]["codes"]:
        kept.append(np.empty(PANEL * count * depth // 2, np.uint8))
        record["codes"], record["levels"] = kept[-1].ctypes.data, table[0]["levels"]
        program.gather_codes(table, config.vocab_size, depth, record)
    return Form(record, kept)


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
    return Form(record, (kept, reach))


def reserve_entries(model: Model) -> None:
    """Makes the `entries` of a model's output table, unless it has them."""
    with LOCK:
        table, size = model.record[0]["output"], model.config.vocab_size
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
