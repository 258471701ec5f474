"""A Transformer in memory: its record, filled in."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.architectures.transformer.records import DECODER_LAYER, ENCODER_LAYER, TRANSFORMER
from cpunmt.architectures.transformer.tensors import (
    bias_table,
    decoder_linears,
    decoder_norms,
    encoder_linears,
    encoder_norms,
    other_norms,
    self_attentions,
)
from cpunmt.kernels.matmul.packing import pack
from cpunmt.kernels.records import ACTIVATIONS, RELATIVE
from cpunmt.kernels.tables import distance_buckets, position_signal, sigmoid_table
from cpunmt.layers.filling import RecordFiller
from cpunmt.layers.records import POSTPROCESS


class TransformerNetwork:
    """A Transformer. `address`: of a TRANSFORMER record, valid as long as this object."""

    def __init__(self, config: TransformerConfig, filler: RecordFiller, tables: Mapping[str, str], reader: Any) -> None:
        """Fills in the record; see the contract in `architectures.families`."""
        self._config, self._filler = config, filler
        self._biased: dict[str, int] = {}  # table of biases -> its RELATIVE record
        self._encoder: Any = np.zeros(config.encoder_layers, ENCODER_LAYER)
        for i, layer in enumerate(self._encoder):
            filler.layer(layer, encoder_linears(config, i), encoder_norms(config, i))
        self._decoder: Any = np.zeros(config.decoder_sets, DECODER_LAYER)
        for p, layer in enumerate(self._decoder):
            filler.layer(layer, decoder_linears(config, p), decoder_norms(config, p))
        for field, layers in (("self_attention", self._encoder), ("cell", self._decoder)):
            side = "encoder" if field == "self_attention" else "decoder"
            for layer, block in zip(layers, self_attentions(config, side), strict=False):
                layer[field]["relative"] = self._relative(block)
        for layer in (*self._encoder, *self._decoder):
            layer["feed_forward"]["gated"] = int(config.gated_ffn)
        self._record: Any = np.zeros(1, TRANSFORMER)
        self.address = self._record.ctypes.data
        fields: Any = self._record[0]
        self._settings(fields["settings"])
        for name in ("encoder_layers", "decoder_layers", "decoder_sets"):
            fields[name] = getattr(config, name)
        fields["alignment_layer"], fields["alignment_heads"] = config.aligning, config.alignment_heads
        fields["cell"] = list(CELLS).index(config.cell)
        fields["average_activation"] = ACTIVATIONS.index(config.average_activation)
        fields["encoder"], fields["decoder"] = filler.keep(self._encoder), filler.keep(self._decoder)
        fields["decoder_parameters"] = filler.keep(np.array(config.decoder_parameters, np.int64))
        for side in ("source", "target"):
            filler.table(fields[side]["table"], tables[side])
            fields[side]["depth"] = config.model_dim
            fields[side]["scale"] = math.sqrt(config.model_dim) if config.scale_embedding else 1.0
        for field, prefix in other_norms(config).items():
            filler.norm(fields[field], prefix)
        self._readers(fields, reader)

    def reserve(self, positions: int) -> None:
        """Makes signals for `positions` positions. The old table stays, for calls that still read it."""
        config = self._config
        if config.positions == "none":
            table = np.zeros((positions, config.model_dim), np.float32)
        elif config.positions != "trained":
            table = position_signal(positions, config.model_dim, config.positions)
        else:
            table = self._trained("positions", positions)
        self._record[0]["source"]["positions"] = self._filler.keep(table)
        if config.positions == "trained" and config.target_positions:
            table = self._trained("target_positions", positions)
        if config.start_vector:  # at a target's position 0 there is never a piece, so the vector is added once, here
            # of zeros the system makes pages when they are written to
            table = table.copy() if config.positions != "none" else np.zeros(table.shape, np.float32)
            table[0] += self._record[0]["target"]["scale"] * self._filler.tensors["start"]
        self._record[0]["target"]["positions"] = self._filler.keep(table)

    def _trained(self, name: str, positions: int) -> Any:
        """Returns a stored table with `positions` rows; its last one also stands for all later positions."""
        trained = self._filler.tensors[name]
        return np.ascontiguousarray(trained[np.minimum(np.arange(positions), len(trained) - 1)])

    def _relative(self, block: str) -> int:
        """Returns the address of the RELATIVE record of a block; 0 without one."""
        config, filler, tensors = self._config, self._filler, self._filler.tensors
        record: Any = np.zeros(1, RELATIVE)
        fields = record[0]
        if config.relative_buckets:
            name = bias_table(config, block)
            if name not in self._biased:
                reach = fields["reach"] = config.relative_distance
                buckets = distance_buckets(config.relative_buckets, reach, both_ways=block.startswith("encoder"))
                bias = tensors[name][buckets].T / np.float32(config.score_scale)
                fields["bias"] = filler.keep(np.ascontiguousarray(bias, np.float32))
                self._biased[name] = filler.keep(record)
            return self._biased[name]
        if config.relative_positions:
            reach = fields["reach"] = config.relative_positions
            keys = tensors[f"{block}.relative_keys"]
            fields["packed_keys"] = filler.keep(pack(keys[: reach + 1].T))
            fields["keys"], fields["values"] = filler.keep(keys), filler.address(f"{block}.relative_values")
            return filler.keep(record)
        return 0

    def _settings(self, fields: Any) -> None:
        config = self._config
        fields["model_dim"], fields["heads"] = config.model_dim, config.heads
        fields["attention_dim"], fields["attention_scale"] = config.attention_width, config.score_scale
        fields["epsilon"], fields["root_mean_square"] = config.layer_norm_epsilon, int(config.rms_norm)
        fields["activation"] = ACTIVATIONS.index(config.activation)
        fields["preprocess"] = int(bool(config.preprocess))
        fields["postprocess"] = sum(POSTPROCESS[letter] * 4**i for i, letter in enumerate(config.postprocess))
        fields["sigmoid_table"] = self._filler.keep(sigmoid_table())

    def _readers(self, fields: Any, reader: Any) -> None:
        """Sets the reader of every norm and of other operations that write x."""
        found: list[tuple[Any, Any]] = []  # (NORM, its reader)

        def chain(embedding: Any, blocks: list[tuple[Any, Any]], top: Any, reader: Any) -> None:
            """Links blocks, which are (RESIDUAL, the LINEAR that reads its input), in order; `reader` reads the top's
            output."""
            if self._config.preprocess:
                found.extend((residual["before"], first) for residual, first in blocks)
            else:
                found.append((embedding, blocks[0][1]))
                found.extend((residual["after"], first) for (residual, _), (_, first) in itertools.pairwise(blocks))
                found.append((blocks[-1][0]["after"], reader))
            found.append((top, reader))

        def blocks(layer: Any, *parts: tuple[str, str]) -> list[tuple[Any, Any]]:
            return [(layer[field]["residual"], layer[field][first]) for field, first in parts]

        encoder = [
            block
            for layer in self._encoder
            for block in blocks(layer, ("self_attention", "query_key_value"), ("feed_forward", "inner"))
        ]
        source = self._decoder[0]["cross_attention"]["key_value"]
        chain(fields["encoder_embedding_norm"], encoder, fields["encoder_top_norm"], source)
        decoder = [
            block
            for parameters in self._config.decoder_parameters
            for block in blocks(
                self._decoder[parameters], ("cell", "input"), ("cross_attention", "query"), ("feed_forward", "inner")
            )
        ]
        chain(fields["decoder_embedding_norm"], decoder, fields["decoder_top_norm"], reader)
        for norm, reads in reversed(found):  # a shared set of parameters keeps its first reader
            norm["scheme"], norm["multiplier"] = reads["scheme"], reads["multiplier"]
