"""Models trained on reversed sentences: reversed internally, unchanged for callers."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from cpunmt import Translator
from cpunmt.commands.models import converted as convert
from cpunmt.decoding.splitting import split_pieces
from cpunmt.search.settings import Search
from quantize.checkpoints.marian_export import write_marian_npz
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models.foreign_directories import CONFIG
from tests.sample_models.random_models import random_tensors
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

BACKWARDS = replace(CONFIG, right_to_left=True)
TENSORS = random_tensors(BACKWARDS, 49)
TEXTS = [*TEXT[:4], "A dog.", "Two women", "."]
WHOLE = {"split": "none"}  # a text is one sentence, despite stops
LIMIT = 10
ALL = {"beam_size": 3, "num_hypotheses": 3, "return_token_log_probs": True, "return_alignments": True}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_marian_npz(folder / "model.npz", BACKWARDS, TENSORS)
    train_vocabulary(folder / "vocab.spm")
    return folder


@pytest.fixture(scope="module")
def translator(directory):
    return Translator(directory, compute_type="float32")


def test_what_is_suppressed_is_read_from_the_left(translator):
    vocabulary = translator.target_vocabulary
    found = translator.translate(TEXTS, max_length=LIMIT, **WHOLE)
    pairs = {tuple(r.pieces[place : place + 2]) for r in found for place in range(len(r.pieces) - 1)}
    pairs = [list(pair) for pair in sorted(pairs) if vocabulary.unk_id not in vocabulary.ids(pair)]
    assert len(pairs) > 5
    for result in translator.translate_batch(
        [translator.tokenize(text) for text in TEXTS], max_length=LIMIT, suppress_sequences=pairs
    ):
        (pieces,) = result.hypotheses
        assert not [pair for pair in pairs for i in range(len(pieces)) if pieces[i : i + 2] == pair]


def turned(ids):
    """Reverses ids, except a final </s>."""
    return [*ids[:-1][::-1], 0] if ids[-1:] == [0] else ids[::-1]


def test_translations_are_those_of_reversed_sentences(translator):
    assert translator.config.right_to_left
    reference, different, ended, shifted = Reference(BACKWARDS, TENSORS), 0, 0, 0
    for text, result in zip(TEXTS, translator.translate(TEXTS, max_length=LIMIT, **WHOLE, **ALL), strict=True):
        ids = translator.source_vocabulary.encode(text)
        limit = min(LIMIT, 3 * len(ids))
        expected = beam_search(reference, turned(ids), limit, Search(3, 3, token_log_probs=True, attention=True))
        assert result.source_pieces == tuple(translator.source_vocabulary.surfaces(text))
        for found, wanted in zip(result.hypotheses, expected, strict=True):
            assert found.score == pytest.approx(wanted.score, abs=2e-3)
            whole = turned(wanted.ids)
            body = whole if wanted.truncated else whole[:-1]
            if list(found.pieces) != translator.target_vocabulary.pieces(body):
                different += 1
                continue
            ended += not wanted.truncated
            shifted += body != body[::-1]
            assert found.text == translator.target_vocabulary.decode(body) and found.truncated == wanted.truncated
            terms = [float(term) for term in wanted.token_log_probs]
            last = [] if wanted.truncated else terms[-1:]
            assert np.allclose(found.token_log_probs, terms[: len(body)][::-1] + last, atol=2e-3)
            attention = wanted.attention[: len(body), : len(ids) - 1][::-1, ::-1]
            assert found.attention.shape == attention.shape and np.allclose(found.attention, attention, atol=1e-3)
    assert different <= 1 and ended >= 3 and shifted >= 10


def test_one_sentence_is_what_it_is_among_others(translator):
    for options in ({}, ALL):
        made = translator.translate(TEXTS, **WHOLE, **options)
        assert made == [translator.translate(text, **WHOLE, **options) for text in TEXTS]
        pieces = [translator.tokenize(text) for text in TEXTS]
        batch = translator.translate_batch(pieces, return_scores=True, **options)
        assert [result.hypotheses[0] for result in batch] == [list(result.pieces) for result in made]


def test_what_is_scored_is_reversed_too(translator):
    """The score of a translation equals that of its search."""
    options = {"max_length": LIMIT, "vocabulary": "full", "return_token_log_probs": True}
    results = translator.translate(TEXTS, **WHOLE, **options)
    whole = [(text, result) for text, result in zip(TEXTS, results, strict=True) if not result.truncated]
    assert sum(len(result.pieces) > 1 for _, result in whole) >= 2
    pairs = [translator.tokenize(text) for text, _ in whole], [list(result.pieces) for _, result in whole]
    for scored, (_, result) in zip(translator.score_batch(*pairs), whole, strict=True):
        assert scored.tokens == [*result.pieces, "</s>"]
        assert np.allclose(scored.log_probs, result.token_log_probs, atol=1e-5)
        assert scored.score == pytest.approx(result.score, abs=1e-5)


def test_the_parts_of_a_long_sentence_keep_their_order(directory, tmp_path):
    (tmp_path / "model.npz").write_bytes((directory / "model.npz").read_bytes())
    (tmp_path / "vocab.spm").write_bytes((directory / "vocab.spm").read_bytes())
    (tmp_path / "decoder.yml").write_text(yaml.safe_dump({"max-length-break": 9}))
    translator = Translator(tmp_path, compute_type="float32")
    pieces = translator.tokenize(TEXT[0])
    assert len(pieces) > 16
    (result,) = translator.translate_batch([pieces], max_length=6, return_attention=True)
    parts, begin = [], 0
    for end in [*split_pieces(pieces, 8, "▁"), len(pieces)]:
        parts += translator.translate_batch([pieces[begin:end]], max_length=6)[0].hypotheses[0]
        begin = end
    assert result.hypotheses[0] == parts


def test_an_end_is_refused(translator):
    with pytest.raises(ValueError, match="^end_token is given, but the model translates from right to left"):
        translator.translate("A dog.", end_token=".")
    (kept,) = translator.translate_batch([translator.tokenize("A dog.")], return_end_token=True)
    (result,) = translator.translate_batch([translator.tokenize("A dog.")])
    assert kept.hypotheses[0] in ([*result.hypotheses[0], "</s>"], result.hypotheses[0])


def test_a_prefix_is_refused(translator):
    message = "^target_prefix is given, but the model translates from right to left"
    with pytest.raises(ValueError, match=message):
        translator.translate("A dog.", target_prefix="Ein")
    with pytest.raises(ValueError, match=message):
        translator.translate_batch([["\u2581A"]], [["\u2581a"]], asynchronous=True)
    expected = translator.translate("A dog.")
    assert translator.translate("A dog.", target_prefix="") == expected
    assert translator.translate(["A dog."], target_prefix=[None]) == [expected]


def test_a_converted_model_reads_from_the_right_too(translator, directory, tmp_path):
    convert(directory, tmp_path / "packed", "float32", "dynamic", False)
    packed = Translator(tmp_path / "packed")
    assert packed.config.right_to_left and packed.translate(TEXTS, **ALL) == translator.translate(TEXTS, **ALL)


def test_pieces_do_not_come_one_by_one(translator):
    with pytest.raises(ValueError, match=r"^generate_tokens gives .* from right to left .*; use translate_batch$"):
        translator.generate_tokens(translator.tokenize("A dog."))
