"""Recurrent networks of Marian whose widths are no multiples of 16, as Nematus' 500: made wider with zeros.

They compute the same. What zero weights make of anything is 0: vectors of pieces end in zeros, and so do states, which
begin with 0 and stay there, for a cell whose weights are zero says tanh(0). What reads them has weights of zero, too.
Only layer norms would count them.
"""

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

STEP = 16
Widths = tuple[int, int]  # of the pieces' vectors, and of states


def wider(width: object) -> object:
    """The next multiple of 16 from a whole number on; what is none is left to those that check it."""
    return -(-width // STEP) * STEP if type(width) is int and width > 0 else width


class Padding:
    """How the tensors of a network as it is in the file become those of `config`, which is as wide or wider."""

    def __init__(self, config: ModelConfig, widths: Widths) -> None:
        """`widths`: those of the file."""
        self._widths = widths
        self._wider = config.architecture.model_dim, config.architecture.decoder_dim
        self._axes = _axes(config)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Canonical name -> shape in the file."""
        return {name: tuple(self._size(axis) for axis in axes) for name, axes in self._axes.items()}

    def _size(self, axis):
        rest, *parts = axis
        return rest + sum(part * width for part, width in zip(parts, self._widths, strict=True))

    def padded(self, tensors: dict[str, "np.ndarray | StoredIntegers"], where: str) -> dict[str, np.ndarray]:
        """The tensors with zeros. Raises ModelFileError for weights that are stored as integers."""
        if self._widths == self._wider:
            return tensors
        if any(isinstance(tensor, StoredIntegers) for tensor in tensors.values()):
            raise ModelFileError(
                f"{where}: weights are stored as integers, and dim-emb and dim-rnn are {self._widths}, expected "
                f"multiples of {STEP}; load the float32 model.npz that it was made of"
            )
        return {name: self._filled(tensor, self._axes[name]) for name, tensor in tensors.items()}

    def _filled(self, tensor, axes):
        for number, (_, *parts) in enumerate(axes):
            for count, width, wide in zip(parts, self._widths, self._wider, strict=True):
                if count:  # of parts side by side, each of that width
                    shape = tensor.shape
                    apart = tensor.reshape(*shape[:number], count, width, *shape[number + 1 :])
                    ends = [(0, 0)] * apart.ndim
                    ends[number + 1] = 0, wide - width
                    tensor = np.pad(apart, ends).reshape(*shape[:number], count * wide, *shape[number + 1 :])
        return tensor


def _axes(config) -> dict[str, tuple[tuple[int, int, int], ...]]:
    """Canonical name -> for each axis what it has besides, how often the width of pieces, and of states."""

    def shapes(pieces, states):
        return checkpoint_tensors(config.changed(model_dim=pieces, encoder_dim=states, decoder_dim=states))

    base, of_pieces, of_states = shapes(STEP, STEP), shapes(2 * STEP, STEP), shapes(STEP, 2 * STEP)
    found = {}
    for name, shape in base.items():
        axes = []
        for size, pieces, states in zip(shape, of_pieces[name], of_states[name], strict=True):
            counts = (pieces - size) // STEP, (states - size) // STEP
            axes.append((size - sum(counts) * STEP, *counts))
        found[name] = tuple(axes)
    return found
