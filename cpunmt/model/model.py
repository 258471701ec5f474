"""A model in memory: its tensors, and the record through which compiled code reads them.

A Model does not change after loading, except that its table of position signals may grow. So one Model serves any
number of threads. All state of a translation lives in an `engine.workspace.Workspace`.
"""

import numpy as np

from cpunmt.architectures.families import FAMILIES, family_name
from cpunmt.architectures.records import MODEL
from cpunmt.layers.filling import RecordFiller
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import is_static, tables
from cpunmt.process.first_use import LOCK


class Model:
    """`config`, `bytes` of its tensors, `network` (see `architectures.families`), and `record`: a MODEL record.

    The record's addresses stay valid as long as this object.
    """

    def __init__(self, config: ModelConfig, tensors: dict[str, np.ndarray]):
        """Stores the tensors, checked and C-contiguous, which must be those that `tensors.expected_tensors` lists."""
        self.config = config
        self.bytes = sum(tensor.nbytes for tensor in tensors.values())
        filler = RecordFiller(tensors, config.scheme_of, lambda name: is_static(config, name))
        self.record = np.zeros(1, MODEL)
        fields, family = self.record[0], family_name(config.architecture)
        fields["family"] = list(FAMILIES).index(family)
        fields["model_dim"] = config.architecture.model_dim
        for name in ("vocab_size", "eos_id", "unk_id"):
            fields[name] = getattr(config, name)
        if config.replace_unknowns:
            fields["unk_id"] = -1  # every piece is allowed
        fields["output_multiplier"] = filler.output(fields["output"], tables(config)["output"])
        reader = {"scheme": fields["output"]["scheme"], "multiplier": fields["output_multiplier"]}
        self.network = FAMILIES[family].network(config.architecture, filler, tables(config), reader)
        fields["network"] = self.network.address
        self._positions = 0
        self.reserve_positions(config.max_source_length)

    def reserve_positions(self, count: int):
        """Makes room for sources and targets of `count` pieces. Publishes a table before its size, for other
        threads."""
        if count <= self._positions:  # true for most calls
            return
        with LOCK:
            if count > self._positions:
                count = max(count, 2 * self._positions)
                self.network.reserve(count)
                self._positions = count
