"""Exports from PyTorch to files: Marian's `model.npz`, and directories that cpunmt runs."""

from pathlib import Path

import numpy as np
import torch

from cpunmt.formats.packed.packed_directory import write_directory
from cpunmt.model.config import ModelConfig
from quantize.checkpoints.layer_errors import pack_tensors
from quantize.checkpoints.marian_export import write_marian_npz


def arrays_of(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """Converts tensors under canonical names to NumPy's."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}


def write_npz(path: Path, config: ModelConfig, tensors: dict[str, torch.Tensor]):
    """Writes Marian's file: only names change. Raises ValueError for a model that Marian does not have."""
    write_marian_npz(path, config, arrays_of(tensors))


def write_marian(path: Path, config: ModelConfig, tensors: dict[str, torch.Tensor]) -> bool:
    """Calls `write_npz` if Marian has such a model; returns whether it has."""
    try:
        write_npz(path, config, tensors)
    except ValueError:
        return False
    return True


def write_checkpoint(folder: Path, name: str, config: ModelConfig, tensors: dict[str, torch.Tensor], vocabulary: Path):
    """Writes NAME.npz, or if Marian has no such model the directory NAME of a packed float32 one."""
    if not write_marian(folder / f"{name}.npz", config, tensors):
        write_float32(folder / name, config, tensors, vocabulary)


def write_float32(path: Path, config: ModelConfig, tensors: dict[str, torch.Tensor], vocabulary: Path):
    """Writes a packed float32 model, replacing an existing one."""
    config, packed, _ = pack_tensors(config, arrays_of(tensors), "float32")
    write_directory(path, config, packed, vocabulary=vocabulary, force=True)
