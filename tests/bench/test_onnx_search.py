"""The driver of the ONNX graphs: its searches against their definition, alone and in batches, full and by shortlist."""

import numpy as np
import pytest

from bench.onnx.engine import OnnxEngine
from bench.onnx.graphs import prepare
from cpunmt.search.settings import Search
from quantize.onnx.export import export_onnx
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.sample_models.random_models import random_shortlist, random_sources, random_tensors
from tests.sample_models.real_model import DIRECTORIES, engine, sources
from tests.sample_models.transformers import NAMED, make_config

CASES = {
    "ssru": {},
    "tied": {"decoder_parameters": (0, 0)},
    **{name: NAMED[name] for name in ("opus", "average", "sru")},
}
LIMIT, NEAR = 10, 2e-3


@pytest.fixture(scope="module", params=CASES)
def model(request, tmp_path_factory):
    """(folder of prepared graphs, definition)."""
    folder = tmp_path_factory.mktemp("graphs")
    config = make_config(**CASES[request.param], vocab_size=64)
    tensors = random_tensors(config, 6)
    export_onnx(folder / "exported", config, tensors, positions=40)
    prepare(folder / "exported", folder / "prepared")
    return folder / "prepared", Reference(config, tensors)


@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("beam", [1, 4])
def test_searches_equal_their_definition(model, batch, beam):
    folder, reference = model
    search = Search(beam, beam, length_penalty=0.6, word_penalty=0.1)
    given = random_sources(8, 64, 7, longest=20)
    limits = [LIMIT - i % 3 for i in range(len(given))]
    made = OnnxEngine(folder, reference.config, batch=batch).translate(given, limits, search)
    ends = 0
    for source, limit, found in zip(given, limits, made, strict=True):
        expected = beam_search(reference, source, limit, search)
        assert [h.ids for h in found] == [e.ids for e in expected]
        assert [h.truncated for h in found] == [e.truncated for e in expected]
        if beam > 1:
            np.testing.assert_allclose([h.score for h in found], [e.score for e in expected], atol=NEAR)
        ends += not found[0].truncated
    assert ends > 0  # some end before the limit: batches shrink


def test_a_shortlist_restricts_a_sentence_to_its_candidates(model):
    folder, reference = model
    shortlist = random_shortlist(3, 64)
    driver = OnnxEngine(folder, reference.config, shortlist)
    for source in random_sources(9, 64, 5):
        candidates = shortlist.candidates(source, shared=True)
        for search in (Search(), Search(3, 3)):
            expected = beam_search(reference, source, LIMIT, search, candidates)
            assert [h.ids for h in driver.translate([source], [LIMIT], search)[0]] == [e.ids for e in expected]
        full = driver.translate([source], [LIMIT], Search(full=True))[0]
        assert full[0].ids == beam_search(reference, source, LIMIT)[0].ids


def test_what_the_driver_cannot_do_is_refused(model):
    driver = OnnxEngine(model[0], model[1].config)
    with pytest.raises(ValueError, match="min_length"):
        driver.translate([[5, 0]], [3], Search(min_length=1))


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """Folders of the shipped model's graphs, by scheme."""
    from quantize.checkpoints.float_checkpoint import read_float_checkpoint

    folder = tmp_path_factory.mktemp("student")
    export_onnx(folder / "exported", *read_float_checkpoint(DIRECTORIES["float32"]))
    for scheme in ("float32", "int8"):
        prepare(folder / "exported", folder / scheme, int8=scheme == "int8")
    return folder


def test_the_shipped_model_translates_as_our_engine_does(student):
    ours, given = engine("float32"), list(sources(20))
    limits = [2 * len(source) for source in given]
    driver = OnnxEngine(student / "float32", ours.model.config, ours.shortlist)
    for search in (Search(), Search(full=True), Search(beam_size=3, full=True)):
        expected = [hypotheses[0].ids for hypotheses in ours.translate(given, limits, search)]
        alone = [driver.translate([source], [limit], search)[0] for source, limit in zip(given, limits, strict=True)]
        assert [hypotheses[0].ids for hypotheses in alone] == expected
        if search.full:
            assert [found[0].ids for found in driver.translate(given, limits, search)] == expected


def test_dynamic_int8_is_close_to_float32(student):
    """It multiplies integers, and most translations are equal."""
    import onnx

    products = [n.op_type for n in onnx.load(student / "int8" / "step.onnx").graph.node if "MatMul" in n.op_type]
    assert products.count("MatMulInteger") == 13 and products.count("MatMul") == 4  # the latter: of attention
    ours, given = engine("float32"), list(sources(20))
    limits = [2 * len(source) for source in given]
    driver = OnnxEngine(student / "int8", ours.model.config)
    made, expected = driver.translate(given, limits, Search()), ours.translate(given, limits, Search(full=True))
    same = sum(found[0].ids == wanted[0].ids for found, wanted in zip(made, expected, strict=True))
    assert same >= 12
