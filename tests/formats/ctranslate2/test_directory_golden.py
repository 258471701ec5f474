"""Directories that CTranslate2 wrote, against its log-probabilities, translations and alignments with them."""

import gzip
import json

import numpy as np
import pytest

from cpunmt.decoding.loading import load_model
from cpunmt.search.settings import Search
from tests.formats.huggingface.test_huggingface_golden import forced
from tests.golden.ctranslate2_directories import FOLDER, LIMIT, RESULTS, SENTENCES, SHAPES
from tests.support.speeds import slow_after

CLOSE = 1e-3  # of log-probabilities
NEAR = 1e-3  # two translations whose scores differ by less may change places
BEAM = Search(beam_size=4, num_hypotheses=1, patience=1.0)  # as CTranslate2 ends a beam
COUNTS = slow_after(1, [40, SENTENCES])
EXACT = [(name, kind) for name, shape in SHAPES.items() for kind in shape.types if kind != "int8"]
INT8 = [(name, "int8") for name, shape in SHAPES.items() if "int8" in shape.types]


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(RESULTS.read_bytes()))


class Compared:
    """A directory through the engine: its translations beside CTranslate2's."""

    def __init__(self, golden, name, kind, compute_type, count=SENTENCES):
        self.loaded = load_model(FOLDER / name / kind, compute_type)
        self.engine, self.told = self.loaded.engine, {key: told[:count] for key, told in golden[name][kind].items()}
        self.eos = self.loaded.config.eos_id
        self.sources, self.targets = (
            [[*ids, self.eos] for ids in golden[name][side][:count]] for side in ("sources", "targets")
        )

    def log_probs(self) -> np.ndarray:
        """Returns our log-probabilities of all pieces of the targets."""
        return np.concatenate(forced(self.engine, self.sources, self.targets))

    def their_log_probs(self) -> np.ndarray:
        return np.concatenate(self.told["log_probs"])

    def translated(self, name) -> list:
        search = BEAM if name == "beam" else Search()
        made = self.engine.translate(self.sources, [LIMIT] * len(self.sources), search)
        found = [hypotheses[0].ids for hypotheses in made]
        return [ids[:-1] if ids[-1] == self.eos else ids for ids in found]

    def gap(self, place, made, expected) -> float:
        """Returns our score of our translation minus our score of theirs."""
        ended = [ids if len(ids) == LIMIT else [*ids, self.eos] for ids in (made, expected)]
        ours, theirs = (sum(forced(self.engine, [self.sources[place]], [ids])[0]) / len(ids) for ids in ended)
        return ours - theirs


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "kind"), EXACT)
def test_floats_are_those_of_ctranslate2(name, kind, count, golden):
    """int16, float16 and bfloat16 hold the weights that both multiply as float32."""
    compared = Compared(golden, name, kind, "float32", count)
    figures = {"difference": np.abs(compared.log_probs() - compared.their_log_probs()).max()}
    for search in ("greedy", "beam"):
        made, expected = compared.translated(search), compared.told[search]
        assert len({tuple(ids) for ids in expected}) > min(count / 3, 40)  # else this shows little
        gaps = [
            compared.gap(place, ours, theirs)
            for place, (ours, theirs) in enumerate(zip(made, expected, strict=True))
            if ours != theirs
        ]
        assert all(abs(gap) < NEAR for gap in gaps)
        figures |= {search: count - len(gaps), f"{search} gaps": gaps}
    print(name, kind, figures)
    assert figures["difference"] < CLOSE


@pytest.mark.parametrize("name", ["marian", "opennmt", "opennmt-relative"])
def test_alignments_are_those_of_ctranslate2(name, golden):
    """The second model aligns by the mean of all heads, the others by their first head."""
    compared = Compared(golden, name, "float32", "float32")
    told = compared.told["attention"]
    sources = compared.sources[: len(told)]
    made = compared.engine.translate(sources, [LIMIT] * len(told), Search(attention=True))
    for source, hypotheses, expected in zip(sources, made, told, strict=True):
        pieces = len(source) - 1  # theirs has no column of </s>
        ours, theirs = hypotheses[0].attention[: len(expected), :pieces], np.array(expected).reshape(-1, pieces)
        assert np.allclose(ours, theirs, atol=CLOSE)
    assert sum(map(len, told)) > 10


def agreement(translations, others) -> int:
    return sum(one == other for one, other in zip(translations, others, strict=True))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "kind"), INT8)
def test_int8_differs_by_the_rounding_of_activations_alone(name, kind, count, golden):
    """Both programs multiply the same integers, and each rounds activations in its own way.

    Without that rounding the weights' integers are exact in float32. Our rounding, with a zero point, must not be worse
    than theirs, without one. Independent errors of that size differ by at most sqrt(2) of it. A translation agrees with
    the exact one unless a rounding turns a near choice; with two roundings twice as many may.
    """
    exact, rounded = (Compared(golden, name, kind, compute_type, count) for compute_type in ("float32", "int8"))
    theirs, ours, none = rounded.their_log_probs(), rounded.log_probs(), exact.log_probs()
    their_error, our_error = np.abs(theirs - none).mean(), np.abs(ours - none).mean()
    assert our_error < 1.1 * their_error < 0.12  # measured: 0.024 and 0.027 (t5) to 0.094 and 0.105 (t5-gated)
    assert np.abs(ours - theirs).mean() < 1.5 * their_error
    figures = {"error": (our_error, their_error)}
    for search in ("greedy", "beam"):
        told = exact.told[search]
        differing = len(told) - agreement(exact.translated(search), told)
        figures[search] = {"int8 of both": agreement(rounded.translated(search), told), "theirs": count - differing}
        assert figures[search]["int8 of both"] >= count - 2 * differing
    print(name, figures)
