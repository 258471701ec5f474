"""Models that begin with the parameters of another shape: their initial results."""

import dataclasses

import numpy as np
import pytest
import torch

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.network.growth import grown, of_vocabulary
from models.train.network.network import Network, initial_tensors
from models.train.text.vocabulary import texts_of, train_vocabulary
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import make_config as recurrent_config
from tests.sample_models.transformers import make_config
from tests.train.network.test_network import padded, pairs

SMALL = make_config(encoder_layers=2, decoder_parameters=(0, 0))


def logits(config, tensors):
    """Returns teacher-forced logits of some pairs."""
    given = pairs(SMALL, seed=1)
    network = Network(config, tensors)
    sources, lengths = padded([source for source, _ in given])
    targets, _ = padded([target for _, target in given])
    with torch.no_grad():
        return network.logits(network.teacher_forced(sources, lengths, targets).output)


def begun(small=SMALL, **changes):
    """Returns (logits of a random model, then of one that differs by `changes` and begins with it; its tensors, its
    config).
    """
    arrays, config = random_tensors(small, 1), small.changed(**changes)
    tensors = grown(config, small, arrays, seed=2)
    return logits(small, grown(small, small, arrays, seed=2)), logits(config, tensors), tensors, config


def test_untied_layers_compute_the_same():
    arrays = random_tensors(SMALL, 1)
    tensors = grown(SMALL, SMALL, arrays, seed=2)
    assert set(tensors) == set(arrays)  # the same shape is the same model
    assert all(torch.equal(tensors[name], torch.from_numpy(array)) for name, array in arrays.items())
    before, after, tensors, _ = begun(decoder_parameters=(0, 1))
    assert torch.equal(before, after)
    assert tensors["decoder.0.cell.candidate.weight"] is not tensors["decoder.1.cell.candidate.weight"]


def test_more_units_compute_the_same_and_learn():
    width = SMALL.architecture.ffn_dim
    before, after, tensors, _ = begun(ffn_dim=width + 16)
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)
    assert tensors["encoder.0.feed_forward.inner.weight"][:, width:].abs().min() > 0
    assert not tensors["encoder.0.feed_forward.outer.weight"][width:].any()
    _, _, tensors, _ = begun(ffn_dim=width - 16)  # of fewer they are the first
    inner = random_tensors(SMALL, 1)["decoder.0.feed_forward.inner.weight"]
    assert torch.equal(tensors["decoder.0.feed_forward.inner.weight"], torch.from_numpy(inner)[:, : width - 16])


@pytest.mark.parametrize("layers", [3, 4, 5])
def test_new_layers_add_nothing_where_nothing_normalizes_again(layers):
    small = SMALL.changed(preprocess="n", postprocess="a", top_norm=True)
    before, after, _, _ = begun(small, encoder_layers=layers)
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)


def test_new_layers_after_normalization_begin_with_the_norm_before():
    arrays = random_tensors(SMALL, 1)
    _, _, tensors, _ = begun(encoder_layers=4)
    for layer, origin in ((1, 0), (3, 1)):
        assert not tensors[f"encoder.{layer}.feed_forward.outer.weight"].any()
        norm = torch.from_numpy(arrays[f"encoder.{origin}.feed_forward.norm.scale"])
        assert torch.equal(tensors[f"encoder.{layer}.self_attention.norm.scale"], norm)


def test_another_cell_begins_afresh_in_a_trained_model():
    arrays = random_tensors(SMALL, 1)
    _, _, tensors, config = begun(cell="self_attention")
    fresh = initial_tensors(config, 2)
    for name, tensor in tensors.items():
        expected = fresh[name] if ".cell." in name and name not in arrays else torch.from_numpy(arrays[name])
        assert torch.equal(tensor, expected), name
    assert any(name not in arrays for name in tensors)


@pytest.mark.parametrize("changes", [{"vocab_size": 80}, {"model_dim": 64}, {"heads": 1}])
def test_other_tables_are_refused(changes):
    (field,), config = changes, SMALL.changed(**changes)
    with pytest.raises(ValueError, match=f"^{field} is "):
        grown(config, SMALL, random_tensors(SMALL, 1), seed=2)


def test_another_family_begins_with_the_tables():
    config = recurrent_config(vocab_size=SMALL.vocab_size)
    arrays = random_tensors(SMALL, 1)
    made, fresh = grown(config, SMALL, arrays, seed=2), initial_tensors(config, 2)
    assert list(made) == list(fresh) and SMALL.architecture.model_dim == config.architecture.model_dim
    for name, tensor in made.items():
        taken = name in ("embedding", "output.bias")
        assert torch.equal(tensor, torch.from_numpy(arrays[name]) if taken else fresh[name]), name


def test_a_recurrent_model_grows_a_layer():
    small = recurrent_config()
    arrays = random_tensors(small, 1)
    made = grown(recurrent_config(decoder_layers=2), small, arrays, seed=2)
    assert all(torch.equal(made[name], torch.from_numpy(array)) for name, array in arrays.items())
    assert set(made) - set(arrays) == {name for name in made if name.startswith("decoder.1.")}
    with pytest.raises(ValueError, match="vocab_size is 40 in the model to begin with and 48"):
        grown(recurrent_config(vocab_size=48), small, arrays, seed=2)
    with pytest.raises(ValueError, match="model_dim is 32 in the model to begin with and 48"):
        grown(recurrent_config(model_dim=48), small, arrays, seed=2)


def test_another_vocabulary_keeps_the_rows_of_its_pieces(toy, tmp_path):
    """A new piece is the mean of the old pieces that spell it, of the length that rows have."""
    path = tmp_path / "v.spm"
    train_vocabulary(texts_of(toy.data.train), 75, path)
    old, new = Vocabulary(toy.vocabulary), Vocabulary(path)
    arrays = {name: tensor.numpy() for name, tensor in initial_tensors(toy.config, 1).items()}
    arrays["output.bias"] = np.arange(old.size, dtype=np.float32)
    config, made = of_vocabulary(toy.config, arrays, old, new)
    assert config == dataclasses.replace(toy.config, vocab_size=75) and made.keys() == arrays.keys()
    numbers = {piece: id_ for id_, piece in enumerate(old.pieces(range(old.size)))}
    length = np.linalg.norm(arrays["embedding"], axis=1).mean()
    fresh = 0
    for id_, piece in enumerate(new.pieces(range(new.size))):
        row = made["embedding"][id_]
        if piece in numbers:
            assert (row == arrays["embedding"][numbers[piece]]).all()
            assert made["output.bias"][id_] == numbers[piece]
        else:
            fresh += 1
            assert np.linalg.norm(row) == pytest.approx(length, rel=1e-4)
            if piece.startswith("▁") and len(piece) > 1:
                mean = arrays["embedding"][old.encode(piece[1:])[:-1]].mean(0)
                np.testing.assert_allclose(row / length, mean / np.linalg.norm(mean), rtol=1e-4, atol=1e-6)
    assert fresh > 5
    same_config, same = of_vocabulary(toy.config, arrays, old, old)
    assert same_config == toy.config and all((same[name] == arrays[name]).all() for name in arrays)
    with pytest.raises(ValueError, match="expected one embedding of both languages"):
        of_vocabulary(toy.config, arrays | {"other": arrays["output.bias"]}, old, new)
