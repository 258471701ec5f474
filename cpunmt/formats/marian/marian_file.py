"""What a Marian model file holds, whichever container it came in (`.npz` or `.bin`)."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from cpunmt.errors import ModelFileError

OPTIONS = "special:model.yml"
ALPHA = "_QuantMultA"  # suffix of a calibrated activation multiplier, after the name of its weight
_NAME = re.compile(r"[!-.0-\[\]-~]{1,255}")  # ASCII that prints, without / and \


class StoredIntegers(NamedTuple):
    """A weight matrix as Marian's intgemm stores it: an integer is the weight times `multiplier`, rounded.

    Attributes
    ----------
    values : int8 or int16
        [vocabulary, dim] of an embedding (name with "Wemb"). Any other weight lies transposed: one that is [in, out]
        by its name is [out, in] here, and an untied output layer `_Wt`, [vocabulary, dim], is [dim, vocabulary].
    multiplier : float
        127 / max|weight| for int8, 1024 for int16. Finite and positive.
    transposed : whether `values` is the transpose of the weight that Marian's name stands for
    """

    values: np.ndarray
    multiplier: float
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weight."""
        return self.values.shape[::-1] if self.transposed else self.values.shape

    def weights(self) -> np.ndarray:
        """The weight in float32, computed as Marian does: the integer times the rounded 1 / multiplier."""
        values = np.float32(1) / np.float32(self.multiplier) * self.values.astype(np.float32)
        return np.ascontiguousarray(values.T) if self.transposed else values


class MarianFile(NamedTuple):
    """Options, parameters and calibration of a model.

    Attributes
    ----------
    options : dict
        `special:model.yml`, read by `marian_options.parse_options`.
    tensors : dict
        Marian's name -> float array or `StoredIntegers`, in the order of the file; no `special:` items, no alphas.
    alphas : name of a weight -> multiplier of the activations it is multiplied with; see `output_alpha`. May be empty.
    """

    options: dict
    tensors: dict[str, "np.ndarray | StoredIntegers"]
    alphas: dict[str, float]


def output_alpha(alphas: Mapping[str, float], embedding: str) -> float | None:
    """The activation multiplier of the output layer whose weight is `embedding`; None if there is none.

    Marian runs the output layer as a weight without a name, "none", so that entry counts first.
    """
    return next((alphas[name] for name in ("none", embedding, "Wemb") if name in alphas), None)


def check_names(names: Iterable[str], where: str) -> None:
    """Raise ModelFileError for a name that Marian never gives, or one of a kind of model that is not read."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise ModelFileError(
                f"{where}: tensor name {name[:80]!r}, expected 1 to 255 printing ASCII characters without slashes; "
                f"fetch the file again"
            )
        if "->" in name:
            raise ModelFileError(
                f"{where}: tensor {name!r} is of Marian's layer framework (type transformer-new), which is not "
                f"supported; expected a model of type transformer"
            )


def check_alpha(value, name: str, where: str) -> float:
    """`value` as a float. Raises ModelFileError unless it is positive and finite."""
    if not 0 < value < np.inf:
        raise ModelFileError(f"{where}: {name} is {value}, expected a positive number; calibrate the model again")
    return float(value)
