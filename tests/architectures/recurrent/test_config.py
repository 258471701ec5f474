"""A recurrent network's config: its accepted values, and its tensors."""

import numpy as np
import pytest

from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.recurrent.tensors import linears, norms, others
from cpunmt.errors import ModelFileError
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.packed.safetensors_file import check_tensors
from cpunmt.model.tensors import expected_tensors
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import NAMED, make_config

SIZES = {"model_dim": 32, "encoder_dim": 48, "decoder_dim": 64}


def shapes(**options):
    """Returns name -> shape of all tensors of a float32 checkpoint but the tables."""
    config = RecurrentConfig(**{**SIZES, **options})
    found, assigned = dict(others(config)), []
    for linear in linears(config):
        assert linear.columns == sum(linear.widths) and len(linear.parts) == len(linear.widths)
        for (weight, bias), width in zip(linear.parts, linear.widths, strict=True):
            found[weight] = (linear.depth, width)
            assigned += [weight, bias] if bias else [weight]
            if bias:
                found[bias] = (width,)
    assert len(set(assigned)) == len(assigned) and not set(assigned) & set(others(config)) and norms(config) == []
    assert all(width % 16 == 0 for shape in found.values() for width in shape)
    return found


def test_a_conditional_gru():
    """Marian's s2s of one layer."""
    assert shapes() == {
        **{f"encoder.{way}.0.0.{part}": shape for way in ("forward", "backward") for part, shape in (
            ("gates.weight", (32, 96)), ("gates.bias", (96,)),
            ("candidate.weight", (32, 48)), ("candidate.bias", (48,)),
            ("state_gates.weight", (48, 96)), ("state_candidate.weight", (48, 48)),
        )},
        "attention.key.weight": (96, 96), "attention.key.bias": (96,), "attention.score": (96,),
        "attention.query.weight": (64, 96), "start.weight": (96, 64), "start.bias": (64,),
        "decoder.0.0.gates.weight": (32, 128), "decoder.0.0.gates.bias": (128,),
        "decoder.0.0.candidate.weight": (32, 64), "decoder.0.0.candidate.bias": (64,),
        "decoder.0.0.state_gates.weight": (64, 128), "decoder.0.0.state_candidate.weight": (64, 64),
        "decoder.0.1.gates.weight": (96, 128), "decoder.0.1.gates.bias": (128,),
        "decoder.0.1.candidate.weight": (96, 64), "decoder.0.1.state_candidate.bias": (64,),
        "decoder.0.1.state_gates.weight": (64, 128), "decoder.0.1.state_candidate.weight": (64, 64),
        "top.embedding.weight": (32, 32), "top.embedding.bias": (32,), "top.state.weight": (64, 32),
        "top.state.bias": (32,), "top.context.weight": (96, 32), "top.context.bias": (32,),
    }  # fmt: skip


def test_a_network_of_devlins():
    """LSTM, attention from the previous state, a stack of ReLU layers with arbitrary odd widths."""
    found = shapes(
        encoder_cell="lstm",
        decoder_cell="lstm",
        encoder_layers=2,
        attention="input",
        attention_dim=16,
        stack=(48, 80, 48),
        top="tanh",
    )
    assert {name: shape for name, shape in found.items() if not name.startswith("encoder")} == {
        "attention.key.weight": (96, 16), "attention.key.bias": (16,), "attention.score": (16,),
        "attention.query.weight": (64, 16), "start.weight": (96, 64), "start.bias": (64,),
        "decoder.0.0.gates.weight": (32, 256), "decoder.0.0.gates.bias": (256,),
        "decoder.0.0.state_gates.weight": (64, 256), "decoder.0.0.context_gates.weight": (96, 256),
        "relu.0.weight": (64, 48), "relu.0.bias": (48,), "relu.1.weight": (48, 80), "relu.1.bias": (80,),
        "relu.2.weight": (80, 48), "relu.2.bias": (48,), "top.weight": (48, 32), "top.bias": (32,),
    }  # fmt: skip
    assert found["encoder.backward.1.0.gates.weight"] == (48, 192)


