"""A term replaces the words that came from it; offsets and links stay right."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.alignment.aligned import Aligned
from cpunmt.alignment.edits import Edit, shared_out
from cpunmt.options.glossary.glossary import Glossary
from cpunmt.results.glossary_use import use_of
from cpunmt.sentence_layers.terms import _beginnings, planned
from tests.support.aligned_layers import word_layer
from tests.support.linear_time import takes_linear_time
from tests.support.speeds import slow_after

GERMAN = {"The": "Der", "the": "der", "dog": "Köter", "sees": "sieht", "a": "eine", "cat": "Katze", "Dogs": "Köter"}
TRANSLATE = word_layer(lambda word: GERMAN.get(word, word))


def aligned(text, translate=TRANSLATE):
    return translate([text], True)[0]


def checked(found):
    """Checks that spans ascend within their texts, and that links are valid and ascend by target."""
    for text, spans in ((found.source, found.source_spans), (found.target, found.target_spans)):
        assert all(0 <= begin <= end <= len(text) for begin, end in spans)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(0 <= s < len(found.source_spans) and 0 <= t < len(found.target_spans) for s, t in found.links)
    assert [t for _, t in found.links] == sorted(t for _, t in found.links)
    return found


def is_said(term, text):
    """Returns whether the text contains the term, as written, with an initial capital or in capitals."""
    return any(form in text for form in (term, term[:1].upper() + term[1:], term.upper()))


def used(text, terms, translate=TRANSLATE):
    """Returns (target, use of terms), and each target word with the source word that it is linked to."""
    glossary, before = Glossary(terms), aligned(text, translate)
    matches = glossary.matches(text)
    plan = planned(before, matches)
    after = checked(shared_out(before, plan.edits))
    linked = [
        (after.target[slice(*after.target_spans[t])], text[slice(*after.source_spans[s])])
        for s, t in after.links
        if after.target_spans[t][0] < after.target_spans[t][1]
    ]
    return after.target, use_of(matches, plan.fates), linked


def test_replaced_and_linked():
    target, use, linked = used("The dog sees a cat.", {"dog": "Hund"})
    assert target == "Der Hund sieht eine Katze." and use.applied == (("dog", "Hund"),)
    assert ("Hund", "dog") in linked and ("Katze", "cat") in linked and len(linked) == 6


def test_a_term_of_several_words():
    target, use, linked = used("The dog sees a cat.", {"sees a": "blickt auf eine"})
    assert target == "Der Köter blickt auf eine Katze." and use.applied
    assert linked[2:4] == [("blickt", "sees"), ("auf eine", "a")]


def test_nothing_if_it_is_there():
    for term in ("sieht", "Katze"):
        target, use, _ = used("The dog sees a cat.", {"sees": "sieht", "cat": "Katze"})
        assert target == "Der Köter sieht eine Katze." and len(use.already) == 2 and not use.applied, term


def test_a_term_that_stands_elsewhere_is_not_said_twice():
    """The links point to another word than the term; a second occurrence of the term needs a place of its own."""
    translate = word_layer({"The": "Der", "dog": "Köter", "barks": "Hund"}.get)
    target, use, _ = used("The dog barks", {"dog": "Hund"}, translate)
    assert target == "Der Köter Hund" and use.already and not use.applied
    translate = word_layer({"dog": "Köter", "barks": "Hund", "dogs": "Katze"}.get)
    target, use, _ = used("dog barks dogs", {"dog": "Hund", "dogs": "Hund"}, translate)
    assert target.count("Hund") == 2 and len(use.already) == len(use.applied) == 1


def test_an_ending_is_the_terms():
    _, use, _ = used("The dog sees a cat.", {"dog": "Köte"})
    assert use.already
    target, use, _ = used("The dog sees a cat.", {"dog": "Köt"})  # too short a term for an ending
    assert use.applied and target == "Der Köt sieht eine Katze."
    target, use, _ = used("The cat.", {"cat": "Kat"})
    assert target == "Der Kat."


def test_a_capital_at_the_beginning():
    assert used("Dogs see.", {"Dogs": "die Hunde"})[0] == "Die Hunde see."
    assert used("Dogs see.", {"Dogs": "Köter"})[1].already
    assert used("The dog.", {"the": "jener"})[0] == "Jener Köter."
    assert used("the dog.", {"the": "jener"})[0] == "jener Köter."
    assert used("“The dog.”", {"the": "jener"})[0] == "“Jener Köter.”"


def test_as_often_as_it_stands_in_the_source():
    target, use, _ = used("a dog a dog", {"dog": "Hund"})
    assert target == "eine Hund eine Hund" and len(use.applied) == 2
    words = iter(["Hund", "Köter", "Hund"])
    mixed = word_layer(lambda word: next(words) if word == "dog" else word)
    target, use, _ = used("a dog a dog a dog", {"dog": "Hund"}, mixed)
    assert target == "a Hund a Hund a Hund" and len(use.applied) == 1 and len(use.already) == 2


def test_what_is_another_terms_is_a_conflict():
    one = Aligned("hot dog", "Wurst", [(0, 3), (4, 7)], [(0, 2), (2, 5)], [(0, 0), (1, 1)])
    glossary = Glossary({"hot": "heiß", "dog": "Hund"})
    matches = glossary.matches("hot dog")
    plan = planned(one, matches)
    use = use_of(matches, plan.fates)
    assert use.applied == (("hot", "heiß"),) and use.conflict == (("dog", "Hund"),)
    assert shared_out(one, plan.edits).target == "Heiß"


def test_without_a_link_nothing_is_done():
    one = Aligned("the dog", "da", [(0, 3), (4, 7)], [(0, 2)], [(0, 0)])
    glossary = Glossary({"dog": "Hund"})
    plan = planned(one, glossary.matches("the dog"))
    assert plan.fates == ["not_found"] and plan.edits == []
    assert planned(Aligned("the dog", ""), glossary.matches("the dog")).fates == ["not_found"]


def test_a_stray_link_takes_nothing_away():
    """The longer of two runs is replaced, not everything between them."""
    source, target = "the dog sleeps", "der Kläffer schläft nun"
    spans = [(0, 3), (4, 7), (8, 14)]
    one = Aligned(source, target, spans, [(0, 3), (4, 11), (12, 19), (20, 23)], [(0, 0), (1, 1), (2, 2), (1, 3)])
    plan = planned(one, Glossary({"dog": "Hund"}).matches(source))
    assert shared_out(one, plan.edits).target == "der Hund schläft nun"


def test_pieces_of_words_and_spaces():
    """A piece that includes a space or a punctuation mark keeps it."""
    one = Aligned("a dog.", "ein Köter.", [(0, 1), (2, 5)], [(0, 3), (3, 6), (6, 10)], [(0, 0), (1, 1), (1, 2)])
    plan = planned(one, Glossary({"dog": "Hund"}).matches("a dog."))
    after = checked(shared_out(one, plan.edits))
    assert after.target == "ein Hund." and list(after.target_spans) == [(0, 3), (3, 8), (8, 9)]
    before_spans = [(0, 3), (4, 5), (5, 7), (7, 9), (9, 10)]
    cut = one._replace(target_spans=before_spans, links=[(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)])
    after = checked(shared_out(cut, plan.edits))
    assert list(after.target_spans) == [(0, 3), (4, 4), (4, 8), (8, 8), (8, 9)]
    around = Aligned("a dog.", "ein Köter.", [(0, 1), (2, 5)], [(0, 10)], [(1, 0)])
    after = checked(shared_out(around, [Edit(4, 9, "Hund", [1])]))
    assert after.target == "ein Hund." and list(after.target_spans) == [(0, 9)]


WORDS = st.sampled_from(["dog", "cat", "a", "The", "車", ".", "hot dog", "Straße", "😀", "THE DOG", "don't", ","])
TERM = st.sampled_from(["dog", "cat", "a", "hot dog", "車", "the", "dog cat", "Straße"])
MADE = st.sampled_from(["Hund", "ein Hund", "x", "電車", "Hunde", "a-b", "dog", "( . )", "İ"])


@given(st.lists(WORDS, max_size=12), st.dictionaries(TERM, MADE, max_size=5), st.randoms(use_true_random=False))
def test_laws_of_any_alignment(words, terms, generator):
    """Terms reported as present are present; spans and links stay right; text outside edits stays."""
    text = " ".join(words)
    copy = word_layer(lambda word: word[::-1] if len(word) > 2 else word)([text], True)[0]
    count = len(copy.source_spans)
    links = [(generator.randrange(count), target) for target in range(count) if generator.random() < 0.8]
    before = copy._replace(links=links)
    matches = Glossary(terms).matches(text)
    plan = planned(before, matches)
    after = checked(shared_out(before, plan.edits))
    assert after.source == text and after.source_spans is before.source_spans
    for match, fate in zip(matches, plan.fates, strict=True):
        assert fate in ("applied", "already", "not_found", "conflict")
        if fate in ("applied", "already"):
            assert is_said(match.target, after.target)
    rest, end, kept = [], 0, []
    place = 0
    for edit in plan.edits:
        rest.append(before.target[end : edit.begin])
        place = after.target.index(edit.text, place) + len(edit.text)
        end = edit.end
        kept.append(edit.text)
    rest.append(before.target[end:])
    assert after.target == "".join(part + text for part, text in zip(rest, [*kept, ""], strict=True))
    if not plan.edits:
        assert after is before


@pytest.mark.slow
@pytest.mark.parametrize("words", slow_after(1, ["dog cat", "dog dog", "cat x"]))
def test_long_texts_take_linear_time(words):
    terms = Glossary({"dog": "Hund", "dog cat": "Hundekatze", **{f"w{n}": f"dog {n}" for n in range(2000)}})
    generator = random.Random(2)

    def content(count):
        text = " ".join(generator.choice([words, f"w{generator.randrange(2000)}"]) for _ in range(count))
        return aligned(text), terms.matches(text)

    takes_linear_time(lambda made: checked(shared_out(made[0], planned(*made).edits)), content, 2_000)


def test_a_term_that_is_all_that_is_said_is_all_that_stands_there():
    long = word_layer(lambda word: {"dog": "mein kleiner Hund"}.get(word, word))
    assert used("dog", {"dog": "Köter"}, long)[0] == "Köter"
    assert used("“dog”!", {"dog": "Köter"}, TRANSLATE)[0].strip("“”! ") == "Köter"
    assert used("a dog", {"dog": "Köter"}, long)[0] != "Köter"  # the source has more words


def test_a_translation_without_a_word_has_no_place_for_it():
    silent = word_layer(lambda word: "...")
    assert used("dog", {"dog": "Köter"}, silent)[0] == "..."


@pytest.mark.parametrize(
    ("begin", "done", "expected"),
    [
        (9, 0, ["Ein Hund läuft", "Ein läuft", "Läuft"]),
        (9, 1, ["Ein Hund läuft", "Ein läuft"]),
        (9, 4, ["Ein Hund läuft", "Ein läuft"]),
        (9, 5, ["Ein Hund läuft"]),
        (15, 0, ["Ein Hund rennt läuft", "Ein Hund läuft", "Ein läuft"]),  # two words before
    ],
)
def test_a_term_may_replace_two_words_before_the_replaced_ones(begin, done, expected):
    assert _beginnings("Ein Hund rennt weg", Edit(begin, begin + 3, "läuft"), done) == expected
