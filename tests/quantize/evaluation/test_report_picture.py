"""The picture: drawn of every kind of report, and fit for black and white."""

import io
import sys

import numpy as np
import pytest

from cpunmt.errors import CpunmtError
from quantize.evaluation.report import measure
from quantize.evaluation.report_picture import picture
from tests.sample_models.model_pairs import SETS, write_pair


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    pair = write_pair(tmp_path_factory.mktemp("pair") / "models", 7, "--sigmas", "2.5")
    report = measure(*pair, SETS, rounds=1, samples=20)
    return {**report, "layers": report["layers"][:4]}


def pixels(drawn: bytes) -> np.ndarray:
    """[height, width, 3], 0 to 1."""
    from matplotlib.image import imread

    return imread(io.BytesIO(drawn))[:, :, :3]


def test_it_is_a_png_in_shades_of_grey(report):
    png = picture(report)
    drawn = pixels(png)
    assert png == picture(report)
    assert drawn.shape[0] > 700 and drawn.shape[1] > 1500
    assert np.array_equal(drawn[:, :, 0], drawn[:, :, 1]) and np.array_equal(drawn[:, :, 0], drawn[:, :, 2])
    assert 0.5 < (drawn == 1).mean() < 0.95 and (drawn < 0.1).any()


def changed(report, **fields):
    return {**report, "sets": [{**one, **fields} for one in report["sets"]]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda report: {**report, "sets": []},
        lambda report: changed(report, speed=None),
        lambda report: changed(report, bleu=None, chrf=None),
        lambda report: {**report, "sets": report["sets"] * 3},
        lambda report: {**report, "layers": [{**layer, "sqnr_db": None} for layer in report["layers"]]},
        lambda report: {
            **report,
            "layers": [{**layer, "scheme": f"scheme {n % 8}"} for n, layer in enumerate(report["layers"] * 10)],
        },
        lambda report: {**report, "layers": [{**report["layers"][0], "sqnr_db": -3.0}]},
        lambda report: {**report, "sets": [], "model": {**report["model"], "path": "$a_{$"}},
    ],
    ids=[
        "no sets",
        "no speed",
        "no references",
        "many sets",
        "nothing lost",
        "many layers and schemes",
        "noise",
        "a strange path",
    ],
)
def test_every_kind_of_report_is_drawn(report, change):
    given = change(report)
    drawn = pixels(picture(given))
    assert (drawn < 0.1).mean() > 0.005
    assert drawn.shape[0] > 20 * len(given["layers"])


def test_without_matplotlib_the_error_says_how_to_get_it(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CpunmtError, match=r"pip install 'cpunmt\[report\]'"):
        picture(report)
