"""The tables of Kim et al. 2019: their workloads match their descriptions."""

import pytest

from bench.harness.texts import ROOT, SENTENCES, STUDENT
from bench.papers.wngt2019 import cost, decoders, frontier, projections, sizes, steps
from bench.papers.wngt2019.workload import Workload
from bench.students import write_student
from cpunmt import Translator
from quantize.evaluation.evaluation_set import EvaluationSet

LINES = SENTENCES.read_text(encoding="utf8").split("\n")[:40]


def test_batches_hold_every_sentence_once():
    work = Workload(LINES, 16)
    assert sorted(line for batch in work.batches for line in batch) == sorted(LINES)
    assert [len(batch) for batch in work.batches] == [16, 16, 8]
    assert work.words == sum(len(line.split()) for line in LINES)


def test_unpruned_sentences_all_go_on_as_long_as_the_longest(student):
    work = Workload(LINES, 16)
    pruned, unpruned = work.pruned(student)(), work.unpruned(student)()
    for ended, went_on in zip(pruned, unpruned, strict=True):
        lengths = [len(result.pieces) for result in ended]
        assert min(lengths) < max(lengths)
        assert {len(result.pieces) + (not result.truncated) for result in went_on} == {max(lengths) + 1}


def test_rows_of_steps_and_cost():
    rows = steps.measure({"float32": STUDENT / "float32", "int16": STUDENT, "int8": STUDENT}, LINES[:3], rounds=1)
    assert [row["name"] for row in rows] == list(steps.STEPS)
    assert rows[0]["batches"][1]["speedup"] == 1 and set(rows[-1]["batches"]) == {32}
    words = rows[0]["batches"][1]["words_per_second"]
    assert cost.measure(rows, price=0.5)[0]["batches"][1] == pytest.approx(words * 3600 / 0.5 / 1e6)


def test_the_frontier_has_students_that_none_beats_in_both():
    points = {
        "slow": (1, 30),
        "fast": (9, 20),
        "between": (4, 25),
        "beaten": (3, 24),
        "equal": (4, 25),
        "least": (9, 19),
    }
    assert frontier.frontier(points) == ["fast", "between", "slow"]


def test_students_are_judged_and_drawn():
    sets = [EvaluationSet("set", "", "", LINES[:2], [[line] for line in LINES[:2]])]
    rows = frontier.measure(frontier.students(["ende-tiny", "ende-deen"]), LINES[:2], 1, sets, price=0.5)
    for row in rows:
        for size, found in row["batches"].items():
            assert row["million_words_a_dollar"][size] == pytest.approx(found["words_per_second"] * 3600 / 0.5 / 1e6)
    drawn = frontier.picture(rows)
    assert b"<!-- ende-deen -->" in drawn and b"<!-- set -->" in drawn and len(drawn) < 100_000


def test_every_student_that_ships_is_among_them():
    shipped = {path.parent.relative_to(ROOT / "models").as_posix() for path in ROOT.glob("models/**/config.json")}
    assert set(frontier.STUDENTS.values()) == shipped - {"deen-student"}


def test_a_step_projects_the_earlier_positions_of_the_sentences_that_are_left():
    assert projections.earlier_positions([3, 1, 2]) == [2, 2]  # two sentences after one piece, one after two
    assert projections.earlier_positions([1]) == []


@pytest.mark.slow
def test_sizes_are_those_of_written_models(tmp_path):
    stored = {"log4": 0, "int8": 0, "float32": 0}
    for scheme in stored:
        write_student(tmp_path / scheme, "tiny11", scheme, STUDENT / "vocabulary.spm", None, decoder_parameters=(0, 0))
        stored[scheme] = (tmp_path / scheme / "weights.safetensors").stat().st_size
    (row,) = [row for row in sizes.measure(8000) if row["name"] == "tiny"]
    for scheme, size in stored.items():
        assert size == pytest.approx(row["bytes"][scheme], abs=1 << 14)  # the header


@pytest.mark.slow
def test_every_decoder_is_another_student(tmp_path):
    written = decoders.write_random(tmp_path, "pilot")
    rows = decoders.measure(written, LINES[:3], 1, [], projecting=True)
    configs = {Translator(path).config for path in written.values()}
    assert [row["name"] for row in rows] == [*written, decoders.AGAIN] and len(configs) == len(written) == 6
    assert {config.architecture.decoder_layers for config in configs} == {decoders.LAYERS}
    assert rows[0]["batches"][1]["speedup"] == 1 and rows[0]["bleu"] == {}
