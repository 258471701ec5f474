"""A Python for aarch64 that runs on any Linux machine with Debian's apt, by QEMU's emulation of single processes.

    python -m tools.arm_machine [FOLDER] [--cpu MODEL] [-- COMMAND ...]

FOLDER (default: build/arm) gets the missing packages: Debian's, whose signature and SHA-256 apt checks, and wheels of
PyPI, which pip checks. Numba, llvmlite and NumPy have this environment's versions, so that both machines have one
compiler. Nothing else of this machine is changed, and root is not needed.

COMMAND runs from the current folder with FOLDER's `python` first on its PATH. Processes that it starts with
`sys.executable` are emulated too: it is a script that starts the emulator.

    MODEL          QEMU 7.2's name             features
    max            the default                 smmla, usdot, sdot: the path i8mm, and lower ones
    neoverse-n1                                sdot: dotprod
    cortex-a72                                 neither: neon
"""

import argparse
import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

EMULATOR = "qemu-aarch64-static"
SUITE, PYTHON = "bookworm", "python3.11"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# libgomp1 and libstdc++6 are for wheels; Python needs the others
PACKAGES = (PYTHON, "libstdc++6", "libgomp1")
SAME = ("numba", "llvmlite", "numpy", "sentencepiece")
WHEELS = ("PyYAML", "tqdm", "platformdirs", "filelock", "urllib3", "backports.zstd", "pytest", "hypothesis")
TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
MODELS = {"max": "i8mm", "neoverse-n1": "dotprod", "cortex-a72": "neon"}  # -> the best path that it runs

LAUNCHER = """#!/bin/sh
exec {emulator} -L {root} -0 "$0" {root}/usr/bin/{python} "$@"
"""
MARK = "arm_machine"  # a file in each folder of ours: other folders are left alone


def command(*words: Any, **options: Any) -> None:
    """Runs a command; after a failure, exits with its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"arm_machine: {' '.join(map(str, words[:3]))} ... failed:\n{done.stdout}{done.stderr}")


def emulator() -> str:
    """Returns the path of QEMU; exits with installation advice if it is missing."""
    found = shutil.which(EMULATOR)
    if not found:
        sys.exit(f"arm_machine: {EMULATOR} is missing; on Debian and Ubuntu: apt-get install qemu-user-static")
    return found


def fetch_packages(folder: Path, root: Path) -> None:
    """Downloads and unpacks PACKAGES and their dependencies, with apt's checks and without this machine's settings."""
    for name in ("apt-get", "dpkg-deb"):
        if not shutil.which(name):
            sys.exit(f"arm_machine: {name} is missing, which fetches Debian's packages: this needs Debian or Ubuntu")
    if not Path(KEYS).exists():
        sys.exit(f"arm_machine: {KEYS} is missing: apt-get install debian-archive-keyring")
    shutil.rmtree(folder, ignore_errors=True)  # older packages would be unpacked over newer ones
    for part in ("lists/partial", "archives/partial", "none"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").write_text("")
    (folder / "sources.list").write_text(
        f"deb [arch=arm64 signed-by={KEYS}] http://deb.debian.org/debian {SUITE} main\n"
        f"deb [arch=arm64 signed-by={KEYS}] http://deb.debian.org/debian-security {SUITE}-security main\n"
    )
    proxy = os.environ.get("http_proxy", "")
    settings = {
        "Dir::Etc::main": folder / "none" / "apt.conf",
        "Dir::Etc::parts": folder / "none",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder,
        "Dir::Cache::archives": folder / "archives",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": folder / "none",
        "Dir::Etc::preferences": folder / "none" / "preferences",
        "Dir::Etc::preferencesparts": folder / "none",
        "Acquire::http::Proxy": proxy or "DIRECT",
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "",
    }
    # apt reads this file before all others: options of its command line would come too late
    (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    apt, heeding = ["apt-get", "-q", "-y"], {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    command(*apt, "update", env=heeding)
    command(*apt, "--download-only", "install", *PACKAGES, env=heeding)
    for package in sorted((folder / "archives").glob("*.deb")):
        command("dpkg-deb", "-x", package, root)


def fetch_wheels(target: Path) -> None:
    """Installs wheels for aarch64: pip unpacks them, and runs nothing."""
    tags = [word for tag in TAGS for word in ("--platform", f"{tag}_aarch64")]
    kind = ["--python-version", PYTHON.removeprefix("python"), "--only-binary=:all:"]
    command(sys.executable, "-m", "pip", "install", "-q", *tags, *kind, "--target", target, *versions(), *WHEELS)


def set_up(folder: Path) -> Path:
    """Completes `folder`; returns the path of its `python`.

    Exits with a message if `folder` holds something else.
    """
    folder, found = folder.absolute(), emulator()
    if ":" in str(folder):
        sys.exit(f"arm_machine: {folder} has a colon, which a PATH cannot hold; choose another folder")
    root, mark = folder / "root", folder / MARK
    launchers = root / "usr" / "bin"
    made = f"{SUITE} {PACKAGES} {WHEELS} {versions()}\n"
    if not mark.exists():
        if folder.exists() and any(folder.iterdir()):
            sys.exit(f"arm_machine: {folder} holds something else; choose a folder that is empty or not there")
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text("")
    if mark.read_text() != made:
        mark.write_text("")  # unfinished
        shutil.rmtree(root, ignore_errors=True)
        print(f"arm_machine: fetching Debian's Python and wheels for aarch64 into {folder}", file=sys.stderr)
        fetch_packages(folder / "apt", root)
        fetch_wheels(root / "usr" / "lib" / "python3" / "dist-packages")
        mark.write_text(made)
    for name in ("python", "python3"):  # each time: the folder, or the emulator, may have been moved
        launcher = launchers / name
        launcher.unlink(missing_ok=True)
        launcher.write_text(LAUNCHER.format(emulator=shlex.quote(found), root=shlex.quote(str(root)), python=PYTHON))
        launcher.chmod(0o755)
    return launchers


def versions() -> list[str]:
    """Returns requirements for the packages of both machines."""
    try:
        return [f"{name}=={importlib.metadata.version(name)}" for name in SAME]
    except importlib.metadata.PackageNotFoundError as error:
        sys.exit(f"arm_machine: {error} is missing in this environment, and both machines need one: make test")


def environment(folder: Path, cpu: str = "max") -> dict[str, str]:
    """Returns this process' environment with the machine's Python first, for `subprocess`; completes the folder."""
    made = {**os.environ, "PATH": f"{set_up(folder)}:{os.environ['PATH']}", "QEMU_CPU": cpu}
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CPUNMT_ISA"):
        made.pop(name, None)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/arm"), metavar="FOLDER")
    parser.add_argument("--cpu", default="max", help="what the emulator shall be: %(default)s")
    words = sys.argv[1:]
    ours, theirs = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    given = parser.parse_args(ours)
    made = environment(given.folder, given.cpu)
    if theirs:
        try:
            os.execvpe(theirs[0], theirs, made)
        except OSError as error:
            sys.exit(f"arm_machine: {theirs[0]} cannot be run: {error.strerror}")
    print(f"{set_up(given.folder)}/python")


if __name__ == "__main__":
    main()
