"""Ways of choosing pieces: the ways of a model, and consistent figures."""

import numpy as np
import pytest

from bench.vocabularies import __main__ as vocabularies
from bench.vocabularies.__main__ import choices, measure, own_set, ways_of
from cpunmt import Translator
from cpunmt.decoding.loading import load_model
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.formats.packed.clusters_file import store_clusters
from quantize.clusters.active_sets import clusters_of
from quantize.clusters.states import decoder_states
from quantize.evaluation.evaluation_set import EvaluationSet
from tests.sample_models.real_model import DIRECTORIES, SENTENCES

LINES = SENTENCES.read_text("utf-8").split("\n")[:40:2]


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """The shipped model with clusters of half of LINES."""
    folder = tmp_path_factory.mktemp("clustered") / "model"
    model = load_model(DIRECTORIES["int8"])
    sources = [list(ids) for ids in model.source_vocabulary.encode_batch(LINES[::2])]
    steps = list(decoder_states(model.engine, sources, 5))
    centroids = np.concatenate([step.states for step in steps])[::20]
    store_clusters(DIRECTORIES["int8"], {"": clusters_of(model.config, centroids, steps)}, folder, False)
    return folder


def test_figures_agree(clustered):
    model, translator = load_model(clustered), Translator(clustered)
    test = EvaluationSet("set", "", "", LINES, [[line] for line in LINES])
    full, shortlist, clusters, both = measure(model, translator, test, LINES[:3], 1)
    assert (full["way"], full["identical"], full["covered"], full["pieces"]) == ("full", 1, 1, 8000)
    assert full["single"] == full["bulk"] == 1
    for row in (shortlist, clusters, both):
        assert 0 < row["pieces"] < 8000 and row["single"] > 0 and row["bulk"] > 0
        assert (row["identical"] == 1) == (row["covered"] == 1)
    assert 0.5 <= clusters["identical"] < 1  # the half that they were made of is covered
    assert max(shortlist["covered"], clusters["covered"]) <= both["covered"] <= 1
    most = shortlist["pieces"] + clusters["pieces"]
    assert max(shortlist["pieces"], clusters["pieces"]) <= both["pieces"] < most


def test_choices_are_those_of_each_step(clustered):
    model = load_model(clustered)
    clusters, shortlist = model.engine.clusters[OTHERS], model.engine.shortlist
    sources = [list(ids) for ids in model.source_vocabulary.encode_batch(LINES)]
    covered, pieces = [], []
    for step in decoder_states(model.engine, sources, 1):
        for sentence, state, (best,) in zip(step.sentences, step.states, step.best.tolist(), strict=True):
            own = set(clusters.active(clusters.nearest(state[None])[0]).tolist())
            own |= set(shortlist.candidates(sources[sentence], True).tolist())
            covered.append(best in own)
            pieces.append(len(own))
    found = choices(model, ["full", "shortlist", "clusters", "both"], LINES)
    assert found["full"] == (1, 8000) and found["both"] == pytest.approx((np.mean(covered), np.mean(pieces)))


def test_a_sentence_has_the_clusters_of_the_language_that_it_names(clustered):
    """As in the engine: by its first piece or its second; without its clusters all pieces are allowed."""
    model = load_model(clustered)
    sources = [list(ids) for ids in model.source_vocabulary.encode_batch(LINES)]
    piece = sources[0][0]
    model.engine.clusters = {piece: model.engine.clusters[OTHERS]}
    named = [piece in source[:2] for source in sources]
    assert [own_set(model.engine.clusters, source) for source in sources] == [piece if own else None for own in named]
    assert any(named) and not all(named)
    own = choices(model, ["clusters"], [line for line, there in zip(LINES, named, strict=True) if there])["clusters"]
    others = choices(model, ["clusters"], [line for line, there in zip(LINES, named, strict=True) if not there])
    assert own[1] < 8000 and others["clusters"] == (1, 8000)


def test_a_model_has_what_its_files_are_for(clustered, tmp_path, capsys):
    assert ways_of(load_model(clustered)) == ["full", "shortlist", "clusters", "both"]
    assert ways_of(load_model(DIRECTORIES["int8"])) == ["full", "shortlist"]
    (tmp_path / "lines").write_text("A man.\nTwo dogs.\n", "utf-8")
    vocabularies.main([str(DIRECTORIES["int8"]), "--tsv", str(tmp_path / "lines"), "--rounds", "1"])
    shown = capsys.readouterr().out.splitlines()
    assert shown[-2].split()[:3] == ["full", "-", "100.00"] and shown[-1].split()[:2] == ["shortlist", "-"]


@pytest.mark.parametrize(("model", "tsv"), [("none", "SET"), ("MODEL", "none")])
def test_what_is_missing_is_one_error(clustered, tmp_path, model, tsv):
    (tmp_path / "set.tsv").write_text("A man.\tEin Mann.\n", "utf-8")
    paths = {"none": tmp_path / "none", "SET": tmp_path / "set.tsv", "MODEL": clustered}
    with pytest.raises(SystemExit, match="^python -m bench.vocabularies: error: .*none"):
        vocabularies.main([str(paths[model]), "--tsv", str(paths[tsv]), "--rounds", "1"])
