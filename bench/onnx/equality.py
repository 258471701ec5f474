"""The difference between the ONNX graphs and `quantize.reference.network`, for the same target pieces."""

import numpy as np

from bench.onnx.engine import OnnxEngine
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy

BARRED = 100.0  # no piece that can be chosen has a lower logit; the </s> of bench.students has -10,000


def logit_differences(engine: OnnxEngine, reference: Reference, sources) -> tuple[float, float]:
    """Returns the largest difference of a logit, with each sentence alone and with all in one batch.

    Every sentence is decoded with the reference's greedy translation, over all pieces. The difference of a logit beyond
    BARRED, where float32 is coarser than the tolerance, counts in proportion.
    """
    targets = [greedy(reference, source).ids for source in sources]
    expected = [_reference_logits(reference, *pair) for pair in zip(sources, targets, strict=True)]
    alone = max(
        _difference(engine, [source], [target], [logits])
        for source, target, logits in zip(sources, targets, expected, strict=True)
    )
    return alone, _difference(engine, sources, targets, expected)


def _reference_logits(reference, source, target):
    state, found = reference.start(reference.encode(source)), []
    for step in range(len(target)):
        logits, state = reference.step(state, target[step - 1 : step] if step else [0])
        found.append(logits[0])
    return found


def _difference(engine, sources, targets, expected):
    memory, states, largest = engine.encode(sources), engine.start(len(sources)), 0.0
    for step in range(max(map(len, targets))):
        before = [target[step - 1] if 0 < step <= len(target) else 0 for target in targets]
        logits, states = engine.step(memory, states, np.array(before), step)
        for found, wanted in zip(logits, expected, strict=True):
            if step < len(wanted):
                unit = np.maximum(1, np.abs(wanted[step]) / BARRED)
                largest = max(largest, float((np.abs(found - wanted[step]) / unit).max()))
    return largest
