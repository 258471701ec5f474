"""Searches over the clusters of their states, against searches over all pieces and over shortlists."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.engine import full_output
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS, StateClusters
from cpunmt.model.config import ModelConfig
from cpunmt.search.records import BATCH, MEMBER
from cpunmt.search.settings import Search
from cpunmt.text.shortlists.clusters import Clusters
from cpunmt.text.shortlists.shortlist import Shortlist
from tests.sample_models.random_models import engine_of, random_checkpoint, random_map, random_sources, random_tensors
from tests.support.searches import bits, searches, tagged, work

VOCAB, DEPTH = 600, 64
WHOLE = "LEAST_WHOLE_BYTES"  # tables from this size on may be multiplied as a whole
SCHEMES = ("int8", "int16", "float32", "log4")
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def models():
    """Returns scheme -> a model."""
    config, tensors = random_checkpoint(21, d=DEPTH, f=64, heads=2, enc=1, dec=1, vocab=VOCAB)
    return {scheme: engine_of(config, tensors, scheme).model for scheme in SCHEMES}


def clusters_of(sets, seed=0, eos_id=0) -> Clusters:
    """Makes clusters with random centroids."""
    offsets = np.cumsum([0, *map(len, sets)])
    centroids = np.random.default_rng(seed).standard_normal((len(sets), DEPTH)).astype(np.float32)
    return Clusters(centroids, offsets, np.concatenate(sets).astype(np.int32), VOCAB, eos_id)


def random_sets(seed, count, most=300) -> list:
    generator = np.random.default_rng(seed)
    return [np.union1d([0], generator.choice(VOCAB, generator.integers(1, most), replace=False)) for _ in range(count)]


@given(seeds, searches(), st.sampled_from(SCHEMES), st.integers(1, 20), st.booleans())
@settings(deadline=None, max_examples=60)
def test_clusters_of_all_pieces_are_the_whole_vocabulary(models, seed, search, scheme, count, with_prefix):
    """The same bits, whatever cluster a state belongs to."""
    everything = clusters_of([np.arange(VOCAB)] * count, seed)
    sources, limits, prefixes = work(seed, VOCAB, 12, with_prefix, most=2)
    engine = Engine(models[scheme], clusters={OTHERS: everything})
    expected = engine.translate(sources, limits, search, prefixes)
    assert bits(engine.translate(sources, limits, search._replace(clusters=True), prefixes)) == bits(expected)


@given(seeds, searches(), st.sampled_from(SCHEMES), st.booleans())
@settings(deadline=None, max_examples=60)
def test_one_cluster_is_a_shortlist_that_all_sentences_have(models, seed, search, scheme, with_prefix):
    """Every source piece has the same list, which includes all of the sentences' own pieces."""
    sources, limits, prefixes = work(seed, VOCAB, 12, with_prefix, most=2)
    own = np.unique(np.concatenate([tagged(source, search) for source in sources]))
    active = np.union1d(random_sets(seed, 1)[0], own)
    active = np.union1d(active, np.setdiff1d(np.arange(VOCAB), active)[: -len(active) % 8])  # shortlists are filled up
    lists = np.tile(active, VOCAB).astype(np.int32)
    shortlist = Shortlist(np.arange(VOCAB + 1) * len(active), lists, 1, len(active), VOCAB)
    assert shortlist.candidates(sources[0], True).tolist() == active.tolist()
    engine = Engine(models[scheme], shortlist, {OTHERS: clusters_of([active])})
    expected = bits(engine.translate(sources, limits, search._replace(full=False), prefixes))
    for full in (True, False):  # both have the same pieces
        assert bits(engine.translate(sources, limits, search._replace(full=full, clusters=True), prefixes)) == expected


def states_of(engine, source, said) -> np.ndarray:
    """Returns float32 [pieces, DEPTH]: the states of a translation, each read between two compiled steps."""
    record, workspace, *kept = engine._prepared([source], [len(said)], Search(full=True), [said], 1)
    found, begin, more = [], 1, True
    hidden = np.frombuffer((ctypes.c_char * MEMBER.itemsize).from_address(int(workspace.record["members"][0])), MEMBER)[
        "hidden"
    ][0]
    while more:
        more = engine._program.translate(record.buffer_info()[0], workspace.address, begin, 1)
        begin = 0
        found.append(np.frombuffer((ctypes.c_float * DEPTH).from_address(int(hidden)), np.float32).copy())
    del kept
    return np.array(found[-len(said) :])


