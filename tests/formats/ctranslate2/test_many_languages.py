"""Models of many languages from CTranslate2's directories: its own outputs, and those of the same model elsewhere."""

import base64
import gzip
import json

import numpy as np
import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.commands.models import describe
from cpunmt.formats.any_directory import read_checkpoint, read_metadata
from cpunmt.formats.language_families import MBART, NLLB, family_of
from tests.formats.huggingface.test_many_languages_golden import GOLDEN
from tests.golden.many_languages import LIMIT
from tests.golden.many_languages_ctranslate2 import RESULTS, written_by_users
from tests.sample_models.many_languages_model import SHAPES, put_tokenizer_json, write_ctranslate2_model
from tests.sample_models.small_vocabulary import TEXT
from tests.support.speeds import slow_after

CLOSE = 1e-3  # of log-probabilities
PAIR = {"source_lang": "en", "target_lang": "de"}


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


@pytest.fixture(scope="module", params=SHAPES)
def model(request, golden, tmp_path_factory):
    """Returns (shape, pieces, a Translator of CTranslate2's directory, one of Hugging Face's)."""
    folder, number = tmp_path_factory.mktemp(request.param), list(SHAPES).index(request.param)
    pieces = write_ctranslate2_model(folder, request.param, number, base64.b64decode(golden["spm"]))
    both = (Translator(folder / kind, compute_type="float32") for kind in ("converted", "source"))
    return request.param, pieces, *both


@pytest.fixture(scope="module", params=SHAPES)
def biased(request, golden, tmp_path_factory):
    """Returns (shape, pieces, a Translator) of the recorded directory."""
    folder, number = tmp_path_factory.mktemp(request.param), list(SHAPES).index(request.param)
    spm = base64.b64decode(golden["spm"])
    pieces = write_ctranslate2_model(folder, request.param, number, spm, is_biased=True)
    return request.param, pieces, Translator(folder / "converted", compute_type="float32")


BEAMS = {
    "greedy": {},
    "beam": {"beam_size": 4, "patience": 1.0},
    "longer": {"beam_size": 4, "patience": 1.0, "length_penalty": 0.0, "min_length": 1},
}
COUNTS = slow_after(1, [20, 300])


@pytest.mark.parametrize("count", COUNTS)
def test_pieces_of_languages_give_what_ctranslate2_gives(biased, count, golden):
    """Its users write them into sources and prefixes."""
    name, pieces, translator = biased
    told = json.loads(gzip.decompress(RESULTS.read_bytes()))[name]
    asked, tags = written_by_users(name, pieces, golden[name], count), int(SHAPES[name].prompt)
    targets = [[*(prefix or []), *target] for prefix, target in zip(asked["prefixes"], asked["targets"], strict=True)]
    scored = [one.log_probs[tags:] for one in translator.score_batch(asked["sources"], targets)]
    expected = told["log_probs"][:count]
    difference = max(np.abs(np.subtract(*pair)).max() for pair in zip(scored, expected, strict=True))
    print(name, "log-probabilities", difference)
    assert difference < CLOSE
    options = {"max_length": LIMIT + tags, "max_length_factor": 100.0}
    made = translator.translate_batch(asked["sources"], asked["prefixes"], **options)
    assert [one.hypotheses[0][:tags] for one in made] == [prefix or [] for prefix in asked["prefixes"]]
    ids = [translator.target_vocabulary.ids(one.hypotheses[0][tags:]) for one in made]
    assert ids == told["greedy"][:count]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("search", BEAMS)
def test_languages_give_what_ctranslate2_gives(biased, search, count, golden):
    """Scores leave out the piece of the target language then, as CTranslate2's leave out prefixes."""
    name, _, translator = biased
    told = json.loads(gzip.decompress(RESULTS.read_bytes()))[name][search]
    options = {"max_length": LIMIT, "max_length_factor": 100.0, "return_scores": True, **BEAMS[search]}
    same = 0
    for pair, source, expected in list(zip(golden[name]["languages"], golden[name]["sources"], told, strict=True))[
        :count
    ]:
        languages = dict(zip(("source_lang", "target_lang"), pair, strict=True))
        source = translator.source_vocabulary.pieces(source[:-1])
        (made,) = translator.translate_batch([source], **options, **languages)
        if translator.target_vocabulary.ids(made.hypotheses[0]) == expected:
            same += 1
            continue
        # CTranslate2 did not let it end at once
        assert (name, search) == ("mbart", "beam")
        (made,) = translator.translate_batch([source], num_hypotheses=4, **options, **languages)
        assert [] in made.hypotheses
    print(name, search, same)
    assert same >= 0.8 * count


