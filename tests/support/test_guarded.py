"""The guards see what they are there to see."""

import numpy as np
import pytest

from tests.support.guarded import Guards


@pytest.mark.parametrize("misaligned", [0, 4, 60])
def test_arrays_begin_where_asked(misaligned):
    guard = Guards(misaligned)
    assert guard.empty((3, 5), np.float32).ctypes.data % 64 == misaligned
    values = np.arange(15, dtype=np.int32).reshape(3, 5)
    assert np.array_equal(guard.copy(values), values)
    guard.check()


@pytest.mark.parametrize("place, side", [(-1, "before the array"), (12, "after the array's end")])
def test_a_write_beside_an_array_is_seen(place, side):
    guard = Guards()
    array = guard.empty(12, np.uint8)
    buffer = array.base
    buffer[array.ctypes.data - buffer.ctypes.data + place] = 0
    with pytest.raises(AssertionError, match=side):
        guard.check()


def test_a_change_of_an_input_is_seen():
    guard = Guards()
    guard.copy(np.zeros(4, np.float32), written=True)[1] = 1
    guard.check()
    guard.copy(np.zeros(4, np.float32))[1] = 1
    with pytest.raises(AssertionError, match="an input was changed"):
        guard.check()
