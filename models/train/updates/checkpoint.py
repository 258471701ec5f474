"""A training run on disk: one file with its whole state, so that it resumes exactly.

`checkpoint.safetensors` holds tensors under "parameters.", "means.", "adam_mean.", "adam_square." and (of rounded
weights) "scales.", the state of the random generator, and the rest as JSON in bytes. It is written under another name
and renamed: a file of that name is complete. Nothing is ever unpickled.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.safetensors_file import read_safetensors, write_safetensors

FILE = "checkpoint.safetensors"
_KINDS = ("parameters", "means", "adam_mean", "adam_square", "scales")


class Checkpoint(NamedTuple):
    """The state of a run."""

    tensors: dict[str, dict[str, torch.Tensor]]  # kind -> canonical name -> tensor
    random: torch.Tensor  # state of PyTorch's generator, uint8
    state: dict  # any JSON values


def save(folder: Path, checkpoint: Checkpoint):
    """Writes the run's checkpoint completely, or not at all."""
    arrays = {
        f"{kind}.{name}": tensor.detach().cpu().numpy()
        for kind in _KINDS
        for name, tensor in checkpoint.tensors.get(kind, {}).items()
    }
    arrays["random"] = checkpoint.random.numpy()
    arrays["state"] = np.frombuffer(json.dumps(checkpoint.state).encode(), np.uint8)
    partial = folder / f".{FILE}.partial"
    partial.unlink(missing_ok=True)  # left by a killed run
    try:
        write_safetensors(partial, arrays)
        with open(partial, "rb") as written:
            os.fsync(written.fileno())  # or a power cut leaves a complete-looking file of holes
        os.replace(partial, folder / FILE)
    finally:
        partial.unlink(missing_ok=True)


def load(folder: Path) -> Checkpoint | None:
    """Reads the run's checkpoint; returns None without one. Raises ModelFileError for a damaged one."""
    path = folder / FILE
    if not path.exists():
        return None
    arrays = read_safetensors(path)
    missing = [name for name in ("random", "state") if name not in arrays]
    if missing:
        raise ModelFileError(f"{path}: no checkpoint of a training run (no {missing[0]!r} in it); move it away")
    tensors = {kind: {} for kind in _KINDS}
    for name, array in arrays.items():
        kind, _, rest = name.partition(".")
        if kind in tensors:
            tensors[kind][rest] = torch.from_numpy(array.copy())
    return Checkpoint(tensors, torch.from_numpy(arrays["random"].copy()), json.loads(arrays["state"].tobytes()))
