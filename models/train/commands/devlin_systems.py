"""Devlin 2017 (https://arxiv.org/abs/1705.01991), Table 2, in kind: quarter-wide systems, trained alike."""

from models.train.commands.steps import Row, Steps

SETTINGS = {"batch_tokens": 4000, "update_tokens": 3000, "longest": 60, "peak_rate": 1.5e-3, "warmup": 300}
SHAPES = {name: f"devlin-quarter-{name.lower()}" for name in ("S1", "S2", "S4")}
TINY = dict.fromkeys(SHAPES, "smoke-recurrent")


def train(steps: Steps, shapes: dict[str, str], given: list[str]) -> list[Row]:
    """Trains the systems with these further options; returns the rows of the table."""
    first = {name: steps.train(name, shape, "--seed", 1, *given) for name, shape in shapes.items()}
    again = steps.train("S4-again", shapes["S4"], "--seed", 2, *given)
    rows = [Row(name, [first[name]], paper) for name, paper in (("S1", 36.2), ("S2", 36.8), ("S4", 37.4))]
    return [*rows, Row("S4, another seed", [again], 37.4), Row("E1", [first["S4"], again], 38.3)]
