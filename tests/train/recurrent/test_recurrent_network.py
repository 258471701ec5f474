"""The recurrent network in PyTorch against its definition, and against itself step by step."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.train.network.families import network_of
from models.train.network.network import initial_tensors, torch_tensors
from models.train.recurrent.network import RecurrentNetwork
from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED, configs, make_config
from tests.train.network.test_network import CLOSE, padded, pairs


def check_equals_reference(config, seed, stepwise):
    tensors = random_tensors(config, seed)
    network, reference = network_of(config, torch_tensors(tensors)), Reference(config, tensors)
    network.stepwise |= stepwise
    given_pairs = pairs(config, seed)
    sources, source_lengths = padded([source for source, _ in given_pairs], filling=3)
    targets, _ = padded([target for _, target in given_pairs], filling=3)
    with torch.no_grad():
        decoded = network.teacher_forced(sources, source_lengths, targets, align=True)
        logits = network.logits(decoded.output).numpy()
    for row, (source, target) in enumerate(given_pairs):
        state = reference.start(reference.encode(source))
        for t in range(len(target)):
            expected, state = reference.step(state, target[t - 1 : t])
            np.testing.assert_allclose(log_softmax(logits[row, t : t + 1]), log_softmax(expected), **CLOSE)
            alignment = decoded.alignment[row, t].exp().numpy()
            np.testing.assert_allclose(alignment[: len(source)], state.alignment[0], atol=1e-3)
            assert (alignment[len(source) :] < 1e-8).all()


@pytest.mark.parametrize("stepwise", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_a_named_architecture_equals_its_definition(name, stepwise):
    check_equals_reference(make_config(**NAMED[name]), 3, stepwise)


@given(configs(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25)
def test_any_architecture_equals_its_definition(config, seed, stepwise):
    check_equals_reference(config, seed, stepwise)


@given(configs(), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=2, max_size=5))
@settings(max_examples=25)
def test_steps_in_any_portions_are_the_same(config, seed, portions):
    network = network_of(config, torch_tensors(random_tensors(config, seed)))
    generator = torch.Generator().manual_seed(seed)
    sources = torch.randint(2, config.source_size, (3, 6), generator=generator)
    lengths = torch.tensor([6, 2, 4])
    previous = torch.randint(0, config.vocab_size, (3, sum(portions)), generator=generator)
    with torch.no_grad():
        memory = network.remember(network.encode(sources, lengths), lengths)
        state = network.start(memory)
        whole = network.decode(memory, state, previous)
        parts = []
        for ids in previous.split(portions, 1):
            decoded = network.decode(memory, state, ids)
            state = decoded.state
            parts.append(decoded.output)
    np.testing.assert_allclose(torch.cat(parts, 1), whole.output, **CLOSE)
    assert state.steps == whole.state.steps == sum(portions)
    of_some = network.remember(network.encode(sources, lengths), lengths).rows(torch.tensor([2, 0]))
    with torch.no_grad():
        chosen = network.decode(of_some, network.start(of_some), previous[[2, 0]])
    np.testing.assert_allclose(chosen.output, whole.output[[2, 0]], **CLOSE)


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
    """Products in bfloat16 have 8 bits; what adds up is float32."""
    config = make_config(**NAMED["stack"])
    (_, gradients), (_, exact) = (outputs_and_gradients(config, False, mixed) for mixed in (True, False))
    for parameter, gradient in exact.items():
        assert gradients[parameter].dtype == torch.float32
        cosine = torch.cosine_similarity(gradients[parameter].flatten(), gradient.flatten(), 0)
        assert cosine > 0.97, parameter


def test_what_fills_a_batch_changes_nothing():
    for name in ("alternating", "unidirectional", "plain"):
        config = make_config(**NAMED[name])
        network = network_of(config, torch_tensors(random_tensors(config, 1)))
        lengths = torch.tensor([3, 5])
        sources = torch.tensor([[5, 6, 0, 7, 7], [5, 6, 8, 9, 0]])
        other = torch.tensor([[5, 6, 0, 11, 12], [5, 6, 8, 9, 0]])
        with torch.no_grad():
            first, second = (network.encode(ids, lengths) for ids in (sources, other))
            starts = [network.remember(encoded, lengths).first for encoded in (first, second)]
        torch.testing.assert_close(first[0, :3], second[0, :3])
        torch.testing.assert_close(first[1], second[1])
        torch.testing.assert_close(*starts)


def test_dropout_is_off_until_it_is_set():
    config = make_config(**NAMED["deep"])
    network = network_of(config, initial_tensors(config, 1))
    sources, lengths = torch.tensor([[5, 6, 0]]), torch.tensor([3])
    torch.manual_seed(1)
    once, again = network.encode(sources, lengths), network.encode(sources, lengths)
    torch.testing.assert_close(once, again, rtol=0, atol=0)
    network.dropout = 0.5
    assert not torch.allclose(network.encode(sources, lengths), once)


def test_every_parameter_gets_a_gradient_from_the_beginning():
    for name, options in NAMED.items():
        config = make_config(**options)
        network = network_of(config, {key: value.requires_grad_() for key, value in initial_tensors(config, 1).items()})
        sources, lengths = torch.tensor([[5, 6, 0], [7, 0, 0]]), torch.tensor([3, 2])
        decoded = network.teacher_forced(sources, lengths, torch.tensor([[8, 9, 0], [10, 11, 0]]))
        (network.logits(decoded.output) ** 2).sum().backward()
        without = [key for key, value in network.tensors.items() if value.grad is None or not value.grad.any()]
        assert without == [], name


def test_what_products_take_from_relus_is_told_if_asked():
    config = make_config(stack=(32, 48, 32), relu_limit=0.5, top="tanh")
    network = network_of(config, torch_tensors(random_tensors(config, 1)))
    sources, lengths = torch.tensor([[5, 6, 0]]), torch.tensor([3])
    network.rectified = []
    with torch.no_grad():
        network.teacher_forced(sources, lengths, sources)
    assert [name for name, _ in network.rectified] == ["decoder.stack.0", "decoder.stack.2"]
    for _, outputs in network.rectified:
        assert outputs.shape[:2] == (1, 3) and outputs.min() == 0 and outputs.max() <= 0.5
