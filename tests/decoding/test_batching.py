"""Parts and batches: nothing lost, no limit exceeded."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.decoding.batching import MOST_WRITTEN, batches, best_places, cut_sentences, target_limit, translate_parts
from cpunmt.options.options import Options
from cpunmt.search.settings import Search
from tests.sample_models import real_model
from tests.sample_models.transformers import make_config

CONFIG = make_config(max_source_length=6, max_length_factor=2.0)


class Letters:
    """A vocabulary of letters, each of which is a word."""

    mark = "▁"
    tag_ids = frozenset()
    eos_id = 0

    @staticmethod
    def pieces(ids):
        return ["▁" + chr(97 + id_) for id_ in ids]


SENTENCES = st.lists(st.lists(st.integers(2, 25), max_size=20).map(lambda ids: [*ids, 0]), max_size=8)


@given(SENTENCES)
def test_the_parts_of_a_sentence_are_the_sentence(sentences):
    parts = cut_sentences(sentences, None, Options(), CONFIG, Letters)
    assert [part.sentence for part in parts] == sorted(part.sentence for part in parts)
    for number, ids in enumerate(sentences):
        own = [part for part in parts if part.sentence == number]
        assert list(itertools.chain.from_iterable(part.ids[:-1] for part in own)) == ids[:-1]
        assert all(part.ids[-1] == 0 and 1 < len(part.ids) <= 6 and part.prefix == [] for part in own)
        assert [part.limit for part in own] == [2 * len(part.ids) for part in own]


class Named(Letters):
    """Piece 25 is the name of a language."""

    tag_ids = frozenset([25])


@given(SENTENCES)
def test_each_part_has_the_name_of_the_language(sentences):
    parts = cut_sentences([[25, *ids] for ids in sentences], None, Options(), CONFIG, Named)
    for number, ids in enumerate(sentences):
        own = [part for part in parts if part.sentence == number]
        assert all(part.ids[0] == 25 and part.ids[-1] == 0 and len(part.ids) <= 6 for part in own)
        assert list(itertools.chain.from_iterable(part.ids[1:-1] for part in own)) == ids[:-1]
        assert [part.again for part in own] == [0, *[1] * (len(own) - 1)]


@given(SENTENCES)
def test_each_part_has_the_names_behind_it_and_before_its_translation(sentences):
    """As in sources of the older form: pieces, </s>, language."""
    prefixes = [[25, 7] for _ in sentences]
    parts = cut_sentences([[*ids, 25] for ids in sentences], prefixes, Options(), CONFIG, Named)
    for number, ids in enumerate(sentences):
        own = [part for part in parts if part.sentence == number]
        assert all(part.ids[-2:] == [0, 25] and len(part.ids) <= 6 for part in own)
        assert list(itertools.chain.from_iterable(part.ids[:-2] for part in own)) == ids[:-1]
        assert sum(part.size for part in own) == len(ids)  # its own </s> is not the last piece
        assert [(part.prefix, part.said) for part in own] == [([25, 7], 0), *[([25], 1)] * (len(own) - 1)]


@given(SENTENCES, st.integers(1, 9))
def test_an_input_limit_drops_the_rest(sentences, most):
    cut = [[*ids[:-1][:most], 0] for ids in sentences]
    given_limit = cut_sentences(sentences, None, Options(max_input_length=most), CONFIG, Letters)
    assert given_limit == cut_sentences(cut, None, Options(), CONFIG, Letters)


def test_a_prefix_belongs_to_the_first_part():
    parts = cut_sentences([[*range(2, 14), 0], [0], [5, 0]], [[7, 8], [9], []], Options(), CONFIG, Letters)
    assert [(part.sentence, part.prefix) for part in parts] == [(0, [7, 8]), (0, []), (0, []), (2, [])]


@pytest.mark.parametrize(
    ("source", "prefix", "options", "limit"),
    [
        (5, 0, {}, 10),
        (5, 0, {"max_length_factor": 0.1}, 1),
        (5, 0, {"max_length_factor": 1.5}, 8),
        (5, 0, {"max_length_extra": 7}, 17),
        (5, 0, {"max_length_factor": 0.1, "max_length_extra": 2}, 3),
        (5, 0, {"max_length_extra": 7, "max_length": 12}, 12),
        (5, 0, {"max_length": 3}, 3),
        (5, 0, {"max_length": 30}, 10),
        (2, 0, {"min_length": 30}, 31),  # room for the minimum length, and </s>
        (2, 0, {"min_length": 30, "max_length": 30}, 30),
        (2, 9, {}, 9),  # a prefix is never cut
        (2, 9, {"max_length": 3}, 9),
    ],
)
def test_limits(source, prefix, options, limit):
    assert target_limit(source, prefix, Options(**options), CONFIG) == limit


# so that sums hit the limit exactly, and exceed it by one
OUTPUTS = (1, 1000, MOST_WRITTEN // 4, MOST_WRITTEN // 2, MOST_WRITTEN - 1, MOST_WRITTEN, 2 * MOST_WRITTEN)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from(OUTPUTS)), max_size=30),
    st.integers(1, 100),
    st.integers(0, 5),
)
def test_batches_hold_every_part_once_and_no_more_than_they_may(parts, tokens, size):
    sizes, outputs = [size for size, _ in parts], [cell for _, cell in parts]
    made = list(batches(sizes, outputs, Options(max_batch_tokens=tokens, max_batch_size=size)))
    order = list(itertools.chain.from_iterable(made))
    assert sorted(order) == list(range(len(parts)))
    assert [sizes[i] for i in order] == sorted(sizes, reverse=True)
    for batch in made:
        if len(batch) > 1:
            assert sum(sizes[i] for i in batch) <= tokens and sum(outputs[i] for i in batch) <= MOST_WRITTEN
        assert batch and len(batch) <= (size or len(batch))
    for batch, following in itertools.pairwise(made):  # no batch had room for the next part
        longer = [*batch, following[0]]
        assert (
            sum(sizes[i] for i in longer) > tokens
            or len(longer) > (size or len(longer))
            or sum(outputs[i] for i in longer) > MOST_WRITTEN
        )


def test_what_the_engine_finds_comes_in_order_whatever_the_batches():
    engine = real_model.engine("int8")
    sources = [list(ids) for ids in real_model.sources(20)]
    search = Search(beam_size=2, num_hypotheses=2)
    config = engine.model.config
    parts = cut_sentences(sources, None, Options(), config, None)
    expected = engine.translate(sources, [part.limit for part in parts], search)
    for options in (Options(), Options(max_batch_size=3), Options(max_batch_tokens=40)):
        assert translate_parts(engine, parts, options, search) == expected
    prefixes = [[22] if i % 2 else [] for i in range(20)]
    parts = cut_sentences(sources, prefixes, Options(), config, None)
    found = translate_parts(engine, parts, Options(max_batch_size=7), Search())
    assert [hypotheses[0].ids[:1] == [22] for hypotheses in found[1::2]] == [True] * 10
    assert [found[i] for i in range(0, 20, 2)] == engine.translate(sources[::2], [part.limit for part in parts][::2])


def test_attention_that_no_result_has_is_reduced_as_a_batch_ends():
    engine, search = real_model.engine("int8"), Search(beam_size=2, num_hypotheses=2, attention=True)
    parts = cut_sentences([list(ids) for ids in real_model.sources(5)], None, Options(), engine.model.config, None)
    whole = translate_parts(engine, parts, Options(return_alignments=True), search)
    reduced = translate_parts(engine, parts, Options(), search)
    for part, hypotheses, others in zip(parts, whole, reduced, strict=True):
        for one, other in zip(hypotheses, others, strict=True):
            assert one.attention.shape == (len(one.ids), len(part.ids))
            assert other.attention.tolist() == best_places(one.attention).tolist()
            assert one._replace(attention=None) == other._replace(attention=None)
    for hypotheses in translate_parts(engine, parts, Options(), Search()):
        assert hypotheses[0].attention is None
