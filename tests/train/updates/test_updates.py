"""One update: accumulation, clipping, rounding, and its stored results."""

import itertools

import pytest
import torch

from models.train.network.families import network_of
from models.train.network.log4 import Rounding
from models.train.network.network import Network, initial_tensors, mask
from models.train.updates import updates as module
from models.train.updates.configs import settings_of
from models.train.updates.updates import Updates
from tests.sample_models.recurrents import make_config as recurrent_config

pytestmark = pytest.mark.usefixtures("float32")


def test_parts_of_a_batch_make_the_same_update(toy):
    whole, parts = toy.updates(), toy.updates()
    first = whole.update([toy.batch(slice(0, 12))])
    second = parts.update([toy.batch(slice(0, 5)), toy.batch(slice(5, 12))])
    assert first == pytest.approx(second, rel=1e-4)
    gradients, others = (updates.moments()["adam_mean"] for updates in (whole, parts))
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, others[name], rtol=1e-4, atol=1e-6)


def test_numbers_of_matrices_are_kept_within_the_limit(toy):
    """Numbers of vectors are not limited."""
    free, limited = toy.updates(), toy.updates(weight_limit=0.2)
    for updates in (free, limited):
        for _ in range(3):
            updates.update([toy.batch(slice(0, 12))])

    def largest(tensors, dimensions):
        return max(float(tensor.detach().abs().max()) for tensor in tensors.values() if tensor.dim() == dimensions)

    assert largest(free.parameters, 2) > 0.2
    assert largest(limited.parameters, 2) == pytest.approx(0.2) == largest(limited.means, 2)
    assert largest(limited.parameters, 1) > 0.9  # scales of layer norms


def test_means_lag_behind(toy):
    updates = toy.updates(dropout=0.3)
    before = {name: tensor.detach().clone() for name, tensor in updates.parameters.items()}
    updates.update([toy.batch(slice(0, 12))])
    for name, tensor in updates.parameters.items():
        expected = before[name] + (tensor.detach() - before[name]) * 9 / 11
        torch.testing.assert_close(updates.means[name], expected)
    assert updates.network.dropout == 0  # it is for updates only


def test_no_parameters_are_made_of_nonsense(toy):
    updates = toy.updates()
    with torch.no_grad():
        updates.parameters["output.bias"][3] = torch.inf
    with pytest.raises(RuntimeError, match="non-finite"):
        updates.update([toy.batch(slice(0, 12))])


def test_gradients_of_rounded_weights_move_the_float_ones(toy):
    """The network has the rounded weights, and the gradients are those of a plain one."""
    coarse = Rounding({"embedding"})
    rounded = toy.updates(rounding=coarse)
    plain = toy.updates()
    with torch.no_grad():
        for name, tensor in plain.parameters.items():
            assert torch.equal(rounded.network.tensors[name], coarse(name, tensor))
            tensor.copy_(coarse(name, tensor))
    before = {name: tensor.detach().clone() for name, tensor in rounded.parameters.items()}
    found, expected = (updates.update([toy.batch(slice(0, 12))]) for updates in (rounded, plain))
    assert found == pytest.approx(expected)
    for name, tensor in rounded.parameters.items():
        moved = plain.parameters[name].detach() - coarse(name, before[name])
        torch.testing.assert_close(tensor.detach() - before[name], moved, rtol=0, atol=1e-6)
        assert torch.equal(rounded.network.tensors[name], coarse(name, tensor))


def test_scales_follow_now_and_then(toy, monkeypatch):
    monkeypatch.setattr(module, "_FOLLOWED", 3)
    updates = toy.updates(rounding=Rounding({"embedding"}), peak_rate=1e-2)
    seen = [updates.rounding.scales["embedding"]]
    for _ in range(4):
        updates.update([toy.batch(slice(0, 12))])
        seen.append(updates.rounding.scales["embedding"])
    assert [torch.equal(a, b) for a, b in itertools.pairwise(seen)] == [True, True, False, True]
    parameter = updates.parameters["embedding"].detach()
    assert torch.equal(updates.network.tensors["embedding"], updates.rounding("embedding", parameter))


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_teacher_is_imitated_whatever_the_targets_are(toy, recurrent):
    """A teacher of another shape, or family; the loss is the divergence from its predictions, which stay constant."""
    config = toy.config.changed(model_dim=64, cell="sru")
    if recurrent:
        config = recurrent_config(vocab_size=toy.config.vocab_size, attention="input")
    teacher = network_of(config, initial_tensors(config, 3))
    before = {name: tensor.clone() for name, tensor in teacher.tensors.items()}
    updates = toy.updates(teacher=teacher, peak_rate=5e-3)
    given, _ = toy.batch(slice(0, 12))
    losses = [updates.update([(given, None)])[0] for _ in range(30)]
    assert losses[-1] < losses[0] / 2
    for name, tensor in teacher.tensors.items():
        assert torch.equal(tensor, before[name]), name
    scored = mask(given.target_lengths, given.targets.shape[1])
    with torch.no_grad():
        said, goal = (
            network.logits(network.teacher_forced(*given[:3]).output[scored]).log_softmax(1)
            for network in (updates.network, teacher)
        )
    assert (goal.exp() * (goal - said)).sum(1).mean() < losses[-1] + 1e-3


def test_a_student_that_begins_as_its_teacher_shares_nothing_with_it(toy):
    tensors = initial_tensors(toy.config, 1)
    teacher = Network(toy.config, tensors)
    updates = Updates(Network(toy.config, tensors), settings_of("smoke"), torch.device("cpu"), None, teacher)
    with torch.no_grad():
        updates.parameters["output.bias"].add_(1)
    assert not torch.equal(teacher.tensors["output.bias"], updates.network.tensors["output.bias"])
