"""PyPI's clients that the tests do not need otherwise, unchanged, against the server."""

import json
from pathlib import Path

import pytest

from tests.support.processes import output

SCRIPTS = Path(__file__).parent / "pypi"
SNOW = "Two dogs are playing in the snow."

pytestmark = pytest.mark.slow  # it installs packages from PyPI


@pytest.fixture(scope="module")
def ran(served, tmp_path_factory):
    """Returns the output of a script, with the packages of the list."""
    there = tmp_path_factory.mktemp("pypi")
    packages = ("--no-deps", "--requirement", SCRIPTS / "requirements.txt")  # their dependencies are those of the tests
    output("-m", "pip", "install", "--quiet", "--target", there, *packages, timeout=300)

    def run(name):
        return json.loads(output(SCRIPTS / f"{name}_client.py", served.url, cwd=there, PYTHONPATH=str(there)))

    return run


def test_libretranslate_aio(ran, translators):
    german = translators["en", "de"]
    assert ran("libretranslate_aio") == {
        "alternatives": 2,
        "several": [german.translate("<b>Two</b> dogs.", html=True).text, "Zwei Hunde."],
        "detected": ["en", "de"],
        "detect": "en",
        "languages": ["en", "de", "fr"],
        "limit": 50_000,
        "health": True,
        "at_once": [one.text for one in german.translate(["One man.", "Two dogs."])],
        "file": True,
        "refused": "ja is not supported",
    }


def test_translate(ran, translators):
    german = translators["en", "de"]
    assert ran("translate") == {
        "libre": [german.translate("One man.").text, german.translate(SNOW).text, "TranslationError"],
        "deepl": [german.translate("Two dogs & a cat; 5 % +1.").text, "HTTPError"],
    }


def test_googletrans(ran, translators):
    german = translators["en", "de"]
    refused = "Unexpected status code \"400\" from ['translate.googleapis.com']"
    assert ran("googletrans") == {
        "many": [one.text for one in german.translate(["One man.", "Two dogs & a <cat>."])],
        "guessed": [german.translate(SNOW).text, "en"],
        "detected": ["de", True],
        "refused": refused,
    }
