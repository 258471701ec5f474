"""The facts of Firefox's tests of HTML. Its models are not here: their words and alignments are given."""

import pytest

from cpunmt.markup.pages import translate_html
from tests.support.html_layers import given

# source and target pieces, for each target piece the source piece that it comes from, HTML, translation
CASES = {
    # Firefox: `<b>The</b> blue <b>dog</b>.` and `<b>El</b> perro <b>azul</b>.`: one element becomes two. Here it stays
    # one, around the range that fits best.
    "es-en": ("El| perro| azul|.", "The| blue| dog|.", [0, 2, 1, 3], "<b>El perro</b> azul.", "<b>The blue dog</b>."),
    "en-es": ("The| blue| dog|.", "El| perro| azul|.", [0, 2, 1, 3], "<b>The blue</b> dog.", "El perro <b>azul</b>."),
    "fr-es": ("Le| chien| bleu|.", "El| perro| azul|.", [0, 1, 2, 3], "<b>Le chien</b> bleu.", "<b>El perro</b> azul."),
    "zh-en": ("蓝色|的|狗|。", "The| blue| dog|.", [0, 0, 2, 3], "蓝色的<b>狗</b>。", "The blue <b>dog</b>."),
    "zh-en, a piece over the tag": (
        "蓝色|的狗|。",
        "The| blue| dog|.",
        [0, 0, 1, 2],
        "蓝色的<b>狗</b>。",
        "The blue <b>dog</b>.",
    ),
    "zh-en, sentences": (
        "蓝色|的|狗|。|它|在|公园|里|跑|。",
        "The| blue| dog|.| It| runs| in| the| park|.",
        [0, 0, 2, 3, 4, 8, 5, 6, 6, 9],
        "蓝色的<b>狗</b>。<i>它在公园里跑</i>。",
        "The blue <b>dog</b>. <i>It runs in the park</i>.",
    ),
    "en-zh": (
        "The| blue| dog|.| He| runs|.",
        "蓝|狗|。|他|跑|。",
        [1, 2, 3, 4, 5, 6],
        "The <b>blue</b> dog. <i>He runs</i>.",
        "<b>蓝</b>狗。<i>他跑</i>。",
    ),
    # Firefox: the space goes into <b>: `<b>The blue dog. </b><u>`
    "zh-en, whole sentences": (
        "狗|。|它|跑|。|\n\n|它|开心|。|它|玩|。",
        "Dog|.| It| runs|.|\n\n|It| is| happy|.| It| plays|.",
        [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11],
        "<b>狗。</b><u><i>它跑。\n\n它开心。</i></u>它玩。",
        "<b>Dog.</b> <u><i>It runs.\n\nIt is happy.</i></u> It plays.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_documented_or_better(name):
    source, target, origins, html, expected = CASES[name]
    sources, targets = source.split("|"), target.split("|")
    matrix = [[float(column == origin) for column in range(len(sources))] for origin in origins]
    layer = given("".join(sources), "".join(targets), sources, targets, matrix)
    assert translate_html([html], layer) == [expected]
