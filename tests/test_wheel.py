"""The wheels, installed without the rest of the project, translate with the shipped model.

The wheel for any machine compiles; the one with programs does not need a compiler.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import cpunmt
from cpunmt.engine.prebuilt import MANIFEST
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.built_programs import built_programs, paths
from tests.support.environments import environment, outside_variables, run

SENTENCE = "A man is riding a bicycle."
INCOMPLETE = {"CPUNMT_WHEEL_PATHS": "incomplete"}
# Output of setup.py for its folder, without building. An argument: in a function of this name, as a backend's.
WOULD_BE = """
import json, runpy, sys, setuptools
def said(**settings):
    needs = [need for need in settings["install_requires"] if need.startswith("numba")]
    files = sorted(settings["package_data"]["cpunmt.engine"])
    print(json.dumps([settings["cmdclass"]["bdist_wheel"].__name__, files, ";" not in needs[0]]))
setuptools.setup = said
hook = sys.argv.pop()
exec(f"def {hook}(): runpy.run_path('setup.py')")
globals()[hook]()
"""


def copy_of_the_sources(folder) -> Path:
    """Building leaves files behind, and the checkout may have programs."""
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "quantize"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "cpunmt", folder / "cpunmt", ignore=shutil.ignore_patterns("__pycache__", "prebuilt"))
    return folder


def wheel_of(sources, built, **variables) -> Path:
    """The tests build programs for this machine's paths only, which a wheel refuses by default."""
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", built, sources),
        env={**os.environ, **INCOMPLETE, **variables},
    )
    (found,) = built.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Builds a wheel of the sources alone."""
    return wheel_of(copy_of_the_sources(tmp_path_factory.mktemp("sources")), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def with_programs(tmp_path_factory) -> Path:
    """Makes a folder of the sources, with programs."""
    sources = copy_of_the_sources(tmp_path_factory.mktemp("sources"))
    shutil.copytree(built_programs(), sources / "cpunmt" / "engine" / "prebuilt")
    return sources


@pytest.fixture(scope="module")
def program_wheel(with_programs, tmp_path_factory) -> Path:
    """Builds the wheel with programs."""
    return wheel_of(with_programs, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Returns (an empty folder, its environment variables, the commands' folder) with the wheel installed."""
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


def metadata(wheel, name="METADATA") -> list[str]:
    (file,) = [member for member in zipfile.ZipFile(wheel).namelist() if member.endswith(f".dist-info/{name}")]
    return zipfile.ZipFile(wheel).read(file).decode().splitlines()


def needed(wheel, system=sys.platform, machine="", extra="") -> set[str]:
    """Returns the packages that an installer would fetch there, for Python 3.11."""
    there = {
        "sys_platform": system,
        "platform_machine": machine or platform.machine(),
        "python_version": "3.11",
        "extra": extra,
    }
    lines = [line.split(": ", 1)[1] for line in metadata(wheel) if line.startswith("Requires-Dist: ")]
    wanted = [Requirement(line) for line in lines]
    return {one.name for one in wanted if one.marker is None or one.marker.evaluate(there)}


ALWAYS = {"numpy", "sentencepiece", "PyYAML", "tqdm", "platformdirs", "filelock", "urllib3", "backports.zstd"}
PLACES = [("linux", "x86_64"), ("linux", "aarch64"), ("linux", "riscv64"), ("darwin", "arm64"), ("darwin", "x86_64")]


def test_what_it_needs_is_written_in_the_wheel(wheel):
    assert all(needed(wheel, *place) == ALWAYS | {"numba"} for place in PLACES)
    assert "Requires-Python: >=3.10" in metadata(wheel)


def test_a_wheel_with_programs_needs_numba_where_there_is_no_such_wheel(program_wheel):
    assert [place for place in PLACES if "numba" in needed(program_wheel, *place)] == PLACES[2:]
    assert all(needed(program_wheel, *place) - {"numba"} == ALWAYS for place in PLACES)
    assert needed(program_wheel, *PLACES[0], extra="jit") == ALWAYS | {"numba"}


def test_a_wheel_with_programs_is_one_of_its_platform(program_wheel, wheel):
    machine = platform.machine()
    tags = [f"py3-none-{system}_{machine}" for system in ("manylinux_2_17", "musllinux_1_1")]
    assert program_wheel.name == f"cpunmt-{cpunmt.__version__}-{tags[0]}.musllinux_1_1_{machine}.whl"
    told = metadata(program_wheel, "WHEEL")
    assert {f"Tag: {tag}" for tag in tags} == {line for line in told if line.startswith("Tag: ")}
    assert "Root-Is-Purelib: false" in told
    added = set(zipfile.ZipFile(program_wheel).namelist()) - set(zipfile.ZipFile(wheel).namelist())
    files = {MANIFEST, *(f"{path.value}.so" for path in paths())}
    assert added == {f"cpunmt/engine/prebuilt/{name}" for name in files}


