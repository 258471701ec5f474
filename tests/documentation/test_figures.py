"""The figures beside other engines: their tables, and the chart."""

import json
from xml.etree import ElementTree

import pytest

from docs.figures import CHART, FIGURES, PAGES, chart, float_table, machine_line, size_table, student_table, written
from docs.picture import Group, picture

SHAPE = "{http://www.w3.org/2000/svg}rect"
ROW = {
    "lines": "as they are",
    "beam": 1,
    "mode": "single",
    "speeds": {"cpunmt": 1234, "bergamot": 500, "CTranslate2": 3},
}
MADE = {
    "machine": {"cpu": "AMD X", "isa": "avx512_vnni"}, "commit": "abc", "date": "2026-01-02", "rounds": 1, "note": "n",
    "versions": {"bergamot": "0.1", "CTranslate2": "4.8"},
    "rows": [
        {**ROW, "model": "models/m", "faster": {"cpunmt": {"bergamot": 2.46, "CTranslate2": 9}}},
        {**ROW, "model": "models/m", "mode": "bulk", "faster": {"cpunmt": {"bergamot": 1.04, "CTranslate2": 8}}},
        {**ROW, "model": "models/m", "beam": 4, "faster": {"cpunmt": {"bergamot": 2, "CTranslate2": 7}}},
        {
            "model": "opus", "lines": "", "beam": 4, "mode": "bulk",
            "speeds": {"cpunmt": 20, "cpunmt, 4 bits": 5000, "CTranslate2": 8},
            "faster": {"cpunmt": {"CTranslate2": 2.5}, "cpunmt, 4 bits": {"CTranslate2": 3.14}},
        },
        {
            "model": "opus", "lines": "", "beam": 1, "mode": "single",
            "speeds": {"cpunmt": 20, "cpunmt, 4 bits": 50, "CTranslate2": 8},
            "faster": {"cpunmt": {"CTranslate2": 2.5}, "cpunmt, 4 bits": {"CTranslate2": 6}},
        },
    ],
}  # fmt: skip


def test_tables_of_a_run():
    assert student_table(MADE) == [
        ["lines", "one at a time", "x bergamot", "x CTranslate2", "in bulk", "x bergamot", "x CTranslate2"],
        ["as they are", "1,234", "2.5", "9.0", "1,234", "1.0", "8.0"],
        ["as they are, beam 4", "1,234", "2.0", "7.0"],
    ]
    heading, ints, codes, *nllb = size_table(MADE)
    assert heading[1::2] == ["one at a time", "in bulk", "beam 4, one at a time", "beam 4, in bulk"]
    assert ints == ["OPUS-MT's size, int8", "20", "2.5", "", "", "", "", "20", "2.5"]
    assert codes == ["OPUS-MT's size, 4 bits", "50", "6.0", "", "", "", "", "5,000", "3.1"]
    assert [cells[1:] for cells in nllb] == [[""] * 8] * 2
    assert (
        machine_line(MADE)
        == "One core of an AMD X guest (AVX512-VNNI), bergamot 0.1, CTranslate2 4.8, commit abc, 2026-01-02; n."
    )


def with_floats() -> dict:
    """Returns a run in which transformers ran the last row, in float32."""
    *rows, last = MADE["rows"]
    faster = {
        engine: {**ratios, "transformers": 10 * ratios["CTranslate2"]} for engine, ratios in last["faster"].items()
    }
    row = {**last, "speeds": {**last["speeds"], "transformers": 1000}, "faster": faster}
    return {**MADE, "rows": [*rows, row], "versions": {**MADE["versions"], "transformers": "5.0 with torch 2.0"}}


def test_float32_engines_have_a_table_of_their_own_and_no_bars():
    made = with_floats()
    assert float_table(MADE)[1:] == []
    heading, *rows = float_table(made)
    assert heading[1:3] == ["one at a time", "x int8; 4 bits"] and len(heading) == 9
    assert rows == [["OPUS-MT's size, transformers", "1,000", "25.0; 60.0", "", "", "", "", "", ""]]
    assert student_table(made) == student_table(MADE) and size_table(made) == size_table(MADE)
    assert picture(chart(made)) == picture(chart(MADE))
    assert "CTranslate2 4.8, transformers 5.0 with torch 2.0, commit" in machine_line(made)
    page = "<!-- figures: float32 -->\nold\n<!-- end -->\n"
    assert written(page, MADE) == "<!-- figures: float32 -->\n<!-- end -->\n"
    assert "\n| OPUS-MT's size, transformers | 1,000 | 25.0; 60.0 | | | | | | |\n" in written(page, made)


def test_a_page_changes_between_the_marks_only():
    page = "a\n\n<!-- figures: machine -->\nold\n<!-- end -->\n\n<!-- figures: sizes -->\n<!-- end -->\nz\n"
    made = written(page, MADE)
    assert made.startswith("a\n\n<!-- figures: machine -->\nOne core") and made.endswith("\n<!-- end -->\nz\n")
    assert "old" not in made and "| OPUS-MT's size, int8 | 20 | 2.5 | | | | | 20 | 2.5 |\n" in made
    assert written(made, MADE) == made
    with pytest.raises(KeyError):
        written("<!-- figures: none -->\n<!-- end -->\n", MADE)


def test_the_chart_has_a_bar_for_each_engine():
    groups = chart(MADE)
    assert [(title, unit, list(speeds)) for title, unit, speeds, _ in groups] == [
        ("A student of Firefox's kind, one at a time", "words/s", ["cpunmt", "bergamot", "CTranslate2"]),
        ("A student of Firefox's kind, in bulk", "words/s", ["cpunmt", "bergamot", "CTranslate2"]),
        ("OPUS-MT's size, one at a time", "pieces/s", ["cpunmt", "CTranslate2"]),
    ]
    drawn = ElementTree.fromstring(picture([Group("a < b", "w", {"cpunmt": 100, "peer": 40}, {"peer": 2.61})]))
    bars = [float(bar.get("width")) for bar in drawn.iter(SHAPE)]
    assert bars[1] == pytest.approx(0.4 * bars[0], abs=0.1)
    told = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert told == ["a < b", "cpunmt", "100 w", "peer", "40, cpunmt 2.6 x"]


def test_pages_and_chart_show_the_measured_figures():
    """`python -m docs.figures` would change nothing."""
    figures = json.loads(FIGURES.read_text("utf-8"))
    for page, tables in zip(PAGES, (3, 4), strict=True):
        text = page.read_text("utf-8")
        assert text.count("<!-- figures: ") == tables and written(text, figures) == text
    assert CHART.read_bytes() == picture(chart(figures))
