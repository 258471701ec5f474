"""The figures of Amer et al. 2022: planted clusters are found, and projection steps equal the search's."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.papers.clusters2022 import __main__ as command
from bench.papers.clusters2022 import nearest, planted, recorded
from bench.papers.clusters2022.steps import Projection, Setting, States, step_rows
from bench.programs import compiled
from bench.students import length_limits, random_checkpoint
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS, StateClusters
from cpunmt.formats.conversion import packed_tensors
from cpunmt.model.tensors import Model
from cpunmt.search.records import CLUSTERS
from cpunmt.search.settings import Search
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import Step, decoder_states
from quantize.evaluation.evaluation_set import EvaluationSet
from tests.sample_models.real_model import DIRECTORIES, SENTENCES

VOCAB = 2000
SETTINGS = (Setting(1, 1), Setting(5, 2))
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def task():
    return planted.task("tiny11", VOCAB, "int8", 300, 12, topics=64)


@pytest.fixture(scope="module")
def made(task):
    text = recorded.record(task.engine, task.text, 5)
    return recorded.made_clusters(task.engine.model.config, text, 128, 5, "faiss")


@pytest.fixture(scope="module")
def program():
    import bench.papers.clusters2022.ways  # noqa: F401  defines kernels

    return compiled.load()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("topics", [32, pytest.param(64, marks=pytest.mark.slow)])
def test_a_planted_model_says_many_pieces_but_few_in_each_cluster(seed, topics):
    """Clusters are made by the real code; a random model without the structure has few different pieces."""
    config, tensors = planted.planted_checkpoint("tiny11", VOCAB, topics, seed)
    checkpoints = {"planted": (config, tensors), "random": random_checkpoint("tiny11", VOCAB, seed)}
    worth, said = {}, {}
    for name, checkpoint in checkpoints.items():
        engine = Engine(Model(*packed_tensors(*checkpoint, "int8")))
        text, held_out = (planted.sources(VOCAB, count, 0, seed + place) for place, count in ((1, 300), (2, 40)))
        states = recorded.record(engine, text, 5)
        clusters = recorded.made_clusters(config, states, 2 * topics, 5, "faiss")
        worth[name] = recorded.covered(clusters, recorded.record(engine, held_out))
        said[name] = len(np.unique(states.best[:, 0]))
    assert worth["planted"].covered > 0.9 and worth["planted"].active < 0.04
    assert said["planted"] > 4 * said["random"] and said["planted"] > 5 * worth["planted"].active * VOCAB


def test_a_planted_model_says_many_things_at_the_lengths_of_news(task, made):
    said = [h[0].ids for h in task.engine.translate(task.timed, length_limits(task.timed), Search(full=True))]
    assert [len(ids) for ids in said] == length_limits(task.timed)
    assert np.mean([len(set(ids)) / len(ids) for ids in said]) > 0.5
    assert len(np.unique(np.concatenate(said))) > 100
    held_out = recorded.record(task.engine, task.held_out)
    worth = recorded.covered(made, held_out)
    assert worth.covered > 0.95 and worth.active < 0.03 and worth.states == len(held_out.states)
    assert {len(planted.sources(VOCAB, 30, 0, seed)[0]) for seed in range(3)} == {
        len(planted.sources(VOCAB, 30, 0, 0)[0])
    }
    assert planted.sources(VOCAB, 30, 0, 1) != planted.sources(VOCAB, 30, 0, 2)


@given(seeds, st.integers(1, 9), st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_steps_have_all_rows_of_their_sentences(seed, batch, beam):
    """Rows are in the order of time; steps in which a sentence has fewer hypotheses are skipped."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 12, 20)
    given_steps = []
    for time in range(lengths.max()):
        going = random.permutation(np.flatnonzero(lengths > time))
        sentences = np.repeat(going, beam if time else 1)
        states = np.stack([sentences, np.full(len(sentences), time)], axis=1).astype(np.float32)
        best = np.full((len(sentences), 1), time, np.int32)
        given_steps.append(Step(sentences, states, best, best.astype(np.float32)))
    setting = Setting(batch, beam)
    made = step_rows(given_steps, setting)
    first = 0 if beam == 1 else 1  # the first step has one hypothesis of each
    assert len(made.states) % setting.rows == 0 and len(made.states) > 0
    last: dict[int, int] = {}
    for sentences, states in zip(
        made.sentences.reshape(-1, batch, beam), made.states.reshape(-1, batch, beam, 2), strict=True
    ):
        assert (sentences == sentences[:, :1]).all() and len(set(sentences[:, 0].tolist())) == batch
        assert (states[..., 0] == sentences).all()
        times = states[:, 0, 1].astype(int)
        assert (states[..., 1] == times[:, None]).all()
        for sentence, time in zip(sentences[:, 0].tolist(), times.tolist(), strict=True):
            assert time == last.get(sentence, first - 1) + 1
            last[sentence] = time


