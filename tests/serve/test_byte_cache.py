"""Cached translations, limited in bytes."""

import gc
import tracemalloc
from collections import OrderedDict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.serve.queue.byte_cache import ByteCache, size_of

ENTRY = 200 + size_of("0") + size_of("")  # bytes of an empty text


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("01234"), st.sampled_from([0, 1, ENTRY])), min_size=9),
    st.sampled_from([0, ENTRY - 1, ENTRY, 2 * ENTRY, 3 * ENTRY, 3 * ENTRY + 1]),
)
def test_it_is_a_dict_that_forgets(steps, most):
    cache, kept = ByteCache(most), OrderedDict()  # the definition: key -> (value, bytes), the last used one last
    for asks, key, length in steps:
        if asks:
            found = cache.get(key)
            assert found == (kept[key][0] if key in kept else None)
            if key in kept:
                kept.move_to_end(key)
            continue
        before, value = cache.bytes, "x" * length
        cache.put(key, value)
        size = 200 + size_of(key) + size_of(value)
        if most == 0 or size > most:
            assert cache.bytes == before
            continue
        kept.pop(key, None)
        kept[key] = value, size
        while sum(bytes for _, bytes in kept.values()) > most:
            kept.popitem(last=False)
        assert cache.bytes == sum(bytes for _, bytes in kept.values()) <= most and len(cache) == len(kept)


def test_sizes_are_those_of_the_memory(student):
    def made():
        call = student.text_call({"return_alignments": True})
        return call.sentences(["A man is riding a bicycle through the snow."], [[]], call.settings)[0]

    made()  # computed once
    gc.collect()  # nothing older is freed while it is measured
    tracemalloc.start()
    kept = [made() for _ in range(50)]
    memory = tracemalloc.get_traced_memory()[0] / 50
    tracemalloc.stop()
    assert 0.5 * memory < size_of(kept[0]) < 3 * memory  # shared parts count each time


def test_arrays_that_are_views_count_too():
    whole = np.zeros(1000, np.float32)
    assert size_of(whole) >= 4000 and size_of(whole[:100]) >= 400