def test_transitions_and_higher_layers():
    """The bias of a candidate goes with the state's product in a final cell, else outside the reset gate."""
    found = shapes(
        encoder="unidirectional",
        encoder_layers=3,
        encoder_transitions=2,
        decoder_layers=2,
        decoder_transitions=1,
        high_transitions=1,
        top="recurrent",
    )
    assert found["encoder.forward.1.0.gates.weight"] == (96, 96) and found["encoder.forward.2.0.gates.weight"] == (
        48,
        96,
    )
    assert not any(name.startswith("encoder.backward.1") for name in found) and found["start.weight"] == (48, 64)

    def of(cell):
        return {name.removeprefix(cell) for name in found if name.startswith(cell)}

    state = {"state_gates.weight", "state_candidate.weight"}
    for transition in ("encoder.forward.0.1.", "encoder.backward.0.1.", "encoder.forward.2.1.", "decoder.1.1."):
        assert of(transition) == state | {"state_gates.bias", "candidate.bias"}
    assert of("decoder.0.2.") == state | {"state_gates.bias", "state_candidate.bias"}
    assert of("decoder.1.0.") == state | {"gates.weight", "gates.bias", "candidate.weight", "candidate.bias"}
    assert found["decoder.top.gates.weight"] == (64, 64) and found["decoder.top.state_gates.weight"] == (32, 64)


@pytest.mark.parametrize("cell, width", [("gru", 3), ("lstm", 4)])
def test_norms_of_marian(cell, width):
    """One norm for all maps of an input, followed by a bias instead of theirs."""
    found = shapes(encoder_cell=cell, decoder_cell=cell, encoder_transitions=2, layer_norm="marian")
    assert (
        found["encoder.forward.0.0.input_norm.scale"] == found["encoder.forward.0.0.state_norm.bias"] == (48 * width,)
    )
    assert found["decoder.0.1.input_norm.bias"] == (64 * width,) and "encoder.forward.0.1.input_norm.scale" not in found
    assert [name for name in found if name.endswith(".bias") and "norm." not in name] == (
        ["encoder.forward.0.1.candidate.bias", "encoder.backward.0.1.candidate.bias"] if cell == "gru" else []
    )
    assert {name: found[f"{name}.norm.scale"] for name in ("start", "attention.query", "top.context")} == {
        "start": (64,),
        "attention.query": (96,),
        "top.context": (32,),
    }


def test_norms_of_nematus():
    """One norm for each map, after its bias; in an encoder's transition the bias follows the norm and belongs to it."""
    found = shapes(encoder_transitions=2, decoder_transitions=1, layer_norm="nematus", layer_norm_epsilon=1e-5)

    def of(cell):
        return {name.removeprefix(cell) for name in found if name.startswith(cell) and "weight" not in name}

    norm = {f"{name}.norm.{part}" for name in ("state_gates", "state_candidate") for part in ("scale", "bias")}
    both = norm | {name.removeprefix("state_") for name in norm}
    assert of("encoder.forward.0.0.") == of("decoder.0.0.") == both | {"gates.bias", "candidate.bias"}
    assert of("encoder.forward.0.1.") == norm | {"candidate.bias"}
    assert of("decoder.0.1.") == both | {"state_gates.bias", "state_candidate.bias"}
    assert of("decoder.0.2.") == norm | {"state_gates.bias", "state_candidate.bias"}
    assert found["start.bias"] == found["start.norm.bias"] == (64,)


def test_products_of_one_input_lie_side_by_side():
    conditional = {linear.name: [weight for weight, _ in linear.parts] for linear in linears(RecurrentConfig(**SIZES))}
    gates = [f"encoder.{way}.0.0.{part}.weight" for way in ("forward", "backward") for part in ("gates", "candidate")]
    assert conditional["encoder.input"] == gates
    assert conditional["decoder.input"] == [
        "decoder.0.0.gates.weight", "decoder.0.0.candidate.weight", "top.embedding.weight",
    ]  # fmt: skip
    assert conditional["decoder.query"] == [
        "attention.query.weight", "decoder.0.1.state_gates.weight", "decoder.0.1.state_candidate.weight",
    ]  # fmt: skip
    assert conditional["decoder.context"] == [
        "decoder.0.1.gates.weight", "decoder.0.1.candidate.weight", "top.context.weight",
    ]  # fmt: skip
    of_input = {linear.name: linear for linear in linears(RecurrentConfig(**SIZES, attention="input"))}
    assert [weight for weight, _ in of_input["decoder.query"].parts] == [
        "attention.query.weight", "decoder.0.0.state_gates.weight", "decoder.0.0.state_candidate.weight",
    ]  # fmt: skip


