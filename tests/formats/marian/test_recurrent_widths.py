"""Widths other than multiples of 16: padded with zeros, which change nothing."""

import itertools

import numpy as np
import pytest

from cpunmt.engine.engine import Search
from cpunmt.formats.foreign_model import StoredIntegers
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.marian.marian_recurrent import Padding
from cpunmt.model.tensors import checkpoint_tensors
from quantize.checkpoints.marian_export import write_marian_npz
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.recurrents import NAMED, VOCAB, make_config
from tests.support.refusal import refusal
from tests.support.speeds import slow_after

WIDTHS = [(20, 50), (48, 40), (500, 31), (20, 20)]  # of pieces, of states
KINDS = ["plain", "LSTM", "deep", "alternating", "unidirectional", "transitions", "LSTM transitions", "untied"]
CASES = sorted(itertools.product(KINDS, WIDTHS), key=lambda case: KINDS.index(case[0]) != WIDTHS.index(case[1]))


def narrow(kind, pieces, states):
    """Returns (config, tensors) of a network of these widths, which only the definition computes."""
    sizes = {"encoder_dim": 16, "decoder_dim": 16, "attention_dim": None}
    config = make_config(**{**NAMED[kind], **sizes, "model_dim": 16})
    for name, width in (("model_dim", pieces), ("encoder_dim", states), ("decoder_dim", states)):
        object.__setattr__(config.architecture, name, width)
    return config, random_tensors(config, 3)


@pytest.mark.parametrize(("kind", "widths"), slow_after(3, CASES))
def test_a_padded_network_is_the_one_of_the_file(kind, widths, tmp_path):
    config, tensors = narrow(kind, *widths)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    found = read_marian(tmp_path / "model.npz")
    architecture = found.config.architecture
    assert (architecture.model_dim, architecture.decoder_dim) == tuple(-(-width // 16) * 16 for width in widths)
    assert {name: tensor.shape for name, tensor in found.tensors.items()} == checkpoint_tensors(found.config)
    numbers = [sum(np.count_nonzero(array) for array in arrays.values()) for arrays in (found.tensors, tensors)]
    assert numbers[0] == numbers[1]
    sources = random_sources(2, VOCAB, 6, longest=9)
    search = Search(beam_size=3, num_hypotheses=2, token_log_probs=True, attention=True)
    limits = [2 * len(source) for source in sources]
    made = engine_of(found.config, found.tensors, "float32").translate(sources, limits, search)
    reference, same = Reference(config, tensors), 0
    for source, limit, hypotheses in zip(sources, limits, made, strict=True):
        for ours, theirs in zip(hypotheses, beam_search(reference, source, limit, search), strict=True):
            assert abs(ours.score - theirs.score) < 1e-3
            if ours.ids == theirs.ids:
                same += 1
                assert np.allclose(ours.attention, theirs.attention, atol=1e-3)
    assert same >= 10


def test_nothing_is_done_where_nothing_is_to_do():
    config = make_config(encoder_dim=48)
    tensors = random_tensors(config, 1)
    padding = Padding(config, (32, 48))
    assert padding.shapes() == checkpoint_tensors(config) and padding.padded(tensors, "x") is tensors


def test_integers_of_such_widths_are_refused():
    config = make_config(encoder_dim=48)
    tensors = {"embedding": StoredIntegers(np.zeros((VOCAB, 20), np.int8), 1.0)}
    message = refusal(lambda path: Padding(config, (20, 48)).padded(tensors, path), "model.bin")
    assert "dim-emb and dim-rnn are (20, 48), expected multiples of 16; load the float32 model.npz" in message


def test_a_wrong_shape_is_told_as_the_file_has_it(tmp_path):
    config, tensors = narrow("plain", 20, 50)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    arrays = dict(np.load(tmp_path / "model.npz"))
    arrays["decoder_cell1_W"] = arrays["decoder_cell1_W"][:, :-1]
    np.savez(tmp_path / "model.npz", **arrays)
    assert "decoder_cell1_W has shape (20, 99), expected (20, 100)" in refusal(read_marian, tmp_path / "model.npz")
