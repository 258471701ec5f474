"""Prebuilt programs: used where they fit, never where they do not, and enough without any compiler."""

import compileall
import json
import os
import shutil
import subprocess
import sys

import pytest

from cpunmt.engine import prebuilt, program_files
from cpunmt.engine import program as compiled
from cpunmt.engine.prebuilt import MANIFEST
from cpunmt.simd import isa
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.built_programs import built_programs, paths

TRANSLATE = """
import sys
from pathlib import Path
for name in sys.argv[3:]:
    sys.modules[name] = None  # as if it were not installed
from importlib import util
find = util.find_spec
util.find_spec = lambda name, *rest: None if name in sys.argv[3:] else find(name, *rest)
from cpunmt import CpunmtError, Translator
from cpunmt.engine import prebuilt, program
prebuilt.FOLDER = Path(sys.argv[2])
try:
    print(Translator(sys.argv[1]).translate("A man is riding a bicycle.").text)
    print(program.load().origin, program.load().path)
    print([name for name in ("numba", "llvmlite") if sys.modules.get(name)])
except CpunmtError as error:
    print(error)
"""
COMPILERS = ("numba", "llvmlite")


def translate(folder, cache, *missing, code=TRANSLATE, cwd=ROOT, **environment):
    """(lines of stdout, stderr) of a process that has the programs of `folder`, and lacks modules."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(DIRECTORIES["int8"]), str(folder), *missing],
        env={**os.environ, "CPUNMT_CACHE_DIR": str(cache), **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.fixture
def programs(tmp_path):
    """A folder of programs that a test may change."""
    return shutil.copytree(built_programs(), tmp_path / "programs")


def change(folder, /, **entries):
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **entries}))


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.value)
@pytest.mark.parametrize("missing", [(), COMPILERS], ids=["with Numba", "without"])
def test_a_first_start_translates_at_once(student, tmp_path, path, missing):
    """It says nothing, imports no compiler, and keeps nothing."""
    cache = tmp_path / "cache"
    (text, origin, imported), errors = translate(built_programs(), cache, *missing, CPUNMT_ISA=path.value)
    assert text == student.translate("A man is riding a bicycle.").text
    assert (origin, imported) == (f"prebuilt {built_programs() / path.value}.so", "[]")
    assert errors == "" and not cache.exists()


def test_what_this_machine_has_compiled_comes_first(tmp_path):
    file = compiled.warm_up()
    assert file == program_files.cache_file()
    (_, origin, imported), errors = translate(built_programs(), file.parent)
    assert (origin, imported, errors) == (f"cached {file}", "['llvmlite']", "")
    (_, origin, _), errors = translate(built_programs(), file.parent, "numba")  # and so cannot be named
    assert origin.startswith("prebuilt") and errors == ""


def unfit(folder, monkeypatch, path=None):
    monkeypatch.setattr(prebuilt, "FOLDER", folder)
    with pytest.raises(prebuilt.Unfit) as caught:
        prebuilt.find(path or paths()[0])
    return type(caught.value), str(caught.value)


def test_programs_of_other_sources_are_not_used(programs, monkeypatch):
    change(programs, sources="0" * 32)
    told = "the prebuilt programs are of other sources than the installed ones"
    assert unfit(programs, monkeypatch) == (prebuilt.Unfit, told)


def test_programs_of_another_machine_are_not_used(programs, monkeypatch):
    change(programs, machine="riscv64", system="linux")
    kind, told = unfit(programs, monkeypatch)
    assert kind is prebuilt.Unfit and told.startswith("the prebuilt programs are for linux riscv64, and this is ")


def test_a_path_that_was_not_built_is_told(programs, monkeypatch):
    change(programs, programs={})
    assert unfit(programs, monkeypatch) == (prebuilt.Unfit, f"no prebuilt program is for {paths()[0].value}")


def test_an_installation_without_programs_is_told(tmp_path, monkeypatch):
    assert unfit(tmp_path, monkeypatch) == (prebuilt.Unfit, "this installation has no prebuilt programs")


@pytest.mark.parametrize("where", [0, 100, -1])
def test_a_changed_file_is_not_used(programs, monkeypatch, where):
    file = programs / f"{paths()[0].value}.so"
    content = bytearray(file.read_bytes())
    content[where] ^= 1
    file.write_bytes(content)
    assert unfit(programs, monkeypatch) == (prebuilt.Damaged, f"{file} is not the file that was installed")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"system": 1}', b"\xff", b'{"programs": []}'])
def test_a_broken_manifest_is_told(programs, monkeypatch, content):
    (programs / MANIFEST).write_bytes(content)
    kind, told = unfit(programs, monkeypatch)
    assert kind is prebuilt.Damaged and str(programs / MANIFEST) in told


def test_a_missing_file_is_told(programs, monkeypatch):
    file = programs / f"{paths()[0].value}.so"
    file.unlink()
    kind, told = unfit(programs, monkeypatch)
    assert kind is prebuilt.Damaged and f"{file} cannot be loaded (" in told


def test_what_is_no_shared_object_is_told(programs, monkeypatch):
    """Right by the manifest, but for another system's loader."""
    import hashlib

    path = paths()[0].value
    (programs / f"{path}.so").write_bytes(b"no program")
    entry = {"file": f"{path}.so", "sha256": hashlib.sha256(b"no program").hexdigest(), "signatures": {}}
    change(programs, programs={path: entry})
    kind, told = unfit(programs, monkeypatch)
    assert kind is prebuilt.Damaged and "cannot be loaded (" in told


