"""The guards detect errors."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.sample_models.real_model import ROOT
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


def test_a_read_beyond_pages_ends_the_process():
    code = "import ctypes, numpy as np; from tests.support.guarded import Pages\n"
    code += "end = (array := Pages().empty((3, 5), np.int32)).ctypes.data + array.nbytes\n"
    code += "print(ctypes.string_at(end - 60, 60) == b'~' * 60, flush=True)\n"
    done = subprocess.run([sys.executable, "-c", code + "ctypes.string_at(end, 1)"], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, b"True\n")