def test_too_few_sentences_for_a_step():
    step = Step(np.arange(3), np.zeros((3, 2), np.float32), np.zeros((3, 1), np.int32), np.zeros((3, 1), np.float32))
    with pytest.raises(ValueError, match="3 sentences, expected at least 4"):
        step_rows([step], Setting(4, 1))


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_projection_steps_find_what_the_search_has_found(program, made, scheme, setting):
    """Over the whole vocabulary the best piece is the recorded one; over clusters and unions too, if it is active."""
    task = planted.task("tiny11", VOCAB, scheme, 1, 1, topics=64)
    engine = task.engine
    given_rows = step_rows(decoder_states(engine, task.held_out[:20], 1, setting.beam), setting)
    whole = Projection(program, engine, given_rows, setting)
    whole.all()
    assert whole.best.tolist() == given_rows.best[:, 0].tolist()
    clustered = Projection(program, engine, given_rows, setting, made)
    clustered.all()
    own = made.nearest(given_rows.states)
    active = made.contain(own, given_rows.best[:, 0])
    assert active.mean() > 0.9 and (clustered.best[active] == whole.best[active]).all()
    assert made.contain(own, clustered.best).all() and (clustered.best != whole.best)[~active].all()
    united = Projection(program, engine, given_rows, setting, made)
    size = united.all(union=True)
    unions = [
        np.unique(np.concatenate([made.active(cluster) for cluster in part])) for part in own.reshape(-1, setting.rows)
    ]
    assert size == np.mean([len(union) for union in unions])
    for row, (best, expected) in enumerate(zip(united.best.tolist(), whole.best.tolist(), strict=True)):
        union = unions[row // setting.rows]
        assert best in union and (best == expected) == (expected in union)


@pytest.mark.slow
def test_centroids_in_8_bits_are_nearly_those_in_32(program, task, made):
    setting = Setting(1, 1)
    given_rows = step_rows(decoder_states(task.engine, task.held_out, 1), setting)
    depth, chosen = made.centroids.shape[1], {}
    projection = Projection(program, task.engine, given_rows, setting, made)  # it owns the workspace that steps use
    exact = StateClusters({OTHERS: made}, task.engine.model)
    layer, kept = nearest.byte_layer(made)
    for scheme, at in (("float32", exact.address + CLUSTERS.fields["centroids"][1]), ("int8", layer)):
        states = States(program, given_rows.states, scheme)
        program.nearest_steps(at, projection.workspace, states.record, depth, 1, 0, len(given_rows.states))
        chosen[scheme] = states.best
    del kept
    expected = made.nearest(given_rows.states)
    assert (chosen["float32"] == expected).mean() > 0.999
    other = chosen["int8"] != expected
    assert other.mean() < 0.05
    distances = (
        given_rows.states[:, None] - made.centroids[None, np.stack([chosen["int8"], expected])].swapaxes(1, 2)[0]
    ) ** 2
    found, least = distances.sum(axis=2).T
    assert (found <= 1.05 * least).all()


@given(seeds, st.floats(0.01, 1), st.booleans())
@settings(deadline=None, max_examples=40)
def test_widened_sets_hold_the_old_ones_and_have_their_size(seed, share, zipf):
    random, size = np.random.default_rng(seed), 300
    sets = [np.union1d([0], random.choice(size, random.integers(1, 60), replace=False)) for _ in range(5)]
    centroids = random.standard_normal((5, 16)).astype(np.float32)
    clusters = Clusters(centroids, np.cumsum([0, *map(len, sets)]), np.concatenate(sets).astype(np.int32), size, 0)
    wider = recorded.widened(clusters, share, 0, zipf)
    assert wider.sizes.tolist() == [max(round(share * size), len(one)) for one in sets]
    for number, one in enumerate(sets):
        assert np.isin(one, wider.active(number)).all()
    assert (wider.centroids == centroids).all()
    if zipf and round(share * size) == 150:
        assert np.mean(wider.ids < size // 2) > 0.6


@given(seeds)
@settings(deadline=None, max_examples=40)
def test_how_often_a_cluster_stays(seed):
    random = np.random.default_rng(seed)
    sentences = random.permutation(np.repeat(np.arange(6), random.integers(1, 7, 6)))
    of_state = random.integers(0, 3, len(sentences))
    centroids = 10 * np.eye(3, 16, dtype=np.float32)
    clusters = Clusters(centroids, np.arange(4), np.zeros(3, np.int32), 5, 0)
    states = centroids[of_state]
    stays = pairs = 0
    for sentence in range(6):
        own = of_state[sentences == sentence].tolist()
        stays += sum(a == b for a, b in itertools.pairwise(own))
        pairs += len(own) - 1
    best, logits = np.zeros((len(states), 1), np.int32), np.zeros((len(states), 1), np.float32)
    found = recorded.Recorded(sentences, states, best, logits).cluster_stays(clusters)
    assert found == stays / max(pairs, 1)


def test_figures_of_a_trained_model():
    """Clusters of all pieces change nothing; clusters of few pieces do, and the figures show it."""
    from bench.papers.clusters2022.trained import judged, learned
    from cpunmt.decoding.loading import load_model

    model = load_model(DIRECTORIES["int8"])
    lines = SENTENCES.read_text("utf-8").split("\n")[:12]
    test = judged(model, EvaluationSet("set", "", "", lines, [[line] for line in lines]), "", 1)
    size, depth = model.config.vocab_size, model.config.architecture.model_dim
    ids = np.arange(size, dtype=np.int32)
    everything = Clusters(np.zeros((1, depth), np.float32), np.array([0, size]), ids, size, 0)
    figures = test.figures(everything, 1)
    assert (figures["same"], figures["coverage"], figures["active"], figures["stays"]) == (1, 1, 1, 1)
    assert figures["bleu"]["whole"] == figures["bleu"]["clusters"] > 0
    few = Clusters(np.zeros((1, depth), np.float32), np.array([0, 50]), ids[:50], size, 0)
    figures = test.figures(few, 1)
    assert figures["same"] < 0.5 and figures["coverage"] < 0.9 and figures["active"] == 50 / size
    text = learned(model, SENTENCES, "", 10, 2)
    assert text.best.shape == (len(text.states), 2) and len(set(text.sentences.tolist())) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "sweep", "--trained", "x"], "sweep needs --trained, --text and --test"),
        (["--only", "languages"], "languages needs --trained and --direction"),
        (["--shares", "0"], "'0' is not a share of the vocabulary"),
    ],
)
def test_what_is_missing_is_one_error(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err
