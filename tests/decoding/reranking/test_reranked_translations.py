"""The option `rerank`: translations of a search chosen by expected utility, sentence by sentence."""

import subprocess
import sys

import pytest

from cpunmt import Options, Pivot, Translator, expected_utilities
from cpunmt.decoding.batching import cut_sentences, translate_parts
from cpunmt.options.arguments import source_ids
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.command_line import sentences

SAMPLES = {"sampling_topk": 0, "sampling_temperature": 1.2}
MBR = {"rerank": "mbr-chrf", "num_candidates": 8}
WAYS = [{"beam_size": 8}, SAMPLES, {"return_alternatives": True}, {"beam_size": 8, "patience": 1}]


def best_first(texts, utility):
    """Ranks distinct texts by the definition."""
    values = expected_utilities(texts, utility)
    ranked = sorted(range(len(texts)), key=lambda place: (-values[place], place))
    return list(dict.fromkeys(texts[place] for place in ranked))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_they_are_the_candidates_of_the_search_in_another_order(student, way, utility):
    lines, moved = sentences(30), 0
    plain = student.translate(lines, split="none", num_hypotheses=8, **way)
    made = student.translate(lines, split="none", rerank=f"mbr-{utility}", num_candidates=8, num_hypotheses=8, **way)
    first = student.translate(lines, split="none", rerank=f"mbr-{utility}", num_candidates=8, **way)
    for before, after, one in zip(plain, made, first, strict=True):
        candidates = [h.text for h in before.hypotheses]
        assert [h.text for h in after.hypotheses] == best_first(candidates, utility)
        assert set(after.hypotheses) <= set(before.hypotheses)  # with their own scores and pieces
        assert one.hypotheses == after.hypotheses[:1]
        moved += after.text != before.text
    assert moved > 2


def test_each_sentence_of_a_text_by_itself(student):
    lines = ["A man in a hat sleeps on a bench.", "Two dogs are playing in the snow.", "A woman runs."]
    way = {**MBR, **SAMPLES, "num_hypotheses": 2}
    alone = [student.translate(line, **way) for line in lines]
    together = student.translate(" ".join(lines), **way)
    for rank in range(2):
        assert together.hypotheses[rank].text == " ".join(result.hypotheses[rank].text for result in alone)
    assert together.text != student.translate(" ".join(lines), num_hypotheses=8, **SAMPLES).text


@pytest.mark.parametrize("split", ["sentence", "none"])
def test_each_part_of_a_long_sentence_by_itself(student, split):
    text = " and ".join(line.rstrip(".") for line in sentences(40))
    result = student.translate(text, split=split, rerank="mbr-bleu", num_candidates=4, num_hypotheses=2)
    assert len(result.hypotheses) == 2 and result.hypotheses[0].text != result.hypotheses[1].text
    (best,) = student.translate(text, split=split, rerank="mbr-bleu", num_candidates=4).hypotheses
    assert best == result.hypotheses[0]


def test_of_pieces(student):
    sources = [student.tokenize(line) for line in sentences(5)]
    made = student.translate_batch(sources, **MBR, **SAMPLES, return_scores=True)
    of_texts = student.translate(sentences(5), split="none", **MBR, **SAMPLES)
    assert [one.hypotheses for one in made] == [[list(result.pieces)] for result in of_texts]
    assert [one.scores for one in made] == [[result.score] for result in of_texts]
    padded = student.translate_batch(sources, **MBR, sampling_topk=2, sampling_temperature=0.01, num_hypotheses=3)
    assert all(len(one.hypotheses) == 3 for one in padded)


@pytest.mark.slow
def test_no_part_is_left_behind_the_chosen_one_that_ended_with_an_end_token(student):
    """The chosen candidate, not the one with the best score, decides whether a part ends the sentence."""
    pieces = student.tokenize(" and ".join(line.rstrip(".") for line in sentences(40)))
    model, differ = student.loaded, 0
    source = source_ids(pieces, student.source_vocabulary)
    for seed in range(6):
        way = {**MBR, "sampling_topk": 20, "end_token": ".", "seed": seed, "vocabulary": "full"}
        options, search, *_ = student.call_settings(way, None)
        parts = cut_sentences([source], None, options, model.config, student.source_vocabulary)
        assert len(parts) > 1
        expected = []
        for candidates in translate_parts(model.engine, parts, options, search):
            ids = [found.ids if found.truncated else found.ids[:-1] for found in candidates]
            ended = [not found.truncated and found.ids[-1] in search.end_pieces for found in candidates]
            values = expected_utilities([student.target_vocabulary.decode(one) for one in ids])
            best = values.index(max(values))
            differ += ended[best] != ended[0]
            expected += student.target_vocabulary.pieces(ids[best])
            if ended[best]:
                break
        assert student.translate_batch([pieces], **way)[0].hypotheses == [expected]
    assert differ > 0


