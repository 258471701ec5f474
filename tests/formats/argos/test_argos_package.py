"""Packages of Argos: read as folders, with the translations of argos-translate, and refused in one line."""

import gzip
import json
import shutil

import numpy as np
import pytest

from cpunmt import ModelFileError, Options, Translator, contains_model
from cpunmt.commands.models import converted, describe
from cpunmt.corpora.model_digest import model_digest
from cpunmt.formats.any_directory import kind_of
from tests.golden.argos import COUNT, METADATA, MODELS, PREFIX, RESULTS, SENTENCES, sentences, write_package
from tests.sample_models.many_languages_model import write_ctranslate2_model
from tests.support.speeds import slow_after

CLOSE = 1e-3  # of log-probabilities


@pytest.fixture
def package(tmp_path):
    return write_package(tmp_path / "translate-en_de-1_9")


def texts(result) -> list[str]:
    return [hypothesis.text.strip() for hypothesis in result.hypotheses]


@pytest.mark.parametrize("count", slow_after(1, [len(SENTENCES), COUNT]))
@pytest.mark.parametrize("model", MODELS)
def test_sentences_are_translated_as_by_argos(model, count, tmp_path):
    """Blanks around a sentence are those of the text, not those that the model says.

    Some lists of 300 differ: CTranslate2 forbids </s> before the softmax of the first step, which adds the same to each
    log-probability, and so more to a shorter translation's score. Behind a prefix that step is the prefix's, so a
    translation may end at once, and the limit of 256 pieces counts the prefix: ours do not.
    """
    told = iter(json.loads(gzip.decompress(RESULTS.read_bytes()))[model])
    translator = Translator(write_package(tmp_path / "package", model), compute_type="float32")
    unknown, different = 0, {1: 0, 3: 0}
    for number, sentence in enumerate(sentences()[:count]):
        split = "sentence" if number < len(SENTENCES) else "none"
        for hypotheses in different:
            expected = next(told)
            found = translator.translate(sentence, options="argos", num_hypotheses=hypotheses, split=split)
            if texts(found) != [text.strip() for text in expected["texts"]]:
                different[hypotheses] += 1
                continue
            added = [
                (hypothesis.score - score) * (len(hypothesis.pieces) + (not hypothesis.truncated)) ** 0.2
                for hypothesis, score in zip(found.hypotheses, expected["scores"], strict=True)
            ]
            assert max(added) - min(added) < CLOSE
            assert model != "target prefix" or max(map(abs, added)) < CLOSE
            unknown += any("<unk>" in one.pieces for one in plain(translator, sentence, hypotheses, split))
    print(model, different)
    most = {1: 2, 3: 3} if model == "target prefix" else {1: 0, 3: 0}
    assert all(different[n] <= (most[n] if count < COUNT else {1: 5, 3: 13}[n]) for n in different)
    assert (unknown > 10) is (model == "with unknowns")


def plain(translator, sentence, count, split) -> list:
    """Returns hypotheses whose unknown pieces are not replaced."""
    given = {"options": "argos", "num_hypotheses": count, "split": split, "replace_unknowns": False}
    return translator.translate(sentence, **given).hypotheses


def test_the_target_prefix_begins_each_translation_and_is_not_part_of_it(tmp_path):
    """Also of a converted package, whatever the call says of languages, and behind a prefix of the call's own."""
    prefixed = Translator(write_package(tmp_path / "package", "target prefix"), compute_type="float32")
    other = Translator(write_package(tmp_path / "other"), compute_type="float32")
    converted(tmp_path / "package", tmp_path / "out", "float32", "dynamic", False)
    metadata = json.loads((tmp_path / "out" / "metadata.json").read_text())
    del metadata["source_language"], metadata["target_language"]  # the languages may be unknown
    (tmp_path / "out" / "metadata.json").write_text(json.dumps(metadata))
    again = Translator(tmp_path / "out")
    for sentence in SENTENCES[:3]:
        pieces = other.tokenize(sentence)
        for begun in ([], ["s"]):
            (forced,) = other.translate_batch([pieces], target_prefix=[[PREFIX, *begun]], max_length=9)
            for translator in (prefixed, again):
                (made,) = translator.translate_batch([pieces], target_prefix=[begun], max_length=8)
                assert forced.hypotheses[0] == [PREFIX, *made.hypotheses[0]]
        result = prefixed.translate(sentence)
        for options in (
            {"target_lang": None},
            {"target_lang": "German"},
            {"source_lang": "en"},
            {"options": Options()},
        ):
            assert prefixed.translate(sentence, **options).text == result.text
        assert again.translate(sentence).text == result.text
        scored = prefixed.score(sentence, "A dog.").log_probs
        (expected,) = other.score_batch([pieces], [[PREFIX, *other.target_vocabulary.surfaces("A dog.")]])
        assert np.allclose(scored, expected.log_probs[1:], atol=1e-5)
    together = prefixed.translate(list(SENTENCES), beam_size=4)
    assert together == [prefixed.translate(sentence, beam_size=4) for sentence in SENTENCES]
    assert prefixed.languages == ("en", "de")
    with pytest.raises(ValueError, match="target_lang is 'fr'"):
        prefixed.translate("A dog.", target_lang="fr")


def test_models_of_an_ensemble_have_the_same_prefix(tmp_path):
    paths = [write_package(tmp_path / name, name) for name in ("plain", "target prefix")]
    with pytest.raises(ModelFileError, match="name languages in other ways"):
        Translator(paths)


