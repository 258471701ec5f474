"""The basic layers: sentences to `Aligned`, texts to sentences."""

import re
from dataclasses import replace

import pytest

from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned, changed_result
from cpunmt.alignment.projection import Projection
from cpunmt.decoding.call_settings import settings_of
from cpunmt.options.languages import LanguageTag, language_name
from cpunmt.options.options import Options
from cpunmt.registry.store import Languages
from cpunmt.results.results import Hypothesis, Result
from cpunmt.sentences.engine_layer import engine_layer
from cpunmt.sentences.language_layer import told
from cpunmt.sentences.sentence_layer import Cutter, sentence_layer
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.translator.test_right_to_left import BACKWARDS, TENSORS

TEXTS = ["Two dogs are playing.", "", "½ of the \u200bdogs", "a, " * 300]


@pytest.fixture(scope="module")
def shipped():
    return Translator(ROOT / "models" / "ende-tiny")


def layers(translator, split="sentence"):
    settings = settings_of(Options(split=split))
    engine = engine_layer(translator.loaded, settings)
    return engine, sentence_layer(Cutter(split, Languages("en", "de"), translator.source_vocabulary), engine)


def surfaces(aligned):
    sources, targets = aligned.source_spans, aligned.target_spans
    return [(aligned.source[slice(*sources[i])], aligned.target[slice(*targets[k])]) for i, k in aligned.links]


def test_a_sentence_and_its_links(shipped):
    engine, _ = layers(shipped)
    made = engine(TEXTS, True)
    assert [aligned.source for aligned in made] == TEXTS
    assert surfaces(made[0]) == [("Two", "Zwei"), ("dogs", "Hunde"), ("playing", "spielen"), (".", ".")]
    assert (made[1].target, list(made[1].source_spans), list(made[1].links)) == ("", [], [])
    for aligned, plain in zip(made, engine(TEXTS, False), strict=True):
        assert aligned.target == plain.target == aligned.found.text and plain.links == plain.source_spans == ()
        assert [target for _, target in aligned.links] == sorted(target for _, target in aligned.links)
        assert aligned.found.score == plain.found.score


def test_ranges_of_a_translation(shipped):
    text = "Yes. Two dogs are playing."
    (made,) = layers(shipped)[1]([text], True)
    begin = text.index("dogs")
    assert made.target[slice(*Projection(made).target_range(begin, begin + 4))] == "Hunde"
    assert made.target[slice(*Projection(made).target_range(0, 4))] == "Ja."


def test_texts_are_what_their_sentences_are(shipped):
    engine, whole = layers(shipped)
    text = "\t- Two dogs. One man!\r\n\n12\nYes "
    (made,) = whole([text], True)
    parts = engine(["Two dogs.", "One man!", "Yes"], True)
    assert made.target == f"\t- {parts[0].target} {parts[1].target}\r\n\n12\n{parts[2].target} "
    assert surfaces(made) == [pair for part in parts for pair in surfaces(part)]
    assert [sentence.source for sentence in made.found.sentences] == [(3, 12), (13, 21), (27, 30)]


def test_what_a_layer_between_changes_is_in_the_result(shipped):
    engine, _ = layers(shipped)

    def louder(texts, align):
        made = [aligned._replace(target=aligned.target.upper()) for aligned in engine(texts, align)]
        return [one._replace(found=_louder(one, align)) for one in made]

    def _louder(one, align):
        changed = [(one.target, one.target_spans)]
        return changed_result(one.found, one.source, changed, align)

    whole = sentence_layer(Cutter("sentence", Languages("en", "de"), shipped.source_vocabulary), louder)
    (made,) = whole(["Two dogs. One man."], True)
    assert made.target == made.found.text == "ZWEI HUNDE. EIN MANN."
    assert [made.target[slice(*s.target)] for s in made.found.sentences] == ["ZWEI HUNDE.", "EIN MANN."]
    for text in ("Two dogs.", " Two dogs."):
        (made,) = whole([text], False)
        assert made.found.text == made.target == text[:-9] + "ZWEI HUNDE." and len(made.found.sentences) == 1


def test_the_language_is_given_to_every_sentence(tmp_path):
    """Tests a multilingual model, whose texts begin with the name of the target language."""
    translator = Translator(KINDS["huggingface"](tmp_path / "model").path)
    assert translator.source_vocabulary.languages
    name = translator.source_vocabulary.languages[0]
    text = f" {name}  A dog. A cat!"
    made = translator.translate(text, return_alignments=True, max_length=5)
    alone = translator.translate([f"{name} A dog.", f"{name} A cat!"], split="none", max_length=5)
    assert [text[slice(*s.source)] for s in made.sentences] == ["A dog.", "A cat!"]
    assert [s.score for s in made.sentences] == [result.score for result in alone]
    assert made.text == f"{alone[0].text} {alone[1].text}"
    assert made.source_pieces.count(name) == 2
    forced = translator.translate(f"{name} 12 ", target_prefix=translator.detokenize(list(alone[0].pieces[:1])))
    assert forced.source_pieces is None and forced.pieces[:1] == alone[0].pieces[:1] and name not in forced.text
    assert "".join(text[slice(*span)] for span in made.source_spans) == "Adog.Acat!"