def test_it_is_the_model_of_the_other_format(model):
    _, _, translator, other = model
    assert translator.config.languages == other.config.languages and translator.languages == other.languages
    assert (translator.config.source_tag, translator.config.source_tag_last) == (
        other.config.source_tag,
        other.config.source_tag_last,
    )
    for options in ({}, {"beam_size": 4}):
        made, expected = (one.translate(TEXT, max_length=9, **PAIR, **options) for one in (translator, other))
        assert [result.text for result in made] == [result.text for result in expected]
        assert np.allclose([result.score for result in made], [result.score for result in expected], atol=1e-4)


def test_without_the_tokenizers_settings(tmp_path):
    """NLLB's languages stand before the source then, and SMaLL-100 is known by its layers, which are others here."""
    write_ctranslate2_model(tmp_path / "small", "small", with_tokenizer=False)
    write_ctranslate2_model(tmp_path / "legacy", "nllb-legacy", with_tokenizer=False)
    for name in ("small", "legacy"):
        config = read_checkpoint(tmp_path / name / "converted").config
        assert (config.source_tag, config.source_tag_last, config.target_tag) == ("source", False, True)
        assert read_metadata(tmp_path / name / "converted")["model_family"] in ("M2M-100", "NLLB-200")


def test_families_are_named(model):
    """SMaLL-100 by its tokenizer's name; the reader of metadata, which reads no weights, says the same."""
    name, _, translator, other = model
    titles = {"m2m": "M2M-100", "small": "SMaLL-100", "mbart": "mBART-50"}
    assert translator.metadata["model_family"] == other.metadata["model_family"] == titles.get(name, "NLLB-200")
    assert read_metadata(translator.path) == translator.metadata
    assert describe(translator.path, False)["model family"] == titles.get(name, "NLLB-200")


def test_tokenizer_json_in_place_of_the_sentencepiece_model(tmp_path):
    write_ctranslate2_model(tmp_path, "nllb")
    folder = tmp_path / "converted"
    expected = Translator(folder).translate(TEXT[0], **PAIR)
    put_tokenizer_json(folder / "sentencepiece.bpe.model", ["<s>", "<pad>", "</s>", "<unk>"], SHAPES["nllb"].languages)
    assert Translator(folder).translate(TEXT[0], **PAIR) == expected
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelFileError, match="tokenizer.json: vocabulary: not supported: a model of type None"):
        Translator(folder)


def test_words_that_look_like_languages_are_none():
    languages = [f"x{number}" for number in range(5)] + ["en_XX", "de_DE", "fr_XX", "<mask>"]
    assert family_of(languages) == (MBART, ("en_XX", "de_DE", "fr_XX"))
    for words in (["en_US", "and", "pt_BR"], ["deu_Latn"], ["the", "dog"], []):
        assert family_of(words) is None


def test_a_language_that_was_added_is_behind_the_others():
    """Converters write the pieces of a tokenizer in the order of their ids: <mask>, then what was added."""
    vocabulary = ["a", "abc_Latn", "b", *NLLB.pieces, "<mask>", "tyv_Cyrl", "madeupword0"]
    assert family_of(vocabulary) == (NLLB, (*NLLB.pieces, "tyv_Cyrl"))


@pytest.mark.parametrize("kind", ["int8", "int16", "float16"])
def test_types(kind, tmp_path):
    write_ctranslate2_model(tmp_path, "mbart", 3, kind=kind)
    made, expected = (Translator(tmp_path / name, compute_type="float32").score(TEXT[0], TEXT[1], **PAIR)
                      for name in ("converted", "source"))  # fmt: skip
    assert abs(made.score - expected.score) < 0.1
