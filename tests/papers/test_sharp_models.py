"""Paper C against its definitions: the systems of Table 2, their stack of layers, merged states, candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.papers.devlin2017 import systems
from cpunmt.search.settings import Search
from tests.papers.definitions import sharp_models as paper
from tests.papers.random_shortlists import random_shortlist
from tests.sample_models.random_models import engine_of, random_tensors
from tests.support.searches import watch_calls

TINY = systems.Sizes(vocabulary=120, divisor=16)
GATES = {"gru": ("gates", "candidate"), "lstm": ("gates",)}


def split_gates(tensors, cell, kind, prefix):
    """Returns letter -> the matrix of each gate, from matrices that lie side by side; "" is the GRU's candidate."""
    joined = np.concatenate([tensors[f"{cell}.{prefix}{name}.weight"] for name in GATES[kind]], axis=1)
    letters = "fico" if kind == "lstm" else ["r", "z", ""]
    return dict(zip(letters, np.split(joined, len(letters), axis=1), strict=True))


def cell_of(tensors, cell, kind):
    """Returns the numbers of a cell by the names of the definition; a context's matrices are below the input's."""
    read, state = (split_gates(tensors, cell, kind, prefix) for prefix in ("", "state_"))
    if f"{cell}.context_gates.weight" in tensors:
        context = split_gates(tensors, cell, kind, "context_")
        read = {letter: np.concatenate([matrix, context[letter]]) for letter, matrix in read.items()}
    bias = np.concatenate([tensors[f"{cell}.{name}.bias"] for name in GATES[kind]])
    biases = dict(zip(read, np.split(bias, len(read)), strict=True))
    return {role + letter: part[letter] for role, part in (("W", read), ("U", state), ("b", biases)) for letter in part}


class Twin:
    """A system with the numbers of one of our checkpoints."""

    def __init__(self, name, config, tensors):
        self.shape, self.tensors = config.architecture, tensors
        self.kind, deep = self.shape.decoder_cell, name == "S7"
        self.cell = paper.lstm if deep else paper.gru
        layers = range(len(self.shape.stack))
        self.network = {
            "attention": {
                "query": tensors["attention.query.weight"],
                "key": tensors["attention.key.weight"],
                "bias": tensors["attention.key.bias"],
                "score": tensors["attention.score"],
            },
            "bottom": cell_of(tensors, "decoder.0.0", self.kind),
            "above": [cell_of(tensors, f"decoder.{i}.0", self.kind) for i in range(1, {"S2": 2, "S7": 8}.get(name, 1))],
            "skip": deep,
            "stack": [[tensors[f"relu.{i}.{part}"] for i in layers] for part in ("weight", "bias")],
        }
        if name == "S5":
            self.network["top"] = cell_of(tensors, "decoder.top", self.kind)
        else:
            self.network["tanh"] = (tensors["top.weight"], tensors["top.bias"])

    def zeros(self, width):
        return (np.zeros(width),) * (2 if self.kind == "lstm" else 1)

    def stack(self, way, layers):
        return [
            (cell_of(self.tensors, f"encoder.{way}.{i}.0", self.kind), self.zeros(self.shape.encoder_dim))
            for i in layers
        ]

    def encode(self, ids):
        words = self.tensors["embedding"][ids]
        layers = range(1 if self.kind == "lstm" else 3)
        encoded = paper.both_ways(self.stack("forward", layers), self.stack("backward", layers), self.cell, words)
        if self.kind == "lstm":  # above the first layer seven others from the left, with skips from the third on
            encoded = paper.read(self.stack("forward", range(1, 8)), self.cell, encoded, skip_from=2)
        return encoded

    def logits(self, ids, said):
        """Returns the logits of each step of a translation. Its first states are ours: the document has none."""
        words = self.encode(ids)
        first = np.tanh(words.mean(0) @ self.tensors["start.weight"] + self.tensors["start.bias"])
        states = [(first,) * len(self.zeros(1))] * (1 + len(self.network["above"]))
        states += [self.zeros(self.shape.model_dim)] if "top" in self.network else []
        word, found = np.zeros(self.shape.model_dim), []
        for piece in said:
            output, states = paper.decoder_step(self.network, self.cell, word, states, words)
            found.append(output @ self.tensors["embedding"].T + self.tensors["output.bias"])
            word = self.tensors["embedding"][piece]
        return np.array(found)


@pytest.mark.parametrize("name", systems.SYSTEMS)
def test_systems_are_as_defined(name):
    config = systems.system(name, TINY)
    tensors = random_tensors(config, 7)
    source = [5, 17, 60, 101, 3, 0]
    (made,) = engine_of(config, tensors).translate([source], [5], Search(full=True, vocab_logits=True))[0]
    expected = Twin(name, config, {key: array.astype(np.float64) for key, array in tensors.items()})
    np.testing.assert_allclose(made.logits, expected.logits(source, made.ids), rtol=0, atol=2e-3)


@pytest.mark.parametrize("beam", [2, 6])
def test_hypotheses_that_differ_by_the_last_word_share_a_state(beam):
    config = systems.system("S1", TINY)
    tensors = random_tensors(config, 7)
    tensors["output.bias"][config.eos_id] = -1e4  # all hypotheses live to the limit
    engine, search = engine_of(config, tensors), Search(beam, beam, full=True)

    def rows_multiplied(limit):
        (hypotheses,) = engine.translate([[5, 17, 60, 0]], [limit], search)
        memory = list(engine._workspaces.values())[-1].memories[0]
        multiplied = int(memory["rows_multiplied"][0])
        memory["rows_multiplied"] = 0
        return multiplied, [tuple(h.ids) for h in hypotheses]

    multiplied, histories = zip(*(rows_multiplied(limit) for limit in range(1, 9)), strict=True)
    states = [1, *(paper.merged(some) for some in histories)]
    assert list(multiplied) == np.cumsum(states[:-1]).tolist()
    assert states[-1] < beam


@pytest.mark.parametrize("beam", [2, 6])
def test_a_search_stops_as_early_as_defined(monkeypatch, beam):
    config = systems.system("S1", TINY)
    tensors = random_tensors(config, 7)
    tensors["output.bias"][config.eos_id] += 2
    engine = engine_of(config, tensors)
    whole = Search(beam, beam, length_penalty=0.0, full=True, to_the_end=True)
    expected, sources = [], [[piece, 17, 60, 0] for piece in range(5, 15)]
    for source in sources:
        for limit in range(1, 31):
            (found,) = engine.translate([source], [limit], whole)
            partial, complete = ([h.log_prob for h in found if h.truncated == kind] for kind in (True, False))
            if paper.may_stop(partial, complete) or limit == 30:
                expected.append(limit)
                break
    calls = watch_calls(monkeypatch, engine)
    for source, limit in zip(sources, expected, strict=True):
        before = len(calls)
        engine.translate([source], [30], whole._replace(num_hypotheses=1, to_the_end=False))
        assert len(calls) - before == limit
    assert len(set(expected)) > 2


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 19), min_size=1, max_size=8))
def test_candidates_are_20_translations_of_each_word(seed, sentence):
    shortlist, translations = random_shortlist(seed, systems.ALWAYS, systems.CANDIDATES)
    expected = set(paper.candidates(sentence, translations)) | set(range(systems.ALWAYS))  # ours adds frequent words
    found = shortlist.candidates(sentence, shared=False).tolist()
    assert expected <= set(found) and len(found) < len(expected) + 8  # filled up to a multiple of 8
