"""Word vocabularies: an <unk> is replaced by the source word that gets most of its attention."""

import dataclasses
import json

import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.commands.cli import main as cpunmt_main
from cpunmt.model.config import ModelConfig
from cpunmt.search.settings import Search
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.marian_export import write_marian_npz
from quantize.commands.cli import main
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.definitions.greedy import greedy
from tests.sample_models.random_models import engine_of, random_sources, random_tensors
from tests.sample_models.recurrents import make_config
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

WORDS = 80
TEXTS = ["A small Wombat runs across the Schnackseln field", "Zwei Frauen lesen im Hortusdeliciarum eine Zeitung"]


def checkpoint(seed=4):
    """Makes a random network that sometimes outputs <unk>."""
    config = make_config(vocab_size=WORDS, encoder_dim=48)
    tensors = random_tensors(config, seed)
    tensors["output.bias"][config.unk_id] += 5
    return config, tensors


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """Returns (a packed model that may output <unk>, the same model that may not)."""
    folder = tmp_path_factory.mktemp("words")
    train_vocabulary(folder / "words.spm", WORDS, model_type="word")
    write_marian_npz(folder / "model.npz", *checkpoint())
    command = ["pack", str(folder / "model.npz"), "--vocab", str(folder / "words.spm"), "--scheme", "float32"]
    assert main([*command, str(folder / "may"), "--replace-unknowns"]) == 0
    assert main([*command, str(folder / "plain")]) == 0
    return folder / "may", folder / "plain"


def test_pieces_are_words(directories):
    vocabulary = Vocabulary(directories[0] / "vocabulary.spm")
    assert vocabulary.size == WORDS
    assert vocabulary.surfaces(TEXTS[0]) == ["▁A", "▁small▁Wombat▁runs", "▁across", "▁the", "▁Schnackseln", "▁field"]
    assert vocabulary.encode(TEXTS[0]).count(vocabulary.unk_id) == 2  # adjacent unknown words are one


def test_the_source_word_with_most_attention_is_written(directories):
    config, tensors = checkpoint()
    translator, seen = Translator(directories[0]), 0
    assert translator.options.replace_unknowns and translator.config.replace_unknowns
    reference = Reference(dataclasses.replace(config, replace_unknowns=True), tensors)
    for text in [*TEXTS, *TEXT[:5]]:
        result = translator.translate(text, split="none")
        source = translator.source_vocabulary.encode(text)
        best = beam_search(reference, source, 3 * len(source))[0]
        pieces = translator.target_vocabulary.pieces(best.ids if best.truncated else best.ids[:-1])
        for place, piece in enumerate(pieces):
            if piece == "<unk>":
                pieces[place] = translator.tokenize(text)[best.attention[place, :-1].argmax()]
                seen += 1
        assert list(result.pieces) == pieces and result.text == "".join(pieces).replace("▁", " ").strip()
        assert "⁇" not in result.text and result.attention is None
        told = translator.translate(text, split="none", replace_unknowns=False)
        assert told.pieces.count("<unk>") == len([i for i in best.ids if i == config.unk_id])
    assert seen > 5


def test_words_that_the_vocabulary_does_not_know_are_the_models_own(directories):
    """They were once cut out and put back: a word vocabulary knows few characters."""
    translator = Translator(directories[0])
    for text in TEXTS:
        assert translator.translate(text).text == translator.translate(text, protect="none").text
    address = "See https://example.org/wombat now"
    assert "https://example.org/wombat" in translator.translate(address).text  # kept as usual


def test_it_is_told(directories, capsys):
    for directory, told in zip(directories, (True, False), strict=True):
        assert cpunmt_main(["info", str(directory)]) in (0, None)
        said = capsys.readouterr().out
        assert ("unknown words:     the source's word with most attention\n" in said) == told
        assert "decoder:           1 GRU layers with attention\n" in said


def test_a_model_that_may_not_never_says_it(directories):
    translator = Translator(directories[1])
    assert not translator.options.replace_unknowns
    for text in [*TEXTS, *TEXT]:
        assert "<unk>" not in translator.translate(text, split="none").pieces


def test_one_that_may_does_not_where_that_is_disabled(directories):
    may, may_not = map(Translator, directories)
    asked = {"split": "none", "replace_unknowns": False}
    said = [text for text in [*TEXTS, *TEXT] if "<unk>" in may.translate(text, **asked).pieces]
    assert said
    for text in said:
        found = may.translate(text, disable_unk=True, **asked)
        assert found.pieces == may_not.translate(text, **asked).pieces
        assert "<unk>" not in may.translate(text, disable_unk=True, suppress_sequences=[["<unk>"]], **asked).pieces
    assert may_not.translate(TEXT, disable_unk=True) == may_not.translate(TEXT)


@pytest.mark.parametrize("beam", [1, 4])
def test_search_is_its_definition(beam):
    config, tensors = checkpoint(7)
    config = dataclasses.replace(config, replace_unknowns=True)
    sources = random_sources(3, WORDS, 8)
    made = engine_of(config, tensors).translate(sources, [2 * len(source) for source in sources], Search(beam))
    reference, unknown = Reference(config, tensors), 0
    for source, (hypothesis,) in zip(sources, made, strict=True):
        assert hypothesis.ids == beam_search(reference, source, 2 * len(source), Search(beam))[0].ids
        if beam == 1:
            assert hypothesis.ids == greedy(reference, source, max_length_factor=2).ids
        unknown += config.unk_id in hypothesis.ids
    assert unknown > 2


def test_models_without_it_are_written_as_before():
    """Older versions can read them."""
    config = make_config()
    assert "replace_unknowns" not in config.to_json()
    changed = dataclasses.replace(config, replace_unknowns=True)
    assert ModelConfig.from_json(json.loads(json.dumps(changed.to_json()))) == changed
    assert changed != config


def test_models_that_may_say_unk_and_others_do_not_translate_together(directories):
    may, plain = directories
    assert Translator([may, may]).translate(TEXTS[0]).text == Translator(may).translate(TEXTS[0]).text
    with pytest.raises(ModelFileError, match="only one of them may say <unk>; expected"):
        Translator([may, plain])
