"""Tests of macOS on other systems.

The packages do not need Linux, and the kernels compile to object files for Apple's processors.
"""

import os
import struct
import subprocess
import sys

import pytest

from tests.sample_models.real_model import ROOT

# All modules are imported twice, the second time on a pretended Mac. Other packages stay as they are.
IMPORT = """
import builtins, importlib, io, os, pkgutil, platform, select, sys
import cpunmt, quantize

LACKING = ["memfd_create", "eventfd", "pidfd_open", "posix_fadvise", "copy_file_range", "pipe2", "setns", "unshare",
           "splice", "getxattr", "setxattr", "O_TMPFILE", "O_DIRECT", "O_PATH", "getresuid", "getrandom",
           *[name for name in dir(os) if name.startswith("sched_")]]

def modules():
    names = []
    for package in (cpunmt, quantize):
        walked = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        names += [one.name for one in walked if not one.name.endswith("__main__")]
    for name in names:
        importlib.import_module(name)
    return names

first = modules()
for name in list(sys.modules):
    if name.partition(".")[0] in ("cpunmt", "quantize"):
        del sys.modules[name]
sys.platform, platform.machine = "darwin", lambda: "arm64"
for name in LACKING:
    if hasattr(os, name):
        delattr(os, name)
if hasattr(select, "epoll"):
    del select.epoll
usual = builtins.open
def opened(path, *rest, **named):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)
    return usual(path, *rest, **named)
builtins.open = opened
import cpunmt, quantize
assert modules() == first
from cpunmt.simd import isa, processor
assert processor.machine() == "aarch64" and "neon" in processor.features()
assert processor.identity() and isa._matrix_registers() is False
print(len(first))
"""

EMIT = """
import importlib, sys
from pathlib import Path
import llvmlite.binding as llvm
from cpunmt.engine import compiler
from cpunmt.engine.numba_settings import default_settings
from cpunmt.simd import isa
isa.compile_for(isa.Isa.GENERIC)
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
target = isa.target_cpu(isa.Isa.GENERIC, tuned=False)
machine = llvm.Target.from_triple("arm64-apple-macosx11.0").create_target_machine(cpu="generic", opt=3, reloc="pic")
with default_settings(*target):
    for entry in compiler.ENTRIES:
        importlib.import_module(entry)
    from cpunmt.simd import jit
    for kernel in jit.KERNELS.values():
        llvm.add_symbol(kernel.symbol, 1)  # Numba wants to know where those are that are called; nothing runs
    for name in sys.argv[2:]:
        module = jit.KERNELS[name].compile()
        module.triple, module.data_layout = "arm64-apple-macosx11.0", str(machine.target_data)
        (Path(sys.argv[1]) / name).write_bytes(machine.emit_object(module))
"""
KERNELS = ("quantize_rows", "int8_linear", "softmax_rows", "residual_layer_norm", "top_k", "log_sum_exp")


def finished(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "CPUNMT_ISA": "generic"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_can_be_imported_where_there_is_nothing_of_linux():
    assert int(finished(IMPORT)) > 200


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Makes a folder with an object file of each kernel."""
    folder = tmp_path_factory.mktemp("objects")
    finished(EMIT, folder, *KERNELS)
    return folder


def symbols(content):
    """Returns (processor, kind of file, name -> whether it is defined) of a Mach-O file: see <mach-o/loader.h>."""
    magic, processor, _, kind, commands, *_ = struct.unpack_from("<8I", content)
    assert magic == 0xFEEDFACF  # 64 bits
    place, found = 32, {}
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", content, place)
        if command == 2:  # LC_SYMTAB
            at, count, names, _ = struct.unpack_from("<4I", content, place + 8)
            for number in range(count):
                text, flags, *_ = struct.unpack_from("<IBBHQ", content, at + 16 * number)
                end = content.index(b"\0", names + text)
                external, defined = flags & 1, flags & 0x0E == 0x0E
                if external:
                    found[content[names + text : end].decode()] = defined
        place += size
    return processor, kind, found


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_become_object_files_of_a_mac(objects, kernel):
    processor, kind, found = symbols((objects / kernel).read_bytes())
    assert (processor, kind) == (0x0100000C, 1)  # arm64, an object file
    assert found[f"_cpunmt_{kernel}"] is True
    assert [name for name, defined in found.items() if not defined and not name.startswith("_cpunmt_")] == []
