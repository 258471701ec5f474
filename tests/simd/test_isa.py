"""The choice of a path: the best one, or the one in CPUNMT_ISA."""

import re

import llvmlite.binding as llvm
import pytest

from cpunmt.errors import CpunmtError, UnsupportedIsaError
from cpunmt.simd import isa, processor
from cpunmt.simd.isa import Isa
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.processes import python

UNSUPPORTED = [path for path in Isa if path not in isa.supported()]


def ask(name):
    """Returns (exit status, stdout, stderr) of a process with CPUNMT_ISA=name, which prints its path."""
    done = python("-c", "from cpunmt.simd import isa\nprint(isa.current().value)", CPUNMT_ISA=name)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize("name", [None, "", "  "])
def test_the_best_path_is_the_default(name):
    assert ask(name)[:2] == (0, isa.supported()[0].value)


@pytest.mark.parametrize("path", isa.supported())
def test_every_supported_path_can_be_chosen(path):
    assert ask(path.value)[:2] == (0, path.value)
    assert ask(f" {path.value.upper()} ")[:2] == (0, path.value)


@pytest.mark.parametrize("name", ["avx3", "sse", "avx2,generic", "0", "Isa.AVX2", "générique"])
def test_an_unknown_name_is_refused(name):
    status, _, message = ask(name)
    assert status == 1 and "UnsupportedIsaError" in message
    last = message.strip().splitlines()[-1]
    assert "is not an instruction set that cpunmt knows" in last and name.lower() in last
    assert last.endswith(", ".join(path.value for path in isa.supported()))


@pytest.mark.parametrize("path", UNSUPPORTED)
def test_a_path_that_this_machine_lacks_is_refused(path):
    status, _, message = ask(path.value)
    assert status == 1 and "UnsupportedIsaError" in message
    last = message.strip().splitlines()[-1]
    who = (
        "the operating system does not let this process use"
        if isa._present(path)
        else "this processor does not support"
    )
    assert f"CPUNMT_ISA={path.value!r}: {who} it" in last
    assert last.endswith(", ".join(path.value for path in isa.supported()))


@pytest.mark.parametrize(
    "features", [set(), {"avx2", "fma"}, isa._V3 - {"bmi2"}, isa._V3, {*isa._V3, "avxvnni"}, {"avx512vnni"}]
)
def test_a_path_needs_all_of_its_features(monkeypatch, features):
    monkeypatch.setattr(processor, "features", lambda: frozenset(features))
    paths = isa.supported()
    assert paths[-1] is Isa.GENERIC and paths == sorted(paths, key=list(Isa).index)
    assert (Isa.AVX2 in paths) == (features >= isa._V3)
    assert (Isa.AVX_VNNI in paths) == ({*isa._V3, "avxvnni"} <= features)
    assert Isa.AVX512_VNNI not in paths


def test_matrix_registers_need_the_operating_system_too(monkeypatch):
    everything = frozenset().union(*(row.needs for row in isa._PATHS.values()))
    monkeypatch.setattr(processor, "features", lambda: everything)
    monkeypatch.setattr(isa, "_matrix_registers", lambda: True)
    assert isa.supported() == list(Isa)
    monkeypatch.setattr(isa, "_matrix_registers", lambda: False)
    assert isa.supported() == list(Isa)[1:]
    monkeypatch.delenv("CPUNMT_ISA", raising=False)
    assert isa.current.__wrapped__() is Isa.AVX512_VNNI
    monkeypatch.setenv("CPUNMT_ISA", "amx_int8")
    with pytest.raises(
        UnsupportedIsaError, match="the operating system does not let this process use it; use one of: av"
    ):
        isa.current.__wrapped__()


def test_a_wrong_name_is_one_line_of_the_command():
    """The import does not choose an instruction set, so that callers can catch the error."""
    done = python("-m", "cpunmt", "translate", "-m", DIRECTORIES["int8"], CPUNMT_ISA="avx3")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch("cpunmt: error: CPUNMT_ISA='avx3' is not an instruction set .*\n", done.stderr)


def test_the_error_is_one_of_ours():
    assert issubclass(UnsupportedIsaError, CpunmtError)


def test_features_are_names_that_llvm_knows():
    """A misspelt name would disable its path for ever."""
    told = llvm.get_host_cpu_features()  # of the host's own architecture only
    arm = {"neon", "dotprod", "i8mm"}
    for path, row in isa._PATHS.items():
        if processor.machine() == "x86_64" and not row.needs & arm:
            assert row.needs <= set(told), path
            assert {name for name in row.needs if told.get(name)} == row.needs & processor.features(), path


CALLS = {
    Isa.I8MM: ("smmla", "<4 x i32> @llvm.aarch64.neon.smmla.v4i32.v16i8(<4 x i32> {}, <16 x i8> {}, <16 x i8> {})"),
    Isa.DOTPROD: ("sdot", "<4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32> {}, <16 x i8> {}, <16 x i8> {})"),
    Isa.NEON: ("smull", "<8 x i16> @llvm.aarch64.neon.smull.v8i16(<8 x i8> {}, <8 x i8> {})"),
}


@pytest.mark.parametrize("path", CALLS)
def test_features_of_aarch64_are_names_that_llvm_knows(path):
    """Its instruction compiles; the host may be another machine."""
    instruction, call = CALLS[path]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(
        cpu=isa._PATHS[path].lowered[0], features=isa._PATHS[path].lowered[1]
    )
    names = [f"%x{i}" for i in range(call.count("{}"))]
    result, symbol = call.split("(")[0].split(" @")
    given = call.split("(")[1].rstrip(")").format(*names)
    code = f"declare {call.replace(' {}', '')}\ndefine {result} @f({given}) {{\n"
    code += f"%r = call {result} @{symbol}({given})\nret {result} %r\n}}"
    assert instruction in machine.emit_assembly(llvm.parse_assembly(code))


def test_the_best_path_compiles_for_this_processor_and_lower_ones_for_less():
    best, *lower = filter(isa._present, Isa)
    cpu, features = isa.target_cpu(best)
    assert cpu == llvm.get_host_cpu_name() and features.startswith(llvm.get_host_cpu_features().flatten())
    assert {f"+{name}" for name in isa._PATHS[best].needs} <= set(features.split(","))
    assert isa.target_cpu(best, tuned=False) == isa._PATHS[best].lowered
    if processor.machine() == "x86_64":
        for path in lower:
            cpu, features = isa.target_cpu(path)
            assert (cpu.startswith("x86-64") and "512" not in cpu + features) or path is Isa.AVX512_VNNI
        assert isa.target_cpu(Isa.GENERIC) == ("x86-64", "") or best is Isa.GENERIC


def test_adding_an_instruction_set_touches_three_files():
    """The others query properties of the chosen one; only the libm of the generic path compares its name."""
    named = {
        path.relative_to(ROOT).as_posix(): set(re.findall(r"\bIsa\.([A-Z]\w+)", path.read_text("utf-8")))
        for folder in ("cpunmt", "bench")
        for path in (ROOT / folder).rglob("*.py")
    }
    found = {path for path, names in named.items() if names - {"GENERIC"}}
    assert found == {f"cpunmt/simd/{name}.py" for name in ("isa", "dot_products", "tile_shapes")}
