"""The PyTorch network against its definition, and against itself step by step."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.architectures.transformer.cells.kinds import CELLS
from models.train.network.families import network_of
from models.train.network.network import Network, initial_tensors, mask, torch_tensors
from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.sample_models import recurrents
from tests.sample_models.random_models import random_tensors
from tests.sample_models.transformers import NAMED, OF_MARIAN, configs, make_config

CLOSE = {"rtol": 2e-3, "atol": 2e-3}  # float32, other orders of summation, random models that amplify differences


def pairs(config, seed, count=4):
    """Returns random sources and targets that end with </s>."""
    generator = np.random.default_rng(seed)

    def sentence(size):
        return [*generator.integers(2, size, generator.integers(1, 9)).tolist(), config.eos_id]

    return [(sentence(config.source_size), sentence(config.vocab_size)) for _ in range(count)]


def padded(sentences, filling=0):
    lengths = torch.tensor([len(ids) for ids in sentences])
    rows = [ids + [filling] * (int(lengths.max()) - len(ids)) for ids in sentences]
    return torch.tensor(rows), lengths


def reference_outputs(model: Reference, source, target):
    """Returns (logits, the aligning head's attention) at each step."""
    state, logits, alignment = model.start(model.encode(source)), [], []
    for i in range(len(target)):
        made, state = model.step(state, target[i - 1 : i])
        logits.append(made[0])
        alignment.append(state.alignment[0])
    return np.stack(logits), np.stack(alignment)


def check_equals_reference(config, seed, stepwise=False):
    tensors = random_tensors(config, seed)
    network, reference = network_of(config, torch_tensors(tensors)), Reference(config, tensors)
    if stepwise:  # a recurrent network that does not take all positions at once
        network.stepwise = True
    given_pairs = pairs(config, seed)
    sources, source_lengths = padded([source for source, _ in given_pairs], filling=3)
    targets, _ = padded([target for _, target in given_pairs], filling=3)
    with torch.no_grad():
        decoded = network.teacher_forced(sources, source_lengths, targets, align=True)
        logits = network.logits(decoded.output).numpy()
    for row, (source, target) in enumerate(given_pairs):
        expected, attended = reference_outputs(reference, source, target)
        found = logits[row, : len(target)]
        np.testing.assert_allclose(log_softmax(found), log_softmax(expected), **CLOSE)
        alignment = decoded.alignment[row, : len(target)].exp().numpy()
        np.testing.assert_allclose(alignment[:, : len(source)], attended, atol=1e-3)
        assert (alignment[:, len(source) :] < 1e-8).all()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [(0, 1), (0, 0)], ids=["untied", "tied"])
def test_every_cell_equals_its_definition(cell, layers):
    width = {"average_dim": 48} if cell == "average_attention" else {}
    check_equals_reference(make_config(cell=cell, decoder_parameters=layers, **width), seed=5)


@pytest.mark.parametrize("name", OF_MARIAN)
def test_a_named_architecture_equals_its_definition(name):
    check_equals_reference(make_config(**OF_MARIAN[name]), seed=3)


