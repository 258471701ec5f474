"""Counters and histograms against lists of all counted values."""

import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from cpunmt.serve.metrics import Metrics

KINDS = ("answered", "loaded", "batch", "looked_up", "waited")
COUNTS = st.integers(0, 5000)
# Bounds of buckets, and values beside them: all are exact in binary, so that sums are equal however they are added.
SECONDS = st.sampled_from([0.0, 0.0625, 0.5, 0.5000001, 1.0, 1.5, 30.0, 31.0])
PIECES = st.sampled_from([0, 7, 8, 9, 255, 256, 257, 4096, 4097])
BOUNDS = {
    "wait_seconds": (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
    "batch_pieces": tuple(1 << bits for bits in range(3, 13)),
}
STEPS = st.one_of(
    st.tuples(st.just("answered"), st.tuples(st.sampled_from(["/translate", "/health"]), st.sampled_from([200, 503]))),
    st.tuples(st.just("loaded"), st.just(())),
    st.tuples(st.just("batch"), st.tuples(PIECES, COUNTS, SECONDS)),
    st.tuples(st.just("looked_up"), st.tuples(COUNTS, COUNTS)),
    st.tuples(st.just("waited"), st.tuples(SECONDS)),
)


def samples(metrics):
    """Returns {(name, *labels): value} as Prometheus reads it."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


@given(st.lists(STEPS, max_size=30), COUNTS)
def test_what_prometheus_reads_is_what_happened(steps, waiting):
    metrics = Metrics()
    metrics.watch("waiting", "What waits", lambda: waiting)
    for name, values in steps:
        getattr(metrics, name)(*values)
    happened = {kind: [values for name, values in steps if name == kind] for kind in KINDS}
    batches, looks = happened["batch"], happened["looked_up"]
    found = samples(metrics)
    totals = {
        "cold_loads": len(happened["loaded"]),
        "sentences": sum(sentences for _, sentences, _ in batches),
        "pieces": sum(pieces for pieces, _, _ in batches),
        "busy_seconds": sum(seconds for _, _, seconds in batches),
        "sentences_asked": sum(asked for _, asked in looks),
        "cache_hits": sum(kept for kept, _ in looks),
    }
    for name, value in totals.items():
        assert abs(found[f"cpunmt_{name}_total",] - value) < 1e-3
    for path, status in set(happened["answered"]):
        assert found["cpunmt_requests_total", path, str(status)] == happened["answered"].count((path, status))
    for name, values in (
        ("wait_seconds", [seconds for (seconds,) in happened["waited"]]),
        ("batch_pieces", [pieces for pieces, _, _ in batches]),
    ):
        bounds = [key[1] for key in found if key[0] == f"cpunmt_{name}_bucket"]
        assert [*map(float, bounds)] == [*BOUNDS[name], math.inf]
        for bound in bounds:
            at_most = sum(value <= float(bound) for value in values)
            assert found[f"cpunmt_{name}_bucket", bound] == at_most, bound
        assert found[f"cpunmt_{name}_count",] == len(values) and abs(found[f"cpunmt_{name}_sum",] - sum(values)) < 1e-3
    assert found["cpunmt_waiting",] == waiting
