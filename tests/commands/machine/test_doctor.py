"""`cpunmt doctor`: it reports the environment and its oddities, and its self-test checks its products."""

import json
import os
import re

import numpy as np
import pytest

from cpunmt.commands import cli
from cpunmt.commands.machine import doctor, self_test, surroundings
from cpunmt.commands.machine.self_test import BITS, Speeds
from cpunmt.engine import prebuilt, program
from cpunmt.engine.program_files import cache_folder
from cpunmt.errors import CpunmtError
from cpunmt.kernels import records
from cpunmt.process import granted
from cpunmt.registry import store
from cpunmt.simd import isa, tile
from cpunmt.simd.isa import Isa
from tests.sample_models.real_model import ROOT

HEADINGS = [
    "cpunmt", "Python", "system", "packages", "extras", "processor", "path", "cores", "program", "results", "speed",
    "cache folder", "models", "variables",
]  # fmt: skip
FAST = Speeds(int8=500.0, floats=120.0, reading=30.0, share=1.0, spread=1.1)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(doctor, "measure", lambda loaded: FAST)
    for name in surroundings.VARIABLES:
        if name != "CPUNMT_CACHE_DIR":
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def group(monkeypatch, tmp_path):
    """Returns a function that writes files in a folder, in the place of Linux's limits of a container."""
    monkeypatch.setattr(granted, "_GROUP", tmp_path)

    def write(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    return write


def test_it_tells_everything_and_that_nothing_is_odd(quick, group, capfd):
    assert cli.main(["doctor"]) == 0
    *lines, empty, last = capfd.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == list(HEADINGS) and (empty, last) == ("", "Nothing is odd.")
    told = dict(re.split(r":\s+", line, maxsplit=1) for line in lines)
    assert f"numpy {np.__version__}, " in told["packages"]
    assert told["path"].startswith(isa.current().value)
    assert told["results"] == f"the same bits as everywhere ({BITS})"
    assert told["cache folder"] == f"{cache_folder()} (private)"
    assert told["speed"] == "500 billion 8-bit products a second, 120 of float32, 30 GB/s of weights read"


def test_what_is_odd_is_told_last_and_is_the_status(quick, group, capfd, monkeypatch):
    monkeypatch.setenv("CPUNMT_CACHEDIR", "/x")
    assert cli.main(["doctor"]) == 1
    last = capfd.readouterr().out.splitlines()[-1]
    assert last == "1. CPUNMT_CACHEDIR is set, but means nothing to cpunmt (did you mean CPUNMT_CACHE_DIR?): unset it"
    assert cli.main(["doctor", "--json"]) == 1
    made = json.loads(capfd.readouterr().out)
    assert list(made["found"]) == HEADINGS and made["odd"] == [last[3:]]


def test_an_error_is_one_of_what_is_odd_and_is_told_once(quick, group, monkeypatch, capfd):
    """A wrong CPUNMT_ISA ends every other command."""

    def refuse():
        raise CpunmtError("this cannot be")

    monkeypatch.setattr(isa, "current", refuse)
    monkeypatch.setattr(program, "load", refuse)
    assert cli.main(["doctor"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[-2:] == ["", "1. this cannot be"] and lines[0].startswith("cpunmt: ")


def test_wrong_results_are_told(quick, group, monkeypatch):
    monkeypatch.setattr(doctor, "BITS", "00000000")
    told, (odd,) = doctor.examine()
    assert told["results"] == f"wrong: {BITS} for 00000000" and odd.startswith(
        "the compiled program makes other numbers"
    )


@pytest.mark.parametrize(
    ("path", "changed", "expected"),
    [
        (Isa.AVX512_VNNI, {}, None),
        (Isa.AVX512_VNNI, {"share": 0.89, "spread": 9.0}, None),  # other work on the core is no fault of the machine
        (Isa.AVX512_VNNI, {"share": 0.9, "spread": 2.0}, None),
        (Isa.AVX512_VNNI, {"spread": 4.0}, "the slowest calls took 4.0 times as long"),
        (Isa.AVX512_VNNI, {"int8": 20.0}, "8-bit products are slow: 20 billion a second, where 80 are the least"),
        (Isa.AVX512_VNNI, {"int8": 100.0, "floats": 100.0}, "8 bits are 1.0 times as fast as float32, where 1.8"),
        (Isa.AVX512_VNNI, {"int8": 80.0, "floats": 40.0}, None),
        (Isa.AVX512_VNNI, {"int8": 180.0, "floats": 100.0}, None),
        (Isa.AMX_INT8, {"int8": 399.0}, "8-bit products are slow: 399 billion a second, where 400 are the least"),
        (Isa.AMX_INT8, {"int8": 479.0}, "8 bits are 4.0 times as fast as float32, where 4 are usual"),
        (Isa.AVX2, {"int8": 30.0, "floats": 20.0}, None),
        (Isa.NEON, {"int8": 1.0}, None),
    ],
)
def test_speeds_are_judged(path, changed, expected):
    found = doctor.judged(FAST._replace(**changed), path)
    assert len(found) == (expected is not None) and (expected is None or found[0].startswith(expected))


def test_other_work_on_the_core_is_told_and_is_not_odd(quick, group, monkeypatch, capfd):
    monkeypatch.setattr(doctor, "measure", lambda loaded: FAST._replace(share=0.5))
    assert cli.main(["doctor"]) == 0
    assert "(with 50 % of a core: other work was done there, by this machine or its host)" in capfd.readouterr().out


def test_findings_are_aligned_and_oddities_are_numbered():
    assert doctor.lines_of({"a": "x", "long": "y"}, ["odd", "too"]) == ["a:    x", "long: y", "", "1. odd", "2. too"]


def test_the_self_test_multiplies():
    loaded = program.load()
    product = self_test._int8(5, 64, 48)
    product.quantize(loaded)
    product.multiply(loaded, self_test.INTEGERS)
    q = product.quantized[:, :64].astype(np.int64) - isa.activation_offset()
    if not isa.activation_offset():
        q = product.quantized[:, :64].view(np.int8).astype(np.int64)
    weights = np.resize(self_test.numbers(1, 4099), (64, 48))
    assert np.array_equal(product.out.view(np.int32), q @ weights)
    floats = self_test._Product(records.FLOAT32, weights.astype(np.float32), product.rows)
    floats.multiply(loaded)
    exact = product.rows.astype(np.float64) @ weights + np.linspace(-1, 1, 48)
    assert np.allclose(floats.out, exact, rtol=1e-4, atol=1e-2)
    assert (self_test.INTEGERS, self_test.AFFINE) == (tile.INTEGERS, tile.AFFINE)


def test_the_numbers_are_those_of_the_generator():
    made, state = self_test.numbers(5, 3, 2), 5
    for number in made.ravel():
        state = (6364136223846793005 * state + 1442695040888963407) & (1 << 64) - 1
        assert number == (state >> 40) % 255 - 127
    assert made.shape == (3, 2) and len(set(self_test.numbers(1, 1000))) > 240


def test_speed_is_measured():
    found = self_test.measure(program.load(), 0.02)
    assert min(found) > 0 and found.share <= 1.05 and found.spread >= 1


def test_speeds_are_work_by_time(monkeypatch):
    assert self_test.ROWS == 16 and self_test.DEPTH * self_test.COLUMNS == 1 << 18  # bytes: half of a small L2 cache
    assert self_test.DEPTH * self_test.WIDE == 16 << 20
    times = iter([(0.5, 0.6), (1.0, 3.0), (2.0, 2.2)])
    monkeypatch.setattr(self_test, "_timed", lambda call, seconds: next(times))
    monkeypatch.setattr(self_test, "WIDE", 64)
    quantized = []
    monkeypatch.setattr(self_test._Product, "quantize", lambda self, program: quantized.append(len(self.rows)))
    found, products = self_test.measure(program.load()), 16 * 512 * 512 / 1e9
    assert found[:3] == (products / 0.5, products, 512 * 64 / 2.0 / 1e9) and found.spread == 3.0
    assert quantized == [16, 1]


def test_the_median_and_the_slow_calls(monkeypatch):
    clock = iter([0, *(time for call in range(1, 12) for time in (10 * call, 11 * call, 11 * call))])
    monkeypatch.setattr(self_test.time, "perf_counter", lambda: next(clock))
    calls = []
    assert self_test._timed(lambda: calls.append(1), 121) == (6, 10) and len(calls) == 12


def test_what_a_container_is_granted(group):
    assert granted.quota() is None and granted.limit() is None
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert granted.memory() == machine // 2 and granted.cores() >= 1
    group("memory.max", "max\n")
    assert granted.memory() == machine // 2
    group("cpu.max", "max 100000\n")
    assert granted.quota() is None
    group("cpu.max", "50000 max\n")
    assert granted.quota() is None
    group("cpu.max", "100000 100000\n")
    group("memory.max", "100000000\n")
    assert granted.memory() == 100_000_000
    told, odd = surroundings.the_processor()
    assert told["cores"].endswith("; it is granted the time of 1") and not any("this container" in one for one in odd)
    group("cpu.max", "50000 100000\n")
    group("memory.max", f"{100 << 20}\n")
    told, odd = surroundings.the_processor()
    assert (
        told["cores"].endswith("; it is granted the time of 0.5")
        and told["memory"] == "at most 105 MB in this container"
    )
    assert odd[-1].startswith("this container is granted 0.5 of a core")
    group("memory.max", f"{80 << 20}\n")
    assert surroundings.the_processor()[1][-1] == "this container has 84 MB of memory; a small model needs 100 MB"


def test_what_a_container_of_the_first_kind_is_granted(group):
    group("cpu/cpu.cfs_quota_us", "-1\n")
    group("cpu/cpu.cfs_period_us", "100000\n")
    group("memory/memory.limit_in_bytes", "9223372036854771712\n")
    told, _ = surroundings.the_processor()
    assert "granted" not in told["cores"] and "memory" not in told
    for limit, is_told in ((1 << 50, False), ((1 << 50) - 1, True)):
        group("memory/memory.limit_in_bytes", f"{limit}\n")
        assert ("memory" in surroundings.the_processor()[0]) == is_told
    group("cpu/cpu.cfs_quota_us", "150000\n")
    assert granted.quota() == 1.5


def test_folders_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(tmp_path / "none"))
    told, odd = surroundings.folders()
    assert told["cache folder"] == f"{tmp_path / 'none'} (not there yet)" and not odd
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "none"))
    assert surroundings.folders()[0]["models"] == f"{tmp_path / 'none'} (0 fetched)"
    monkeypatch.setattr(store, "installed", lambda: ["one", "two"])
    assert surroundings.folders()[0]["models"] == f"{tmp_path / 'none'} (2 fetched)"
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    told, (odd,) = surroundings.folders()
    assert odd == f"others can write in {tmp_path}, so no program is taken from there: chmod go-w {tmp_path}"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o755, "private"), (0o701, "private"), (0o702, "others can write in it"), (0o720, "others can write in it")],
)
def test_the_state_of_a_folder(tmp_path, monkeypatch, mode, expected):
    tmp_path.chmod(mode)
    assert surroundings._state(tmp_path) == expected
    tmp_path.chmod(0o755)
    monkeypatch.setattr(surroundings.os, "access", lambda folder, how: how != os.W_OK)
    assert surroundings._state(tmp_path) == "read-only"
    (tmp_path / "file").touch()
    assert surroundings._state(tmp_path / "file" / "inside") == "Not a directory"
    monkeypatch.setattr(surroundings.os, "getuid", lambda: 12345)
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(tmp_path))
    told, odd = surroundings.folders()
    assert told["cache folder"] == f"{tmp_path} (of another user)"
    assert odd == [f"{tmp_path} belongs to another user: set CPUNMT_CACHE_DIR to a folder of your own"]


