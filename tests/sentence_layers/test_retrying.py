"""The option `retry`: doubtful sentences get a second translation, which stays if it is less doubtful."""

import json
import shutil

import pytest

from cpunmt import CpunmtError, Options, Pivot, Translator
from cpunmt.sentence_layers.retrying import _is_better, _wider, _without_repeats
from tests.sample_models.real_model import SHIPPED

GOOD = "Two dogs are playing in the snow."
LOST = "The tunnel is the eighth major passage discovered in San Diego since 2006."  # the number
LOOP = "He admitted cocaine possession at an earlier hearing."
TEXTS = [GOOD, LOST, LOOP, f"{GOOD} {LOST}"]


@pytest.fixture(scope="module")
def tiny():
    return Translator(SHIPPED)


def said(result):
    best = result.hypotheses[0]
    return best.text, best.pieces, best.score, best.retried


def test_a_doubtful_sentence_gets_a_beam(tiny):
    first, made = tiny.translate(TEXTS), tiny.translate(TEXTS, retry="beam")
    assert [result.doubts for result in first] == [(), ("numbers",), ("loop",), ("numbers",)]
    assert [result.retried for result in made] == [False, True, True, True]
    assert not any(result.doubts for result in made) and not any(result.retried for result in first)
    wide, other = tiny.translate(TEXTS, beam_size=4), tiny.translate(LOOP, beam_size=4, no_repeat_ngram_size=4)
    assert [result.text for result in made[:3]] == [first[0].text, wide[1].text, other.text]
    assert made[3].text == f"{first[0].text} {wide[1].text}"  # one sentence of two
    assert [said(tiny.translate(text, retry="beam")) for text in TEXTS] == list(map(said, made))
    cached = Translator(SHIPPED, sentence_cache=9)
    for _ in range(2):
        assert [said(one) for one in cached.translate(TEXTS, retry="beam")] == list(map(said, made))
        assert [said(one) for one in cached.translate(TEXTS)] == list(map(said, first))
    assert made[1].to_dict()["retried"] and "retried" not in made[0].to_dict()
    assert "".join(tiny.generate_text(TEXTS[3], retry="beam")) == made[3].text


def test_only_loops_get_a_second_try(tiny):
    first, made = tiny.translate(TEXTS), tiny.translate(TEXTS, retry="loops")
    assert [result.retried for result in made] == [False, False, True, False]
    assert [said(one) for one in (*made[:2], made[3])] == [said(one) for one in (*first[:2], first[3])]
    assert said(made[2]) == said(tiny.translate(LOOP, retry="beam"))
    assert [said(tiny.translate(text, retry="loops")) for text in TEXTS] == list(map(said, made))
    assert "".join(tiny.generate_text(LOOP, retry="loops")) == made[2].text


@pytest.mark.parametrize(
    ("second", "first", "better"),
    [
        ([], ["loop"], True),
        (["numbers"], ["loop", "numbers"], True),
        (["loop"], ["loop", "truncated"], True),
        (["loop"], ["numbers", "truncated"], False),
        (["numbers"], ["truncated"], False),
        (["loop"], ["loop"], False),
    ],
)
def test_a_second_translation_has_fewer_doubts_and_no_new_loop(second, first, better):
    assert _is_better(second, first) == better


@pytest.mark.parametrize("way", ["loops", "beam"])
def test_a_text_that_repeats_itself_may_be_translated_so(tiny, way):
    text = "dogs, " * 12 + "dogs."
    first = tiny.translate(text)
    assert first.repeats and "loop" not in first.doubts
    made = tiny.translate(text, retry=way)
    assert made.retried == (way == "beam" and bool(first.doubts)) and made.repeats


@pytest.mark.parametrize(
    ("options", "second"),
    [
        ({}, {"beam_size": 4, "no_repeat_ngram_size": 4}),
        ({"no_repeat_ngram_size": 6}, {"beam_size": 4, "no_repeat_ngram_size": 4}),
        ({"no_repeat_ngram_size": 2}, {"beam_size": 4, "no_repeat_ngram_size": 2}),
        ({"beam_size": 64}, {"no_repeat_ngram_size": 4}),
        ({"sampling_topk": 2, "seed": 1}, {"no_repeat_ngram_size": 4}),
        ({"return_alternatives": True, "num_hypotheses": 2}, {"no_repeat_ngram_size": 4}),
    ],
)
def test_the_second_search_of_a_loop(options, second):
    """Samples and alternatives keep their search, and repeat no groups of pieces."""
    assert _wider(Options(**options)) | _without_repeats(Options(**options)) == second


def test_alternatives_that_loop(tiny):
    chosen = {"return_alternatives": True, "num_hypotheses": 2, "max_length": 40}
    first, made = tiny.translate(LOOP, **chosen), tiny.translate(LOOP, **chosen, retry="loops")
    other = tiny.translate(LOOP, **chosen, no_repeat_ngram_size=4)
    assert first.repeats and not other.repeats and made.retried
    assert [one.pieces for one in made.hypotheses] == [one.pieces for one in other.hypotheses]


