"""MarianMT models of Hugging Face against the library itself: its log-probabilities, searches and texts."""

import base64
import gzip
import json

import numpy as np
import pytest

from cpunmt.engine.engine import Engine
from cpunmt.formats.any_directory import read_model
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.piece_vocabulary import PieceVocabulary
from tests.golden.huggingface import LIMIT
from tests.sample_models.huggingface_model import SHAPES, write_huggingface, write_vocabulary
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.sample_models.torch_writer import torch_bytes
from tests.support.speeds import slow_after

GOLDEN = ROOT / "tests" / "golden" / "huggingface.json.gz"
CLOSE = 1e-4  # of log-probabilities
NEAR = 1e-3  # two translations whose scores differ by less may change places
BEAM = Search(beam_size=4, patience=1.0)  # as that of `generate` ends


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


def engine_of(folder, shape, seed, form) -> Engine:
    """Returns the engine of a model in model.safetensors, or in a container of torch.save."""
    fields, tensors = write_huggingface(folder, shape, seed)
    if form != "safetensors":
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(torch_bytes(tensors, "F32", form))
    size = fields["decoder_vocab_size"]
    write_vocabulary(folder, train_vocabulary, separate="apart" in shape, target_size=size)
    model = read_model(folder, "float32")
    return Engine(Model(model.config, model.tensors))


def forced(engine, sources, targets) -> list:
    """Returns the log-probabilities of each target's pieces."""
    limits = [len(target) for target in targets]
    made = engine.translate(sources, limits, Search(token_log_probs=True), prefixes=targets)
    return [hypotheses[0].token_log_probs for hypotheses in made]


def compare(engine, told) -> dict:
    """Returns figures of one shape: the greatest difference, equal translations, and score gaps of the others."""
    sources = told["sources"]
    found = forced(engine, sources, told["targets"])
    differences = [
        np.abs(np.subtract(ours, theirs)).max() for ours, theirs in zip(found, told["log_probs"], strict=True)
    ]
    figures = {"difference": max(differences)}
    for name, search in (("greedy", Search()), ("beam", BEAM)):
        expected = told[name]
        made = [hypotheses[0].ids for hypotheses in engine.translate(sources, [LIMIT] * len(sources), search)]
        differing = [i for i in range(len(sources)) if made[i] != expected[i]]
        gaps = []
        for i in differing:  # our score of the library's translation, against our best
            ours, theirs = (sum(forced(engine, [sources[i]], [ids])[0]) / len(ids) for ids in (made[i], expected[i]))
            gaps.append(ours - theirs)
        figures[name] = len(sources) - len(differing)
        figures[f"{name} gaps"] = gaps
    return figures


FORMS = ("safetensors", "zip", "legacy")


@pytest.mark.parametrize(("count", "form"), slow_after(1, [(20, FORMS[0]), *((300, form) for form in FORMS)]))
@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_and_searches_are_those_of_the_library(shape, count, form, golden, tmp_path):
    engine = engine_of(tmp_path, shape, list(SHAPES).index(shape), form)
    told = {name: sentences[:count] for name, sentences in golden[shape].items()}
    figures = compare(engine, told)
    print(shape, form, figures)
    assert figures["difference"] < CLOSE
    for name in ("greedy", "beam"):
        assert all(abs(gap) < NEAR for gap in figures[f"{name} gaps"])
        assert figures[name] >= 0.98 * count - 1
    assert len({tuple(ids) for ids in told["greedy"]}) > min(count / 3, 40)  # else this shows little


def test_texts_are_those_of_the_library(golden, tmp_path):
    told = golden["tokenizer"]
    for side in ("source", "target"):
        (tmp_path / f"{side}.spm").write_bytes(base64.b64decode(told[side]))
    (tmp_path / "vocab.json").write_text(json.dumps(told["table"]))
    source, target = (PieceVocabulary(tmp_path / f"{s}.spm", tmp_path / "vocab.json", 96) for s in ("source", "target"))
    assert [source.encode(text) for text in told["texts"]] == told["ids"]
    assert [target.decode(ids) for ids in told["outputs"]] == told["decoded"]