@pytest.mark.parametrize("value", [0, 1])
def test_a_translated_python_is_odd(monkeypatch, group, value):
    """On an Apple processor, macOS runs Intel's code too."""

    class Library:
        def sysctlbyname(self, name, found, size, new, length):
            assert (name, size._obj.value, new, length) == (b"sysctl.proc_translated", 4, None, 0)
            found._obj.value = value

    monkeypatch.setattr(surroundings.ctypes, "CDLL", lambda name: Library())
    said = "this Python is for Intel's processors, and macOS translates it: install one for Apple's"
    assert (said in surroundings.the_processor()[1]) == value


@pytest.mark.parametrize(
    ("paths", "machine", "said", "odd"),
    [
        ([Isa.AVX2, Isa.GENERIC], "x86_64", "avx2 (there is also: generic)", []),
        (
            [Isa.NEON, Isa.AVX2],
            "x86_64",
            "avx2 (there is also: neon)",
            ["CPUNMT_ISA lowers the path from neon to avx2"],
        ),
        ([Isa.GENERIC], "riscv64", "generic", []),
        ([Isa.GENERIC], "aarch64", "generic", ["none of the instructions that make 8 bits fast were found"]),
    ],
)
def test_the_path_is_told(monkeypatch, group, paths, machine, said, odd):
    monkeypatch.setattr(isa, "supported", lambda: paths)
    monkeypatch.setattr(isa, "current", lambda: paths[0] if Isa.NEON not in paths else Isa.AVX2)
    monkeypatch.setattr(surroundings.processor, "machine", lambda: machine)
    told, found = surroundings.the_processor()
    assert told["path"] == said and [one.split(":")[0] for one in found] == odd


