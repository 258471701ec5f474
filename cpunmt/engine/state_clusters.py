"""What compiled code reads of clusters of decoder states (text.clusters, search.output.candidates)."""

import ctypes

import numpy as np

from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack, panels
from cpunmt.model.model import Model
from cpunmt.search.records import CLUSTERS

LOWEST = -3e38  # kernels.softmax.LOWEST, which belongs to what is compiled


class StateClusters:
    """`address` of a CLUSTERS record, and `most`: active pieces of the largest cluster."""

    def __init__(self, clusters, model: Model):
        """`clusters` has `centroids` float32 [K, model_dim], `half_norms` [K], `offsets` int64 [K + 1], `ids` int32."""
        count, depth = clusters.centroids.shape
        self.most = int(np.diff(clusters.offsets).max())
        record = np.zeros(1, CLUSTERS)
        layer, bias = record[0]["centroids"], np.full(16 * panels(count), LOWEST, np.float32)
        bias[:count] = -clusters.half_norms
        weights = pack(np.ascontiguousarray(clusters.centroids.T))
        offsets, ids = np.ascontiguousarray(clusters.offsets, np.int64), np.ascontiguousarray(clusters.ids, np.int32)
        layer["scheme"], layer["depth"], layer["panels"] = records.FLOAT32, depth, panels(count)
        layer["weights"], layer["bias"] = weights.ctypes.data, bias.ctypes.data
        record["offsets"], record["ids"] = offsets.ctypes.data, ids.ctypes.data
        beside = _entries_of(model)
        model.record[0]["output"]["entries"] = beside.ctypes.data
        self._kept = record, weights, bias, offsets, ids, beside
        self.address = record.ctypes.data


def entries(bias: np.ndarray, scales=None, totals=None, start=None) -> np.ndarray:
    """ENTRY [pieces] of a table's vectors [pieces]; those that its scheme does not have may be left out."""
    found = np.zeros(len(bias), records.ENTRY)
    for name, vector in (("scale", scales), ("total", totals), ("bias", bias), ("start", start)):
        if vector is not None:
            found[name] = vector
    return found


def _entries_of(model: Model) -> np.ndarray:
    """Those of the output table."""
    table, size, vectors = model.record[0]["output"], model.config.vocab_size, {}
    for name in ("bias", "scales", "totals", "start"):
        if table[name]:
            kind = np.int32 if name == "start" else np.float32
            vectors[name] = np.frombuffer((ctypes.c_char * (4 * size)).from_address(int(table[name])), kind)
    return entries(**vectors)
