"""npm's clients of LibreTranslate and DeepL, unchanged, against the server."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "npm"
GLOSSARY = {"dogs": "Katzen"}

pytestmark = pytest.mark.slow  # it installs packages from npm


@pytest.fixture(scope="module")
def ran(served, tmp_path_factory):
    """Returns the output of a script, run by node, with the packages of the lock file."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    assert not missing, f"{' and '.join(missing)} not found: these tests need Node.js 18 or later"
    there = tmp_path_factory.mktemp("npm") / "clients"
    shutil.copytree(SCRIPTS, there)
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(install, cwd=there, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"npm ci failed: {done.stderr}"

    def run(name):
        command = ["node", f"{name}.mjs", served.url]
        done = subprocess.run(command, cwd=there, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_translate(ran, translators):
    german, english = translators["en", "de"], translators["de", "en"]
    assert ran("translate") == {
        "libre": [german.translate("One man.").text, german.translate("Two dogs & a <cat>.").text],
        "refused": "ja is not supported",
        "deepl": [german.translate("Two dogs & a cat; 5 % +1.").text, english.translate("Zwei Hunde.").text],
        "status": "Error 400",
    }


def test_libretranslate(ran, translators):
    german = translators["en", "de"]
    assert ran("libretranslate") == {
        "text": german.translate("One man.").text,
        "guessed": german.translate("Two dogs are playing in the snow.").text,
        "html": german.translate("<b>Two</b> dogs &amp; a cat.", html=True).text,
        "refused": "This language was not found/does not exist.",
    }


def test_deepl_node(ran, translators):
    german = translators["en", "de"]
    found = ran("deepl")
    usage, xml = found.pop("usage"), found.pop("xml")
    assert usage > 0 and xml.count('<x id="7">man</x>') == 1
    assert found == {
        "one": [german.translate("One man.").text, "en", 8],
        "many": [one.text for one in german.translate(["One man.", "<b>Two</b> dogs &amp; a cat."], html=True)],
        "source": ["en", "de"],
        "target": [["de", False], ["en-GB", False], ["en-US", False], ["fr", False]],
        "pairs": 4,
        "glossary": ["mine", 1, GLOSSARY],
        "listed": [True],
        "withGlossary": german.translate("Two dogs.", glossary=GLOSSARY).text,
        "both": [["en", "de", 1], ["de", "en", 1]],
        "entries": {"Hunde": "cats"},
        "withBoth": translators["de", "en"].translate("Zwei Hunde.", glossary={"Hunde": "cats"}).text,
        "document": ["done", 9, german.translate("Two dogs.").text],
        "formality": "DeepLError",
        "broken": "DeepLError",
        "gone": "GlossaryNotFoundError",
    }


def test_libretranslate_ts(ran, translators):
    one = ran("libretranslate_ts")
    assert one.pop("detected")["language"] == "en"
    assert one == {
        "one": {"status": 200, "translatedText": translators["en", "de"].translate("One man.").text},
        "several": 2,
        "languages": ["en", "de", "fr"],
        "refused": "ja is not supported",
    }
