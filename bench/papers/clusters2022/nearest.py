"""Finds the nearest centroid: in float32, as the engine does, and with centroids in 8 bits.

Also counts states in the cluster of the state before. Rows are scored in place, so keeping candidates from one step to
the next could only save finding the centroid and, for "both", merging two lists.
"""

from functools import partial

import numpy as np

from bench.harness.timing import in_turn, median_ratio
from bench.papers.clusters2022.recorded import Recorded
from bench.papers.clusters2022.steps import Projection, Setting, States
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import LOWEST, OTHERS, StateClusters
from cpunmt.kernels import records
from cpunmt.kernels.matmul.packing import PANEL, pack, padded, panels
from cpunmt.layers.schemes import int8
from cpunmt.search.records import CLUSTERS
from cpunmt.simd import isa
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import Step


def byte_layer(clusters: Clusters) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns LINEAR of the centroids in 8 bits, with a scale for each, and the arrays that it points to."""
    count, depth = clusters.centroids.shape
    q, scales = int8.quantize_columns(np.ascontiguousarray(clusters.centroids.T))
    sums = q.sum(axis=0, dtype=np.int32)
    bias = np.full(PANEL * panels(count), LOWEST, np.float32)
    bias[:count] = -clusters.half_norms
    layer, vectors = (
        np.zeros(1, records.LINEAR),
        {
            "weights": pack(q),
            "scales": padded(scales),
            "start": padded(sums * np.int32(-isa.activation_offset())),
            "totals": padded(scales * sums.astype(np.float32)),
            "bias": bias,
        },
    )
    layer["scheme"], layer["depth"], layer["panels"] = records.INT8, depth, panels(count)
    for name, vector in vectors.items():
        layer[name] = vector.ctypes.data
    return layer, list(vectors.values())


def measure(
    program, engine: Engine, given: Step, setting: Setting, clusters: Clusters, held_out: Recorded, rounds: int
) -> dict:
    """Returns microseconds of a step, by scheme of the centroids, and the share of the steps' states with another
    choice in 8 bits.
    """
    projection = Projection(program, engine, given, setting, clusters)
    made = StateClusters({OTHERS: clusters}, engine.model)
    eight_bits, kept = byte_layer(clusters)
    depth, steps = clusters.centroids.shape[1], projection.steps
    layers = {"float32": made.address + CLUSTERS.fields["centroids"][1], "int8": eight_bits}
    states = {scheme: States(program, given.states, scheme) for scheme in layers}
    ways = {
        scheme: partial(
            *(program.nearest_steps, layer, projection.workspace, states[scheme].record, depth, setting.rows, 0, steps)
        )
        for scheme, layer in layers.items()
    }
    seconds = in_turn(ways, rounds, warm=1).seconds
    chosen = {scheme: of_scheme.best for scheme, of_scheme in states.items()}
    del kept
    return {
        "rows": str(setting),
        "clusters": len(clusters.centroids),
        "microseconds": {scheme: 1e6 * min(found) / steps for scheme, found in seconds.items()},
        "speedup": median_ratio(seconds["float32"], seconds["int8"]),
        "other_choices": float((chosen["int8"] != chosen["float32"]).mean()),
        "active": {
            scheme: float(clusters.sizes[found].mean()) / clusters.vocab_size for scheme, found in chosen.items()
        },
        "coverage": {
            scheme: float(clusters.contain(found, given.best[:, 0]).mean()) for scheme, found in chosen.items()
        },
        "stays": held_out.cluster_stays(clusters),
    }


def show(title: str, rows: list[dict]):
    """Prints the table."""
    print(f"\nNearest centroid, {title}: us, and what centroids in 8 bits change")
    print(
        f"{'':20}{'clusters':>9}{'float32':>9}{'int8':>14}{'other choices':>15}{'active':>18}{'coverage':>20}   stays"
    )
    for row in rows:
        times, active, covered = (
            row["microseconds"],
            *(
                ", ".join(f"{100 * row[name][scheme]:.2f}" for scheme in ("float32", "int8"))
                for name in ("active", "coverage")
            ),
        )
        eight_bits = f"{times['int8']:.1f} ({row['speedup']:.1f} x)"
        print(
            f"{row['rows']:20}{row['clusters']:9}{times['float32']:9.1f}{eight_bits:>14}"
            f"{100 * row['other_choices']:13.2f} %{active:>16} %{covered:>18} %{100 * row['stays']:6.1f} %",
            flush=True,
        )