def test_without_a_program_and_without_numba_one_error_says_what_to_do(tmp_path):
    (told,), errors = translate(tmp_path, tmp_path / "cache", *COMPILERS)
    assert errors == "" and told == (
        f"there is no compiled program for {isa.current().value}: this installation has no prebuilt programs, and "
        'Numba, which would compile one, is not installed: pip install "cpunmt[jit]"'
    )


@pytest.mark.slow
def test_a_damaged_program_is_told_and_another_one_compiled(programs, tmp_path, student):
    """Edited sources, which is nobody's fault, are compiled without a word on them."""
    path = paths()[0]
    (programs / f"{path.value}.so").write_bytes(b"")
    (tmp_path / "cache").mkdir(mode=0o700)
    (text, origin, _), errors = translate(programs, tmp_path / "cache")
    assert text == student.translate("A man is riding a bicycle.").text and origin.startswith("compiled ")
    damaged, compiling = errors.splitlines()
    assert damaged.endswith("is not the file that was installed; install cpunmt again") and "compiling" in compiling
    assert translate(programs, tmp_path / "cache")[1] == ""  # from now on this machine's own


WARM_UP = TRANSLATE.replace("try:", "import cpunmt.commands.cli\nsys.exit(cpunmt.commands.cli.main(['warmup']))\ntry:")


def test_a_warmup_without_numba_says_what_is_used(tmp_path):
    (file,), errors = translate(built_programs(), tmp_path / "cache", *COMPILERS, code=WARM_UP)
    assert file == str(built_programs() / f"{isa.current().value}.so")
    assert errors == (
        f"cpunmt: nothing to do: the program for {isa.current().value} came with the wheel. One that is tuned for this "
        'processor takes Numba: pip install "cpunmt[jit]"\n'
    )


def test_edited_sources_never_run_a_program_of_others(tmp_path):
    """Even where the folder that holds it is the package's own."""
    package = copy_of_the_package(tmp_path)
    arguments = package / "engine" / "prebuilt", tmp_path / "cache", *COMPILERS
    place = {"cwd": tmp_path, "PYTHONPATH": str(tmp_path)}
    (_, origin, _), _ = translate(*arguments, **place)
    assert origin.startswith(f"prebuilt {package}")
    kernel = package / "kernels" / "softmax.py"
    kernel.write_bytes(kernel.read_bytes() + b"# edited\n")
    (told,), _ = translate(*arguments, **place)
    assert "the prebuilt programs are of other sources than the installed ones" in told


def copy_of_the_package(folder):
    """The package, with programs, in a folder of a test's own."""
    package = folder / "cpunmt"
    shutil.copytree(ROOT / "cpunmt", package, ignore=shutil.ignore_patterns("__pycache__", "prebuilt"))
    shutil.copytree(built_programs(), package / "engine" / "prebuilt")
    return package


def test_hidden_files_are_no_sources(tmp_path):
    """Editors' locks, which lead nowhere, and copies."""
    package = copy_of_the_package(tmp_path)
    (package / "kernels" / ".#softmax.py").symlink_to("someone@somewhere.1234")
    (package / "kernels" / ".ipynb_checkpoints").mkdir()
    (package / "kernels" / ".ipynb_checkpoints" / "softmax-checkpoint.py").write_text("# another\n")
    arguments = package / "engine" / "prebuilt", tmp_path / "cache", *COMPILERS
    (_, origin, _), _ = translate(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert origin.startswith(f"prebuilt {package}")


@pytest.mark.parametrize("missing", [(), COMPILERS], ids=["with Numba", "without"])
def test_without_sources_one_error_says_what_to_do(tmp_path, missing):
    """An installation of bytecode alone."""
    package = copy_of_the_package(tmp_path)
    compileall.compile_dir(package, legacy=True, quiet=2)
    for source in package.rglob("*.py"):
        source.unlink()
    arguments = package / "engine" / "prebuilt", tmp_path / "cache", *missing
    (told,), errors = translate(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert "the sources of cpunmt, which tell what its compiled program is of, are not there as files (" in told
    assert "install cpunmt unpacked, with its .py files" in told and errors == ""
