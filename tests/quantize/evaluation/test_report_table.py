"""A report as text: aligned, complete, and right where something is missing."""

import pytest

from quantize.evaluation.gate import judge, parse_gate
from quantize.evaluation.report_table import aligned, report_lines


@pytest.fixture
def report(measured):
    return measured.report


def blocks(lines):
    return [block.split("\n") for block in "\n".join(lines).split("\n\n")]


def test_columns_are_aligned():
    lines = aligned(["name", "a", "long heading"], [["x", "1,000", "2"], ["longer", "3", "4"]])
    assert lines == ["name        a  long heading", "x       1,000             2", "longer      3             4"]
    assert aligned(["a", "b", ""], [["1", "2", ""]], 2) == ["a  b", "1  2"]


def test_every_layer_file_and_set_has_its_line(report):
    heading, layers, files, scores, agreement, speed = blocks(report_lines(report))
    names = sorted(report["model"]["files"])
    assert [line.split()[0] for line in heading] == ["model", "baseline", "machine", "versions"]
    assert report["model"]["weights_sha256"][:16] in heading[0]
    assert layers[0].split()[:4] == ["layer", "scheme", "shape", "bytes"]
    for line, layer in zip(layers[1:], report["layers"], strict=True):
        cells = line.split()
        assert cells[:5] == [layer["name"], "int8", str(layer["shape"][0]), "x", str(layer["shape"][1])]
        assert int(cells[5].replace(",", "")) == layer["bytes"]
        assert float(cells[7]) == pytest.approx(layer["sqnr_db"], abs=0.006)
        assert float(cells[8]) == pytest.approx(100 * layer["clipped"], abs=6e-5)
        assert cells[9] == str(layer["worst_columns"][0]["column"])
    assert len({len(line) for line in layers}) == 1
    assert [line.split("  ")[0] for line in files[1:]] == [*names, "all", "a decoding step reads"]
    step, baseline = report["size"]["step_bytes"], report["size"]["baseline_step_bytes"]
    assert files[-1].split()[4:] == [f"{step:,}", f"{baseline:,}", f"{step / baseline:.3f}"]
    assert files[-2].split()[1:] == [
        f"{report['size']['bytes']:,}",
        f"{report['size']['baseline_bytes']:,}",
        f"{report['size']['ratio']:.3f}",
    ]
    assert [line.split()[0] for line in scores[1:3]] == ["both", "sources"]
    assert scores[2].split()[1:] == ["3", "0"] + ["-"] * 7
    one = report["sets"][0]
    assert scores[3:] == [f"BLEU: {one['bleu']['signature']}", f"chrF: {one['chrf']['signature']}"]
    assert f"{one['bleu']['interval'][0]:+.2f} .. {one['bleu']['interval'][1]:+.2f}" in scores[1]
    assert agreement[1].split()[1] == f"{100 * one['agreement']['sentences']:.2f}"
    assert [line.split()[0] for line in speed] == ["words/s", "both", "sources"]


def test_what_is_not_there_is_left_out(report):
    bare = {**report, "sets": [], "notes": ["something"]}
    heading, _, _ = blocks(report_lines(bare))
    assert heading[-1] == "note      something"
    silent = {**report, "sets": [{**one, "speed": None} for one in report["sets"]]}
    assert len(blocks(report_lines(silent))) == 5
    lossless = [{**report["layers"][0], "sqnr_db": None, "worst_columns": []}]
    line = blocks(report_lines({**bare, "layers": lossless}))[1][1]
    assert " exact " in line and line.endswith(" -")


def test_limits_are_the_last_table(report):
    gate = parse_gate("sqnr=99,size=0.9,agreement=0")
    *_, table = blocks(report_lines(report, judge(report, gate)))
    assert [line.split()[-1] for line in table[1:]] == ["BROKEN", "kept", "kept", "kept"]
    assert "at least 99" in table[1] and "at most 0.9" in table[2]
