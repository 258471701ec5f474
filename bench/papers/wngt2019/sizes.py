"""Table 3: the size of the weights of each shape in each scheme, computed from the config without a model."""

import math

from cpunmt.model.config import SCHEMES, ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors
from models.train.updates.configs import SHAPES

VOCABULARY = 32_000
NAMES = ("paper-large", "paper-small", "paper-tiny", "base", "tied6", "tiny", "pilot")


def measure(vocab_size: int = VOCABULARY) -> list[dict]:
    """Returns rows by shape: parameters, and bytes in each scheme."""
    rows = []
    for name in NAMES:
        parameters = checkpoint_tensors(ModelConfig.of(vocab_size=vocab_size, **SHAPES[name]))
        count = sum(math.prod(shape) for shape in parameters.values())
        sizes = {scheme: _bytes(name, vocab_size, scheme) for scheme in SCHEMES}
        rows.append({"name": name, "parameters": count, "bytes": sizes})
    return rows


def _bytes(name, vocab_size, scheme):
    stored = expected_tensors(ModelConfig.of(vocab_size=vocab_size, scheme=scheme, **SHAPES[name]))
    return sum(math.prod(shape) * dtype.itemsize for dtype, shape in stored.values())


def show(rows: list[dict], vocab_size: int = VOCABULARY):
    schemes = list(rows[0]["bytes"])
    print(f"\nTable 3 in kind: MB of weights, {vocab_size} pieces")
    print(f"{'':14}{'parameters':>12}" + "".join(f"{scheme:>10}" for scheme in schemes))
    for row in rows:
        sizes = "".join(f"{row['bytes'][scheme] / 1e6:>10.1f}" for scheme in schemes)
        print(f"{row['name']:14}{row['parameters'] / 1e6:>11.1f}M{sizes}")
