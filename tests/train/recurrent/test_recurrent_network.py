"""Gradients of the recurrent network in PyTorch; its results are tested with the Transformer's."""

import pytest
import torch

from models.train.network.families import network_of
from models.train.network.network import torch_tensors
from models.train.recurrent.network import RecurrentNetwork
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED, make_config


def outputs_and_gradients(config, stepwise, mixed=False):
    tensors = {name: tensor.requires_grad_() for name, tensor in torch_tensors(random_tensors(config, 7)).items()}
    network = RecurrentNetwork(config, tensors)
    network.stepwise = stepwise
    sources, lengths = torch.tensor([[5, 6, 9, 0], [7, 0, 1, 1], [8, 9, 0, 1]]), torch.tensor([4, 2, 3])
    targets = torch.tensor([[8, 9, 11, 12, 0], [10, 11, 0, 1, 1], [3, 0, 1, 1, 1]])
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        decoded = network.teacher_forced(sources, lengths, targets, align=True)
        weights = torch.randn(decoded.output.shape, generator=torch.Generator().manual_seed(1))
        logits = network.logits(decoded.output)
    loss = (decoded.output * weights).sum() + logits.float().logsumexp(-1).sum() - decoded.alignment[:, 1:, :2].sum()
    loss.backward()
    return decoded.output.detach(), {name: tensor.grad for name, tensor in tensors.items()}


@pytest.mark.parametrize("name", [name for name, options in NAMED.items() if "layer_norm" not in options])
def test_gradients_are_those_of_autograd(name):
    config = make_config(**NAMED[name])
    (found, gradients), (expected, others) = (outputs_and_gradients(config, stepwise) for stepwise in (False, True))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for parameter, gradient in others.items():
        assert gradient is not None and gradient.abs().max() > 0, parameter
        scale = float(gradient.abs().max())
        torch.testing.assert_close(gradients[parameter], gradient, rtol=1e-3, atol=1e-4 * scale, msg=parameter)


def test_gradients_in_mixed_precision_are_near():
    """Products in bfloat16 have 8 bits, sums are float32. Rounding across a low limit would end gradients."""
    config = make_config(**{**NAMED["stack"], "relu_limit": 10.0})
    (_, gradients), (_, exact) = (outputs_and_gradients(config, False, mixed) for mixed in (True, False))
    for parameter, gradient in exact.items():
        assert gradients[parameter].dtype == torch.float32
        cosine = torch.cosine_similarity(gradients[parameter].flatten(), gradient.flatten(), 0)
        assert cosine > 0.97, parameter


def test_what_products_take_from_relus_is_told_if_asked():
    config = make_config(stack=(32, 48, 32), relu_limit=0.5, top="tanh")
    network = network_of(config, torch_tensors(random_tensors(config, 1)))
    sources, lengths = torch.tensor([[5, 6, 0]]), torch.tensor([3])
    network.rectified = []
    with torch.no_grad():
        network.teacher_forced(sources, lengths, sources)
    assert [name for name, _ in network.rectified] == [f"decoder.relu.{i}" for i in range(3)]
    for _, outputs in network.rectified:
        assert outputs.shape[:2] == (1, 3) and outputs.min() == 0 and outputs.max() <= 0.5