def test_a_folder_that_is_none_and_a_machine_without_a_home(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(file))
    monkeypatch.setattr(store, "models_folder", lambda: (_ for _ in ()).throw(CpunmtError("no home was found")))
    told, odd = surroundings.folders()
    assert odd == [f"{file} is not a folder: set CPUNMT_CACHE_DIR to one"]
    assert told == {"cache folder": f"{file} (no folder)", "models": "none (no home was found)"}


def test_variables_of_others_are_not_odd_and_secrets_are_not_told():
    """Kubernetes names its services so."""
    told, odd = surroundings.variables(
        {"CPUNMT_SERVICE_HOST": "10.0.0.1", "CPUNMT_PORT": "tcp://10.0.0.1:80", "CPUNMT_PORT_80_TCP_ADDR": "10.0.0.1",
         "CPUNMT_HF_REGISTRY": "https://me:secret@host/x", "CPUNMT_ISA": "avx2", "HOME": "/"}
    )  # fmt: skip
    assert told == {"variables": "CPUNMT_HF_REGISTRY='https://host/x', CPUNMT_ISA='avx2'"} and odd == []


def test_a_damaged_program_of_the_wheel_and_one_that_cannot_be_kept_are_told(quick, group, monkeypatch):
    loaded = program.load()
    monkeypatch.setattr(loaded, "origin", "compiled")
    monkeypatch.setattr(loaded, "path", None)

    def damaged(path):
        raise prebuilt.Damaged("x.so is not the file that was installed")

    monkeypatch.setattr(prebuilt, "find", damaged)
    assert doctor.examine()[1] == [
        "x.so is not the file that was installed: install cpunmt again",
        "the program cannot be kept, so that every start compiles: set CPUNMT_CACHE_DIR to a folder of your own",
    ]


def test_every_variable_that_cpunmt_heeds_is_known():
    texts = (path.read_text("utf-8") for path in (ROOT / "cpunmt").rglob("*.py"))
    named = {name for text in texts for name in re.findall(r"(?<!NUMBA_)\bCPUNMT_[A-Z_]*[A-Z]\b", text)}
    assert named == set(surroundings.VARIABLES)
