"""Prebuilt programs: used where they fit, never elsewhere, and sufficient without a compiler."""

import compileall
import hashlib
import json
import shutil

import pytest

from cpunmt.engine import prebuilt, program_files
from cpunmt.engine import program as compiled
from cpunmt.engine.prebuilt import MANIFEST
from cpunmt.simd import isa
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.built_programs import best_program, built_programs, paths
from tests.support.processes import python
from tests.support.speeds import slow_after

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
    """Returns (lines of stdout, stderr) of a process with the programs of `folder`, and without some modules."""
    arguments = "-c", code, DIRECTORIES["int8"], folder, *missing
    done = python(*arguments, cwd=cwd, **{"CPUNMT_CACHE_DIR": str(cache), **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.fixture
def programs(tmp_path):
    """Makes a folder with a program that a test may change."""
    return shutil.copytree(best_program(), tmp_path / "programs")


def change(folder, /, **entries):
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **entries}))


@pytest.mark.parametrize(
    ("path", "missing"), slow_after(1, [(path, missing) for path in paths() for missing in (COMPILERS, ())])
)
def test_a_first_start_translates_at_once(student, tmp_path, path, missing):
    """It prints nothing, imports no compiler, and stores nothing."""
    cache, folder = tmp_path / "cache", best_program() if path is paths()[0] else built_programs()
    (text, origin, imported), errors = translate(folder, cache, *missing, CPUNMT_ISA=path.value)
    assert text == student.translate("A man is riding a bicycle.").text
    assert (origin, imported) == (f"prebuilt {folder / path.value}.so", "[]")
    assert errors == "" and not cache.exists()


def test_what_this_machine_has_compiled_comes_first(tmp_path):
    file = compiled.warm_up()
    assert file == program_files.cache_file()
    (_, origin, imported), errors = translate(best_program(), file.parent)
    assert (origin, imported, errors) == (f"cached {file}", "['llvmlite']", "")
    (_, origin, _), errors = translate(best_program(), file.parent, "numba")  # it cannot be named
    assert origin.startswith("prebuilt") and errors == ""


def test_an_installation_without_programs_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    with pytest.raises(prebuilt.Unfit, match="^this installation has no prebuilt programs$"):
        prebuilt.find(paths()[0])


def flip(place):
    def change_byte(folder, file):
        content = bytearray(file.read_bytes())
        content[place] ^= 1
        file.write_bytes(content)

    return change_byte


def of_another_loader(folder, file):
    """Makes a program that fits the manifest, but is not a shared object."""
    file.write_bytes(b"no program")
    entry = {"file": file.name, "sha256": hashlib.sha256(b"no program").hexdigest(), "signatures": {}}
    change(folder, programs={file.stem: entry})


OTHER, DAMAGED = prebuilt.Unfit, prebuilt.Damaged


@pytest.mark.parametrize(
    ("spoil", "kind", "told"),
    [
        (
            lambda folder, file: change(folder, sources="0" * 32),
            OTHER,
            "the prebuilt programs are of other sources than the installed ones",
        ),
        (
            lambda folder, file: change(folder, machine="riscv64", system="linux"),
            OTHER,
            "the prebuilt programs are for linux riscv64, and this is ",
        ),
        (lambda folder, file: change(folder, programs={}), OTHER, "no prebuilt program is for {path}"),
        *((flip(place), DAMAGED, "{file} is not the file that was installed") for place in (0, 100, -1)),
        *(
            (lambda folder, file, content=content: (folder / MANIFEST).write_bytes(content), DAMAGED, "{manifest} ")
            for content in (b"", b"{", b"[]", b"{}", b'{"system": 1}', b"\xff", b'{"programs": []}')
        ),
        (lambda folder, file: file.unlink(), DAMAGED, "{file} cannot be loaded ("),
        (of_another_loader, DAMAGED, "{file} cannot be loaded ("),
    ],
)
def test_a_program_that_does_not_fit_is_told_and_not_used(programs, monkeypatch, spoil, kind, told):
    path = paths()[0].value
    file, manifest = programs / f"{path}.so", programs / MANIFEST
    spoil(programs, file)
    monkeypatch.setattr(prebuilt, "FOLDER", programs)
    with pytest.raises(prebuilt.Unfit) as caught:
        prebuilt.find(paths()[0])
    assert type(caught.value) is kind
    assert str(caught.value).startswith(told.format(path=path, file=file, manifest=manifest))


def test_without_a_program_and_without_numba_one_error_says_what_to_do(tmp_path):
    (told,), errors = translate(tmp_path, tmp_path / "cache", *COMPILERS)
    assert errors == "" and told == (
        f"no compiled program for {isa.current().value}: this installation has no prebuilt programs, and "
        'Numba, which would compile one, is not installed: pip install "cpunmt[jit]"'
    )


@pytest.mark.slow
def test_a_damaged_program_is_told_and_another_one_compiled(programs, tmp_path, student):
    """Edited sources, which are normal, are compiled without a message."""
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
    (file,), errors = translate(best_program(), tmp_path / "cache", *COMPILERS, code=WARM_UP)
    assert file == str(best_program() / f"{isa.current().value}.so")
    assert errors == (
        f"cpunmt: nothing to do: the program for {isa.current().value} came with the wheel. One that is tuned for this "
        'processor takes Numba: pip install "cpunmt[jit]"\n'
    )


def test_edited_sources_never_run_a_program_of_others(tmp_path):
    """Holds even if the folder is the package's own."""
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
    """Makes a copy of the package, with programs."""
    package = folder / "cpunmt"
    shutil.copytree(ROOT / "cpunmt", package, ignore=shutil.ignore_patterns("__pycache__", "prebuilt"))
    shutil.copytree(best_program(), package / "engine" / "prebuilt")
    return package


def test_hidden_files_are_no_sources(tmp_path):
    """Such as editors' locks, which are broken links, and copies."""
    package = copy_of_the_package(tmp_path)
    (package / "kernels" / ".#softmax.py").symlink_to("someone@somewhere.1234")
    (package / "kernels" / ".ipynb_checkpoints").mkdir()
    (package / "kernels" / ".ipynb_checkpoints" / "softmax-checkpoint.py").write_text("# another\n")
    arguments = package / "engine" / "prebuilt", tmp_path / "cache", *COMPILERS
    (_, origin, _), _ = translate(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert origin.startswith(f"prebuilt {package}")


@pytest.mark.parametrize("missing", [(), COMPILERS], ids=["with Numba", "without"])
def test_without_sources_one_error_says_what_to_do(tmp_path, missing):
    """As in an installation of bytecode alone."""
    package = copy_of_the_package(tmp_path)
    compileall.compile_dir(package, legacy=True, quiet=2)
    for source in package.rglob("*.py"):
        source.unlink()
    arguments = package / "engine" / "prebuilt", tmp_path / "cache", *missing
    (told,), errors = translate(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert "the sources of cpunmt, which tell what its compiled program is of, are not there as files (" in told
    assert "install cpunmt unpacked, with its .py files" in told and errors == ""
