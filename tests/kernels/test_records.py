"""Every record type can be read by compiled code, with all its fields."""

import importlib
import re

import numba
import numpy as np
import pytest

from cpunmt.layers.records import FEED_FORWARD
from cpunmt.simd.intrinsics import at
from tests.sample_models.real_model import ROOT

FOLDERS = [path.parent for path in (ROOT / "cpunmt").rglob("records.py")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_record_type_is_read(folder):
    module = importlib.import_module(f"{'.'.join(folder.relative_to(ROOT).parts)}.records")
    text = (folder / "records.py").read_text("utf-8")
    types = {name for name, value in vars(module).items() if isinstance(value, np.dtype) and f"\n{name} = " in text}
    code = "".join(path.read_text("utf-8") for path in (ROOT / "cpunmt").rglob("*.py"))
    assert types <= set(re.findall(r"\bat\((\w+), ", code))


def test_the_record_that_was_asked_for_is_read():
    made = np.zeros(3, FEED_FORWARD)
    made["outer"]["panels"] = [5, 7, 9]
    read = numba.njit(lambda address, index: at(FEED_FORWARD, address, index).outer.panels)
    assert [read(made.ctypes.data, i) for i in range(3)] == [5, 7, 9]
