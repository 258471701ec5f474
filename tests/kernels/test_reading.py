"""Every record type has its reader, by name, and a reader finds its record."""

import numpy as np

from cpunmt.kernels import reading, records


def test_every_record_type_has_a_reader():
    types = {name for name, value in vars(records).items() if isinstance(value, np.dtype)}
    assert {name for name in vars(reading) if name.endswith("_at")} == {f"{name.lower()}_at" for name in types}


def test_a_reader_reads_the_field_of_the_record_that_was_asked_for():
    from cpunmt.simd.jit import inlined

    made = np.zeros(3, records.FEED_FORWARD)
    made["outer"]["panels"] = [5, 7, 9]

    @inlined
    def panels(address, index):
        return reading.feed_forward_at(address, index).outer.panels

    import numba

    read = numba.njit(lambda address, index: panels(address, index))
    assert [read(made.ctypes.data, i) for i in range(3)] == [5, 7, 9]
