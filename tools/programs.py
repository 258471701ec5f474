"""Builds the programs of a wheel: cpunmt/engine/prebuilt/, a shared object for each path and a manifest.

    python -m tools.programs                     every path of this architecture, on any of its processors
    python -m tools.programs --paths avx2 --out DIR
    python -m tools.programs --machine aarch64   those of another architecture, compiled here

Each is compiled in a process of its own, for a processor with only the features that the path needs, and linked with
binutils' ld or LLVM's ld.lld. The bytes depend on the sources and on the versions of the tools, not on the machine.
Programs that are up to date stay.
"""

import argparse
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from cpunmt.engine.prebuilt import FOLDER, MANIFEST
from cpunmt.engine.sources import sources_digest
from cpunmt.files.output_files import replacing_file
from cpunmt.simd import isa, processor
from cpunmt.simd.isa import Isa
from tools.other_machine import compile_on_behalf_of

PATHS = {
    "x86_64": (Isa.AMX_INT8, Isa.AVX512_VNNI, Isa.AVX_VNNI, Isa.AVX2, Isa.GENERIC),
    "aarch64": (Isa.I8MM, Isa.DOTPROD, Isa.NEON, Isa.GENERIC),
}
_PAGE = {"x86_64": 4096, "aarch64": 65536}  # the largest page of a kernel
_LINK = (
    *("-shared", "-nostdlib", "-Bsymbolic", "--strip-all", "--hash-style=both", "--build-id=none"),
    *("-z", "defs", "-z", "noexecstack", "-z", "relro", "-z", "now", "-z", "separate-code"),
)


def linker() -> str:
    """Returns a linker for the programs' machine. Raises SystemExit if there is none."""
    machine = processor.machine()
    names = [f"{machine}-linux-gnu-ld", "ld.lld"]
    if platform.machine() == machine:
        names[1:1] = ["ld", "ld.bfd"]
    for name in names:
        if found := shutil.which(name):
            return found
    package = "binutils" if "ld" in names else f"binutils-{machine.replace('_', '-')}-linux-gnu"
    raise SystemExit(f"no linker found ({', '.join(names)}): install {package}, or LLVM's lld")


def link(code: bytes, target: Path) -> None:
    """Makes a shared object without outside dependencies. Raises SystemExit if the object file has any."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "program.o", Path(folder) / "program.so"
        source.write_bytes(code)
        page = f"max-page-size={_PAGE[processor.machine()]}"
        done = subprocess.run(
            [linker(), *_LINK, "-z", page, "-o", made, source], capture_output=True, text=True, cwd=folder
        )
        if done.returncode:
            raise SystemExit(f"{target.name} cannot be linked: {' '.join(done.stderr.split())}")
        with replacing_file(target) as file:
            file.write(made.read_bytes())
    target.chmod(0o755)


def compile_path(path: Isa, folder: Path) -> None:
    """Compiles one path in this process, which must not compile anything else; prints what `linked` returns."""
    isa.compile_for(path)
    if processor.machine() != platform.machine():
        compile_on_behalf_of(processor.machine())
    from cpunmt.engine import compiler  # imported late: Numba's settings are the path's

    built = compiler.build(target=compiler.Target(*isa.target_cpu(path, tuned=False)))
    print(json.dumps(linked(path, folder, built.code, built.signatures)))


def linked(path: Isa, folder: Path, code: bytes, signatures: dict[str, str], tuned: bool = False) -> dict[str, Any]:
    """Links the object file of a path. Returns its manifest entry and LLVM's version."""
    from cpunmt.engine import compiler

    cpu, features = isa.target_cpu(path, tuned)
    file = folder / f"{path.value}.so"
    link(code, file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    entry = {"file": file.name, "sha256": digest, "cpu": cpu, "features": features, "signatures": signatures}
    return {"entry": entry, "llvm": compiler.llvm_version()}


def _compiled(path: Isa, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.programs", "--machine", processor.machine(), "--compile", path.value]
    command += ["--out", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    if done.returncode:
        raise SystemExit(f"{path.value} cannot be built")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _tools() -> dict[str, str]:
    """Returns the versions of the building tools, which determine a program together with its sources; imports none."""
    told = subprocess.run([linker(), "--version"], capture_output=True, text=True).stdout.splitlines()
    versions = {name: metadata.version(name) for name in ("numba", "llvmlite")}
    return {"python": platform.python_version(), **versions, "linker": told[0] if told else linker()}


def _facts(paths: Any) -> dict[str, Any]:
    """Returns the facts on all programs for the manifest."""
    machine = processor.machine()
    complete = set(paths) >= set(PATHS[machine])
    return {"sources": sources_digest(), "system": sys.platform, "machine": machine, "complete": complete}


def _is_up_to_date(folder: Path, paths: Any) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        right = _facts(paths).items() <= manifest.items()
        right &= _tools().items() <= manifest["tools"].items()
        right &= set(manifest["programs"]) == {path.value for path in paths}
        return right and all(
            hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
            for entry in manifest["programs"].values()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def build(
    folder: Path, paths: Any, processes: int = 1, make: Callable[[Isa, Path], dict[str, Any]] = _compiled
) -> None:
    """Builds the programs of `paths`, `processes` at a time, into `folder`, and the manifest last.

    `make` returns what `linked` does."""
    folder = folder.resolve()  # the compilers run in the checkout's folder
    if _is_up_to_date(folder, paths):
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    for old in folder.glob("*.so"):
        old.unlink()
    with ThreadPoolExecutor(processes) as pool:
        made = list(pool.map(lambda path: make(path, folder), paths))
    manifest = {
        **_facts(paths),
        "tools": {"llvm": made[0]["llvm"], **_tools()},
        "programs": {path.value: one["entry"] for path, one in zip(paths, made, strict=True)},
    }
    with replacing_file(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode() + b"\n")


def main(arguments: Any = None) -> int:
    """Runs the command."""
    machine = processor.machine()
    if sys.platform != "linux" or machine not in PATHS:
        raise SystemExit(f"programs are built on Linux, on {' or '.join(PATHS)}; this is {sys.platform} on {machine}")
    parser = argparse.ArgumentParser(prog="python -m tools.programs", description=__doc__.splitlines()[0])
    parser.add_argument("--machine", choices=PATHS, default=machine, help="to build for; default: this one")
    parser.add_argument("--paths", nargs="+", metavar="PATH", help="some only: those of the machine in cpunmt.simd.isa")
    parser.add_argument("--out", type=Path, default=FOLDER, help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=1, help="paths at a time; default: %(default)s")
    parser.add_argument("--compile", metavar="PATH", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    known = [path.value for path in PATHS[given.machine]]
    if wrong := [name for name in given.paths or () if name not in known]:
        parser.error(f"--paths: {given.machine} has no {wrong[0]!r}, but {', '.join(known)}")
    processor.machine = lambda: given.machine
    if given.compile:
        compile_path(Isa(given.compile), given.out)
        return 0
    build(given.out, [Isa(name) for name in given.paths or known], given.processes)
    for file in sorted(given.out.glob("*.so")):
        print(f"{file}: {file.stat().st_size / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
