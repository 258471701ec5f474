"""Clusters of decoder states as compiled code reads them (text.shortlists.clusters, search.output.candidates)."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.full_output import reserve_entries
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import pack, panels
from cpunmt.model.tensors import Model
from cpunmt.search.records import CLUSTERS

OTHERS = -1  # stands for sources without a target language that has its own clusters
LOWEST = -3e38  # equals kernels.softmax.LOWEST, which only compiled code imports


class _Everything(NamedTuple):
    """One cluster of all pieces: the whole vocabulary."""

    centroids: np.ndarray
    offsets: np.ndarray
    ids: np.ndarray
    half_norms: np.ndarray


class StateClusters:
    """`address` of CLUSTERS records, one for each set; `numbers` maps a source piece to its record."""

    def __init__(self, sets: Mapping[int, Any], model: Model) -> None:
        """`sets` by the source piece that names their target language; OTHERS: for sources that name none of them.

        A set has `centroids` float32 [K, model_dim], `half_norms` [K], `offsets` int64 [K + 1], `ids` int32: see
        text.shortlists.clusters.

        Without a set for OTHERS, those sources choose from the whole vocabulary: a single cluster of all pieces.
        """
        size, depth = model.config.vocab_size, model.config.architecture.model_dim
        if OTHERS not in sets:
            nowhere, pieces = np.zeros((1, depth), np.float32), np.arange(size, dtype=np.int32)
            sets = {**sets, OTHERS: _Everything(nowhere, np.array([0, size]), pieces, np.zeros(1, np.float32))}
        self.numbers, record = {piece: number for number, piece in enumerate(sets)}, np.zeros(len(sets), CLUSTERS)
        self._most = [int(np.diff(clusters.offsets).max()) for clusters in sets.values()]
        reserve_entries(model)
        self._kept: Any = record, [_fill(record[i], clusters) for i, clusters in enumerate(sets.values())]
        self.address = record.ctypes.data

    def chosen(self, sources: Sequence[Sequence[int]]) -> tuple["array[int]", int]:
        """Returns the set of each of `sources`, int64 [sentences], and the number of pieces in their largest cluster.

        A source names its language by its first piece, or by the second one: SentencePiece may put a space before it.
        Instead of a source it may be the prompt that names the language.
        """
        others = self.numbers[OTHERS]
        if len(self.numbers) == 1:
            return array("q", bytes(8 * len(sources))), self._most[0]
        numbers = array("q", [self.numbers.get(s[0], self.numbers.get(s[min(1, len(s) - 1)], others)) for s in sources])
        return numbers, max(self._most[number] for number in set(numbers))


def _fill(record: Any, clusters: Any) -> tuple[np.ndarray, ...]:
    """Writes one CLUSTERS record; returns the objects that it points to."""
    count, depth = clusters.centroids.shape
    layer, bias = record["centroids"], np.full(16 * panels(count), LOWEST, np.float32)
    bias[:count] = -clusters.half_norms
    weights = pack(np.ascontiguousarray(clusters.centroids.T))
    offsets, ids = np.ascontiguousarray(clusters.offsets, np.int64), np.ascontiguousarray(clusters.ids, np.int32)
    layer["scheme"], layer["depth"], layer["panels"] = records.FLOAT32, depth, panels(count)
    layer["weights"], layer["bias"] = weights.ctypes.data, bias.ctypes.data
    record["offsets"], record["ids"] = offsets.ctypes.data, ids.ctypes.data
    return weights, bias, offsets, ids
