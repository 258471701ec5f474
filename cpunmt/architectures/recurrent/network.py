"""A recurrent network in memory: its record, filled in."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from cpunmt.architectures.recurrent import tensors
from cpunmt.architectures.recurrent.cells import (
    Cell,
    decoder_layers,
    encoder_stacks,
    input_linear,
    state_linear,
    top_cell,
)
from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.recurrent.records import CELL, CELLS, ENCODERS, LAYER, RECURRENT, SPAN, TOPS
from cpunmt.kernels.records import INT8, LINEAR
from cpunmt.kernels.tables import sigmoid_table
from cpunmt.layers.filling import RecordFiller
from cpunmt.layers.stored import Linear

Span = tuple[int, int, str]  # of a layer norm: first column, columns, prefix of `.scale` and `.bias`
MOST_KNOWN = 8192  # the most pieces whose first products are stored, on each side,
MOST_KEPT = 64 << 20  # and the most bytes of one side


def _kept(known: int, pieces: int, columns: int) -> int:
    """Returns the rows of a table of first products, for the first pieces and for no piece; 0 if it stores nothing."""
    entries = min(known, pieces, MOST_KEPT // (4 * columns)) if known > 0 else 0
    return entries + 1 if entries else 0


def most_kept(config: RecurrentConfig, source_size: int, vocab_size: int) -> int:
    """Returns the bytes of all products that are stored while translating, once all their pieces have occurred."""
    firsts = (tensors.encoder_input(config), source_size), (tensors.decoder_input(config), vocab_size)
    return sum(4 * linear.columns * _kept(MOST_KNOWN, pieces, linear.columns) for linear, pieces in firsts)


class RecurrentNetwork:
    """A recurrent network. `address`: of a RECURRENT record, valid as long as this object."""

    def __init__(self, config: RecurrentConfig, filler: RecordFiller, tables: Mapping[str, str], reader: Any) -> None:
        """Fills in the record; see the contract in `architectures.families`."""
        self._config, self._filler = config, filler
        self._record = np.zeros(1, RECURRENT)
        self.address = self._record.ctypes.data
        fields: Any = self._record[0]
        fields["settings"]["model_dim"], fields["settings"]["epsilon"] = config.model_dim, config.layer_norm_epsilon
        fields["settings"]["sigmoid_table"] = filler.keep(sigmoid_table())
        for name in ("encoder_layers", "encoder_dim", "context_dim", "decoder_layers", "decoder_dim", "relu_limit"):
            fields[name] = getattr(config, name)
        fields["attention_dim"], fields["skip"] = config.attention_width, config.skip
        fields["encoder"], fields["top"] = ENCODERS.index(config.encoder), TOPS.index(config.top)
        fields["conditional"] = config.attention == "conditional"
        fields["weight"] = filler.keep(np.float32(-2) * filler.tensors["attention.score"])
        fields["output_scheme"], fields["output_multiplier"] = reader["scheme"], reader["multiplier"]
        self._cells: dict[str, Any] = {}  # name -> CELL record
        self._encoder(fields)
        self._decoder(fields)
        self._top(fields)
        self._pieces: dict[str, int] = {}  # field of a FIRST_MAP -> pieces that its table has
        for side, first in (("source", "encoder_input"), ("target", "decoder_input")):
            embedding = fields[first]["embedding"]
            filler.table(embedding["table"], tables[side])
            self._pieces[first] = len(filler.tensors[f"{tables[side]}.weight"])
            embedding["depth"], embedding["scale"] = config.model_dim, 1.0
            embedding["positions"] = filler.keep(np.zeros(config.model_dim, np.float32))
        # a scale for contexts may be too small for their words
        context = fields["context"]["linear"]
        self.switch(True, not (context["scheme"] == INT8 and context["multiplier"] > 0), MOST_KNOWN)

    def switch(self, merged: bool | None = None, projected: bool | None = None, known: int | None = None) -> None:
        """Chooses which results are stored and shared; None: unchanged. No call may be running.

        merged       the products of a state that several rows have as their parent's
        projected    the map of the context, of the encoded words
        known        the first map of this many pieces on each side, of the lowest ids: see `kept_bytes`
        """
        fields: Any = self._record[0]
        if merged is not None:
            fields["merged"] = merged
        if projected is not None:
            fields["projected"] = projected
        if known is not None:
            self._known: dict[str, tuple[np.ndarray, np.ndarray]] = {}
            for first, pieces in self._pieces.items():
                record, columns = fields[first], int(fields[first]["map"]["columns"])
                entries = _kept(known, pieces, columns)
                rows, made = np.empty((max(entries, 1), columns), np.float32), np.zeros(max(entries, 1), np.int32)
                self._known[first] = rows, made
                record["known"] = entries
                record["rows"], record["made"] = rows.ctypes.data, made.ctypes.data

    def kept_bytes(self) -> dict[str, tuple[int, int]]:
        """Maps a side to (pieces whose first products are stored, bytes of memory when all have been used)."""
        sides = {"encoder_input": "source", "decoder_input": "target"}
        return {
            sides[first]: (max(int(self._record[0][first]["known"]) - 1, 0), rows.nbytes)
            for first, (rows, _) in self._known.items()
        }

    def reserve(self, positions: int) -> None:
        """Does nothing: a recurrent network does not depend on positions."""

    def _encoder(self, fields: Any) -> None:
        config = self._config
        self._map(fields["encoder_input"]["map"], tensors.encoder_input(config))
        for direction, layers in encoder_stacks(config).items():
            fields[direction] = self._layers(layers, elsewhere={layers[0][0].name: ("input",)})
        self._map(fields["key"], tensors.attention_key(config))
        self._map(fields["start"], tensors.start(config))

    def _decoder(self, fields: Any) -> None:
        config = self._config
        first, *_ = layers = decoder_layers(config)
        query, context = tensors.decoder_query(config), tensors.decoder_context(config)
        self._map(fields["query"], query)
        self._map(fields["context"], context)
        given = tensors.decoder_input(config)
        spans = self._spans(given)
        if config.attention == "conditional":
            elsewhere: dict[str, tuple[str, ...]] = {first[0].name: ("input",), first[1].name: ("input", "state")}
        else:
            elsewhere = {first[0].name: ("input", "state")}
        fields["decoder"] = self._layers(layers, elsewhere)
        if config.attention == "input":  # the norm applies to the sum with the context's part
            own = [span for span in spans if span[0] < first[0].width]
            spans = spans[len(own) :]
            cell = self._cells[first[0].name]
            cell["input"]["columns"] = first[0].width
            self._normed(cell["input"], own)
        self._map(fields["decoder_input"]["map"], given, spans)

    def _top(self, fields: Any) -> None:
        config, layers = self._config, tensors.stack_linears(self._config)
        stack = np.zeros(max(len(layers), 1), LINEAR)
        for record, linear in zip(stack, layers, strict=False):
            self._filler.linear(record, linear)
        fields["stack_layers"], fields["stack"] = len(layers), self._filler.keep(stack)
        if config.top == "recurrent":
            given, _ = tensors.top_linears(config)
            self._cell(fields["top_cell"], top_cell(config), elsewhere=("input",))
            self._map(fields["top_cell"]["input"], given)
        else:
            self._map(fields["top_map"], tensors.top_linears(config)[0])

    def _layers(self, layers: list[list[Cell]], elsewhere: Mapping[str, tuple[str, ...]]) -> int:
        """Returns the address of LAYER records. `elsewhere`: name of a cell -> its products within another map."""
        records = np.zeros(len(layers), LAYER)
        for layer, cells in zip(records, layers, strict=True):
            found = np.zeros(len(cells), CELL)
            for record, cell in zip(found, cells, strict=True):
                self._cell(record, cell, elsewhere.get(cell.name, ()))
            layer["cells"], layer["cell"] = len(cells), self._filler.keep(found)
        return self._filler.keep(records)

    def _cell(self, record: Any, cell: Cell, elsewhere: Collection[str] = ()) -> None:
        self._cells[cell.name] = record
        record["kind"], record["dim"], record["width"] = CELLS.index(cell.kind), cell.dim, cell.width
        if cell.inputs and "input" not in elsewhere:
            self._map(record["input"], input_linear(self._config, cell))
        if "state" not in elsewhere:
            self._map(record["state"], state_linear(self._config, cell))
        if not cell.inputs:
            constant = np.zeros(cell.width, np.float32)
            if cell.late_bias:
                constant[-cell.dim :] = self._filler.tensors[f"{cell.name}.candidate.bias"]
            record["constant"] = self._filler.keep(constant)

    def _map(self, record: Any, linear: Linear, spans: Sequence[Span] | None = None) -> None:
        """Fills in a MAP record, with all norms of its columns or with `spans`."""
        self._filler.linear(record["linear"], linear)
        record["columns"] = linear.columns
        self._normed(record, self._spans(linear) if spans is None else spans)

    def _normed(self, record: Any, spans: Sequence[Span]) -> None:
        array: Any = np.zeros(max(len(spans), 1), SPAN)
        for span, (first, width, prefix) in zip(array, spans, strict=False):
            span["first"], span["width"] = first, width
            span["scale"], span["bias"] = (
                self._filler.address(f"{prefix}.scale"),
                self._filler.address(f"{prefix}.bias"),
            )
        record["spans"], record["span"] = len(spans), self._filler.keep(array)

    def _spans(self, linear: Linear) -> list[Span]:
        found: dict[str, list[int]] = {}
        first = 0
        for (weight, _), width in zip(linear.parts, linear.widths, strict=True):
            name = weight.removesuffix(".weight")
            cell, _, part = name.rpartition(".")
            if not part.startswith("context_"):  # those belong to a sum
                joint = f"{cell}.state_norm" if part.startswith("state_") else f"{cell}.input_norm"
                for prefix in (f"{name}.norm", joint):
                    if f"{prefix}.scale" in self._filler.tensors:
                        span = found.setdefault(prefix, [first, 0])
                        span[1] += width
            first += width
        return [(begin, width, prefix) for prefix, (begin, width) in found.items()]