@given(configs(of_marian=True), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_any_architecture_equals_its_definition(config, seed):
    check_equals_reference(config, seed)


@pytest.mark.parametrize("stepwise", [False, True])
@pytest.mark.parametrize("name", recurrents.NAMED)
def test_a_named_recurrent_architecture_equals_its_definition(name, stepwise):
    check_equals_reference(recurrents.make_config(**recurrents.NAMED[name]), 3, stepwise)


@given(recurrents.configs(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25)
def test_any_recurrent_architecture_equals_its_definition(config, seed, stepwise):
    check_equals_reference(config, seed, stepwise)


portions_of_steps = st.lists(st.integers(1, 4), min_size=2, max_size=5)


@given(st.one_of(configs(of_marian=True), recurrents.configs()), st.integers(0, 2**32 - 1), portions_of_steps)
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
    with torch.no_grad():
        of_some = network.remember(network.encode(sources, lengths), lengths).rows(torch.tensor([2, 0]))
        chosen = network.decode(of_some, network.start(of_some), previous[[2, 0]])
    np.testing.assert_allclose(chosen.output, whole.output[[2, 0]], **CLOSE)


EVERY = {"transformer": make_config()}
EVERY |= {name: make_config(**options) for name, options in OF_MARIAN.items()}
EVERY |= {f"recurrent {name}": recurrents.make_config(**options) for name, options in recurrents.NAMED.items()}


@pytest.mark.parametrize(
    "name", ["transformer", "recurrent alternating", "recurrent unidirectional", "recurrent plain"]
)
def test_what_fills_a_batch_changes_nothing(name):
    config = EVERY[name]
    network = network_of(config, torch_tensors(random_tensors(config, 1)))
    lengths = torch.tensor([3, 5])
    sources = torch.tensor([[5, 6, 0, 7, 7], [5, 6, 8, 9, 0]])
    other = torch.where(mask(lengths, 5), sources, 11)
    with torch.no_grad():
        first, second = (network.encode(ids, lengths) for ids in (sources, other))
        if name != "transformer":
            torch.testing.assert_close(*(network.remember(encoded, lengths).first for encoded in (first, second)))
    torch.testing.assert_close(first[0, :3], second[0, :3])
    torch.testing.assert_close(first[1], second[1])


@pytest.mark.parametrize("name", ["transformer", "recurrent deep"])
def test_dropout_is_off_until_it_is_set(name):
    config = EVERY[name]
    network = network_of(config, initial_tensors(config, 1))
    sources, lengths = torch.tensor([[5, 6, 0]]), torch.tensor([3])
    torch.manual_seed(1)
    once, again = network.encode(sources, lengths), network.encode(sources, lengths)
    torch.testing.assert_close(once, again, rtol=0, atol=0)
    network.dropout = 0.5
    assert not torch.allclose(network.encode(sources, lengths), once)


@pytest.mark.parametrize("name", EVERY)
def test_every_parameter_gets_a_gradient_from_the_beginning(name):
    config = EVERY[name]
    network = network_of(config, {key: value.requires_grad_() for key, value in initial_tensors(config, 1).items()})
    sources, lengths = torch.tensor([[5, 6, 0], [7, 0, 0]]), torch.tensor([3, 2])
    decoded = network.teacher_forced(sources, lengths, torch.tensor([[8, 9, 0], [10, 11, 0]]))
    (network.logits(decoded.output) ** 2).sum().backward()
    assert [key for key, value in network.tensors.items() if value.grad is None or not value.grad.any()] == []


def test_initial_parameters_depend_on_the_seed_only():
    config = make_config(positions="trained")
    first, again, other = (initial_tensors(config, seed) for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embedding"], other["embedding"])


_ENCODER = ["encoder.0.feed_forward.inner", "encoder.1.feed_forward.inner"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [*_ENCODER, "decoder.0.feed_forward.inner", "decoder.1.feed_forward.inner"]),
        ({"decoder_parameters": (0, 0)}, [*_ENCODER, *["decoder.0.feed_forward.inner"] * 2]),
        (
            {"decoder_parameters": (0,), "decoder_ffn_depth": 3},
            [*_ENCODER, "decoder.0.feed_forward.inner", "decoder.0.feed_forward.middle.0"],
        ),
        (
            {"decoder_parameters": (0,), "cell_projection": True},
            [*_ENCODER, "decoder.0.cell", "decoder.0.feed_forward.inner"],
        ),
        ({"activation": "swish"}, []),
        (
            {**OF_MARIAN["average"], "average_activation": "relu", "activation": "gelu"},
            ["decoder.0.cell.inner", "decoder.1.cell.inner"],
        ),
    ],
)
def test_what_products_take_from_relus_is_told_if_asked(options, expected):
    config = make_config(**options)
    network = Network(config, torch_tensors(random_tensors(config, 1)))
    sources, lengths = torch.tensor([[5, 6, 0]]), torch.tensor([3])

    def told():
        with torch.no_grad():
            network.teacher_forced(sources, lengths, sources)
        return network.rectified

    assert told() is None
    network.rectified = []
    found = told()
    assert [name for name, _ in found] == expected
    for _, outputs in found:
        assert outputs.shape[:2] == (1, 3) and (outputs >= 0).all() and (outputs == 0).any()


@pytest.mark.parametrize("name", sorted(NAMED.keys() - OF_MARIAN.keys()))
def test_networks_of_other_programs_are_not_trained(name):
    config = make_config(**NAMED[name])
    with pytest.raises(ValueError, match=f"^networks with {', '.join(config.architecture.extensions)} cannot be tr"):
        Network(config, torch_tensors(random_tensors(config, 1)))
