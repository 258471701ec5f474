"""The builder of a wheel's programs: nothing from outside, the same bytes on any machine, nothing built twice."""

import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from cpunmt.engine.prebuilt import MANIFEST
from cpunmt.engine.sources import sources_digest
from cpunmt.simd import isa, processor
from tests.sample_models.real_model import ROOT
from tests.support.built_programs import built_programs, paths
from tests.support.environments import run
from tools import programs

# The same build on what seems another processor, with settings of Numba's around it.
ELSEWHERE = """
import sys
import llvmlite.binding as llvm
from pathlib import Path
from cpunmt.simd import isa, processor
llvm.get_host_cpu_name = lambda: "nehalem"
llvm.get_host_cpu_features = lambda: llvm.FeatureMap()
processor.features = lambda: frozenset()
processor.identity = lambda: "another"
from tools import programs
programs.compile_path(isa.Isa(sys.argv[1]), Path(sys.argv[2]))
"""


def elf(path):
    """Returns (machine, types of dynamic entries, undefined names, flags of segments) of a 64-bit shared object."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01"

    def words(at, count, size):
        return [int.from_bytes(data[at + i * size : at + (i + 1) * size], "little") for i in range(count)]

    (machine,) = words(18, 1, 2)
    (header_at,), (count,) = words(32, 1, 8), words(56, 1, 2)
    segments = [(*words(header_at + 56 * i, 2, 4), *words(header_at + 56 * i + 8, 4, 8)) for i in range(count)]
    (at, size) = next((offset, size) for kind, _, offset, _, _, size in segments if kind == 2)
    pairs = words(at, size // 8, 8)
    return machine, dict(zip(pairs[::2], pairs[1::2], strict=True)), {kind: flags for kind, flags, *_ in segments}


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.value)
def test_a_program_needs_nothing_and_its_stack_is_not_code(path):
    machine, dynamic, segments = elf(built_programs() / f"{path.value}.so")
    needed, text_relocations, stack, executable = 1, 22, 0x6474E551, 1
    assert machine == {"x86_64": 62, "aarch64": 183}[processor.machine()]
    assert needed not in dynamic and text_relocations not in dynamic
    assert not segments[stack] & executable


def test_the_manifest_tells_how_they_were_made():
    folder = built_programs()
    manifest = json.loads((folder / MANIFEST).read_bytes())
    assert manifest["sources"] == sources_digest() and manifest["machine"] == processor.machine()
    assert manifest["complete"] is (set(paths()) == set(programs.PATHS[processor.machine()]))
    assert set(manifest["tools"]) == {"python", "numba", "llvmlite", "llvm", "linker"}
    assert set(manifest["programs"]) == {path.value for path in paths()}
    for path, entry in manifest["programs"].items():
        content = (folder / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert (entry["cpu"], entry["features"]) == isa.target_cpu(isa.Isa(path), tuned=False)
        library = ctypes.CDLL(str(folder / entry["file"]))
        assert len(entry["signatures"]) > 100
        assert all(hasattr(library, "cpunmt_" + name) for name in entry["signatures"])
    names = {path.name for path in folder.iterdir()}
    assert names == {MANIFEST, *(f"{path.value}.so" for path in paths())}


def test_the_bytes_do_not_depend_on_the_machine(tmp_path):
    path = isa.Isa.AVX2 if isa.Isa.AVX2 in paths() else isa.Isa.GENERIC
    odd = {"NUMBA_CPU_NAME": "generic", "NUMBA_OPT": "0", "NUMBA_BOUNDSCHECK": "1", "CPUNMT_ISA": "generic"}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, path.value, str(tmp_path)],
        env={**os.environ, **odd},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    name = f"{path.value}.so"
    assert (tmp_path / name).read_bytes() == (built_programs() / name).read_bytes()


def test_what_is_up_to_date_is_not_built_again(monkeypatch):
    def compile_again(path, folder):
        raise AssertionError(path)

    monkeypatch.setattr(programs, "_compiled", compile_again)
    programs.build(built_programs(), paths())


@pytest.mark.parametrize("entries", [{"system": "darwin"}, {"machine": "riscv64"}, {"sources": ""}, {"complete": None}])
def test_what_is_of_something_else_is_built_again(tmp_path, entries):
    folder = shutil.copytree(built_programs(), tmp_path / "programs")
    manifest = json.loads((folder / MANIFEST).read_bytes())
    assert programs._is_up_to_date(folder, paths())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **entries}))
    assert not programs._is_up_to_date(folder, paths())


def test_a_relative_folder_is_where_the_command_was_given(tmp_path):
    command = (sys.executable, "-m", "tools.programs", "--paths", "generic", "--out", "made")
    run(*command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert {path.name for path in (tmp_path / "made").iterdir()} == {MANIFEST, "generic.so"}
    assert json.loads((tmp_path / "made" / MANIFEST).read_bytes())["complete"] is False


def test_a_program_that_wants_something_from_outside_is_refused(tmp_path):
    import llvmlite.binding as llvm

    from cpunmt.engine.object_code import initialize_llvm

    initialize_llvm()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="small")
    module = llvm.parse_assembly("declare float @cosf(float)\ndefine float @f(float %x) {\n"
                                 "%y = call float @cosf(float %x)\nret float %y\n}")  # fmt: skip
    with pytest.raises(SystemExit, match=r"program\.so cannot be linked: .*cosf"):
        programs.link(machine.emit_object(module), tmp_path / "program.so")
    assert list(tmp_path.iterdir()) == []


def test_without_a_linker_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no linker found .*: install binutils"):
        programs.linker()


def test_another_machine_needs_a_linker_of_its_own(monkeypatch, tmp_path):
    """This one's would refuse."""
    other = "aarch64" if processor.machine() == "x86_64" else "x86_64"
    for name in ("ld", "ld.bfd"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(processor, "machine", lambda: other)
    with pytest.raises(SystemExit, match=f"install binutils-{other.replace('_', '-')}-linux-gnu, or LLVM's lld$"):
        programs.linker()


def test_paths_are_those_of_the_machine(capsys):
    with pytest.raises(SystemExit):
        programs.main(["--machine", "aarch64", "--paths", "avx2"])
    assert "--paths: aarch64 has no 'avx2', but i8mm, dotprod, neon, generic" in capsys.readouterr().err


@pytest.mark.slow
def test_a_program_of_another_machine_is_compiled_here(tmp_path):
    """An emulator of that machine tests its results: docs/arm.md. It takes a linker for that machine, or lld."""
    other = "aarch64" if processor.machine() == "x86_64" else "x86_64"
    path, number = {"aarch64": ("dotprod", 183), "x86_64": ("avx2", 62)}[other]  # in the header of an ELF file
    run(sys.executable, "-m", "tools.programs", "--machine", other, "--paths", path, "--out", tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_bytes())
    assert (manifest["machine"], manifest["complete"], list(manifest["programs"])) == (other, False, [path])
    machine, dynamic, _ = elf(tmp_path / f"{path}.so")
    assert machine == number and 1 not in dynamic  # DT_NEEDED
    ours = json.loads((built_programs() / MANIFEST).read_bytes())["programs"].values()
    assert all(entry["signatures"] == manifest["programs"][path]["signatures"] for entry in ours)


def test_another_system_is_told_where_they_are_built(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SystemExit, match="programs are built on Linux, on x86_64 or aarch64; this is darwin on"):
        programs.main([])


# Without Python and its C library: the numbers of a kernel, in a process of musl's.
MUSL = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
typedef int64_t (*top_k)(int64_t, int64_t, int64_t, int64_t, int64_t);
int main(int count, char **arguments) {
  float scores[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3}, best[3];
  int64_t places[3];
  void *program = dlopen(arguments[1], RTLD_NOW);
  top_k kernel = program ? (top_k)dlsym(program, "cpunmt_top_k") : 0;
  if (!kernel) return puts(dlerror()), 1;
  int64_t found = kernel((int64_t)scores, 16, 3, (int64_t)places, (int64_t)best);
  printf("%d: %d %d %d\n", (int)found, (int)places[0], (int)places[1], (int)places[2]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", paths(), ids=lambda path: path.value)
def test_a_program_runs_with_another_c_library(tmp_path, path):
    assert shutil.which("musl-gcc"), "musl-gcc is missing, for another C library: apt-get install musl-tools"
    (tmp_path / "main.c").write_text(MUSL)
    run("musl-gcc", "-o", tmp_path / "main", tmp_path / "main.c")
    executable = (tmp_path / "main").read_bytes()
    assert b"/lib/ld-musl" in executable and b"libc.so.6" not in executable
    assert run(tmp_path / "main", built_programs() / f"{path.value}.so") == "3: 5 12 14\n"
