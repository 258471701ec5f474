"""Protected parts come back unchanged, whatever the model does."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.protection.sentences import SPANS, beside
from cpunmt import Translator
from cpunmt.sentence_layers.capitals import capitals_layer
from cpunmt.sentence_layers.protection.cutting import is_boundary
from cpunmt.sentence_layers.protection.finding import Finder, KeptPart
from cpunmt.sentence_layers.protection.layer import protection_layer, variants
from cpunmt.sentences.engine_layer import engine_layer
from tests.sample_models.real_model import ROOT
from tests.sentence_layers.translators import hostile, identity
from tests.support.command_line import sentences

WORDS = st.sampled_from(["the", "dog", "sees", "Tom", "50", "a", "(", ")", ",", "good", "X1", '"', "Peter's"])
MARKED = st.lists(st.one_of(WORDS, st.sampled_from(SPANS)), max_size=12)


@pytest.fixture(scope="module")
def tiny():
    """Returns (the lowest layer, a finder) of models/ende-tiny."""
    translator = Translator(ROOT / "models" / "ende-tiny")
    vocabulary = translator.source_vocabulary
    finder = Finder(knows=lambda text: vocabulary.unk_id not in vocabulary.encode(text))
    return engine_layer(translator.loaded, translator._default), finder


def check(source, made, align):
    """Checks that every span occurs as often as in the source, and that offsets fit both texts."""
    assert made.source == source
    for span in SPANS:
        assert made.target.count(span) >= source.count(span), (span, made.target)
    if not align:
        assert not made.links and not made.target_spans
        return
    for text, spans in ((made.source, made.source_spans), (made.target, made.target_spans)):
        assert all(0 <= begin <= end <= len(text) for begin, end in spans)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert all(s < len(made.source_spans) and t < len(made.target_spans) for s, t in made.links)
    assert list(made.links) == sorted(made.links, key=lambda link: link[::-1])


@given(MARKED, st.booleans())
def test_without_a_model_nothing_changes(words, align):
    source = " ".join(words)
    made = protection_layer(identity, Finder(knows=str.isascii))([source], align)[0]
    check(source, made, align)
    assert "".join(made.target.split()) == "".join(source.split())  # a space between brackets may be lost


@given(st.lists(MARKED, max_size=3), st.integers(0, 1000), st.booleans())
@settings(max_examples=300)
def test_the_worst_model_loses_and_doubles_nothing(lines, seed, align):
    texts = [" ".join(words) for words in lines]
    finder = Finder(knows=str.isascii)
    layer = protection_layer(hostile(seed), finder)
    made = layer(texts, align)
    for text, one in zip(texts, made, strict=True):
        check(text, one, align)
        for unit in finder.units(text):
            kept = text[unit.begin : unit.end]
            if kept in SPANS and re.sub(r"\W", "", kept) and text.count(kept) == 1:
                assert one.target.count(kept) == 1
        assert layer([text], align) == [one]  # independent of other texts


def test_texts_without_spans_are_handed_on_in_one_call():
    calls = []

    def below(texts, align):
        calls.append((list(texts), align))
        return identity(texts, align)

    layer = protection_layer(below, Finder())
    assert [made.target for made in layer(["A dog.", "Two dogs."], False)] == ["A dog.", "Two dogs."]
    assert calls == [(["A dog.", "Two dogs."], False)]
    layer(["A dog.", "Ask {name} now.", "Two dogs."], False)
    assert len(calls) == 3 and calls[1] == (["A dog.", "Two dogs."], False)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("A man (see https://x.org) is here.", "A man (see https://x.org) is here."),
        ("A man (https://x.org) is here.", "A man (https://x.org) is here."),
        ("Hello😀 you", "Hello😀 you"),
        ("😀 Hello, 😀 you! 😀", "😀 Hello, 😀 you! 😀"),
        ("  {a}  and\t{b} ", None),
        ("@jane, where is the dog?", "@jane, where is the dog?"),
        ("It is here, @jane.", "It is here, @jane."),
        ("{name}'s dog", "{name}'s dog"),
        ("{x}", "{x}"),
        (" {x} ! ", " {x} ! "),
    ],
)
def test_spaces_and_punctuation_around(source, target):
    made = protection_layer(identity, Finder())([source], True)[0].target
    assert made == target if target is not None else made.split() == source.split()


def test_what_is_kept_is_linked_to_itself(tiny):
    below, finder = tiny
    source = "Ask {name} to open https://example.com/x now."
    made = protection_layer(below, finder)([source], True)[0]
    links = [(source[slice(*made.source_spans[s])], made.target[slice(*made.target_spans[t])]) for s, t in made.links]
    for span in ("{name}", "https://example.com/x"):
        assert [pair for pair in links if span in "".join(pair)] == [(span, span)]


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_spans_in_real_sentences(tiny, count):
    below, finder = tiny
    lines = sentences(1000)
    lines = (lines * (count // len(lines) + 1))[:count]
    marked = beside(lines, lines, 3, seed=count)
    layer = protection_layer(below, finder)
    texts = [one.text for one in marked]
    made = layer(texts, True)
    assert [aligned.target for aligned in layer(texts, False)] == [aligned.target for aligned in made]
    for one, aligned in zip(marked, made, strict=True):
        assert [aligned.target.count(span) for span in one.spans] == [1] * len(one.spans), aligned.target
        check(one.text, aligned, True)
        found = aligned.found
        assert found.text == aligned.target and len(found.hypotheses[0].spans) == len(found.pieces)
        assert len(found.source_spans) == len(found.source_pieces)


def test_a_name_is_translated_around_and_a_smiley_is_not(tiny):
    below, finder = tiny
    texts = ["{user} is my friend.", "A man is riding 😀 a bicycle.", "A man is riding a bicycle."]
    named, smiling, plain = (made.target for made in protection_layer(below, finder)(texts, False))
    assert named == "{user} ist mein Freund."
    assert smiling.replace("😀 ", "") == plain and "😀" in smiling


def test_alternatives_keep_it_too():
    translator = Translator(ROOT / "models" / "ende-tiny")
    settings_ = translator.call_settings({"beam_size": 4, "num_hypotheses": 4}, None)
    layer = protection_layer(engine_layer(translator.loaded, settings_), Finder())
    texts = ["{user} is my friend.", "I saw 😀 {user} and https://x.org yesterday."]
    for text, made in zip(texts, layer(texts, False), strict=True):
        spans = [span for span in ("{user}", "https://x.org", "😀") if span in text]
        assert made.found.text == made.target and made.found.attention is None
        assert made.found.hypotheses
        for hypothesis in made.found.hypotheses:
            assert [hypothesis.text.count(span) for span in spans] == [1] * len(spans)


def test_the_language_at_the_beginning_stays_there():
    seen = []

    def below(texts, align):
        seen.extend(texts)
        return identity(texts, align)

    layer = protection_layer(below, Finder(knows=lambda text: "<" not in text), lambda text: len(">>de<< "))
    layer([">>de<< {name} is here 😀"], False)
    assert seen and all(text.startswith(">>de<< ") for text in seen)


def test_capitals_around_a_span(tiny):
    below, finder = tiny
    layer = protection_layer(capitals_layer(below), finder)
    target = layer(["TWO DOGS AND {count} MEN ARE PLAYING."], False)[0].target
    assert target.count("{count}") == 1 and target.replace("{count}", "").isupper()
    assert "HUNDE" in target


@pytest.mark.parametrize(("count", "combinations"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 2)])
def test_all_combinations_of_few_parts_are_tried(count, combinations):
    made = list(variants("a b c d", [KeptPart(2 * number, 2 * number + 1, False) for number in range(count)]))
    assert len(made) == len(set(made)) == combinations
    assert all(made[0]) and not any(made[-1])
    sizes = [sum(stand_in is not None for stand_in in one) for one in made]
    assert sizes == sorted(sizes, reverse=True)


def test_a_part_outside_the_syntax_or_at_a_word_is_always_cut_out():
    loose, glued, firm = KeptPart(0, 1, True), KeptPart(1, 2, False), KeptPart(3, 4, False)
    assert list(variants("ab c", [loose, glued])) == [(None, None)]
    (first, last) = variants("ab c", [loose, firm])
    assert first[0] is None and first[1] is not None and last == (None, None)


@pytest.mark.parametrize(
    ("text", "boundaries"),
    [
        ("ab", [0, 2]),
        ("a b", [0, 1, 2, 3]),
        ("a.b", [0, 2, 3]),
        ("a .", [0, 1, 2, 3]),
        ("(a", [0, 1, 2]),
        ("猫犬a", [0, 1, 3]),
    ],
)
def test_boundaries_are_not_inside_words(text, boundaries):
    assert [at for at in range(len(text) + 1) if is_boundary(text, at)] == boundaries


@pytest.mark.parametrize("own", [re.compile("dogs"), lambda text: [(4, 8)] if text[4:8] == "dogs" else []])
def test_what_a_call_protects_is_kept_in_the_first_text_of_a_translator(own):
    """Its first texts have no sign of protected parts, and nothing looked for them before."""
    translator = Translator(ROOT / "models" / "ende-tiny")
    assert "dogs" in translator.translate(["Two dogs are playing."], protect=[own])[0].text
