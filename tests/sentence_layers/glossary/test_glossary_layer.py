"""The glossary layer above a real model."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned
from cpunmt.options.glossary.glossary import Glossary
from cpunmt.registry.store import Languages
from cpunmt.sentence_layers.terms import METHODS, glossary_layer
from cpunmt.sentences.sentence_layer import Cutter, sentence_layer
from tests.sample_models.real_model import SHIPPED
from tests.sentence_layers.glossary.test_placing import checked, is_said
from tests.support.aligned_layers import layers_of
from tests.support.command_line import sentences
from tests.support.generated_lines import generated_lines

TERMS = {
    "dog": "Köter",
    "dogs": "Köter",
    "man": "Kerl",
    "train station": "Hauptbahnhof",
    "bicycle": "Drahtesel",
    "woman": "Frau",
    "snow": "Pulverschnee",
    "red": "ro\u0301t",
    "a.*": "🦄",
    "street": "Straße 車",
}


@pytest.fixture(scope="module")
def shipped():
    return Translator(SHIPPED)


@pytest.fixture(scope="module")
def layers(shipped):
    return layers_of(shipped)


def layer_of(layers, terms, method, uses=None):
    below, forced = layers
    above = glossary_layer(Glossary(terms), below, method, forced)

    def layer(texts, align):
        found = above(texts, align)
        if uses is not None:
            uses.update({aligned.source: aligned.found.glossary for aligned in found if aligned.found.glossary})
        return found

    return layer


def without_use(aligned):
    return aligned._replace(found=replace(aligned.found, glossary=None))


@pytest.mark.parametrize("method", METHODS)
def test_terms_are_used(layers, method):
    uses = {}
    texts = ["The man is riding a bicycle.", "Two women.", "Dogs!", "A WOMAN IS WALKING A DOG.", ""]
    found = layer_of(layers, TERMS, method, uses)(texts, False)
    assert [aligned.source for aligned in found] == texts
    assert found[0].target == "Der Kerl fährt auf einem Drahtesel." or found[0].target.startswith("Der Kerl fährt")
    assert "Drahtesel" in found[0].target and uses[texts[0]].applied == (("man", "Kerl"), ("bicycle", "Drahtesel"))
    assert found[2].target.startswith("Köter") and uses[texts[2]].applied == (("dogs", "Köter"),)
    assert set(uses) == {texts[0], texts[2], texts[3]}
    assert all(aligned.links == () == aligned.target_spans for aligned in found)


@pytest.mark.parametrize("method", METHODS)
def test_without_terms_nothing_changes(layers, method):
    below, _ = layers
    lines = [*sentences(30), *generated_lines(60, seed=11, short=True)]
    for align in (False, True):
        expected = below(lines, align)
        for terms in ({}, {"zyzzyva": "Rüsselkäfer"}):
            assert layer_of(layers, terms, method)(lines, align) == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_text_does_not_depend_on_its_neighbours(layers, method):
    lines = [*sentences(60), "The dog saw the man at the train station in the snow."]
    layer = layer_of(layers, TERMS, method)
    for align in (False, True):
        together = layer(lines, align)
        order = random.Random(3).sample(range(len(lines)), len(lines))
        assert [layer([lines[number]], align)[0] for number in order] == [together[number] for number in order]
    assert [aligned.target for aligned in layer(lines, True)] == [aligned.target for aligned in layer(lines, False)]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_reported_is_so(layers, method):
    """In 200 real sentences reported terms are in the target, other words stay the model's, and spans are right."""
    below, _ = layers
    lines, uses = sentences(200), {}
    before, after = below(lines, True), layer_of(layers, TERMS, method, uses)(lines, True)
    touched = 0
    for line, plain, found in zip(lines, before, after, strict=True):
        use = uses.get(line)
        matches = Glossary(TERMS).matches(line)
        assert (use is None) == (not matches)
        checked(found)
        if use is None or not use.applied:
            assert without_use(found) == plain
        if use is not None:
            assert sum(map(len, (use.applied, use.already, use.not_found, use.conflict))) == len(matches)
            for _, target in use.applied + use.already:
                assert is_said(target, found.target)
            touched += bool(use.applied)
    assert touched > 15


