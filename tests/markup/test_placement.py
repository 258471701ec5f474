"""Where tags stand: one range for each element, near what it came from."""

import pytest

from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.pages import translate_html
from tests.support.html_layers import given, shuffled


def place(html, source, target, origins):
    """`source` and `target`: pieces, parted by |; `origins`: of each target piece the source piece, None: no link."""
    sources, targets = source.split("|"), target.split("|")
    size = len(sources)
    matrix = [
        [float(column == (size if origin is None else origin)) for column in range(size + 1)] for origin in origins
    ]
    return translate_html([html], given("".join(sources), "".join(targets), sources, targets, matrix))[0]


def test_a_stray_link_does_not_stretch_an_element():
    html = "the <b>big dog</b> eats a small cat now"
    source = "the| big| dog| eats| a| small| cat| now"
    target = "der| große| Hund| frisst| nun| eine| kleine| Katze| na"
    assert place(html, source, target, [0, 1, 2, 3, 7, 4, 5, 6, 1]) == (
        "der <b>große Hund</b> frisst nun eine kleine Katze na"
    )


def test_a_verb_in_two_parts_has_its_tag_around_the_larger():
    source, target = "he| has| seen| the| big| dog", "er| hat| den| großen| Hund| gesehen"
    assert place("he <b>has seen</b> the big dog", source, target, [0, 1, 3, 4, 5, 2]) == (
        "er hat den großen Hund <b>gesehen</b>"
    )


def test_elements_change_places_with_their_words():
    assert place("<b>one</b> <i>two</i>", "one| two", "zwei| eins", [1, 0]) == "<i>zwei</i> <b>eins</b>"
    assert place("<a>x <b>one</b> <i>two</i></a> y", "x| one| two| y", "y| zwei| eins| x", [3, 2, 1, 0]) == (
        "y <a><i>zwei</i> <b>eins</b> x</a>"
    )


def test_elements_that_mix_stay_apart():
    found = place("<b>a c</b> <i>b d</i>", "a| c| b| d", "aa| bb| cc| dd", [0, 2, 1, 3])
    assert found == "<b>aa bb cc</b> <i>dd</i>"


def test_a_word_has_the_tag_of_its_heavier_part():
    assert place("<b>train</b> station", "train| station", "Bahn|hof", [0, 1]) == "<b>Bahnhof</b>"
    assert place("a <b>ticket</b> for stations", "a| ticket| for| stations", "ein| Bahn|schein", [0, 3, 1]) == (
        "ein <b>Bahnschein</b>"
    )


def test_a_drop_capital():
    assert place("<b>W</b>orld now", "World| now", "nun| Welt", [1, 0]) == "nun <b>Welt</b>"


def test_an_element_whose_words_were_left_out():
    """It takes a word beside it that no other element has; marks are no words."""
    assert place("a <b>very</b> big dog", "a| very| big| dog", "ein| großer| Hund", [0, 2, 3]) == (
        "<b>ein</b> großer Hund"
    )
    assert place("<i>a</i> <b>very</b> <u>big</u> dog", "a| very| big| dog", "ein| großer| Hund", [0, 2, 3]) == (
        "<i>ein</i> <u>großer</u> <b>Hund</b>"
    )
    assert place("a<b>!</b> b", "a|!| b", "aa| bb", [0, 2]) == "aa <b></b>bb"


def test_nothing_is_left_of_the_text():
    assert translate_html(["a <b>b</b> <img> c"], lambda texts, align: [Aligned("a b c", "")]) == ["<b></b> <img>"]


def test_points_go_with_their_neighbours():
    assert place("one<sup></sup> <img> two", "one| two", "zwei| eins", [1, 0]) == "<img> zwei eins<sup></sup>"
    assert place("one<img>, two", "one|,| two", "zwei|,| eins", [2, 1, 0]) == "zwei, eins<img>"
    assert place("<b>one <img> two</b> three", "one| two| three", "drei| zwei| eins", [2, 1, 0]) == (
        "drei <b><img> zwei eins</b>"
    )


def test_unspaced_scripts_are_cut_at_pieces():
    assert place("the <b>blue</b> dog", "the| blue| dog", "蓝色|的|狗", [1, 1, 2]) == "<b>蓝色的</b>狗"
    assert place("<b>猫</b>と犬", "猫|と|犬", "a| cat| and| a| dog", [0, 0, 1, 2, 2]) == "<b>a cat</b> and a dog"


def test_marks_of_letters_are_part_of_words():
    assert place("a <b>friend</b> b", "a| friend| b", "\u092e\u093f|\u0924\u094d\u0930| b| a", [1, 1, 2, 0]) == (
        "<b>\u092e\u093f\u0924\u094d\u0930</b> b a"
    )


@pytest.mark.parametrize("depth", [5, 31, 32, 33, 100])
def test_deep_elements(depth):
    """From a depth on, tags part texts: nothing moves over them."""
    html = "x " + "".join(f"<b id={number}>w{number} " for number in range(depth)) + "</b>" * depth + " y"
    (result,) = translate_html([html], shuffled)
    at = -1
    for number in range(depth):
        assert result.count(f"<b id={number}>") == 1
        assert (at := result.index(f"<b id={number}>")) > (-1 if number == 0 else result.index(f"<b id={number - 1}>"))
    assert at > 0 and result.count("</b>") == depth
