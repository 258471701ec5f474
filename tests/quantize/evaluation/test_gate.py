"""Limits: their syntax, their verdicts on a report, and a packed model that breaks some."""

import math

import pytest

from cpunmt.errors import CpunmtError
from quantize.evaluation.evaluation_set import EvaluationSet
from quantize.evaluation.gate import Limit, Verdict, check, judge, parse_gate, refuse_unjudged
from tests.sample_models.model_pairs import SENTENCES


def a_set(name, bleu=-0.25, chrf=0.5, sentences=0.9, tokens=0.99):
    shares = {"sentences": sentences, "tokens": tokens}
    return {"name": name, "bleu": {"difference": bleu}, "chrf": {"difference": chrf}, "agreement": shares}


REPORT = {
    "size": {"ratio": 0.9, "weights_ratio": 0.25},
    "layers": [{"name": "a", "sqnr_db": 30.5}, {"name": "b", "sqnr_db": 20.25}, {"name": "c", "sqnr_db": None}],
    "sets": [a_set("news"), a_set("talks", sentences=0.95, bleu=0.75)],
}


def test_limits_are_written_as_in_the_help():
    assert parse_gate(" bleu=0.3, agreement@multi30k.x=0.9 ,sqnr=20,size=.3") == [
        Limit("bleu", None, 0.3),
        Limit("agreement", "multi30k.x", 0.9),
        Limit("sqnr", None, 20.0),
        Limit("size", None, 0.3),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected NAME=LIMIT with one of the names bleu, chrf, agreement, tokens, size, sqnr"),
        ("bleu=0.3,", "expected NAME=LIMIT"),
        ("BLEU=0.3", "'BLEU=0.3': expected NAME=LIMIT"),
        ("bleu", "expected a number"),
        ("bleu=", "expected a number"),
        ("bleu=nan", "expected a number"),
        ("sqnr=inf", "expected a number"),
        ("agreement=90", "expected a share from 0 to 1"),
        ("tokens@x=-0.1", "expected a share from 0 to 1"),
        ("bleu@=0.1", "the name of a test set after @"),
        ("size@news=0.3", "size does not depend on a test set"),
        ("bleu=0.1,bleu=0.2", "bleu is given twice"),
        ("bleu@a=0.1,bleu=1,bleu@a=0.2", "bleu@a is given twice"),
    ],
)
def test_what_is_no_limit_is_named(text, expected):
    with pytest.raises(ValueError, match=expected):
        parse_gate(text)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("bleu=0.3", [("news", 0.25, True), ("talks", -0.75, True)]),
        ("bleu=0.25", [("news", 0.25, True), ("talks", -0.75, True)]),
        ("bleu=0.2", [("news", 0.25, False), ("talks", -0.75, True)]),
        ("chrf=-0.6", [("news", -0.5, False), ("talks", -0.5, False)]),
        ("agreement=0.9", [("news", 0.9, True), ("talks", 0.95, True)]),
        ("agreement=0.92", [("news", 0.9, False), ("talks", 0.95, True)]),
        ("agreement=0.96,agreement@news=0.8", [("talks", 0.95, False), ("news", 0.9, True)]),
        ("tokens@news=0.991", [("news", 0.99, False)]),
        ("size=0.3", [(None, 0.25, True)]),
        ("size=0.2", [(None, 0.25, False)]),
        ("sqnr=20", [("b", 20.25, True)]),
        ("sqnr=21", [("b", 20.25, False)]),
    ],
)
def test_each_limit_has_one_side_and_a_set_may_have_its_own(gate, expected):
    found = judge(REPORT, parse_gate(gate))
    assert [(v.where, v.found, v.kept) for v in found] == expected


def test_a_model_that_lost_nothing_keeps_any_ratio():
    (verdict,) = judge({"layers": REPORT["layers"][2:]}, parse_gate("sqnr=90"))
    told = {"measure": "sqnr", "where": None, "found": None, "limit": 90.0, "kept": True}
    assert verdict.kept and verdict.to_json() == told


def test_a_verdict_says_what_was_found_and_expected():
    assert str(Verdict("bleu", "news", 0.523456, 0.3)) == "BLEU lost (news): 0.5235, expected at most 0.3"
    assert str(Verdict("size", None, 0.5, 0.3)) == "weights against the baseline's: 0.5, expected at most 0.3"
    assert str(Verdict("tokens", "x", 0.5, 0.9)) == "agreeing tokens (x): 0.5, expected at least 0.9"
    assert math.isnan(Verdict("tokens", "x", math.nan, 0.9).found) and not Verdict("tokens", "x", math.nan, 0.9).kept


def evaluation_set(name="small", references=True):
    found = [[text.replace("a", "e")] for text in SENTENCES] if references else []
    return EvaluationSet(name, f"{name}.tsv", "0" * 64, SENTENCES, found)


@pytest.mark.parametrize(
    ("gate", "sets", "expected"),
    [
        ("agreement=0.9", [], "agreement is measured on test sets, and there is none"),
        ("sqnr=3,bleu@news=1", ["talks", "news2"], "no test set is called 'news'; there are news2, talks"),
    ],
)
def test_a_limit_that_cannot_be_judged_is_refused_before_the_work(gate, sets, expected):
    with pytest.raises(CpunmtError, match=expected):
        check("no model", "none", [evaluation_set(name) for name in sets], parse_gate(gate))


def test_bleu_needs_references_of_the_sets_that_it_is_for():
    sets = [evaluation_set("with"), evaluation_set("without", references=False)]
    refuse_unjudged(parse_gate("bleu@with=1,agreement=0.5,size=1"), sets)
    for gate, advice in (("bleu=1", "; limit the others by bleu@NAME"), ("chrf@without=1", "$")):
        with pytest.raises(CpunmtError, match=f"needs references, which without.tsv lacks{advice}"):
            refuse_unjudged(parse_gate(gate), sets)


def test_a_packed_model_is_checked(pair, capsys):
    sets, broken = [evaluation_set()], "sqnr=30,size=0.01,agreement=1,tokens=0.999,bleu=100,chrf=100"
    found = check(*pair, sets, parse_gate(broken))
    names = ["lowest SQNR in dB", "weights against the baseline's", "identical sentences", "agreeing tokens"]
    assert [line.split(":")[0].split(" (")[0] for line in found] == names
    assert check(*pair, sets, parse_gate("sqnr=1,size=0.9,agreement=0,tokens=0.1,bleu=100")) == []
    assert check(*pair, [], parse_gate("size=0.9")) == []
    assert check(pair.float32, pair.float32, sets, parse_gate("sqnr=999,agreement=1,tokens=1,bleu=0")) == []
    assert capsys.readouterr() == ("", "")
