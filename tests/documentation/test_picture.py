"""The bar chart of figures."""

import json
from xml.etree import ElementTree

import pytest

from cpunmt.errors import CpunmtError
from docs.picture import main, picture, read_figures
from tests.sample_models.real_model import ROOT

FIGURES = {"title": "a < b", "unit": "words/s", "groups": [{"name": "bulk", "bars": {"ours": 1234, "theirs": 0.5}}]}
SHAPE = "{http://www.w3.org/2000/svg}path"


def written(tmp_path, figures):
    path = tmp_path / "figures.json"
    path.write_text(figures if isinstance(figures, str) else json.dumps(figures))
    return path


def test_it_draws_svg(tmp_path):
    main([str(written(tmp_path, FIGURES)), str(tmp_path / "out.svg")])
    drawn = (tmp_path / "out.svg").read_bytes()
    assert drawn == picture(FIGURES)
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg") and len(list(root.iter(SHAPE))) > 10
    longer = picture({**FIGURES, "groups": FIGURES["groups"] * 3})
    assert len(list(ElementTree.fromstring(longer).iter(SHAPE))) > len(list(root.iter(SHAPE)))


@pytest.mark.parametrize(
    "figures",
    [
        "no JSON",
        {"title": "t", "unit": "u"},
        {**FIGURES, "groups": []},
        {**FIGURES, "groups": [*FIGURES["groups"], {"name": "x", "bars": {"ours": 1}}]},
        {**FIGURES, "groups": [{"name": "x", "bars": {"ours": 0}}]},
        {**FIGURES, "groups": [{"name": "x", "bars": {"ours": "many"}}]},
        {**FIGURES, "title": 3},
    ],
)
def test_other_files_are_refused(tmp_path, figures):
    with pytest.raises(CpunmtError, match=r"figures.json: (expected|the groups have)"):
        read_figures(written(tmp_path, figures))
    with pytest.raises(SystemExit, match="docs.picture: error: "):
        main([str(tmp_path / "figures.json"), str(tmp_path / "out.svg")])
    assert not (tmp_path / "out.svg").exists()


def test_the_picture_of_the_documentation_shows_the_table_beside_it():
    figures = read_figures(ROOT / "docs" / "benchmarks.json")
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    values = [value for group in figures["groups"] for value in group["bars"].values()]
    assert [value for value in values if f"{value:,}" not in page] == []
    assert len(values) > 8 and "](benchmarks.svg)" in page