def test_what_unknown_words_become_is_compared(words):
    lines = ["Wombat Schnackseln Zebra", "dog Wombat", "A small Wombat runs across the Schnackseln field"]
    way = {"sampling_topk": 0, "sampling_temperature": 2, "num_hypotheses": 16, "split": "none"}
    for seed in range(10):
        plain = words.translate(lines, seed=seed, **way)
        made = words.translate(lines, seed=seed, rerank="mbr-chrf", num_candidates=16, **way)
        assert "Wombat" in str([h.text for result in plain for h in result.hypotheses])
        for before, after in zip(plain, made, strict=True):
            assert [h.text for h in after.hypotheses] == best_first([h.text for h in before.hypotheses], "chrf")


def test_attention_and_scores_are_those_of_the_chosen_one(student):
    way = {**MBR, "return_alignments": True, "return_token_log_probs": True, "beam_size": 8, "split": "none"}
    line = "A man in a hat sleeps on a bench."
    found = {
        h.text: h
        for h in student.translate(
            line, **way | {"rerank": None, "num_candidates": None, "num_hypotheses": 8}
        ).hypotheses
    }
    best = student.translate(line, **way).hypotheses[0]
    assert best == found[best.text] and best.alignments == found[best.text].alignments


def test_html_pivots_and_ensembles(student, ensemble):
    way = {**SAMPLES, "rerank": "mbr-chrf"}
    assert student.translate("<p>Two <b>dogs</b> play.</p>", html=True, **way).text.startswith("<p>")
    assert ensemble.translate("Two dogs play.", **way).text
    pivot = Pivot([student, ROOT / "models" / "deen-student"])
    middle = student.translate("Two dogs are playing.", **way).text
    assert pivot.translate("Two dogs are playing.", **way).text == pivot.translators[1].translate(middle, **way).text


def test_options_that_are_kept(student):
    options = Options(rerank="mbr-chrf", num_candidates=8)
    lines = sentences(4)
    expected = [result.text for result in student.translate(lines, **MBR)]
    assert [result.text for result in student.translate(lines, options=options)] == expected
    assert [result.text for result in student.translate_iterable(lines, **MBR)] == expected
    cached = Translator(DIRECTORIES["int8"], sentence_cache=10)
    for _ in range(2):
        assert [result.text for result in cached.translate(lines, options=options)] == expected
    assert student.score("A man.", "Ein Mann.", options=options) == student.score("A man.", "Ein Mann.")


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "cpunmt", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        input="One man.\nTwo dogs.\n",
    )


def test_the_command(student):
    flags = ["translate", "--rerank", "mbr-chrf", "--num-candidates", "8", "--sampling-topk", "0"]
    way = {**MBR, "sampling_topk": 0}
    expected = student.translate(["One man.", "Two dogs."], **way, num_hypotheses=8)
    assert run(*flags).stdout.splitlines() == [result.text for result in expected]
    lists = [line.split(" ||| ")[:2] for line in run(*flags, "--n-best").stdout.splitlines()]
    assert lists == [[str(n), h.text] for n, result in enumerate(expected) for h in result.hypotheses]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--rerank", "mbr-chfr"],
            "invalid choice: 'mbr-chfr' (did you mean mbr-chrf?); choose from mbr-chrf, mbr-bleu",
        ),
        (["--num-candidates", "8"], "num_candidates is 8 and rerank is None; expected rerank='mbr-chrf'"),
        (["--rerank", "mbr-chrf", "--beam-size", "1"], "rerank is 'mbr-chrf', but there is one translation to choose"),
        (["--mbr"], "unrecognized arguments: --mbr (did you mean --rerank?)"),
    ],
)
def test_wrong_usage_is_one_line(flags, message):
    done = run("translate", *flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and message in done.stderr
