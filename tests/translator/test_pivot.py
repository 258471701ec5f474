"""Chains of two real models."""

import copy
import json
import pickle

import numpy as np
import pytest

from cpunmt import Options, Translator
from cpunmt.alignment.composing import pivot_layer
from cpunmt.options.glossary.glossary import Glossary
from cpunmt.translator.pivot import Pivot
from tests.sample_models.foreign_directories import bergamot
from tests.sample_models.real_model import GERMAN, SHIPPED
from tests.support.aligned_layers import layers_of, word_layer
from tests.support.command_line import sentences
from tests.support.generated_lines import generated_lines
from tests.test_laws import bits


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """A random model that reads German text."""
    return bergamot(tmp_path_factory.mktemp("pivot") / "second").path


@pytest.fixture(scope="module")
def pivot(second):
    return Pivot([SHIPPED, Translator(second)])


@pytest.fixture(scope="module")
def round_trip():
    return Pivot([SHIPPED, GERMAN])


def named(folder, model, source, target):
    """Makes a model whose metadata name these languages."""
    folder.mkdir()
    for path in model.iterdir():
        if path.is_file() and path.name != "metadata.json":
            (folder / path.name).symlink_to(path)
    metadata = json.loads((model / "metadata.json").read_text("utf-8"))
    metadata |= {"source_language": source, "target_language": target}
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    return Translator(folder)


def test_countries_scripts_and_other_codes_of_a_language_meet(tmp_path):
    """Two models may spell the same language differently; different languages do not match."""
    pairs = [
        ("de", "de-AT"),
        ("pt_BR", "pt"),
        ("no", "nb"),
        ("zh-Hans", "zho"),
        ("DE", "de"),
        ("de", "nl"),
        ("nn", "nb"),
    ]
    for number, (written, read) in enumerate(pairs):
        first = named(tmp_path / f"{number} first", SHIPPED, "en", written)
        second = named(tmp_path / f"{number} second", GERMAN, read, "en")
        if (written, read) in pairs[:5]:
            assert Pivot([first, second]).translators == (first, second)
        else:
            with pytest.raises(ValueError, match=f"translates into '{written}', but .* from '{read}'"):
                Pivot([first, second])


def test_there_and_back_again(round_trip):
    text = "Two dogs are playing in the snow. Where is the train station? I would like a cup of coffee."
    said = round_trip.translate(text, return_alignments=True)
    assert said.text.startswith("Two dogs") and "train station? I " in said.text
    assert said.text.endswith("coffee.") and len(said.sentences) == 3
    pairs = {(text[slice(*a)], said.text[slice(*b)]) for s in said.sentences for a, b in s.alignments}
    assert {("dogs", "dogs"), ("snow", "snow"), ("coffee", "coffee")} <= pairs


def test_pages_and_what_is_kept_through_two_models(round_trip):
    page = '<p>Two <b>dogs</b> are playing in the <a href="x">snow</a>.</p>\n'
    page += "<p>Ask {name}: me@example.com. A MAN SLEEPS.</p>"
    said = round_trip.translate(page, html=True).text
    assert "<b>dogs</b>" in said and '<a href="x">' in said and "snow</a>" in said and said.count("<p>") == 2
    assert said.count("{name}") == said.count("me@example.com") == 1 and "A MAN" in said
    assert round_trip.translate(page, html=True, split="line").text.count("</b>") == 1
    kept = round_trip.translate("Two dogs 😀 look at `x = 1`.", protect=["emoji"]).text
    assert kept.count("😀") == 1
    used = round_trip.translate("Two dogs are playing.", glossary={"dogs": "hounds"})
    assert "hounds" in used.text.lower() and used.glossary.applied == (("dogs", "hounds"),)


def test_it_is_one_model_after_the_other(pivot, second):
    lines = [*sentences(40), "", "  ", *generated_lines(100, seed=3, short=True)]
    first, then = Translator(SHIPPED), Translator(second)
    middle = [result.text for result in first.translate(lines, split="none")]
    expected = then.translate(middle, split="none")
    found = pivot.translate(lines, split="none")
    assert [(r.text, r.score, r.pieces) for r in found] == [(r.text, r.score, r.pieces) for r in expected]
    assert len({result.text for result in expected}) > 60


def test_one_text_is_as_in_a_list(pivot):
    lines = [*sentences(20), "The dog runs. It is red.\n\n  Two men.", "", *generated_lines(40, seed=4, short=True)]
    for options in ({}, {"return_alignments": True, "beam_size": 3, "num_hypotheses": 2}):
        together = pivot.translate(lines, **options)
        assert [bits(pivot.translate(line, **options)) for line in lines] == [bits(result) for result in together]
        assert list(map(bits, pivot.translate_iterable(iter(lines), **options))) == list(map(bits, together))


