"""The picture: drawn of every kind of report, and fit for black and white."""

import io
import sys

import numpy as np
import pytest

from cpunmt.errors import CpunmtError
from quantize.evaluation.report_picture import picture
from tests.support.speeds import slow_after


@pytest.fixture
def report(measured):
    """Returns a report of some layers: the picture's height depends on their number."""
    return {**measured.report, "layers": measured.report["layers"][:4]}


def changed(report, **fields):
    return {**report, "sets": [{**one, **fields} for one in report["sets"]]}


def pixels(drawn: bytes) -> np.ndarray:
    """Returns [height, width, 3], 0 to 1."""
    from matplotlib.image import imread

    return imread(io.BytesIO(drawn))[:, :, :3]


@pytest.mark.slow
def test_it_is_a_png_in_shades_of_grey(report):
    png = picture(report)
    drawn = pixels(png)
    assert png == picture(report)
    assert drawn.shape[0] > 700 and drawn.shape[1] > 1500
    assert np.array_equal(drawn[:, :, 0], drawn[:, :, 1]) and np.array_equal(drawn[:, :, 0], drawn[:, :, 2])
    assert 0.5 < (drawn == 1).mean() < 0.95 and (drawn < 0.1).any()


KINDS = {
    "nothing lost": lambda report: {**report, "layers": [{**layer, "sqnr_db": None} for layer in report["layers"]]},
    "no sets": lambda report: {**report, "sets": [], "model": {**report["model"], "path": "$a_{$"}},
    "no speed": lambda report: changed(report, speed=None),
    "no references": lambda report: changed(report, bleu=None, chrf=None),
    "many sets": lambda report: {**report, "sets": report["sets"] * 3},
    "many layers and schemes": lambda report: {
        **report,
        "layers": [{**layer, "scheme": f"scheme {n % 8}"} for n, layer in enumerate(report["layers"] * 10)],
    },
    "noise": lambda report: {**report, "layers": [{**report["layers"][0], "sqnr_db": -3.0}]},
}


@pytest.mark.parametrize("kind", slow_after(2, KINDS))
def test_every_kind_of_report_is_drawn(report, kind):
    given = KINDS[kind](report)
    drawn = pixels(picture(given))
    assert (drawn < 0.1).mean() > 0.005
    assert drawn.shape[0] > 20 * len(given["layers"])


def test_without_matplotlib_the_error_says_how_to_get_it(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CpunmtError, match=r"pip install 'cpunmt\[report\]'"):
        picture(report)
