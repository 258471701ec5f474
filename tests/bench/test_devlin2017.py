"""The networks and the ladder of bench/papers/devlin2017."""

import numpy as np
import pytest

from bench.papers.devlin2017 import baseline, known, ladder, sgemm, speeds, systems
from bench.papers.devlin2017.__main__ import main
from bench.papers.devlin2017.work import random_work

TINY = systems.Sizes(vocabulary=500, divisor=16)
LINES = ["one two three four", "five six seven", "a longer line of these that has ten words now"]


def test_the_share_of_frequent_words(capsys):
    """Ranks are those of another text: `c` is frequent in the lines, and rare where the vocabulary comes from."""
    ranking = ["a a a a b, b b", "a c, c d"]  # a 5, b 3, then c and the comma 2; d is not in a vocabulary of 4
    lines = ["c c c a b", "d, e"]
    found = {"words": 8, "vocabulary": 4, "in_vocabulary": 6, "known": 2, "of_known": 2}
    assert known.measure(lines, ranking, 4, 2) == found
    known.show(found)
    assert capsys.readouterr().out == (
        "\nthe 2 most frequent of 4 words are 25.0% of 8 words, 33.3% of those in the vocabulary\n"
    )
    assert known.measure([], [], 4, 2)["of_known"] == 0


def test_systems_have_the_papers_widths():
    paper = systems.Sizes()
    first = systems.system("S1", paper).architecture
    assert (first.encoder, first.encoder_layers, first.encoder_dim, first.decoder_dim) == (
        "bidirectional",
        3,
        512,
        1024,
    )
    assert first.attention == "input" and first.encoder_cell == first.decoder_cell == "gru"
    fourth = systems.system("S4", paper).architecture
    assert fourth.stack == (768,) * 7 and fourth.relu_limit == 10.0 and (fourth.model_dim, fourth.top) == (1024, "tanh")
    assert [len(systems.system(name, paper).architecture.stack) for name in systems.SYSTEMS] == [0, 0, 3, 7, 7, 15, 0]
    assert systems.system("S5", paper).architecture.top == "recurrent"
    seventh = systems.system("S7", paper).architecture
    assert seventh.described()["encoder"] == "8 unidirectional LSTM layers" and seventh.decoder_layers == 8
    assert set(systems.ABOUT) == set(systems.SYSTEMS) | set(systems.ENSEMBLES) == set(speeds.PAPER)


@pytest.mark.parametrize("name", [*systems.SYSTEMS, *systems.ENSEMBLES])
def test_every_system_translates(name):
    work = random_work("S1", LINES, TINY)
    engine = speeds.engine_of(name, "int8", TINY, work.shortlist)
    said = work.run(engine, ladder.Search(beam_size=3), {})
    assert [len(ids) for ids in said] == work.limits  # </s> is barred
    assert max(np.abs(tensor).max() for tensor in weights(name)) <= 1


def weights(name):
    config = systems.system(systems.ENSEMBLES.get(name, (name, 1))[0], TINY)
    return [tensor for key, tensor in systems.random_weights(config).items() if key != "output.bias"]


def test_candidates_are_twenty_or_fewer_of_a_word_and_as_frequent_as_it_is():
    lists = systems.candidate_lists(systems.Sizes(vocabulary=5000))
    sizes = np.diff(lists.offsets)
    assert sizes.max() == systems.CANDIDATES and np.median(sizes) >= 14
    rare = lists.ids[lists.offsets[4000] : lists.offsets[4001]]
    assert np.median(rare) > 1000


def test_words_are_as_frequent_as_words_are():
    ids = np.concatenate(systems.word_ids([20] * 500, systems.Sizes()))
    assert 0.9 < (ids < 8192).mean() < 0.97 and ids.max() < systems.VOCABULARY


@pytest.mark.slow
def test_every_rung_says_what_the_one_before_says():
    _, multiply, integer = sgemm.openblas()
    libraries = {"OpenBLAS": baseline.sgemm_products("test", multiply, integer)}
    found = ladder.measure(random_work("S1", LINES, TINY), libraries, rounds=1, beam=4)
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["float32, OpenBLAS (baseline)"]["same"] == 1
    exact = {row["same_in_float32"] for row in found["rows"] if row["same_in_float32"] is not None}
    assert exact == {1.0}
    assert rows["merged states, to the end"]["same"] == rows["+ merged states"]["same"]
    assert rows["+ merged states"]["paper_step"] == pytest.approx(418 / 386)
    assert 0 < found["unique_states"] < 0.9  # at a beam of 4; without merging it is 1


@pytest.mark.parametrize("option", ["--input", "--mkl"])
def test_a_file_that_is_missing_is_one_line(option, tmp_path):
    with pytest.raises(SystemExit, match=r"error: .*missing") as told:
        main([option, str(tmp_path / "missing")])
    assert "\n" not in str(told.value)
