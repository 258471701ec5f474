"""The wheel, installed where nothing else of the project is, translates with the shipped model."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cpunmt
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.environments import environment, outside_variables, run

SENTENCE = "A man is riding a bicycle."


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of the sources: building leaves files behind."""
    sources, built = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "cpunmt", "quantize"):
        (sources / name).symlink_to(ROOT / name)
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", built, sources),
    )
    (found,) = built.iterdir()
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """(an empty folder, its environment variables, the commands' folder) where the wheel is installed."""
    folder = tmp_path_factory.mktemp("elsewhere")
    empty = folder / "empty"
    empty.mkdir()
    return empty, outside_variables(), environment(folder / "venv", wheel).parent


def test_the_wheel_holds_both_packages_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name == f"cpunmt-{cpunmt.__version__}-py3-none-any.whl"
    assert {name.split("/")[0] for name in names} == {"cpunmt", "quantize", f"cpunmt-{cpunmt.__version__}.dist-info"}
    sources = {str(path.relative_to(ROOT)) for name in ("cpunmt", "quantize") for path in (ROOT / name).rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert {"cpunmt/py.typed", "quantize/py.typed"} <= set(names)
    page = {str(path.relative_to(ROOT)) for path in (ROOT / "cpunmt" / "serve" / "page").iterdir() if path.is_file()}
    assert len(page) > 14 and {"cpunmt/serve/openapi.json", *page} <= set(names)
    assert any(name.endswith("LICENSE") for name in names)


def test_what_it_needs_is_written_in_the_wheel(wheel):
    (metadata,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    needed = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    always = {line.split(">=")[0] for line in needed if "extra" not in line}
    numbers, world = {"numpy", "numba", "sentencepiece", "PyYAML", "tqdm"}, {"platformdirs", "filelock", "urllib3"}
    assert always == numbers | world | {"backports.zstd"}
    assert "Requires-Python: >=3.10" in lines


def test_the_description_links_to_nothing_that_an_index_lacks(wheel):
    (metadata,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    _, _, shown = zipfile.ZipFile(wheel).read(metadata).decode().partition("\n\n")
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert shown.startswith("# cpunmt\n") and "docs/limits.md" in shown and "(#start)" in shown
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert "![" not in shown and "!The page" not in shown


def test_the_commands_work_outside_the_checkout(installed, student):
    empty, variables, commands = installed
    model = ("-m", DIRECTORIES["int8"])
    shown = run(commands / "cpunmt", "translate", *model, input=SENTENCE, cwd=empty, env=variables)
    assert shown == student.translate(SENTENCE).text + "\n"
    assert "int8" in run(commands / "cpunmt", "info", DIRECTORIES["int8"], cwd=empty, env=variables)
    assert "pack" in run(commands / "cpunmt-quantize", "--help", cwd=empty, env=variables)
    assert list(empty.iterdir()) == []


def test_python_works_outside_the_checkout(installed, student):
    empty, variables, commands = installed
    code = (
        "import sys, cpunmt, quantize; from cpunmt import Translator; "
        f"print(Translator(sys.argv[1]).translate({SENTENCE!r}).text, cpunmt.__file__, quantize.__file__, sep='\\n')"
    )
    text, *files = run(commands / "python", "-c", code, DIRECTORIES["int8"], cwd=empty, env=variables).splitlines()
    assert text == student.translate(SENTENCE).text
    assert all(Path(file).is_relative_to(commands.parent) for file in files)


def test_without_a_model_it_says_how_to_name_one(installed):
    empty, variables, commands = installed
    finished = subprocess.run(
        [commands / "cpunmt", "translate"], input="", capture_output=True, encoding="utf-8", cwd=empty, env=variables
    )
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("cpunmt: error: no model is named, and none is installed: `cpunmt fetch firefox:")
    for way in ("`cpunmt fetch hf:Helsinki-NLP/opus-mt-en-de`", "-m DIR", "`cpunmt convert DIR OUT`", "CPUNMT_MODEL"):
        assert way in finished.stderr
