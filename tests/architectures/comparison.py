"""Compares an engine with its definition: translations of random sentences by random models."""

import numpy as np

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.engine.engine import Engine
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.definitions.packed_network import PackedReference
from tests.sample_models.random_models import engine_of, random_sources, random_tensors

NEAR = np.array([2e-3, 1e-2, 1e-3])  # tolerance of a score, of one piece, of attention
OFF = 1e-6  # relative error of gates by table
MOST = 0.1  # maximum error of a network, whatever its weights' errors


def compare(config, seed, search, **switches):
    """Compares translations of six sentences by engine and definition; returns the number of different ones.

    Some random networks (such as an LSTM of three layers with layer norms) turn errors of 1e-6 in weights into 2e-3. If
    the engine is not near the definition, the difference may be three times that of the definition with disturbed
    weights.

    `switches` of a recurrent network: see its `switch`.
    """
    tensors = random_tensors(config, seed)
    reference, engine = Reference(config, tensors), engine_of(config, tensors)
    if switches:
        engine.model.network.switch(**switches)
    sources = random_sources(seed, config.source_size, 6, longest=30)
    made = engine.translate(sources, [10] * len(sources), search)
    different = 0
    for source, hypotheses in zip(sources, made, strict=True):
        expected = beam_search(reference, source, 10, search)
        different += [h.ids for h in hypotheses] != [e.ids for e in expected]
        found, allowed = apart(hypotheses, expected), NEAR
        if (found > NEAR).any():
            shaken = [beam_search(Reference(config, _shaken(tensors, n)), source, 10, search) for n in range(4)]
            allowed = NEAR + 3 * np.max([apart(other, expected) for other in shaken], axis=0)
        assert (found <= allowed).all() and (found < MOST).all(), (found, allowed)
    return different


def compare_packed(packed, sources, near, least, most=MOST):
    """Compares translations of a packed model by engine and definition.

    A float's last bit may move an activation to the next integer, and so change the choices of random weights.
    Therefore only `least` of the sentences must have the same pieces; their log-probabilities per piece differ by less
    than `most`, half of them by less than `near`.
    """
    model = Model(*packed)
    if isinstance(model.config.architecture, RecurrentConfig):
        model.network.switch(projected=False)  # contexts are quantized, as in the definition, not encoded words
    made = Engine(model).translate(sources, [8] * len(sources), Search(token_log_probs=True))
    reference = PackedReference(*packed)
    expected = [beam_search(reference, source, 8)[0] for source in sources]
    same = [(m[0], e) for m, e in zip(made, expected, strict=True) if m[0].ids == e.ids]
    assert len(same) >= least
    differences = [abs(m.log_prob - e.log_prob) / len(m.ids) for m, e in same]
    assert np.median(differences) < near and max(differences) < most


def apart(some, others):
    """Returns the largest differences of hypotheses: float64 [3], in scores and, if equal, in pieces and attention."""
    far = np.zeros(3)
    for one, other in zip(some, others, strict=True):
        found = [abs(one.score - other.score), 0.0, 0.0]
        if one.ids == other.ids:
            found[1] = np.abs(np.subtract(one.token_log_probs, other.token_log_probs)).max(initial=0)
            found[2] = np.abs(np.subtract(one.attention, other.attention)).max(initial=0)
        far = np.maximum(far, found)
    return far


def _shaken(tensors, seed):
    random = np.random.default_rng(seed)
    return {name: value * (1 + OFF * random.standard_normal(value.shape)) for name, value in tensors.items()}