def test_between_sentences_all_stays(pivot):
    text = "  The dog runs. It is red.\n\n\tTwo men are here."
    result = pivot.translate(text, return_alignments=True)
    assert len(result.sentences) == 3
    assert [text[slice(*sentence.source)] for sentence in result.sentences] == [
        "The dog runs.",
        "It is red.",
        "Two men are here.",
    ]
    alone = pivot.translate(["The dog runs.", "It is red.", "Two men are here."])
    assert [result.text[slice(*sentence.target)] for sentence in result.sentences] == [one.text for one in alone]
    assert result.text == f"  {alone[0].text} {alone[1].text}\n\n\t{alone[2].text}"


def test_alignments_lead_to_the_source(pivot):
    lines = sentences(30)
    for line, result in zip(lines, pivot.translate(lines, return_alignments=True, split="none"), strict=True):
        assert list(result.source_pieces) == pivot.translators[0].tokenize(line)
        assert result.attention.shape == (len(result.pieces), len(result.source_pieces))
        assert result.attention.min() >= 0 and (result.attention.sum(1) <= 1.001).all()
        assert all(0 <= s < len(result.source_pieces) and 0 <= t < len(result.pieces) for s, t in result.alignments)
        assert [line[b:e] for b, e in result.source_spans] == [
            piece.replace("\u2581", " ").strip() for piece in result.source_pieces
        ]


def test_a_copy_behind_a_model_keeps_its_links():
    """A link to a word of the copy leads to the source of that word."""
    below, _ = layers_of(Translator(SHIPPED))
    lines = sentences(50)
    plain, through = below(lines, True), pivot_layer([below, word_layer()])(lines, True)
    for one, other in zip(plain, through, strict=True):
        assert other.target == one.target and other.source_spans == one.source_spans
        sources = {target: source for source, target in one.links}
        assert other.links
        for source, word in other.links:
            begin, end = other.target_spans[word]
            shared = {
                sources[piece]: min(e, end) - max(b, begin)
                for piece, (b, e) in enumerate(one.target_spans)
                if min(e, end) > max(b, begin)
            }
            assert source in shared
            longest = max(
                (min(e, end) - max(b, begin), -piece)
                for piece, (b, e) in enumerate(one.target_spans)
                if min(e, end) > max(b, begin)
            )
            assert source == sources[-longest[1]]


def test_options_of_all_and_of_each(pivot):
    line = "A man is riding a bicycle along the river."
    plain = pivot.translate(line)
    first = Translator(SHIPPED).translate(line, beam_size=4).text
    each = pivot.translate(line, options=[{"beam_size": 4}, None])
    assert each.text == pivot.translators[1].translate(first, split="none").text
    best = pivot.translate(line, beam_size=4, num_hypotheses=3, return_token_log_probs=True)
    assert len(best.hypotheses) == 3 and best.token_log_probs is not None
    assert best.hypotheses[0].text == pivot.translate(line, options=Options(beam_size=4)).text
    assert pivot.translate(line, options=[None, {"beam_size": 4}], beam_size=1).text == plain.text  # keywords win
    forced = pivot.translate(line, target_prefix="Die")
    assert forced.text.startswith("Die")
    assert pivot.translate([line, line], target_prefix=["Die", None])[1].text == plain.text


def test_what_is_suppressed_is_what_the_last_model_must_not_say(round_trip):
    """The first model may say it, and does not consume a generator."""
    line = "Two dogs are playing in the snow."
    plain = round_trip.translate(line)
    assert "dogs" in plain.text and "snow" in plain.text
    first, then = round_trip.translators
    banned = ["dogs", ["\u2581snow"]]
    without = then.translate(first.translate(line).text, split="none", suppress_sequences=banned)
    assert "\u2581dogs" not in without.pieces and "\u2581snow" not in without.pieces
    for options, given in (
        (None, {"suppress_sequences": banned}),
        (None, {"suppress_sequences": (text for text in banned)}),
        ({"suppress_sequences": banned}, {}),
        (Options(suppress_sequences=banned), {}),
        ([None, {"suppress_sequences": banned}], {}),
    ):
        assert round_trip.translate(line, options=options, **given).text == without.text
    of_first = round_trip.translate(line, options=[{"suppress_sequences": ["spielen"]}, None])
    middle = first.translate(line, suppress_sequences=["spielen"])
    assert "spielen" not in middle.text and of_first.text == then.translate(middle.text, split="none").text


def test_an_end_is_that_of_the_last_model(round_trip):
    line, ends = "Two dogs are playing in the snow.", ["\u2581Schnee", "\u2581snow"]
    first, then = round_trip.translators
    ended = then.translate(first.translate(line).text, split="none", end_token=ends).text
    middle = first.translate(line, end_token=ends).text
    assert ended and ended != then.translate(middle, split="none", end_token=ends).text
    for options, given in (
        (None, {"end_token": ends}),
        ({"end_token": ends}, {}),
        (Options(end_token=ends), {}),
        ([None, {"end_token": ends}], {}),
    ):
        assert round_trip.translate(line, options=options, **given).text == ended
    assert round_trip.translate(line, options=[{"end_token": ends}, None]).text == then.translate(middle).text


