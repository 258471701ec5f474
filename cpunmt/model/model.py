"""A model in memory: its tensors, and the record through which compiled code reads them.

Nothing here changes after loading: one Model serves any number of threads. All that changes while translating
lives in a `search.workspace.Workspace`.
"""

import itertools
import math

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import panels
from cpunmt.kernels.tables import position_signal, sigmoid_table
from cpunmt.model.architecture import (
    decoder_linears,
    decoder_norms,
    encoder_linears,
    encoder_norms,
    is_static,
    other_norms,
    output_table,
    tables,
)
from cpunmt.model.config import ModelConfig
from cpunmt.model.schemes.int8 import STATIC_OFFSET
from cpunmt.model.schemes.int16 import activation_reach
from cpunmt.model.weights import linear_weights, table_weights
from cpunmt.process.first_use import LOCK
from cpunmt.simd import isa


class Model:
    """`config`, `bytes` of its tensors, and `record`: a MODEL record.

    The record's addresses stay valid as long as this object.
    """

    def __init__(self, config: ModelConfig, tensors: dict[str, np.ndarray]):
        """`tensors` is what `architecture.expected_tensors` lists, checked, C-contiguous."""
        self.config = config
        self._tensors = tensors
        self.bytes = sum(tensor.nbytes for tensor in tensors.values())
        self._kept = []  # arrays made here that the record points to
        self._tables = {name: table_weights(config, tensors, name) for name in set(tables(config).values())}
        encoder = np.zeros(config.encoder_layers, records.ENCODER_LAYER)
        for i in range(config.encoder_layers):
            self._layer(encoder[i], encoder_linears(config, i), encoder_norms(config, i))
        decoder = np.zeros(config.decoder_sets, records.DECODER_LAYER)
        for p in range(config.decoder_sets):
            self._layer(decoder[p], decoder_linears(config, p), decoder_norms(config, p))

        self.record = np.zeros(1, records.MODEL)
        fields = self.record[0]
        for name in ("model_dim", "heads", "vocab_size", "encoder_layers", "decoder_layers", "decoder_sets", "eos_id"):
            fields[name] = getattr(config, name)
        fields["unk_id"] = config.unk_id
        aligning = config.alignment_layer
        fields["alignment_layer"] = config.decoder_layers - 1 if aligning is None else aligning
        fields["epsilon"] = config.layer_norm_epsilon
        fields["embedding_scale"] = math.sqrt(config.model_dim) if config.scale_embedding else 1.0
        fields["attention_scale"] = 1 / math.sqrt(config.head_dim)
        fields["cell"] = records.CELLS.index(config.cell)
        fields["activation"] = records.ACTIVATIONS.index(config.activation)
        fields["average_activation"] = records.ACTIVATIONS.index(config.average_activation)
        fields["preprocess"] = int(bool(config.preprocess))
        fields["postprocess"] = sum(records.POSTPROCESS[letter] * 4**i for i, letter in enumerate(config.postprocess))
        fields["sigmoid_table"] = self._keep(sigmoid_table())
        fields["encoder"], fields["decoder"] = self._keep(encoder), self._keep(decoder)
        fields["decoder_parameters"] = self._keep(np.array(config.decoder_parameters, np.int64))
        for role, name in tables(config).items():
            self._table(fields[role], name, role == "output")
        for field, name in other_norms(config).items():
            self._norm(fields[field], name)
        self._readers(fields, encoder, decoder)
        self._positions = 0
        self.reserve_positions(config.max_source_length)

    def reserve_positions(self, count: int):
        """Make the position signal long enough for `count` positions.

        Calls that run meanwhile read the old table, which stays; nobody may see a number before its table.
        """
        if count <= self._positions:  # most calls
            return
        with LOCK:
            if count > self._positions:
                table = self._position_table(max(count, 2 * self._positions))
                self.record[0]["positions"] = self._keep(table)
                self._positions = len(table)

    def _position_table(self, count):
        if self.config.positions != "trained":
            return position_signal(count, self.config.model_dim, self.config.positions)
        trained = self._tensors["positions"]  # the last one serves for all that come after it
        return np.ascontiguousarray(trained[np.minimum(np.arange(count), len(trained) - 1)])

    def _keep(self, array):
        self._kept.append(array)
        return array.ctypes.data

    def _address(self, name):
        return self._tensors[name].ctypes.data

    def _multiplied(self, record, weights, scales, static):
        """Fill in what integers need beside them: fields that LINEAR and TABLE records share.

        Sums begin with what takes the offset away that activations are stored with, and adds STATIC_OFFSET.
        """
        record["scheme"] = weights.scheme
        if weights.scales is not None:
            record["scales"] = self._keep(scales)
        if weights.sums is not None:
            offset = (STATIC_OFFSET if static else 0) - isa.activation_offset()
            record["start"] = self._keep(weights.sums * np.int32(offset))
            record["totals"] = self._keep(weights.totals())

    def _layer(self, record, linears, norms):
        """Fill in an ENCODER_LAYER or DECODER_LAYER record from Linears and norms by the paths of their fields."""
        for path, linear in linears.items():
            *parents, field = path.split(".")
            if field.isdecimal():
                self._middle(_inside(record, parents[:-1]), linear)
            else:
                self._linear(_inside(record, parents)[field], linear)
        for path, name in norms.items():
            self._norm(_inside(record, path.split(".")), name)

    def _readers(self, fields, encoder, decoder):
        """Tell every norm, or whatever else makes x, what the product that reads it wants."""
        if is_static(self.config, output_table(self.config)):
            fields["output_multiplier"] = self._tensors["output.multiplier"][0]
        elif fields["output"]["scheme"] == records.INT16:
            fields["output_multiplier"] = activation_reach(self.config.model_dim)
        before, found = bool(self.config.preprocess), []

        def read_by(norm, reader):
            found.append((norm, reader))

        def chain(embedding, blocks, top, reader):
            """Blocks are (RESIDUAL, the LINEAR that reads its input), in order; `reader` reads what the top says."""
            if before:
                for residual, first in blocks:
                    read_by(residual["before"], first)
                read_by(top, reader)
                return
            read_by(embedding, blocks[0][1])
            for (residual, _), (_, first) in itertools.pairwise(blocks):
                read_by(residual["after"], first)
            read_by(blocks[-1][0]["after"], reader)
            read_by(top, reader)

        blocks = []
        for layer in encoder:
            attention, forward = layer["self_attention"], layer["feed_forward"]
            blocks += [(attention["residual"], attention["query_key_value"]), (forward["residual"], forward["inner"])]
        source = decoder[0]["cross_attention"]["key_value"]
        chain(fields["encoder_embedding_norm"], blocks, fields["encoder_top_norm"], source)
        blocks = []
        for parameters in self.config.decoder_parameters:
            layer = decoder[parameters]
            for field, first in (("cell", "input"), ("cross_attention", "query"), ("feed_forward", "inner")):
                blocks.append((layer[field]["residual"], layer[field][first]))
        output = {"scheme": fields["output"]["scheme"], "multiplier": fields["output_multiplier"]}
        chain(fields["decoder_embedding_norm"], blocks, fields["decoder_top_norm"], output)
        for norm, reader in reversed(found):  # a set of parameters that several layers share has its first reader
            norm["scheme"], norm["multiplier"] = reader["scheme"], reader["multiplier"]

    def _middle(self, network, linear):
        """Add one more to the middle of a FEED_FORWARD record; the first makes room for all."""
        if network["middles"] == 0:
            network["middle"] = self._keep(np.zeros(16, records.LINEAR))
        self._linear(self._kept_array(network["middle"])[network["middles"]], linear)
        network["middles"] += 1

    def _kept_array(self, address):
        return next(array for array in self._kept if array.ctypes.data == address)

    def _linear(self, target, linear):
        weights, static = linear_weights(self.config, self._tensors, linear), is_static(self.config, linear.name)
        target["depth"], target["panels"] = linear.depth, panels(linear.columns)
        target["weights"] = self._keep(weights.values)
        target["bias"] = self._address(f"{linear.name}.bias")
        self._multiplied(target, weights, weights.scales, static)
        if weights.codes is not None:
            target["codes"], target["levels"] = self._keep(weights.codes), self._keep(weights.levels)
        if weights.scheme == records.INT16:
            target["multiplier"] = activation_reach(linear.depth)
        elif static:
            target["multiplier"] = self._tensors[f"{linear.name}.multiplier"][0]

    def _table(self, record, name, output):
        weights = self._tables[name]
        record["rows"] = self._keep(weights.values)
        if not output:
            self._multiplied(record, weights._replace(sums=None), weights.scales, False)
            return
        static = is_static(self.config, name)
        self._multiplied(record, weights, self._tensors["output.scale"] if static else weights.scales, static)
        record["bias"] = self._address("output.bias")

    def _norm(self, record, name):
        record["scale"], record["bias"] = self._address(f"{name}.scale"), self._address(f"{name}.bias")


def _inside(record, path):
    for field in path:
        record = record[field]
    return record
