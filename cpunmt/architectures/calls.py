"""The calls from the search to any architecture: see `families`."""

from importlib import import_module

from cpunmt.architectures.families import FAMILIES
from cpunmt.architectures.records import MODEL
from cpunmt.simd.intrinsics import at
from cpunmt.simd.jit import address, count, kernel, one_of


def _of_all(module, part):
    found = {name: import_module(f"cpunmt.architectures.{name}.{module}") for name in FAMILIES}
    return one_of([getattr(code, f"{name}_{part}") for name, code in found.items()])


_encode, _start, _step = _of_all("encode", "encode"), _of_all("step", "start"), _of_all("step", "step")


@kernel
def encode(model: address, memory: address, ids: address, offsets: address, slots: address, n: count):
    """Encodes `n` sentences into slots."""
    m = at(MODEL, model, 0)
    _encode(m.family, m.network, memory, ids, offsets, slots, n)


@kernel
def start(model: address, memory: address, slot: count) -> count:
    """Returns the parent of a hypothesis that begins in a slot."""
    m = at(MODEL, model, 0)
    return _start(m.family, m.network, memory, slot)


@kernel
def step(model: address, memory: address, rows: address, n: count):
    """Computes one step of ROW records [n]."""
    m = at(MODEL, model, 0)
    _step(m.family, m.network, memory, rows, n)
