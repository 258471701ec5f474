"""Packages of Argos with `bpe.model`: the texts of argos-translate, converted packages, and hostile ones."""

import json
import shutil

import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.commands.models import converted, describe
from cpunmt.formats.any_directory import kind_of
from cpunmt.formats.packed.packed_directory import verify
from tests.golden.argos_subwords import COUNT, PAIRS, SIGNS, read_results, sentences, write_package
from tests.support.speeds import slow_after

TEXT = "The man's dog is in the house, isn\u2019t it? A woman in a red hat sits on a bench."


@pytest.fixture(scope="module")
def told():
    return read_results()


@pytest.fixture(scope="module")
def package(tmp_path_factory, told):
    return write_package(tmp_path_factory.mktemp("translate-en_de-1_0"), told["codes"])


def different(path, told, pair, count) -> list[str]:
    """Returns the sentences whose translation is not argos-translate's; such a one is among the best two of ours.

    CTranslate2 forbids </s> before the softmax of the first step, which adds the same to each log-probability and so
    more to the score of a shorter translation.
    """
    translator = Translator(path, compute_type="float32")
    found = []
    for sentence, expected in list(zip(sentences(), told["pairs"][pair], strict=False))[:count]:
        assert translator.tokenize(sentence) == expected["0.2"].split()
        assert translator.detokenize(expected["0.2"].split()) == expected["joined"]
        result = translator.translate(sentence, options="argos", split="none", num_hypotheses=2)
        if result.text != expected["text"]:
            print([(hypothesis.text, hypothesis.log_prob) for hypothesis in result.hypotheses], expected["text"])
            assert expected["text"] in [hypothesis.text for hypothesis in result.hypotheses]
            found.append(sentence)
    return found


def test_some_sentences_are_translated_as_by_argos(package, told):
    assert different(package, told, "en-de", 20) == []


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_sentences_are_translated_as_by_argos(pair, told, tmp_path):
    path = write_package(tmp_path / "package", told["codes"], pair.split("-"))
    assert len(different(path, told, pair, COUNT)) <= 3


def test_a_converted_package_translates_alike(package, tmp_path):
    converted(package, tmp_path / "out", None, "dynamic", False)
    verify(tmp_path / "out")
    one, other = Translator(package), Translator(tmp_path / "out")
    assert other.options.replace_unknowns and other.languages == one.languages == ("en", "de")
    for text in (TEXT, *SIGNS):
        given = {"options": "argos", "return_alignments": True}
        assert one.translate(text, **given) == other.translate(text, **given)
    assert describe(tmp_path / "out", False)["subwords"] == "of subword-nmt, of Moses' tokens: en to de"
    converted(package, tmp_path / "same", None, "dynamic", False)
    shutil.copytree(tmp_path / "same", tmp_path / "lacking")
    (tmp_path / "lacking" / "vocabulary.bpe").unlink()
    refused(tmp_path / "lacking", "vocabulary.bpe: not found, but the model needs it")
    metadata = json.loads((tmp_path / "same" / "metadata.json").read_text())
    tableless = shutil.copytree(tmp_path / "same", tmp_path / "tableless")
    del metadata["files"]["vocabulary.json"]
    (tableless / "metadata.json").write_text(json.dumps(metadata))
    refused(tableless, "vocabulary.bpe: the vocabulary has no </s>|vocabulary: the piece .* occurs twice")
    (tmp_path / "same" / "vocabulary.bpe").write_text("a\n")
    refused(tmp_path / "same", "vocabulary.bpe: subword codes: line 1 is 'a'")


def test_both_sides_have_their_language(told, tmp_path):
    path = write_package(tmp_path / "package", told["codes"], ("fr", "cs"))
    translator = Translator(path)
    assert translator.tokenize("l'homme")[0] == "l@@" and translator.config.moses_languages == ("fr", "cs")
    assert translator.source_vocabulary is not translator.target_vocabulary
    alike = Translator(write_package(tmp_path / "alike", told["codes"], ("en", "en")))
    assert alike.source_vocabulary is alike.target_vocabulary


def test_alignments_prefixes_and_glossaries(package):
    translator = Translator(package)
    result = translator.translate(TEXT, return_alignments=True)
    words = [TEXT[begin:end] for begin, end in result.source_spans]
    assert {"man", "'s", "\u2019t", "."} <= set(words)
    best = result.hypotheses[0]
    assert len(best.spans) == len(best.pieces) and any(begin < end for begin, end in best.spans)
    assert translator.translate("The dog.", target_prefix="The man's").text.startswith("The man 's")
    made = translator.translate("The dog is in the house.", glossary={"house": "Haus-Nr. 5"})
    assert "Haus-Nr. 5" in made.text
    assert "<b>" in translator.translate("The <b>dog</b> is in the house.", html=True).text


def test_sentencepiece_is_preferred(package, tmp_path):
    """As in argos-translate; a model of another vocabulary is refused."""
    shutil.copytree(package, tmp_path / "package")
    (tmp_path / "package" / "sentencepiece.model").write_bytes(b"")
    refused(tmp_path / "package", "sentencepiece.model")


@pytest.mark.parametrize(
    ("content", "expected"),
    slow_after(1, [(b"a b c\n", "subword codes: line 1 is 'a b c'"), (b"", "subword codes is empty")]),
)
def test_broken_codes(content, expected, package, tmp_path):
    shutil.copytree(package, tmp_path / "package")
    (tmp_path / "package" / "bpe.model").write_bytes(content)
    assert kind_of(tmp_path / "package") == "argos"
    refused(tmp_path / "package", f"bpe.model: {expected}")


def refused(path, match):
    """Asserts that the model is refused in one line."""
    with pytest.raises(ModelFileError, match=match) as raised:
        Translator(path)
    assert "\n" not in str(raised.value)