def test_a_model_of_many_languages_in_a_package_has_the_one_of_its_prefix(tmp_path):
    """Argos adds no piece of the source language, so none is added."""
    write_ctranslate2_model(tmp_path / "m2m", "m2m")
    package = tmp_path / "package"
    shutil.copytree(tmp_path / "m2m" / "converted", package / "model")
    (package / "model" / "sentencepiece.bpe.model").rename(package / "sentencepiece.model")
    (package / "metadata.json").write_text(json.dumps({**METADATA, "target_prefix": "__de__"}))
    one, many = (Translator(path, compute_type="float32") for path in (package, tmp_path / "m2m" / "converted"))
    pieces = many.tokenize(SENTENCES[0])
    (expected,) = many.translate_batch([pieces], target_prefix=[["__de__"]], max_length=9)
    assert one.translate_batch([pieces], max_length=8)[0].hypotheses[0] == expected.hypotheses[0][1:]
    assert one.languages == ("en", "de") and not one.config.languages


def test_a_converted_package_translates_alike(package, tmp_path):
    converted(package, tmp_path / "out", None, "dynamic", False)
    one, other = Translator(package), Translator(tmp_path / "out")
    assert other.options.replace_unknowns and other.languages == one.languages
    assert one.translate(SENTENCES[1], options="argos") == other.translate(SENTENCES[1], options="argos")


def test_languages_and_versions(package):
    assert kind_of(package) == "argos" and kind_of(package / "metadata.json") == "argos"
    assert contains_model(package) and contains_model(package / "sentencepiece.model")
    translator = Translator(package)
    assert translator.languages == ("en", "de")
    assert translator.metadata["package_version"] == "1.9"
    told = describe(package, False)
    assert told["format"].startswith("Argos package") and told["unknown words"]
    assert (told["source language"], told["target language"], told["package version"]) == ("en", "de", "1.9")
    size = sum(file.stat().st_size for file in package.rglob("*") if file.is_file())
    assert told["size"] == f"{size / 1e6:.1f} MB in 5 files"


def test_the_directory_in_a_package_is_a_model_too(package):
    assert kind_of(package / "model") == "ctranslate2"
    translator = Translator(package / "model")
    assert not translator.options.replace_unknowns
    assert translator.translate(SENTENCES[0]).text == Translator(package).translate(SENTENCES[0]).text


def test_the_digest_is_of_all_files(package):
    found = model_digest([package])
    for name in ("metadata.json", "sentencepiece.model", "model/model.bin", "model/config.json"):
        content = (package / name).read_bytes()
        (package / name).write_bytes(content + b" ")
        assert model_digest([package]) != found
        (package / name).write_bytes(content)
    (package / "README.md").write_text("credits")
    assert model_digest([package]) == found


def refused(path, match):
    """Asserts that the model is refused in one line."""
    with pytest.raises(ModelFileError, match=match) as raised:
        Translator(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("changed", "expected"),
    slow_after(
        4,
        [
            ({"from_code": None}, "metadata.json: from_code is None, expected the code of a language"),
            ({"to_code": ["de"]}, "metadata.json: to_code is .*'de'.*, expected the code of a language"),
            ({"target_prefix": "__de__"}, "target_prefix is '__de__', which the vocabulary lacks; expected one of its"),
            ({"type": "sbd"}, "type is 'sbd', expected 'translate'"),
            ({"from_code": 3, "to_code": ""}, "from_code is 3, .*; to_code is '', expected"),
            ({"from_code": "../en"}, "from_code is '../en', expected"),
            ({"to_code": "d" * 10000}, "to_code is 'ddd.*, expected the code"),
            ({"type": {"a": [1]}}, "type is .*, expected 'translate'"),
            ({"package_version": [1]}, r"package_version is \[1\], expected a text"),
            ({"target_prefix": "</s>"}, "target_prefix is '</s>', which ends a translation; expected one of its other"),
            ({"target_prefix": 7}, "target_prefix is 7, expected a piece of the vocabulary"),
        ],
    ),
)
def test_other_metadata(changed, expected, tmp_path):
    refused(write_package(tmp_path / "package", **changed), expected)


@pytest.mark.parametrize("changed", [{"type": "translate", "target_prefix": ""}, {"package_version": 1.5, "links": []}])
def test_metadata_that_change_nothing(changed, tmp_path):
    assert Translator(write_package(tmp_path / "package", **changed)).languages == ("en", "de")


@pytest.mark.parametrize(
    "content", slow_after(2, [b"", b"[]", b"{", b"null", b"\xff\xfe", b"[" * 100_000, b'{"from_code": "en",}'])
)
def test_metadata_that_are_no_object(content, package):
    (package / "metadata.json").write_bytes(content)
    refused(package, "^[^\n]*metadata.json")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("metadata.json", "metadata.json is missing; expected a package of Argos.*name .*model$"),
        ("sentencepiece.model", "sentencepiece.model is missing; fetch or unpack the package again"),
        ("model", "the folder model is missing; fetch or unpack the package again"),
        ("model/model.bin", "model.bin is missing"),
        ("model/shared_vocabulary.json", "no vocabulary"),
    ],
)
def test_missing_parts(name, expected, package):
    path = package / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused(package, expected)


def test_a_package_without_metadata_but_with_another_file_is_not_one(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "metadata.json").write_text(json.dumps(METADATA))
    refused(folder, "not a model's directory. Found: metadata.json. Expected .* Argos package")
    assert not contains_model(folder)


def test_parts_may_be_links(package, tmp_path):
    """Folders of the user are the user's; only archives are not trusted."""
    other = tmp_path / "other"
    other.mkdir()
    for path in package.iterdir():
        (other / path.name).symlink_to(path)
    assert Translator(other).translate(SENTENCES[0]).text == Translator(package).translate(SENTENCES[0]).text