def test_what_a_relu_has_made_is_told():
    """A state below the first layer may be negative."""
    found = linears(RecurrentConfig(**SIZES, stack=(48, 64, 48), top="tanh"))
    assert [linear.name for linear in found if linear.rectified] == ["relu.1", "relu.2", "top"]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"model_dim": 40}, r"config: widths \[40, 48, 64, 96\], expected multiples of 16"),
        ({"attention_dim": 8}, r"config: widths \[32, 48, 64, 8\], expected multiples of 16"),
        (
            {"stack": (48, 64, 64)},
            r"config: stack is \(48, 64, 64\), expected its first width, 48, as every second one",
        ),
        ({"stack": (8,)}, r"config: widths \[32, 48, 64, 96, 8\], expected multiples of 16"),
        ({"stack": 64}, "config: stack is 64, expected up to 64 widths of layers"),
        ({"stack": (16,) * 65}, "config: stack is .*, expected up to 64 widths of layers"),
        ({"stack": (1.5,)}, "config: stack is 1.5, expected an integer"),
        ({"encoder_cell": "mlstm"}, "config: encoder_cell is 'mlstm', expected 'gru' or 'lstm'"),
        ({"decoder_cell": "lstm", "layer_norm": "nematus"}, "layer_norm is 'nematus', expected cells 'gru'"),
        ({"encoder_layers": 0}, "config: encoder_layers is 0, expected 1 to 64"),
        ({"layer_norm_epsilon": 0.0}, "config: layer_norm_epsilon is 0.0"),
        ({"relu_limit": float("nan")}, "config: relu_limit is nan"),
    ],
)
def test_a_wrong_one_is_refused(options, expected):
    with pytest.raises(ModelFileError, match=expected):
        RecurrentConfig(**{**SIZES, **options})


def test_numbers_become_pythons_own():
    config = RecurrentConfig(**{**SIZES, "stack": [np.int64(64), np.int64(64)], "relu_limit": np.float32(10)})
    assert config.stack == (64, 64) and type(config.stack[0]) is int and type(config.relu_limit) is float
    assert (config.context_dim, config.attention_width, config.top_dim) == (96, 96, 64)


def test_it_is_described():
    config = RecurrentConfig(**SIZES, encoder="alternating", encoder_layers=4, decoder_cell="lstm", stack=(64, 64))
    assert config.described() == {
        "encoder": "4 alternating GRU layers",
        "decoder": "1 LSTM layers with attention, 2 ReLU layers",
        "dimensions": "32 model, 48 encoder, 64 decoder",
    }


def test_tensors_of_the_earlier_stack_are_refused():
    """They were called stack.N, and computed something else."""
    config = make_config(**NAMED["stack"])

    def renamed(tensors):
        return {name.replace("relu.", "stack."): tensor for name, tensor in tensors.items()}

    tensors = random_tensors(config, 1)
    with pytest.raises(ValueError, match=r"^the checkpoint lacks relu\.0\.bias, relu\.0\.weight, relu\.1\.bias"):
        packed_tensors(config, renamed(tensors), "int8")
    packed, stored = packed_tensors(config, tensors, "int8")
    with pytest.raises(ModelFileError, match=r"wrong tensor\(s\); fetch or pack the model again\n") as caught:
        check_tensors(renamed(stored), expected_tensors(packed), "weights.safetensors")
    assert "\n  missing 'relu.0.bias' " in str(caught.value) and "\n  unexpected 'stack.0.bias'" in str(caught.value)