def test_a_chain_tries_loops_again_in_models_that_recommend_it(tmp_path):
    loop = "Rangnick scolding for refs: Mane is no diver"
    ende, deen = Translator(SHIPPED.parent / "ende"), Translator(SHIPPED.parent / "deen-student")
    german = ende.translate(loop)
    assert german.retried and ende.translate(loop, retry="none").repeats
    assert Pivot([ende, deen]).translate(loop).text == deen.translate(german.text).text
    plain = deen.translate(ende.translate(loop, retry="none").text).text
    assert Pivot([ende, deen]).translate(loop, retry="none").text == plain
    assert Pivot([deen, ende]).text_call({}).settings.options.retry == "loops"
    assert Pivot([ende, deen]).text_call({}).settings.options.retry is None


def test_a_model_may_recommend_it(tmp_path):
    """A call overrides it, as any default."""
    model = tmp_path / "model"
    shutil.copytree(SHIPPED, model, ignore=shutil.ignore_patterns("float16"))
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "retry": "loops"}), "utf-8")
    made, plain = Translator(model), Translator(SHIPPED)
    assert made.options.retry == "loops" and plain.options.retry is None
    assert [said(one) for one in made.translate(TEXTS)] == [said(one) for one in plain.translate(TEXTS, retry="loops")]
    assert [said(one) for one in made.translate(TEXTS, retry="none")] == list(map(said, plain.translate(TEXTS)))
    assert [said(one) for one in made.translate(TEXTS, retry="beam")] == [
        said(one) for one in plain.translate(TEXTS, retry="beam")
    ]
    pieces = [made.tokenize(LOOP)]
    assert made.translate_batch(pieces) == plain.translate_batch(pieces)
    chain = Pivot([made, SHIPPED.parent / "deen-student"]), Pivot([plain, SHIPPED.parent / "deen-student"])
    assert list(map(said, chain[0].translate(TEXTS, retry="none"))) == list(map(said, chain[1].translate(TEXTS)))
    (model / "config.json").write_text(json.dumps({**config, "retry": "sentences"}), "utf-8")
    with pytest.raises(CpunmtError, match="config: retry is 'sentences', expected one of 'loops'"):
        Translator(model).translate(LOOP)


def test_a_second_translation_that_is_no_better_is_dropped(tiny):
    made = tiny.translate(LOST, retry="beam", max_length=4)
    assert "truncated" in made.doubts and not made.retried
    assert said(made) == said(tiny.translate(LOST, max_length=4))


def test_sentence_by_sentence(tiny):
    sentences, short = [GOOD, "A man is riding a bicycle.", "Two men are talking."], {"split": "none", "max_length": 9}
    first = tiny.translate(" ".join(sentences), **short)
    made = tiny.translate(" ".join(sentences), **short, retry="sentences")
    assert first.doubts == ("truncated",) and not first.retried and len(first.sentences) == 1
    alone = [result.text for result in tiny.translate(sentences, **short)]
    assert made.text == " ".join(alone) and made.retried and made.doubts == () and len(made.sentences) == 3
    assert not tiny.translate(LOST, retry="sentences").retried  # it is one sentence


def test_prefixes_markup_and_lists_of_several(tiny):
    assert tiny.translate(LOST, target_prefix="Der", retry="beam").text.startswith("Der")
    page = tiny.translate(f"<p>{GOOD}</p><p>A <b>dog</b>. {LOST}</p>", html=True, retry="beam")
    assert page.retried and page.doubts == ()
    several = tiny.translate(LOST, num_hypotheses=3, retry="beam")
    assert len(several.hypotheses) == 3 and all(one.retried == several.retried for one in several.hypotheses)


def test_a_pivot_tries_again(tiny):
    pivot = Pivot([tiny, SHIPPED.parent / "deen-student"])
    first, made = pivot.translate(TEXTS), pivot.translate(TEXTS, retry="beam")
    for one, other in zip(first, made, strict=True):
        assert len(other.doubts) < len(one.doubts) if other.retried else said(one) == said(other)
    assert any(one.doubts for one in first) and pivot.translate([], retry="beam") == []


@pytest.mark.parametrize(
    ("options", "beam"),
    [
        ({}, 4),
        ({"sampling_topk": 5}, None),
        ({"beam_size": 3}, 6),
        ({"beam_size": 32}, 64),
        ({"beam_size": 33}, None),
        ({"beam_size": 2, "num_beam_groups": 2, "diversity_penalty": 1.0}, 4),
        ({"beam_size": 3, "num_beam_groups": 3, "diversity_penalty": 1.0}, 6),
    ],
)
def test_the_beam_of_a_second_try(options, beam):
    assert _wider(Options(**options)) == ({"beam_size": beam} if beam else {})


def test_no_wider_beam_than_the_widest(tiny):
    assert not tiny.translate(LOST, beam_size=64, max_length=3, retry="beam").retried


@pytest.mark.parametrize("apart", [{"sampling_topk": 5}, {"return_alternatives": True}])
def test_samples_have_no_beam(tiny, apart):
    with pytest.raises(
        ValueError, match="^retry is 'beam', expected 'loops', 'sentences' or 'none': samples and alternatives"
    ):
        tiny.translate(GOOD, retry="beam", **apart)
    assert tiny.translate(GOOD, retry="sentences", **apart).text