def test_programs_of_other_sources_are_left_out(with_programs, tmp_path_factory, wheel):
    """They would never be used."""
    sources = tmp_path_factory.mktemp("edited")
    shutil.copytree(with_programs, sources, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    with open(sources / "cpunmt" / "kernels" / "softmax.py", "a") as file:
        file.write("# edited\n")
    stale = sources / "build" / "lib" / "cpunmt" / "removed.py"  # from a build before the module was removed
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    made = wheel_of(sources, tmp_path_factory.mktemp("wheel"))
    assert made.name == wheel.name and "numba" in needed(made)
    assert set(zipfile.ZipFile(made).namelist()) == set(zipfile.ZipFile(wheel).namelist())


def would_be(sources, hook="build_wheel", **variables):
    """Returns (whether the wheel is for one platform, files of programs, whether Numba is required everywhere)."""
    told = run(sys.executable, "-c", WOULD_BE, hook, cwd=sources, env={**os.environ, **variables})
    command, files, needs = json.loads(told)
    return command == "PlatformWheel", files, needs


NONE = False, [], True


@pytest.fixture
def changed(with_programs, tmp_path):
    """Returns a function that changes the manifest in a copy of the sources with programs, and returns the folder."""
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    sources = shutil.copytree(with_programs, tmp_path / "sources", ignore=ignored)

    def change(**entries):
        file = sources / "cpunmt" / "engine" / "prebuilt" / MANIFEST
        file.write_text(json.dumps({**json.loads(file.read_bytes()), **entries}))
        return sources

    return change


def test_a_wheel_brings_programs_only_if_every_path_is_there(changed):
    files = sorted(f"prebuilt/{name}" for name in (MANIFEST, *(f"{path.value}.so" for path in paths())))
    assert would_be(changed(complete=True)) == (True, files, False)
    assert would_be(changed(complete=False)) == NONE
    assert would_be(changed(complete=False), **INCOMPLETE) == (True, files, False)


@pytest.mark.parametrize("hook", ["build_editable", "prepare_metadata_for_build_editable"])
def test_what_will_be_edited_needs_numba(changed, hook):
    assert would_be(changed(complete=True), hook) == NONE


@pytest.mark.parametrize(
    "entries", [{"system": "darwin"}, {"programs": {}}, {"programs": []}, {"programs": {"generic": 1}}, {"sources": 1}]
)
def test_a_wheel_claims_no_programs_that_do_not_fit(changed, entries):
    assert would_be(changed(complete=True, **entries)) == NONE


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"null"])
def test_a_wheel_claims_no_programs_of_a_broken_manifest(changed, content):
    sources = changed(complete=True)
    (sources / "cpunmt" / "engine" / "prebuilt" / MANIFEST).write_bytes(content)
    assert would_be(sources) == NONE


@pytest.mark.parametrize("content", [None, b"", b"no program"])
def test_a_wheel_claims_no_program_that_is_missing_or_changed(changed, content):
    sources = changed(complete=True)
    file = sources / "cpunmt" / "engine" / "prebuilt" / f"{paths()[-1].value}.so"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert would_be(sources) == NONE


def test_a_wheel_of_another_machine_is_made_only_when_it_is_named(changed):
    (other,) = {"x86_64", "aarch64"} - {platform.machine()}
    assert would_be(changed(complete=True, machine=other)) == NONE
    assert would_be(changed(), CPUNMT_WHEEL_MACHINE=other)[::2] == (True, False)
    changed(machine=platform.machine())
    for name in (other, "riscv64"):
        with pytest.raises(AssertionError, match=f"CPUNMT_WHEEL_MACHINE is '{name}', but .* lacks programs"):
            would_be(changed(), CPUNMT_WHEEL_MACHINE=name)


def test_the_archive_of_the_sources_has_no_programs(with_programs, tmp_path):
    """It is for every machine; it builds the wheel without programs."""
    code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
    name = run(sys.executable, "-c", code, tmp_path, cwd=with_programs).splitlines()[-1]
    with tarfile.open(tmp_path / name) as archive:
        names = {member.partition("/")[2] for member in archive.getnames()}
    assert {"setup.py", "cpunmt/engine/sources.py", "cpunmt/serve/openapi.json"} <= names
    assert [name for name in names if name.startswith("cpunmt/engine/prebuilt/")] == []


def test_a_wheel_with_programs_translates_without_numba(program_wheel, tmp_path, student):
    """At once: without output, without a cache, and without a compiler."""
    python = environment(tmp_path / "venv", program_wheel, without=("numba", "llvmlite"))
    empty = tmp_path / "empty"
    empty.mkdir()
    variables = {**outside_variables(), "CPUNMT_CACHE_DIR": str(tmp_path / "cache")}
    given = {"cwd": empty, "env": variables, "capture_output": True, "encoding": "utf-8"}
    command = [python.parent / "cpunmt", "translate", "-m", DIRECTORIES["int8"]]
    done = subprocess.run(command, input=SENTENCE, **given)
    assert (done.returncode, done.stdout, done.stderr) == (0, student.translate(SENTENCE).text + "\n", "")
    done = subprocess.run([python, "-c", "import numba"], **given)
    assert "No module named 'numba'" in done.stderr
    assert list(empty.iterdir()) == [] and not (tmp_path / "cache").exists()


def test_the_description_links_to_nothing_that_an_index_lacks(wheel):
    _, _, shown = "\n".join(metadata(wheel)).partition("\n\n")
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
