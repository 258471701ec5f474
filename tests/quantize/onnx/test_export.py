"""The ONNX graphs of every architecture against its definition, as onnxruntime computes them."""

import json

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.onnx.engine import OnnxEngine
from bench.onnx.graphs import session
from cpunmt.errors import CpunmtError
from cpunmt.model.config import ModelConfig
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.onnx.export import CONFIG, FILES, GRAPHS, WEIGHTS, default_positions, export_onnx
from quantize.onnx.network import CELLS
from quantize.reference.network import Reference
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.real_model import DIRECTORIES, sources
from tests.sample_models.transformers import NAMED, configs, make_config

CLOSE = 1e-3  # random networks of large weights multiply the rounding of float32, 6e-8; a real one: see below
STEPS, BEAM = 4, 2


def check(folder, config, seed):
    """Checks graphs of a random model: accepted by the checker, and equal to the definition in a padded batch with
    beams.
    """
    tensors = random_tensors(config, seed)
    export_onnx(folder, config, tensors, positions=32, force=True)
    for name in GRAPHS:
        onnx.checker.check_model(str(folder / name), full_check=True)
    reference, engine = Reference(config, tensors), OnnxEngine(folder, config)
    generator = np.random.default_rng(seed)
    batch = random_sources(seed, config.source_size, 3, longest=30)
    encoder = session(folder / "encoder.onnx")
    names = [output.name for output in encoder.get_outputs()]
    ids = np.full((len(batch), max(map(len, batch))), 7)  # padding is any id
    for row, source in enumerate(batch):
        ids[row, : len(source)] = source
    made = encoder.run(names, {"ids": ids, "lengths": np.array([len(source) for source in batch])})
    memory = dict(zip(names, made, strict=True))
    candidates = np.sort(generator.choice(config.vocab_size, 16, replace=False))
    output = engine.output_layer(candidates)
    states = engine.start(len(batch) * BEAM)
    expected = [reference.start(reference.encode(source), BEAM) for source in batch]
    step = session(folder / "step.onnx")
    wanted = ["logits", "alignment", *(f"new_{name}" for name in states)]
    for position in range(STEPS):
        previous = generator.integers(0, config.vocab_size, len(batch) * BEAM)
        given = {"previous": previous, "position": np.array(position), **memory, **states}
        chosen, _ = engine.step(memory, states, previous, position, output)
        logits, alignment, *new = step.run(wanted, given)
        states = dict(zip(states, new, strict=True))
        for number, source in enumerate(batch):
            rows = slice(number * BEAM, (number + 1) * BEAM)
            told, expected[number] = reference.step(expected[number], previous[rows].tolist())
            np.testing.assert_allclose(logits[rows], told, atol=CLOSE)
            np.testing.assert_allclose(chosen[rows], told[:, candidates], atol=CLOSE)
            np.testing.assert_allclose(alignment[rows, : len(source)], expected[number].alignment, atol=CLOSE)
            assert (alignment[rows, len(source) :] == 0).all()
            for layer, cell in enumerate(expected[number].cells):
                np.testing.assert_allclose(_cell(states, layer, rows), cell, atol=CLOSE)


def _cell(states, layer, rows):
    """Returns a state in the definition's form."""
    if f"state_{layer}" in states:
        return states[f"state_{layer}"][rows]
    parts = [states[f"state_{layer}_{part}"][rows] for part in ("keys", "values")]
    parts = [part.transpose(0, 2, 1, 3).reshape(len(part), part.shape[2], -1) for part in parts]
    return np.concatenate(parts, axis=2)


def is_exported(config) -> bool:
    """Returns whether the network has a form in ONNX."""
    architecture = config.architecture
    return architecture.cell in CELLS and not (architecture.relative_positions or architecture.relative_buckets)


@pytest.mark.parametrize("name", [name for name, options in NAMED.items() if is_exported(make_config(**options))])
def test_a_named_architecture_equals_its_definition(name, tmp_path):
    check(tmp_path / "graphs", make_config(**NAMED[name]), seed=1)


@given(configs().filter(is_exported), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=15)
def test_any_architecture_equals_its_definition(tmp_path_factory, config, seed):
    check(tmp_path_factory.mktemp("any") / "graphs", config, seed)


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """Returns (graphs of the shipped model, its definition)."""
    folder = tmp_path_factory.mktemp("student") / "graphs"
    config, tensors = read_float_checkpoint(DIRECTORIES["float32"])
    export_onnx(folder, config, tensors)
    return OnnxEngine(folder, config), Reference(config, tensors)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 100])
def test_logits_of_the_shipped_model(student, count):
    from bench.onnx.equality import logit_differences

    assert max(logit_differences(*student, list(sources(count)))) <= 1e-4


def test_the_directory_says_what_it_holds(tmp_path):
    config = make_config(vocab_size=400, cell="sru")
    tensors = random_tensors(config, 3)
    for name in ("graphs", "again"):
        export_onnx(tmp_path / name, config, tensors, positions=9)
    folder = tmp_path / "graphs"
    assert {file.name for file in folder.iterdir()} == FILES
    assert all((folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in FILES)
    fields = json.loads((folder / CONFIG).read_text("utf-8"))
    assert (fields["format"], fields["positions"]) == ("cpunmt-onnx", 9)
    assert ModelConfig.from_json(fields["model"]) == config
    parameters = sum(tensor.nbytes for tensor in tensors.values())  # stored once for all graphs
    assert (folder / WEIGHTS).stat().st_size < 3 * parameters  # of a small model a third is alignment
    assert all((folder / name).stat().st_size < 40_000 for name in GRAPHS)  # the rest is small
    assert default_positions(make_config(max_source_length=128)) == 384  # and three times as many
    assert default_positions(make_config(max_source_length=100, max_length_factor=0.5)) == 100
    assert default_positions(make_config(max_source_length=4096, max_length_factor=100.0)) == 4096


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_cell_without_a_form_in_onnx_is_refused_by_name(tmp_path, cell):
    config = make_config(cell=cell)
    with pytest.raises(CpunmtError, match=f"decoders of {cell} are not exported as ONNX, only those of ssru, sru, "):
        export_onnx(tmp_path / "graphs", config, random_tensors(config, 3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"relative_positions": 3}, {"relative_buckets": 8}])
def test_terms_of_distance_are_not_exported(options, tmp_path):
    config = make_config(**options)
    with pytest.raises(CpunmtError, match="^models with relative positions or a relative attention bias are not"):
        export_onnx(tmp_path / "graphs", config, random_tensors(config, 3))


def test_sources_without_an_end_are_not_exported(tmp_path):
    config = make_config(source_end=False)
    with pytest.raises(CpunmtError, match="^models whose sources have no </s> are not exported as ONNX"):
        export_onnx(tmp_path / "graphs", config, random_tensors(config, 1))