@given(seeds, st.sampled_from(SCHEMES), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_step_chooses_from_the_cluster_of_its_state(models, seed, scheme, both, mapped):
    clusters, model = clusters_of(random_sets(seed, 7), seed), models[scheme]
    lists = np.tile([3, 5], VOCAB).astype(np.int32)
    shortlist = Shortlist(2 * np.arange(VOCAB + 1), lists, 1, 2, VOCAB)
    engine = Engine(model, random_map(seed, VOCAB, VOCAB) if mapped else shortlist, {OTHERS: clusters})
    sources, limits, _ = work(seed, VOCAB, 5)
    search = Search(full=not both, clusters=True, vocab_logits=True)
    for source, limit, (made,) in zip(sources, limits, engine.translate(sources, limits, search), strict=True):
        (whole,) = engine.translate([source], [len(made.ids)], Search(full=True, vocab_logits=True), [made.ids])[0]
        states = states_of(engine, source, made.ids)
        scores = states.astype(np.float64) @ clusters.centroids.T.astype(np.float64) - clusters.half_norms
        for step, chosen in enumerate(clusters.nearest(states)):
            if np.diff(np.sort(scores[step])[-2:])[0] < 1e-3:
                continue  # a near tie
            active = clusters.active(chosen)
            if both:
                active = np.union1d(active, engine.shortlist.candidates(source, *[True] * (not mapped)))
            found = made.logits[step]
            assert np.flatnonzero(found > -np.inf).tolist() == active.tolist()
            assert (found[active] == whole.logits[step][active]).all()
            best = active[active != model.config.unk_id]
            assert made.ids[step] == best[found[best].argmax()] or limit == step + 1


@given(seeds, searches(), st.sampled_from(SCHEMES), st.sampled_from([None, 1, 3]), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_laws(models, seed, search, scheme, slots, both, with_prefix):
    """The same bits alone, in any batch, in blocks and stepwise."""
    clusters = clusters_of(random_sets(seed, 9, VOCAB), seed)
    lists = np.tile([3, 5], VOCAB).astype(np.int32)
    engine = Engine(models[scheme], Shortlist(2 * np.arange(VOCAB + 1), lists, 1, 2, VOCAB), {OTHERS: clusters})
    sources, limits, prefixes = work(seed, VOCAB, 20, with_prefix)
    search = search._replace(full=not both, clusters=True)
    made = bits(engine.translate(sources, limits, search, prefixes, slots))
    assert bits(engine.translate(sources, limits, search._replace(stepwise=True), prefixes, slots)) == made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_output, WHOLE, 0)
        assert bits(engine.translate(sources, limits, search, prefixes, slots)) == made
    order = np.random.default_rng(seed).permutation(len(sources))[:7]
    for i in order.tolist():
        alone = engine.translate([sources[i]], [limits[i]], search, prefixes and [prefixes[i]])
        assert bits(alone) == [made[i]]


@pytest.mark.parametrize(
    ("size", "slots", "search", "expected"),
    [
        (VOCAB, 1, Search(), True),  # 18 x 1 x 600 > (6 + 1) x 600
        (234, 1, Search(), True),
        (233, 1, Search(), False),
        (52, 20, Search(), True),
        (43, 20, Search(), False),
        (52, 20, Search(sampling_topk=0), False),  # reads the logits of each row
        (43, 20, Search(beam_size=4), True),
    ],
)
def test_many_candidates_are_scored_with_the_whole_table(models, monkeypatch, size, slots, search, expected):
    engine = Engine(models["int8"], clusters={OTHERS: clusters_of([np.arange(size)])})
    sources, search = random_sources(1, VOCAB, 20), search._replace(clusters=True)
    alone = bits(engine.translate(sources, [9] * 20, search, slots=slots))
    for least, is_whole in ((0, expected), (VOCAB * DEPTH, expected), (VOCAB * DEPTH + 1, False)):
        monkeypatch.setattr(full_output, WHOLE, least)
        record, *_ = engine._prepared(sources, [9] * 20, search, None, slots)
        assert bool(np.frombuffer(record, BATCH)["full_output"][0]) == is_whole
        assert bits(engine.translate(sources, [9] * 20, search, slots=slots)) == alone


def test_another_end_piece_and_another_architecture():
    """</s> may be anywhere among the active pieces."""
    config = ModelConfig.of(
        "config", "recurrent", model_dim=DEPTH, encoder_dim=32, decoder_dim=32, vocab_size=VOCAB, eos_id=350
    )
    tensors = random_tensors(config, 3)
    tensors["output.bias"][350] += 2
    engine = engine_of(config, tensors, "int8")
    sets = [np.union1d([350], chosen) for chosen in random_sets(4, 5)]
    clustered = Engine(engine.model, clusters={OTHERS: clusters_of(sets, 1, 350)})
    sources = [[*source[:-1], 350] for source in random_sources(5, VOCAB, 30)]
    for search in (Search(), Search(beam_size=4, num_hypotheses=4, min_length=3), Search(sampling_topk=0, beam_size=2)):
        search = search._replace(clusters=True)
        made = clustered.translate(sources, [12] * 30, search)
        assert bits(clustered.translate(sources, [12] * 30, search._replace(stepwise=True))) == bits(made)
        lengths = {len(h.ids) for found in made for h in found}
        assert min(lengths) >= search.min_length and len(lengths) > 1
        assert all(h.truncated or h.ids[-1] == 350 for found in made for h in found)


def test_without_clusters_is_one_error(models):
    with pytest.raises(ValueError, match="the search is over clusters, but there are none"):
        Engine(models["int8"]).translate([[5, 0]], [3], Search(clusters=True))


@given(seeds, searches(), st.sampled_from(SCHEMES), st.sampled_from([None, 1, 3]), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_each_sentence_has_the_clusters_of_its_target_language(models, seed, search, scheme, slots, both, others):
    """The first or second piece names it; without a name, a sentence has the default clusters, or all pieces."""
    first, second, rest = (clusters_of(random_sets(seed + i, 5), seed + i) for i in range(3))
    lists = np.tile([3, 5], VOCAB).astype(np.int32)
    shortlist = Shortlist(2 * np.arange(VOCAB + 1), lists, 1, 2, VOCAB)
    sets = {7: first, 9: second} | ({OTHERS: rest} if others else {})
    engine = Engine(models[scheme], shortlist, sets)
    generator = np.random.default_rng(seed)
    sources, limits, named = [], [], []
    for source in random_sources(seed, VOCAB, 20, longest=9):
        start = [[7], [9], [4, 7], [4, 9], [4, 4, 9], [7, 9], []][generator.integers(7)]
        plain = [piece for piece in source if piece not in (7, 9)]
        sources.append([*start, *plain])
        limits.append(int(generator.integers(1, 9)))
        named.append(next((piece for piece in start[:2] if piece in (7, 9)), OTHERS))
    search = search._replace(full=not both, clusters=True, source_begin=(), prompt=())
    made = bits(engine.translate(sources, limits, search, None, slots))
    prompt = search._replace(prompt=(9,))  # names the language of all
    of_prompt = bits(engine.translate(sources, limits, prompt))
    alone = Engine(models[scheme], shortlist, {OTHERS: second})
    assert bits(alone.translate(sources, limits, prompt)) == of_prompt
    everything = clusters_of([np.arange(VOCAB)])
    for name in {*named}:
        alone = Engine(models[scheme], shortlist, {OTHERS: sets.get(name, everything)})
        chosen = [i for i, other in enumerate(named) if other == name]
        expected = bits(alone.translate([sources[i] for i in chosen], [limits[i] for i in chosen], search))
        assert [made[i] for i in chosen] == expected


def test_what_the_records_point_to_stays_in_memory(models):
    made = StateClusters({OTHERS: clusters_of([np.arange(VOCAB)])}, models["float32"])
    kept = {array.ctypes.data for arrays in made._kept[1] for array in arrays}
    (record,) = made._kept[0]
    layer = record["centroids"]
    assert {int(place) for place in (layer["weights"], layer["bias"], record["offsets"], record["ids"])} == kept
