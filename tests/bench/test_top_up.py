"""Mini-batches of `bench.top_up`: the engine's bits, and the reported numbers of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.top_up import ways
from bench.top_up.picture import picture
from bench.top_up.workload import LENGTHS, drawn, sources
from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.sample_models import transformers
from tests.sample_models.random_models import engine_of, random_shortlist, random_sources, random_tensors
from tests.sample_models.real_model import DIRECTORIES


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("count", [30, 300])
def test_lengths_are_those_of_the_paper(name, count):
    lengths = drawn(LENGTHS[name], count)
    assert len(lengths) == count and min(lengths) >= 1 and lengths == drawn(LENGTHS[name], count)
    assert abs(np.mean(lengths) - LENGTHS[name].mean) < 0.03 * LENGTHS[name].mean
    assert abs(np.std(lengths) - LENGTHS[name].deviation) < 0.1 * LENGTHS[name].deviation
    assert lengths != sorted(lengths) and lengths != sorted(lengths, reverse=True)
    vocabulary = Vocabulary(DIRECTORIES["int8"] / "vocabulary.spm")
    found = sources(vocabulary, ["One two three.", "", "Four five."], LENGTHS[name], count)
    assert [len(source) - 1 for source in found] == lengths
    assert {source[-1] for source in found} == {vocabulary.eos_id}
    assert {source[0] for source in found} == {vocabulary.encode(word)[0] for word in ("One", "Four")}


def test_maxi_batches_are_sorted_one_by_one():
    sources = [[7] * length for length in (2, 5, 3, 1, 4)]
    work = ways.Work.limited(sources, 1.5)
    assert work == (sources, [3, 8, 5, 2, 6], 15)
    assert [len(source) for source in work.sorted().sources] == [5, 4, 3, 2, 1]
    assert work.sorted(3) == ([sources[i] for i in (1, 2, 0, 4, 3)], [8, 5, 3, 6, 2], 15)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 30), st.integers(1, 12), st.data())
@settings(deadline=None, max_examples=15)
def test_all_ways_say_the_same_and_their_rows_are_counted(cell, seed, beam, count, slots, data):
    config = data.draw(transformers.configs(of_marian=True), "config").changed(cell=cell)
    shared = config.source_size == config.vocab_size
    shortlist = random_shortlist(seed, config.vocab_size) if shared and data.draw(st.booleans(), "shortlist") else None
    scheme = data.draw(st.sampled_from(["int8", "float32"]), "scheme")
    decoders = ways.Decoders(engine_of(config, random_tensors(config, seed), scheme, shortlist))
    sources = random_sources(seed, config.source_size, count, longest=40)
    work = ways.Work(sources, np.random.default_rng(seed).integers(1, 20, count).tolist(), 1)
    search = Search(beam_size=beam, num_hypotheses=beam, token_log_probs=True)
    found = [decoders.run(way, work, search, slots) for way in ways.WAYS.values()]
    assert all(each == found[0] for each in found)
    rows = {name: decoders.rows(way, work, search, slots) for name, way in ways.WAYS.items()}
    staying, leaving = rows[ways.MINI_BATCHES], rows[ways.REMOVAL]
    assert len(staying) == len(leaving) and all(a >= b for a, b in zip(staying, leaving, strict=True))
    assert rows[ways.PADDED] == staying
    assert len({sum(each) for name, each in rows.items() if not ways.WAYS[name].stays}) == 1
    assert all(len(rows[ways.AT_ONCE]) <= len(each) for each in rows.values())
    if beam == 1:
        assert sum(leaving) == sum(len(hypotheses[0].ids) for hypotheses in found[0])
        firsts = range(0, count, slots)
        longest = [max(len(h[0].ids) for h in found[0][first : first + slots]) for first in firsts]
        assert staying == [
            rows for first, steps in zip(firsts, longest, strict=True) for rows in [min(slots, count - first)] * steps
        ]


def test_the_picture():
    rows = {name: {ways.MINI_BATCHES: [3, 3, 3, 2], ways.REMOVAL: [3, 2, 1, 2], ways.HALF: [3, 3, 2]} for name in "ab"}
    drawn = picture(rows)
    assert drawn == picture(rows) and drawn.startswith(b"<?xml") and len(drawn) < 100_000
    assert drawn != picture({**rows, "a": {**rows["a"], ways.HALF: [3, 3, 1, 1]}})
