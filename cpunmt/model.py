"""A model in memory: its tensors, and the record through which compiled code reads them.

Nothing here changes after loading: one Model serves any number of threads. All that changes while translating
lives in a `search.workspace.Workspace`.
"""

import math
import threading

import numpy as np

from cpunmt import records
from cpunmt.architecture import decoder_linears, encoder_linears
from cpunmt.config import ModelConfig
from cpunmt.kernels.packing import panels
from cpunmt.kernels.tables import position_signal, sigmoid_table
from cpunmt.simd import isa


class Model:
    """`config`, and `record`: a MODEL record whose addresses stay valid as long as this object."""

    def __init__(self, config: ModelConfig, tensors: dict[str, np.ndarray]):
        """`tensors` is what `architecture.expected_tensors` lists, checked, C-contiguous."""
        self.config = config
        self._tensors = tensors
        self._kept = []  # arrays made here that the record points to
        scheme = records.INT8 if config.scheme == "int8" else records.FLOAT32
        encoder = np.zeros(config.encoder_layers, records.ENCODER_LAYER)
        for i in range(config.encoder_layers):
            self._layer(encoder[i], f"encoder.{i}", encoder_linears(config, i), {"attention": "self_attention"})
        sets = len(set(config.decoder_parameters))
        decoder = np.zeros(sets, records.DECODER_LAYER)
        for p in range(sets):
            names = {"cell": "cell", "attention": "cross_attention"}
            self._layer(decoder[p], f"decoder.{p}", decoder_linears(config, p), names)

        self.record = np.zeros(1, records.MODEL)
        fields = self.record[0]
        for name in ("model_dim", "ffn_dim", "heads", "vocab_size", "eos_id", "unk_id"):
            fields[name] = getattr(config, name)
        fields["encoder_layers"], fields["decoder_layers"] = config.encoder_layers, config.decoder_layers
        fields["decoder_sets"] = sets
        fields["alignment_layer"] = config.decoder_layers - 1
        fields["epsilon"] = config.layer_norm_epsilon
        fields["embedding_scale"] = math.sqrt(config.model_dim)
        fields["attention_scale"] = 1 / math.sqrt(config.head_dim)
        fields["scheme"] = scheme
        fields["encoder"], fields["decoder"] = self._keep(encoder), self._keep(decoder)
        fields["decoder_parameters"] = self._keep(np.array(config.decoder_parameters, np.int64))
        fields["sigmoid_table"] = self._keep(sigmoid_table())
        embedding = fields["embedding"]
        embedding["scheme"] = scheme
        embedding["rows"] = self._address("embedding.weight")
        embedding["bias"] = self._address("output.bias")
        if scheme == records.INT8:
            embedding["scales"] = self._address("embedding.scale")
            embedding["start"] = self._start("embedding.sums")
        self._positions, self._growing = 0, threading.Lock()
        self.reserve_positions(config.max_source_length)

    def reserve_positions(self, count: int):
        """Make the position signal long enough for `count` positions.

        Calls that run meanwhile read the old table, which stays; nobody may see a number before its table.
        """
        with self._growing:
            if count > self._positions:
                table = position_signal(max(count, 2 * self._positions), self.config.model_dim)
                self.record[0]["embedding"]["positions"] = self._keep(table)
                self._positions = len(table)

    def _keep(self, array):
        self._kept.append(array)
        return array.ctypes.data

    def _address(self, name):
        return self._tensors[name].ctypes.data

    def _start(self, name):
        return self._keep(self._tensors[name] * np.int32(-isa.activation_offset()))

    def _layer(self, record, prefix, linears, norms):
        """Fill in an ENCODER_LAYER or DECODER_LAYER record."""
        for field, linear in linears.items():
            target = record["feed_forward"][field] if field in ("inner", "outer") else record[field]
            target["depth"], target["panels"] = linear.depth, panels(linear.columns)
            target["weights"] = self._address(f"{linear.name}.weight")
            target["bias"] = self._address(f"{linear.name}.bias")
            if self.config.scheme == "int8":
                target["scheme"] = records.INT8
                target["scales"] = self._address(f"{linear.name}.scale")
                target["start"] = self._start(f"{linear.name}.sums")
        for field, part in norms.items():
            self._norm(record[f"{field}_norm"], f"{prefix}.{part}.norm")
        self._norm(record["feed_forward"]["norm"], f"{prefix}.feed_forward.norm")

    def _norm(self, record, name):
        record["scale"], record["bias"] = self._address(f"{name}.scale"), self._address(f"{name}.bias")
