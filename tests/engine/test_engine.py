"""The engine: equality with the reference, and sharing by threads. Law 2: tests/test_laws_of_models.py."""

import sys

import numpy as np
import pytest

from cpunmt.engine.engine import KEPT, Engine
from cpunmt.engine.workspace import Workspace
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy, log_softmax
from tests.definitions.packed_network import PackedReference
from tests.sample_models import real_model
from tests.sample_models.random_models import (
    engine_of,
    random_checkpoint,
    random_map,
    random_shortlist,
    random_sources,
    random_tensors,
)
from tests.sample_models.transformers import make_config
from tests.support.processes import output
from tests.support.searches import bits
from tests.support.side_by_side import in_threads
from tests.support.speeds import slow_after

MODELS = {
    "untied": {"d": 32, "f": 64, "heads": 2, "enc": 2, "dec": 2, "vocab": 96},
    "tied": {"d": 32, "f": 48, "heads": 1, "enc": 1, "dec": 3, "vocab": 101, "tied_layers": (1, 1, 1)},
    "wide": {"d": 80, "f": 16, "heads": 5, "enc": 1, "dec": 1, "vocab": 64},
    "partly tied": {"d": 48, "f": 32, "heads": 3, "enc": 3, "dec": 3, "vocab": 33, "tied_layers": (1, 2, 1)},
    "many heads": {"d": 144, "f": 32, "heads": 9, "enc": 1, "dec": 1, "vocab": 1000},
}
NEAR = 1e-3  # scores this close: either piece is right


@pytest.fixture(scope="module", params=MODELS)
def checkpoint(request):
    return random_checkpoint(len(request.param), **MODELS[request.param])


def limits_of(sources, factor=3):
    return [factor * len(source) for source in sources]


def is_near_tie(reference, source, candidates, expected, made):
    """Returns whether the first difference of two translations was decided by less than NEAR."""
    position = next(i for i, (a, b) in enumerate(zip(expected, made, strict=False)) if a != b)
    state, previous = reference.start(reference.encode(source)), []
    for piece in [*expected[:position], None]:
        logits, state = reference.step(state, previous, candidates)
        previous = [piece]
    chosen = np.searchsorted(candidates, [expected[position], made[position]])
    scores = log_softmax(logits[0])[chosen]
    return abs(float(scores[0] - scores[1])) < NEAR


@pytest.mark.parametrize("lists", [None, "shortlist", "map"])
@pytest.mark.parametrize("count", slow_after(1, [6, 30]))
def test_float32_equals_the_reference(checkpoint, lists, count):
    config, tensors = checkpoint
    reference = Reference(config, tensors)
    size = config.vocab_size
    shortlist = {"shortlist": random_shortlist(5, size), "map": random_map(5, size, size)}.get(lists)
    sources = random_sources(1, size, count)
    made = engine_of(config, tensors, shortlist=shortlist).translate(sources, limits_of(sources))
    made = [hypotheses[0] for hypotheses in made]
    ties = 0
    for source, translation in zip(sources, made, strict=True):
        candidates = np.arange(size)
        if shortlist:
            candidates = shortlist.candidates(source, *[True] * (lists == "shortlist"))
        expected = greedy(reference, source, candidates, max_length_factor=3)
        if translation.ids == expected.ids:
            assert abs(translation.log_prob - expected.log_prob) < 1e-3
            assert translation.truncated == expected.truncated
        else:
            assert is_near_tie(reference, source, candidates, expected.ids, translation.ids)
            ties += 1
    assert ties <= 1
    assert len({tuple(t.ids) for t in made}) > count / 4  # translations vary


def test_int8_equals_the_reference_with_quantized_products(checkpoint):
    """A float's last bit may move an activation to the next integer, so a few of random weights' choices change."""
    config, tensors = packed_tensors(*checkpoint, "int8")
    reference = PackedReference(config, tensors)
    sources = random_sources(2, config.vocab_size, 30)
    made = [found[0] for found in Engine(Model(config, tensors)).translate(sources, limits_of(sources))]
    expected = [greedy(reference, source, max_length_factor=3) for source in sources]
    pairs = [(t, e) for t, e in zip(made, expected, strict=True) if t.ids == e.ids]
    assert len(pairs) >= 0.9 * len(sources)
    difference = [abs(t.log_prob - e.log_prob) / len(e.ids) for t, e in pairs]
    assert max(difference) < 0.05 and np.median(difference) < 1e-5


@pytest.mark.parametrize("cell", ["self_attention", "ssru"])
def test_states_that_no_norm_follows_are_quantized_for_the_output_layer(cell):
    plain = {"preprocess": "n", "postprocess": "a", "top_norm": False}
    config = make_config(cell=cell, layer_norm_epsilon=1e-6, **plain)
    config, tensors = packed_tensors(config, random_tensors(config, 5), "int8")
    reference = PackedReference(config, tensors)
    sources = random_sources(6, config.vocab_size, 20)
    made = [found[0] for found in Engine(Model(config, tensors)).translate(sources, limits_of(sources))]
    expected = [greedy(reference, source, max_length_factor=3) for source in sources]
    same = sum(one.ids == other.ids for one, other in zip(made, expected, strict=True))
    assert same >= 0.9 * len(sources) and len({tuple(one.ids) for one in made}) > 5


@pytest.fixture(scope="module", params=["int8", "float32"])
def engines(request):
    """Returns (engine without a shortlist, engine with one, vocabulary size)."""
    config, tensors = random_checkpoint(3, **MODELS["untied"])
    shortlist = random_shortlist(4, config.vocab_size)
    return (
        engine_of(config, tensors, request.param),
        engine_of(config, tensors, request.param, shortlist),
        config.vocab_size,
    )


