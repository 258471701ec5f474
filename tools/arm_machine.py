"""A Python for aarch64 that runs on any Linux machine with Debian's apt, by QEMU's emulation of single processes.

    python -m tools.arm_machine [FOLDER] [--cpu MODEL] [-- COMMAND ...]

FOLDER (default: build/arm) gets what is not there yet: Debian's packages, of which apt checks signature and SHA-256,
and wheels of PyPI, which pip checks: of this environment's versions of Numba, llvmlite and NumPy, so that both machines
have one compiler. Nothing else of this machine is changed, and root is not needed.

COMMAND runs from the current folder with FOLDER's `python` first on its PATH. Processes that it starts with
`sys.executable` are emulated too: it is a script that starts the emulator.

    MODEL          what QEMU 7.2 calls it      what it has
    max            the default                 smmla, usdot, sdot: the path i8mm, and those below
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
# libgomp1 and libstdc++6 are for wheels; all else is what Python needs
PACKAGES = (PYTHON, "libstdc++6", "libgomp1")
SAME = ("numba", "llvmlite", "numpy", "sentencepiece")
WHEELS = ("PyYAML", "tqdm", "platformdirs", "filelock", "urllib3", "backports.zstd", "pytest", "hypothesis")
TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
MODELS = {"max": "i8mm", "neoverse-n1": "dotprod", "cortex-a72": "neon"}  # -> the best path that it runs

LAUNCHER = """#!/bin/sh
exec {emulator} -L {root} -0 "$0" {root}/usr/bin/{python} "$@"
"""
MARK = "arm_machine"  # a file in each folder that is ours: what lies in another is left alone


def command(*words: Any, **options: Any) -> None:
    """Run a command, and end with what it said where it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"arm_machine: {' '.join(map(str, words[:3]))} ... failed:\n{done.stdout}{done.stderr}")


def emulator() -> str:
    """Path of QEMU, or the end with a message that says how to get it."""
    found = shutil.which(EMULATOR)
    if not found:
        sys.exit(f"arm_machine: there is no {EMULATOR}; on Debian and Ubuntu: apt-get install qemu-user-static")
    return found


def fetch_packages(folder: Path, root: Path) -> None:
    """Download PACKAGES and what they need, with apt's own checks but none of this machine's settings, and unpack."""
    for name in ("apt-get", "dpkg-deb"):
        if not shutil.which(name):
            sys.exit(f"arm_machine: there is no {name}, which fetches Debian's packages: this needs Debian or Ubuntu")
    if not Path(KEYS).exists():
        sys.exit(f"arm_machine: there is no {KEYS}: apt-get install debian-archive-keyring")
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
    # a file that apt reads before all others: by then options of its command line would be too late
    (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    apt, heeding = ["apt-get", "-q", "-y"], {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    command(*apt, "update", env=heeding)
    command(*apt, "--download-only", "install", *PACKAGES, env=heeding)
    for package in sorted((folder / "archives").glob("*.deb")):
        command("dpkg-deb", "-x", package, root)


def fetch_wheels(target: Path) -> None:
    """Install wheels for aarch64: pip unpacks them, and runs nothing."""
    tags = [word for tag in TAGS for word in ("--platform", f"{tag}_aarch64")]
    kind = ["--python-version", PYTHON.removeprefix("python"), "--only-binary=:all:"]
    command(sys.executable, "-m", "pip", "install", "-q", *tags, *kind, "--target", target, *versions(), *WHEELS)


def set_up(folder: Path) -> Path:
    """Make what is missing in `folder`; returns where its `python` is.

    Ends with a message where `folder` holds something that this has not made.
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
    """Of the packages that both machines have."""
    try:
        return [f"{name}=={importlib.metadata.version(name)}" for name in SAME]
    except importlib.metadata.PackageNotFoundError as error:
        sys.exit(f"arm_machine: there is no {error} in this environment, and both machines are to have one: make test")


def environment(folder: Path, cpu: str = "max") -> dict[str, str]:
    """This process' environment with the machine's Python first, for `subprocess`; sets up what is missing."""
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
