"""Writes files of `torch.save` in both of its containers. To write them again:

    python -m tests.golden.torch_files

in an environment with `pip install torch==2.13.0`, numpy and what tests/sample_models import.

`values` has a tensor of each type and layout, whose numbers `expected` returns; `marian` is a small MarianMT model
(`SMALL`, weights from a seed) in float16.
"""

from collections import OrderedDict
from pathlib import Path

import numpy as np

from tests.sample_models.huggingface_model import FIELDS, random_tensors

FOLDER = Path(__file__).parent / "torch"
CONTAINERS = ("zip", "legacy")
SIZE = 33  # pieces
SMALL = FIELDS | {
    **{"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16},
    **{"encoder_attention_heads": 1, "decoder_attention_heads": 1, "vocab_size": SIZE, "decoder_vocab_size": SIZE},
    **{"pad_token_id": SIZE - 1, "decoder_start_token_id": SIZE - 1, "bad_words_ids": [[SIZE - 1]]},
}
SEED = 4
_TYPES = {
    **{"float": "f4", "half": "f2", "double": "f8", "bfloat16": "f4"},
    **{"long": "i8", "int": "i4", "short": "i2", "char": "i1", "byte": "u1"},
}


def plain() -> np.ndarray:
    """The numbers of most tensors: bfloat16 and float16 hold them exactly."""
    return np.arange(6.0).reshape(2, 3)


def expected() -> dict[str, np.ndarray]:
    """Name -> content of each tensor of `values`; of bfloat16, in float32."""
    found = {f"types.{name}": plain().astype(dtype) for name, dtype in _TYPES.items()}
    shared = plain().astype("f4")
    found |= {"shared.whole": shared, "shared.again": shared, "shared.turned": shared.T, "shared.row": shared[1:]}
    found |= {"shared.column": shared[:, 1], "parameter": shared + 1, "bfloat16.turned": shared.T}
    return found | {"scalar": np.float32(7.5), "empty": np.zeros((0, 3), "f4"), "one": np.ones((1, 1, 1), "f4")}


def model() -> dict[str, np.ndarray]:
    """The weights of `marian`, before they are rounded."""
    return random_tensors(SMALL, SEED, trained_on=True)


def main():
    import torch

    shared = torch.from_numpy(plain()).float()
    values = OrderedDict((f"types.{name}", getattr(torch.from_numpy(plain()), name)().clone()) for name in _TYPES)
    values["shared.whole"] = values["shared.again"] = shared
    values |= {"shared.turned": shared.t(), "shared.row": shared[1:], "shared.column": shared[:, 1]}
    values["parameter"] = torch.nn.Parameter(shared + 1)
    values["bfloat16.turned"] = shared.bfloat16().t()
    values |= {"scalar": torch.tensor(7.5), "empty": torch.zeros(0, 3), "one": torch.ones(1, 1, 1)}
    values._metadata = OrderedDict({"": {"version": 1}, "shared": {}})
    marian = OrderedDict((name, torch.from_numpy(array).half()) for name, array in model().items())
    FOLDER.mkdir(exist_ok=True)
    for name, state in (("values", values), ("marian", marian)):
        for container in CONTAINERS:
            torch.save(state, FOLDER / f"{name}.{container}.bin", _use_new_zipfile_serialization=container == "zip")


if __name__ == "__main__":
    main()