def test_a_model_that_reads_from_the_right(tmp_path):
    """Spans of pieces refer to the original order, in both texts."""
    write_marian_npz(tmp_path / "model.npz", BACKWARDS, TENSORS)
    train_vocabulary(tmp_path / "vocab.spm")
    translator = Translator(tmp_path, compute_type="float32")
    text = f"{TEXT[0]}. {TEXT[1]}"
    made = translator.translate(text, return_alignments=True, max_length=9)
    alone = [translator.translate(text[slice(*s.source)], split="none", max_length=9) for s in made.sentences]
    assert len(alone) == 2 and made.text == f"{alone[0].text} {alone[1].text}"
    assert "".join(text[slice(*span)] for span in made.source_spans) == "".join(text.split())
    assert "".join(made.text[slice(*span)] for span in made.hypotheses[0].spans) == "".join(made.text.split())


class Named:
    """A vocabulary in which texts may begin with a language's name of six characters."""

    def language_end(self, text):
        return 7 if text.startswith(">>de<< ") else 0


def copies(texts, align):
    """Translates each text as itself, with each word as a piece, and its first character as a kept part."""
    spans = [[match.span() for match in re.finditer(r"\S+", text)] for text in texts]
    links = [[(k, k) for k in range(len(some))] for some in spans]
    results = [
        Result((Hypothesis(text, 0.0, 0.0, False, ()),), source_spans=some)
        for text, some in zip(texts, spans, strict=True)
    ]
    return [
        Aligned(text, text, *[some] * 2, pairs, one, [((0, 1), (0, 1))][: len(text)])
        for text, some, pairs, one in zip(texts, spans, links, results, strict=True)
    ]


def cutter(target="de", split="sentence"):
    return Cutter(split, Languages("en", target), Named())


@pytest.mark.parametrize("name", ["", ">>de<< "])
def test_pieces_of_the_name_of_a_language_are_empty_behind_the_first_sentence(name):
    text = f"{name}Two dogs. A man. It is."
    (made,) = sentence_layer(cutter(), copies)([text], True)
    words = [text[slice(*span)] for span in made.source_spans]
    assert [word for word in words if word] == ["Two", "dogs.", "A", "man.", "It", "is."]
    assert words.count("") == 3 * bool(name)  # once for each sentence
    assert list(made.source_spans) == sorted(made.source_spans) and made.source_spans[0][0] >= len(name)


@pytest.mark.parametrize(
    ("text", "target", "kept"),
    [
        ("12 ", "12 ", []),
        (">>de<< 12 ", "12 ", []),
        ("- One.\n\n12\n\nTwo men. 5", None, ["- ", "O", "\n\n12\n\n", "T", " 5"]),
    ],
)
def test_the_text_around_sentences_and_their_line_breaks_stay(text, target, kept):
    (made,) = sentence_layer(cutter(), copies)([text], True)
    assert made.source == text and made.target == made.found.text == (target or text)
    assert made.found.num_source_characters == len(text)
    assert [text[slice(*source)] for source, _ in made.kept] == kept
    assert [made.target[slice(*span)] for _, span in made.kept] == kept


@pytest.mark.parametrize("change", [str, str.upper])
def test_line_breaks_of_a_sentence_stay_if_it_comes_back_unchanged(change):
    def below(texts, align):
        return [
            one._replace(target=change(one.target), found=replace(one.found, hypotheses=one.found.hypotheses * 2))
            for one in copies(texts, align)
        ]

    (made,) = sentence_layer(cutter(split=lambda text: [(0, len(text))]), below)(["Two\ndogs."], True)
    assert made.source == "Two\ndogs." and made.target == ("Two\ndogs." if change is str else "TWO DOGS.")
    texts = ["Two\ndogs.", "Two dogs."] if change is str else ["Two dogs."] * 2
    assert [hypothesis.text for hypothesis in made.found.hypotheses] == texts


@pytest.mark.parametrize(
    ("text", "split", "is_one"),
    [
        ("Two dogs.", "sentence", True),
        ("Two. A dog.", "sentence", False),
        (" a", "sentence", False),
        ("12", "sentence", False),
        ("Two. A dog.", lambda text: [(0, len(text))], True),
        ("Two dogs.", lambda text: [(0, 3), (4, 9)], False),
    ],
)
def test_what_is_one_sentence(text, split, is_one):
    assert cutter(split=split).is_one(text) is is_one


@pytest.mark.parametrize(
    ("text", "target", "unspaced"),
    [
        ("Dogs.", "de", False),
        ("Dogs.", "ja", True),
        (">>de<< Dogs.", "ja", False),
        (">>xx", "ja", True),
        ("a", None, None),
    ],
)
def test_whether_the_target_has_spaces_is_decided_by_the_language_of_the_text(text, target, unspaced):
    assert cutter(target).unspaced(text) is unspaced


def test_a_forced_beginning_needs_a_sentence():
    assert cutter().cut(">>de<<  12 ", True) == (">>de<<  12 ", [(8, 10)], 7)
    assert cutter().cut("A dog. 12", True).spans == [(0, 6)] and cutter().cut("12").spans == []


def test_each_sentence_names_the_language():
    assert language_name(Named(), ["fr", "de"]) == ">>de<< " and language_name(Named(), ["fr"]) is None
    seen = []

    def below(texts, prefixes, each):
        seen.append((texts, prefixes, each))
        return copies(texts, True)

    tag = LanguageTag("de")
    tag.name = ">>de<< "
    each = [settings_of(Options(target_lang=tag))] * 3
    texts = ["Two dogs", ">>de<< A", ""]
    made = told(below, Named())(texts, [[1], [], []], each)
    assert seen == [([">>de<< Two dogs", ">>de<< A", ""], [[1], [], []], each)]
    assert [one.source for one in made] == texts
    assert made[0].source_spans == list(made[0].found.source_spans) == [(0, 0), (0, 3), (4, 8)]
    assert made[0].kept == [((0, 0), (0, 1))] and made[0].target == ">>de<< Two dogs"
    assert made[1:] == copies(texts[1:], True)
