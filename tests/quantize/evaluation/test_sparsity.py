"""Zeros of ReLUs' outputs: counted after the kernels' rounding, of every architecture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cpunmt.decoding.loading import load_model
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.kernels.matmul import quantize_rows
from cpunmt.model.tensors import linears
from quantize.evaluation import sparsity as module
from quantize.evaluation.sparsity import MOST_SENTENCES, model_sparsity, nonzero, rectified_inputs, sparsity
from quantize.reference import recurrent, transformer
from quantize.reference.network import Reference
from quantize.rounding.calibration import greedy_translations
from tests.definitions.matmul import quantize_rows_reference
from tests.sample_models import recurrents
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.real_model import SENTENCES, SHIPPED
from tests.sample_models.transformers import NAMED, make_config


class Rectifying(Reference):
    """A recorder of ReLUs' outputs, and of the products that read them."""

    def __init__(self, config, tensors, monkeypatch):
        super().__init__(config, tensors)
        self.made, self.taken = [], {}
        plain = transformer.relu

        def relu(x):
            self.made.append(plain(x))
            return self.made[-1]

        for definition in (transformer, recurrent):
            monkeypatch.setattr(definition, "relu", relu)
        monkeypatch.setitem(transformer.ACTIVATIONS, "relu", relu)

    def product(self, name, x):
        if any(x is made for made in self.made):
            self.taken.setdefault(name, []).append(x)
        return super().product(name, x)


RELUS = {"average": {**NAMED["average"], "average_activation": "relu"}}
RELUS["average of one width"] = {**NAMED["average of one width"], "average_activation": "relu"}
RELUS["average, of one width and a gate"] = RELUS["average of one width"] | {"average_gate": True}
RELUS["a map alone"] = {**RELUS["average"], "average_depth": 1, "average_dim": 32}
ALL = {**{name: options for name, options in NAMED.items() if name not in RELUS}, **RELUS, "plain": {}}
ALL = {name: make_config(**options) for name, options in ALL.items()}
ALL |= {
    f"recurrent, {name}": recurrents.make_config(**options)
    for name, options in {**recurrents.NAMED, "stack": {"stack": (32, 48, 32), "top": "tanh"}}.items()
}


@pytest.mark.parametrize("name", ALL)
def test_every_product_of_what_a_relu_left_is_counted(name, monkeypatch):
    config = ALL[name]
    tensors = random_tensors(config, 4)
    sources = random_sources(3, config.source_size, 6, longest=9)
    targets = greedy_translations(config, tensors, sources)
    found = sparsity(config, tensors, sources, targets)
    heard = Rectifying(config, tensors, monkeypatch)
    for source, target in zip(sources, targets, strict=True):
        state = heard.start(heard.encode(source))
        for previous in [0, *target[:-1]]:
            _, state = heard.step(state, [previous])
    names = {weight: linear.name for linear in linears(config) for weight, _ in linear.parts}
    expected = {names[weight]: np.concatenate(x) for weight, x in heard.taken.items()}
    assert {layer.name for layer in found} == expected.keys() == set(rectified_inputs(config))
    for layer in found:
        zero = ~nonzero(expected[layer.name])
        assert (layer.rows, layer.depth) == zero.shape
        assert layer.zeros == pytest.approx(zero.mean(), abs=2e-3)  # the order of summation
        assert layer.groups == pytest.approx(zero.reshape(len(zero), -1, 4).all(2).mean(), abs=4e-3)
        assert layer.unused == pytest.approx(zero.all(0).mean(), abs=0.04)


@given(arrays(np.float32, (3, 16), elements=st.one_of(st.just(0.0), st.floats(0, 2.0**126, width=32))))
def test_what_is_zero_is_what_the_kernels_round_to_zero(x):
    q, scales, shifts = quantize_rows_reference(x)
    assert ((q != np.rint(-shifts / scales)[:, None]) == nonzero(x)).all()


def test_its_constants_are_the_kernels():
    assert (module.STEPS, module.LARGEST_INVERSE) == (quantize_rows.STEPS, quantize_rows.LARGEST_INVERSE)


def test_a_static_scale_rounds_small_activations_of_every_row_to_zero():
    x = np.array([[0.1, 0.24, 0.26, 3.0], [0.1, 0.24, 0.26, 0.0]], np.float32)
    assert nonzero(x, 2.0).tolist() == [[False, False, True, True], [False, False, True, False]]
    assert nonzero(x).tolist() == [[True] * 4, [True, True, True, False]]


@pytest.mark.slow
def test_the_shipped_model_is_sparse(tmp_path):
    """The figures in docs/quantization.md; on everyday sentences here."""
    loaded, packed = load_model(SHIPPED), read_directory(SHIPPED)
    text = tmp_path / "text"
    text.write_text("".join(f"{line}\n" for line in SENTENCES.read_text("utf-8").split("\n")[:12]), "utf-8")
    count, found = model_sparsity(
        loaded.config, packed.tensors, text, loaded.source_vocabulary, loaded.engine.shortlist
    )
    assert count == 12 <= MOST_SENTENCES
    *encoder, decoder = found
    assert [layer.name for layer in encoder] == [f"encoder.{i}.feed_forward.outer" for i in range(6)]
    assert decoder.name == "decoder.0.feed_forward.outer"
    assert all(0.91 < layer.zeros < 0.98 and 0.7 < layer.groups < 0.92 for layer in encoder)
    assert 0.8 < decoder.zeros < 0.86 and 0.44 < decoder.groups < 0.54
