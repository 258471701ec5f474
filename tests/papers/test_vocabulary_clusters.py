"""Paper D against its definitions: clusters, active sets, and the projection of one row."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.search.settings import Search
from quantize.clusters.active_sets import clusters_of
from quantize.clusters.k_means import centroids, load_backend
from quantize.clusters.states import Step
from tests.papers.definitions import vocabulary_clusters as paper
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.transformers import make_config

CONFIG = make_config(vocab_size=120, decoder_parameters=(0,), encoder_layers=1)
END = {CONFIG.eos_id}  # in each of our sets
seeds = st.integers(0, 2**32 - 1)


def random_clusters(seed, count, k):
    """Returns our clusters of random states, and the sets of the definition."""
    generator = np.random.default_rng(seed)
    states = generator.normal(0, 1, (200, CONFIG.architecture.model_dim)).astype(np.float32)
    chances = generator.random((200, CONFIG.vocab_size))
    centres = states[:count]
    best = np.argsort(-chances, axis=1)[:, :k].astype(np.int32)
    logits = np.log(np.take_along_axis(chances, best, 1)).astype(np.float32)
    clusters = clusters_of(CONFIG, centres, [Step(np.zeros(200, np.int64), states, best, logits)])
    owners = np.array([paper.nearest(state, centres) for state in states])
    assert clusters.nearest(states).tolist() == owners.tolist()
    return clusters, [paper.active_set(chances[owners == cluster], k) for cluster in range(count)]


def test_the_example_of_the_paper():
    members = np.zeros((2, 10))
    members[0, [2, 4, 6]] = members[1, [2, 8, 9]] = 0.3
    assert paper.active_set(members, 3) == {2, 4, 6, 8, 9}


@given(seeds, st.integers(1, 20), st.sampled_from([1, 3, 5]))
@settings(deadline=None, max_examples=20)
def test_active_sets_are_unions_of_their_members_best_pieces(seed, count, k):
    clusters, sets = random_clusters(seed, count, k)
    assert [set(clusters.active(cluster).tolist()) for cluster in range(count)] == [one | END for one in sets]


def test_k_means_ends_where_an_iteration_changes_nothing():
    generator = np.random.default_rng(1)
    planted = 20 * generator.normal(0, 1, (4, 8))
    states = (planted[generator.integers(0, 4, 300)] + generator.normal(0, 1, (300, 8))).astype(np.float32)
    found = centroids(states, 4, 20, 1, load_backend())
    np.testing.assert_allclose(paper.k_means_step(states, found), found, atol=1e-4)


@given(seeds)
@settings(deadline=None, max_examples=10)
def test_a_row_has_the_logits_of_its_clusters_set(seed):
    tensors = random_tensors(CONFIG, 3)
    clusters, sets = random_clusters(seed, 9, 5)
    engine = Engine(engine_of(CONFIG, tensors).model, clusters={OTHERS: clusters})
    (source,) = random_sources(seed, CONFIG.source_size, 1)
    search = Search(full=True, vocab_logits=True)
    (made,) = engine.translate([source], [8], search._replace(clusters=True))[0]
    (whole,) = engine.translate([source], [len(made.ids)], search, [made.ids])[0]
    weights, bias = tensors["embedding"].astype(np.float64).T, tensors["output.bias"].astype(np.float64)
    states = np.linalg.lstsq(weights.T, (whole.logits - bias).T, rcond=None)[0].T
    for state, logits in zip(states, made.logits, strict=True):
        expected = paper.projection(state[None], weights, bias, clusters.centroids, [one | END for one in sets])
        np.testing.assert_allclose(logits, expected[0], rtol=0, atol=1e-3)
