"""An editable install works from every folder, the one that holds the clone included.

There `cpunmt` is the clone itself, a folder without `__init__.py`, which looks like a namespace package. Python takes
it unless a later folder of sys.path has a real package, so `package_dir` in setup.py puts the clone on sys.path; a
finder of setuptools would come too late.
"""

import json
import shutil
from pathlib import Path

import pytest

from cpunmt.engine.prebuilt import MANIFEST
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.built_programs import built_programs
from tests.support.environments import environment, outside_variables, run


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Returns (interpreter of an environment with an editable install of a clone, the clone's parent folder)."""
    parent = tmp_path_factory.mktemp("projects")
    (parent / "cpunmt").mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, parent / "cpunmt" / name)
    for name in ("cpunmt", "quantize", "bench"):
        leave_out = shutil.ignore_patterns("__pycache__", "prebuilt")
        shutil.copytree(ROOT / name, parent / "cpunmt" / name, ignore=leave_out)
    # As after `make wheel`.
    programs = shutil.copytree(built_programs(), parent / "cpunmt" / "cpunmt" / "engine" / "prebuilt")
    manifest = json.loads((programs / MANIFEST).read_bytes())
    (programs / MANIFEST).write_text(json.dumps({**manifest, "complete": True}))
    return environment(tmp_path_factory.mktemp("editable") / "venv", "--editable", parent / "cpunmt"), parent


@pytest.mark.parametrize("folder", [".", "cpunmt", "cpunmt/cpunmt/text", "elsewhere"])
def test_a_script_finds_the_package_wherever_it_lies(clone, folder):
    python, parent = clone
    (parent / folder).mkdir(exist_ok=True)
    script = parent / folder / "translate_a_line.py"
    script.write_text(
        "import sys, quantize, cpunmt\n"
        "from cpunmt import Translator\n"
        "print(Translator(sys.argv[1]).translate('A man is riding a bicycle.').text, cpunmt.__file__, sep='\\n')\n"
    )
    shown = run(python, script, DIRECTORIES["int8"], cwd=parent / folder, env=outside_variables())
    text, file = shown.splitlines()
    script.unlink()
    assert "Fahrrad" in text and Path(file) == parent / "cpunmt" / "cpunmt" / "__init__.py"


def test_it_needs_numba_for_what_will_be_edited(clone):
    """Holds even if programs are there; and the wheel is for every machine."""
    python, parent = clone
    code = (
        "from importlib import metadata; found = metadata.distribution('cpunmt'); "
        "print([need for need in found.requires if need.startswith('numba')], found.read_text('WHEEL'))"
    )
    told = run(python, "-c", code, cwd=parent, env=outside_variables())
    assert "'numba>=0.61', " in told and "Tag: py3-none-any" in told and "sys_platform" not in told