def test_truncated_if_either_was(pivot):
    line = "A man is riding a bicycle along the river."
    first, then = pivot.translators
    cut = {n: first.translate(line, max_length=n) for n in range(1, 8)}
    assert all(result.truncated for result in cut.values()) and not first.translate(line).truncated
    ended = [n for n, result in cut.items() if not then.translate(result.text, split="none").truncated]
    assert ended
    for n in ended:
        assert pivot.translate(line, options=[{"max_length": n}, None]).truncated
    assert pivot.translate(line, options=[None, {"max_length": 2}]).truncated


def test_it_can_be_copied_and_pickled(pivot):
    line = "Two men."
    expected = bits(pivot.translate(line))
    for again in (pickle.loads(pickle.dumps(pivot)), copy.copy(pivot), copy.deepcopy(pivot)):
        assert bits(again.translate(line)) == expected
    assert repr(pivot).startswith("Pivot([<Translator") and repr(pivot).count("Translator") == 2


def test_what_is_refused(pivot, second):
    with pytest.raises(ValueError, match="Pivot is given 1 models, expected two or more"):
        Pivot([SHIPPED])
    with pytest.raises(TypeError, match="Pivot takes a list of models, not str"):
        Pivot(str(SHIPPED))
    with pytest.raises(ValueError, match="translates into 'de', but .* from 'en'; expected models in the order"):
        Pivot([SHIPPED, SHIPPED])
    with pytest.raises(ValueError, match="options has 1 items, expected one for each of the 2 models"):
        pivot.translate("a", options=[None])
    with pytest.raises(TypeError, match="options: item 1 is 4, expected"):
        pivot.translate("a", options=[None, 4])
    with pytest.raises(TypeError, match="'beam'"):
        pivot.translate("a", beam=4)
    with pytest.raises(ValueError, match="beam_size is 0"):
        next(pivot.translate_iterable(["a"], options=[None, {"beam_size": 0}]))
    with pytest.raises(TypeError, match="text 1 is None"):
        pivot.translate(["a", None])
    with pytest.raises(TypeError, match="target_prefix is"):
        pivot.translate("a", target_prefix=["b"])


def test_three_models(second):
    three = Pivot([SHIPPED, second, second])
    two = Pivot([SHIPPED, second])
    line = "The dog runs."
    assert three.translate(line).text == Translator(second).translate(two.translate(line).text, split="none").text
    assert np.isfinite(three.translate(line, return_alignments=True).attention).all()


def test_a_glossary_above_two_models(pivot):
    """The second model is random: its words are replaced, or the beginning is forced."""
    glossary, lines = Glossary({"dog": "Hund", "man": "Kerl"}), sentences(60)
    found = pivot.translate(lines, glossary=glossary)
    for line, result in zip(lines, found, strict=True):
        for term, target in result.glossary.applied:
            assert term in line.lower() and target in result.text
    assert any(result.glossary.applied for result in found)
    assert found == [pivot.translate(line, glossary=glossary) for line in lines]


def test_a_beginning_forced_upon_the_last_model(pivot):
    lines = sentences(5)
    settings = pivot._settings(None, {"split": "none"})
    found = pivot._forced(settings)(lines, ["Das Wasser"] * 5)
    assert all(
        aligned.target.startswith("Das Wasser") and aligned.source == line
        for aligned, line in zip(found, lines, strict=True)
    )


def test_one_that_has_kept_what_a_function_said_can_be_handed_on():
    pivot, text = Pivot([SHIPPED, GERMAN]), "Two dogs are playing."
    kept = pivot.translate(text, protect=lambda text: [(4, 8)])  # cannot be pickled
    for other in (pickle.loads(pickle.dumps(pivot)), copy.copy(pivot), copy.deepcopy(pivot)):
        assert other.translate(text, protect=lambda text: [(4, 8)]) == kept
        assert other.translate(text) == pivot.translate(text)


def test_capitals_are_lowered_for_the_text_and_not_for_each_model(student):
    """Text in capitals goes through both models unchanged if the caller disables lowering."""
    pivot = Pivot([student, GERMAN])
    plain = {"lower_capitals": False, "protect": "none", "copy_numbers": False}
    text = "A MAN IS RIDING A RED BICYCLE."
    between = student.translate(text, **plain).text
    assert between != student.translate(text, **{**plain, "lower_capitals": True}).text
    assert pivot.translate(text, **plain).text == pivot.translators[1].translate(between, **plain).text
