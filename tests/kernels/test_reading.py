"""Every record type has its reader, by name, and a reader finds its record."""

import importlib

import numpy as np
import pytest

from cpunmt.layers import reading, records
from tests.sample_models.real_model import ROOT

FOLDERS = [path.parent for path in (ROOT / "cpunmt").rglob("records.py")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_record_type_has_a_reader_that_is_used(folder):
    package = ".".join(folder.relative_to(ROOT).parts)
    module = importlib.import_module(f"{package}.records")
    text = (folder / "records.py").read_text("utf-8")
    types = {name for name, value in vars(module).items() if isinstance(value, np.dtype) and f"\n{name} = " in text}
    readers = {name for name in vars(importlib.import_module(f"{package}.reading")) if name.endswith("_at")}
    assert readers == {f"{name.lower()}_at" for name in types}
    code = "".join(path.read_text("utf-8") for path in (ROOT / "cpunmt").rglob("*.py"))
    assert [name for name in readers if f"{name}(" not in code] == []


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
