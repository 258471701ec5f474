"""Models of many languages against transformers: its log-probabilities, searches and tokenizers."""

import base64
import gzip
import json

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.text.languages.codes import code_of
from tests.golden.many_languages import LIMIT, READ
from tests.sample_models.many_languages_model import SHAPES, write_model
from tests.sample_models.real_model import ROOT
from tests.support.speeds import slow_after

GOLDEN = ROOT / "tests" / "golden" / "many_languages.json.gz"
CLOSE = 1e-3  # of log-probabilities
NEAR = 1e-3  # two translations whose scores differ by less may change places
OPTIONS = {"max_length": LIMIT, "max_length_factor": 100.0, "return_scores": True, "suppress_sequences": [["<pad>"]]}


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


def translator_of(folder, name, golden) -> Translator:
    write_model(folder, name, list(SHAPES).index(name), base64.b64decode(golden["spm"]))
    return Translator(folder, compute_type="float32")


def compare(translator, told, count) -> dict:
    """Returns figures of one shape: the greatest difference, equal translations, and score gaps of the others."""
    figures = {"difference": 0.0, "greedy": 0, "beam": 0, "greedy gaps": [], "beam gaps": []}
    pieces = translator.source_vocabulary.pieces
    for number in range(count):
        source, target = pieces(told["sources"][number][:-1]), pieces(told["targets"][number])
        languages = dict(zip(("source_lang", "target_lang"), told["languages"][number], strict=True))
        (scored,) = translator.score_batch([source], [target], **languages)
        assert scored.tokens == target
        differences = np.subtract(scored.log_probs, told["log_probs"][number])
        figures["difference"] = max(figures["difference"], float(np.abs(differences).max()))
        for name, beam in (("greedy", 1), ("beam", 4)):
            expected = told[name][number]
            options = {**OPTIONS, **languages, "beam_size": beam, "patience": None if beam == 1 else 1.0}
            (made,) = translator.translate_batch([source], return_end_token=True, **options)
            ids = translator.source_vocabulary.ids(made.hypotheses[0])
            if ids == expected:
                figures[name] += 1
                continue
            (theirs,) = translator.score_batch([source], [pieces(expected)], **languages)
            length = len(expected) + translator.config.target_tag
            figures[f"{name} gaps"].append(abs(sum(theirs.log_probs[: len(expected)]) / length - made.scores[0]))
    return figures


@pytest.mark.parametrize("count", slow_after(1, [25, 300]))
@pytest.mark.parametrize("name", SHAPES)
def test_log_probabilities_and_searches_are_those_of_the_library(name, count, golden, tmp_path):
    told = golden[name]
    figures = compare(translator_of(tmp_path, name, golden), told, count)
    print(name, figures)
    assert figures["difference"] < CLOSE
    for search in ("greedy", "beam"):
        assert all(gap < NEAR for gap in figures[f"{search} gaps"])
        assert figures[search] >= 0.98 * count - 1
    assert len({tuple(ids) for ids in told["greedy"]}) > len(told["greedy"]) / 3  # else this shows little


@pytest.mark.parametrize("name", SHAPES)
def test_pieces_of_languages_work_as_in_ctranslate2(name, golden, tmp_path):
    """All directions are in one batch; results begin with the piece of the target prefix."""
    translator, shape, told = translator_of(tmp_path, name, golden), SHAPES[name], golden[name]
    tags = {code_of(piece): piece for piece in shape.languages}
    sources, prefixes, expected = [], [], []
    for (source, target), ids in list(zip(told["languages"], told["sources"], strict=True))[:40]:
        pieces, named = translator.source_vocabulary.pieces(ids), {"source": [tags[source]], "target": [tags[target]]}
        sources.append([*named.get(shape.begin, []), *pieces, *named.get(shape.finish, [])])
        prefixes.append([tags[target]] if shape.prompt else None)
        languages = {"source_lang": source, "target_lang": target}
        expected += translator.translate_batch([pieces], **OPTIONS, **languages)
    made = translator.translate_batch(sources, prefixes, **(OPTIONS | {"max_length": LIMIT + shape.prompt}))
    for one, wanted, prefix in zip(made, expected, prefixes, strict=True):
        assert one.hypotheses[0] == [*(prefix or []), *wanted.hypotheses[0]]


@pytest.mark.parametrize("name", READ)
def test_texts_are_read_as_by_the_library(name, golden, tmp_path):
    translator = translator_of(tmp_path, name, golden)
    for text, ids in zip(golden["texts"], golden[name]["read"], strict=True):
        if "__" in text or "☃" in text or text != text.strip():  # there names of languages and spaces at the end count
            continue
        found = translator.source_vocabulary.encode(text)
        assert found == ids[1:], text
