"""Word models with two YAML tables, through all steps of a model's life."""

import json

import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.decoding.batching import cut_sentences
from quantize.commands.cli import main as quantize
from tests.sample_models.foreign_directories import words, words_of
from tests.sample_models.small_vocabulary import TEXT

TEXTS = [*TEXT[::2], "A small Wombat runs across the Schnackseln field", "dog"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return words(tmp_path_factory.mktemp("words") / "marian")


@pytest.fixture(scope="module")
def packed(written, tmp_path_factory):
    """Packs the same model so that it may output <unk>, from separately named files."""
    out = tmp_path_factory.mktemp("packed") / "model"
    files = [f"--{side}-vocab={written.path / f'train.{short}.vocab.yml'}" for side, short in SIDES.items()]
    options = ["--scheme", "float32", "--replace-unknowns"]
    assert quantize(["pack", str(written.path / "model.npz"), str(out), *files, *options]) == 0
    return out


SIDES = {"source": "src", "target": "trg"}


def test_ids_are_those_of_the_tables(written):
    translator = Translator(written.path)
    for vocabulary, lines in ((translator.source_vocabulary, TEXT[::2]), (translator.target_vocabulary, TEXT[1::2])):
        table = words_of(lines)
        for line in lines:
            assert vocabulary.encode(line) == [*(table[word] for word in line.split()), 0]
            assert vocabulary.decode(vocabulary.encode(line)) == line
    assert translator.tokenize("A small  dog") == ["A", "small", "dog"]


def test_a_packed_model_has_the_tables_and_nothing_else(packed, written):
    assert {path.name for path in packed.iterdir()} == {
        *("config.json", "metadata.json", "weights.safetensors", "source.json", "target.json"),
    }
    translator, plain = Translator(packed), Translator(written.path, compute_type="float32")
    assert translator.translate(TEXTS, vocabulary="full") == translator.translate(TEXTS)
    for ours, theirs in (
        (translator.source_vocabulary, plain.source_vocabulary),
        (translator.target_vocabulary, plain.target_vocabulary),
    ):
        assert ours.pieces(range(ours.size)) == theirs.pieces(range(theirs.size))
    (packed / "target.json").rename(packed / "kept")
    try:
        with pytest.raises(ModelFileError, match="target.json: not found, but the model needs it"):
            Translator(packed)
    finally:
        (packed / "kept").rename(packed / "target.json")


def test_unknown_words_are_those_of_the_source(packed):
    translator, seen = Translator(packed), 0
    for text in TEXTS:
        result = translator.translate(text, split="none", return_alignments=True)
        told = translator.translate(text, split="none", replace_unknowns=False)
        best = result.attention.argmax(1)
        source = text.split()
        expected = [source[best[i]] if word == "<unk>" else word for i, word in enumerate(told.pieces)]
        seen += told.pieces.count("<unk>")
        assert list(result.pieces) == expected and result.text == " ".join(expected)
        assert told.text == " ".join(told.pieces)
        spans = [result.text[begin:end] for begin, end in result.hypotheses[0].spans]
        assert spans == expected
        assert [text[begin:end] for begin, end in result.source_spans] == source
    assert seen > 3


def test_a_long_sentence_is_cut_between_words(packed):
    translator = Translator(packed)
    text = " ".join(TEXT[::2] * 20)
    result = translator.translate(text, split="none", return_alignments=True)
    assert list(result.source_pieces) == text.split() and len(result.source_pieces) > 900
    ids = translator.source_vocabulary.encode(text)
    parts = cut_sentences([ids], None, translator.options, translator.config, translator.source_vocabulary)
    texts = [translator.source_vocabulary.decode(part.ids) for part in parts]
    assert len(texts) > 5 and " ".join(texts) == text and all(part.endswith((".", "!")) for part in texts)


def test_a_broken_table_is_one_line(written, tmp_path):
    broken = words(tmp_path / "broken").path
    table = broken / "train.trg.vocab.yml"
    lines = table.read_text("utf-8").splitlines()
    table.write_text("\n".join(lines[:-1]), "utf-8")
    with pytest.raises(
        ModelFileError, match=f"trg.vocab.yml: not the vocabulary of this model .size {len(lines) - 1}, "
    ):
        Translator(broken)
    table.write_text("\n".join([*lines[:-1], "word"]), "utf-8")
    with pytest.raises(ModelFileError, match="expected a piece and its id, 'piece: 17'"):
        Translator(broken)
    table.write_text(json.dumps({"</s>": 0, "<unk>": 1, "\u2581a": 2}))
    with pytest.raises(ModelFileError, match="a table of SentencePiece's pieces"):
        Translator(broken)