def test_an_empty_batch(engines):
    assert engines[0].translate([], []) == []


def test_a_full_vocabulary_ignores_the_shortlist(engines):
    without, with_shortlist, vocab_size = engines
    sources = random_sources(8, vocab_size, 20)
    limits = limits_of(sources)
    made = with_shortlist.translate(sources, limits, Search(full=True))
    assert bits(made) == bits(without.translate(sources, limits))
    assert bits(with_shortlist.translate(sources, limits)) != bits(without.translate(sources, limits))


def test_sources_and_outputs_longer_than_the_config_says(engines):
    """Positions are computed on demand."""
    engine, _, vocab_size = engines
    config = engine.model.config
    source = random_sources(1, vocab_size, 1, longest=2)[0][:-1] * (2 * config.max_source_length) + [0]
    long = engine.translate([source], [2 * len(source)])
    assert bits(engine.translate([source, source[:3]], [2 * len(source), 4], slots=1))[:1] == bits(long)


def test_threads_share_an_engine(engines):
    """Four threads at once, with batches of different shapes, give the same bits as one after another."""
    for engine in engines[:2]:
        batches = [random_sources(seed, engines[2], 5 + 9 * seed, longest=10 + 5 * seed) for seed in range(4)]
        expected = [bits(engine.translate(batch, limits_of(batch))) for batch in batches]

        def work(number, engine=engine, expected=expected, batches=batches):
            turns = [(number + turn) % 4 for turn in range(20)]
            made = [bits(engine.translate(batches[i], limits_of(batches[i]))) for i in turns]
            return [i for i, found in zip(turns, made, strict=True) if found != expected[i]]

        assert in_threads(4, work) == [[]] * 4


def test_threads_need_more_positions_at_once():
    """The second thread must wait until the longer table is there."""
    config, tensors = random_checkpoint(3, **MODELS["wide"])
    source = random_sources(1, config.vocab_size, 1, longest=2)[0][:1] * 1500 + [0]
    expected = bits(engine_of(config, tensors).translate([source], [5]))
    for _ in range(5):
        engine = engine_of(config, tensors)
        made = in_threads(4, lambda _, engine=engine: bits(engine.translate([source], [5])))
        assert made == [expected] * 4


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_the_memory_of_an_unusual_call_is_given_back():
    """A call that takes 60 MB more than others leaves no more memory in use than any call."""
    code = """
import sys
from tests.definitions.greedy import greedy, log_softmax
from cpunmt import Translator
translator = Translator(sys.argv[1])
def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith(name))
text = "A man is riding a bicycle in the park."
translator.translate([text] * 40, beam_size=4)
before = resident("VmRSS")
translator.translate(text * 12, min_length=2000, max_length=65536, beam_size=64, return_alignments=True)
print(before, resident("VmHWM"), resident("VmRSS"))
"""
    told = output("-c", code, real_model.DIRECTORIES["int8"])
    before, peak, after = map(int, told.split())
    assert peak > before + 50 and after < before + 20, told


def test_few_workspaces_are_kept(engines):
    """At most one per possible thread remains."""
    engine, source = engines[0], random_sources(1, engines[2], 1)
    assert None not in in_threads(3 * KEPT, lambda _: engine.translate(source, [300]))
    assert 1 <= len(engine._workspaces) <= KEPT


def test_a_workspace_is_kept_though_many_of_another_kind_are(engines):
    """The most recently used ones are kept: calls with attention do not each make one after many without."""
    engine, source = engines[0], random_sources(1, engines[2], 1)
    engine.translate(source, [20])
    many = [Workspace(engine._members, list(engine._workspaces.values())[-1].size) for _ in range(KEPT)]
    engine._workspaces = {workspace.address: workspace for workspace in many}
    asked = Search(attention=True)
    engine.translate(source, [20], asked)
    kept = list(engine._workspaces.values())[-1]
    engine.translate(source, [20], asked)
    assert kept.size.attention == 1 and list(engine._workspaces.values())[-1] is kept
    assert len(engine._workspaces) == KEPT


def test_a_model_that_was_trained_without_the_end_of_sources():
    """It reads the other pieces; nothing is aligned with </s>. A </s> that is alone is read."""
    config, tensors = random_checkpoint(5)
    config = config.changed(scheme="float32", schemes=())
    ended, engine = (engine_of(config.changed(source_end=end), tensors) for end in (True, False))
    sources = [source for source in random_sources(3, config.source_size, 8) if len(source) > 1]
    search, limits = Search(3, 3, token_log_probs=True, attention=True), [8] * len(sources)
    expected = ended.translate([source[:-1] for source in sources], limits, search)
    for source, made, told in zip(sources, engine.translate(sources, limits, search), expected, strict=True):
        for one, other in zip(made, told, strict=True):
            assert one._replace(attention=None) == other._replace(attention=None)
            assert one.attention.shape[1] == len(source) and not one.attention[:, -1].any()
            assert np.array_equal(one.attention[:, :-1], other.attention)
    assert list(engine.pieces(sources[0], 8, Search())) == list(ended.pieces(sources[0][:-1], 8, Search()))
    alone = [[config.eos_id]]
    assert engine.translate(alone, [4]) == ended.translate(alone, [4])
    unended = [source[:-1] for source in sources[:2]]
    assert engine.translate(unended, [4, 4]) == ended.translate(unended, [4, 4])
    reference, other = (Reference(config.changed(source_end=end), tensors) for end in (False, True))
    assert np.array_equal(reference.encode(sources[0]), other.encode(sources[0][:-1]))
    assert np.array_equal(reference.encode(alone[0]), other.encode(alone[0]))