LETTERS = "abz AB.,'-*(\\$^|{}é車ห\u0301\u200d😀ß İ"


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(LETTERS, min_size=1, max_size=6), st.text(LETTERS, min_size=1, max_size=6), max_size=6),
    st.lists(st.text(LETTERS, max_size=30), max_size=4),
    st.sampled_from(METHODS),
)
def test_laws_of_any_glossary(layers, terms, texts, method):
    terms = {" ".join(source.split()): target for source, target in terms.items()}
    terms = {source: target for source, target in terms.items() if source and target.strip()}
    uses = {}
    found = layer_of(layers, terms, method, uses)(texts, True)
    assert [aligned.source for aligned in found] == texts
    for text, aligned in zip(texts, found, strict=True):
        checked(aligned)
        use = uses.get(text)
        for _, target in use.applied + use.already if use else ():
            assert is_said(target, aligned.target)


def test_terms_that_the_vocabulary_cannot_write_are_put_in(layers):
    """A forced beginning would read "⁇", so the word is replaced by alignment."""
    found = layer_of(layers, {"dog": "🦄車"}, "constrain")(["The dog is in the snow."], True)[0]
    assert "🦄車" in found.target and "\u2047" not in found.target
    checked(found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("I like dogs.", "Ich mag Köter."),
        ("She saw two dogs in the park.", "Sie sah zwei Köter im Park."),
    ],
)
def test_a_term_is_not_said_beside_the_words_that_it_replaces(layers, source, expected):
    """Forced some words earlier, a term may be said twice: "Ich Köter mag Hunde"."""
    assert layer_of(layers, TERMS, "constrain")([source], False)[0].target == expected


def test_a_text_longer_than_the_model_takes(layers):
    """Beginnings are forced only upon a text's first part, so terms are replaced."""
    text = " ".join(sentences(40)) + " The zebra is in the garden."
    below, _ = layers
    plain = below([text], False)[0].target
    uses = {}
    found = layer_of(layers, {"garden": "Park"}, "constrain", uses)([text], True)[0]
    assert abs(len(found.target) - len(plain)) < 20 * len(Glossary({"garden": "Park"}).matches(text)), uses
    checked(found)


def test_constrained_needs_a_model_that_can():
    with pytest.raises(ValueError, match="method is 'constrain', but this model cannot"):
        glossary_layer(Glossary({"a": "b"}), lambda texts, align: [], "constrain")


def test_one_call_of_the_layer_below_for_all():
    calls = []

    def below(texts, align):
        calls.append((list(texts), align))
        return [Aligned(text, text, [(0, len(text))], [(0, len(text))], [(0, 0)]) for text in texts]

    layer = glossary_layer(Glossary({"dog": "Hund"}), below)
    layer(["a", "b"], False)
    layer(["a", "dog", "b"], True)
    layer(["dog", "dog"], False)
    layer(["a", "dog", "b"], False)
    assert calls == [
        (["a", "b"], False),
        (["a", "dog", "b"], True),
        (["dog", "dog"], True),
        (["a", "dog", "b"], True),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_below_whole_texts(shipped, layers, method):
    """Spans and alignments of a text with several sentences refer to the whole text."""
    cutter = Cutter("sentence", Languages("en", "de"), shipped.source_vocabulary)
    layer = sentence_layer(cutter, layer_of(layers, TERMS, method))
    text = "  The dog runs.\n\nA man is riding a bicycle. It is red.\n"
    for align in (True, False):
        found = layer([text, "no term."], align)[0]
        assert found.target.startswith("  Der Köter") and "Drahtesel" in found.target and "Kerl" in found.target
        assert found.target.count("\n") == 3 and found.found.text == found.target
    result = layer([text], True)[0].found
    for sentence in result.sentences:
        for source, target in sentence.alignments:
            said = {text[slice(*source)].strip(" .").lower(), result.text[slice(*target)]}
            assert ("Drahtesel" in said) <= ("bicycle" in said or "bic" in said), said
    assert layer([text], False)[0].found.hypotheses[0].spans is None


def test_alignments_that_nobody_asked_for_are_not_told(layers):
    found = layer_of(layers, TERMS, "constrain")(["The dog runs.", "No term."], False)
    for aligned in found:
        assert aligned.found.source_pieces is None and aligned.found.alignments is None


@pytest.mark.parametrize("text, expected", [("artist", "Maler"), ("Artist!", "Maler!"), ("ARTIST", "MALER")])
def test_a_word_alone_is_its_term_and_nothing_else(shipped, text, expected):
    """After the forced term, a model would continue with its own word for it."""
    found = shipped.translate(text, glossary={"artist": "Maler"}, return_alignments=True)
    assert found.text == expected and found.glossary.applied
