"""Creates environments in which the project is installed as a user installs it. Nothing is downloaded."""

import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path


def run(*command, **settings) -> str:
    """Returns the standard output of a command that must succeed."""
    finished = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", **settings)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def environment(folder, *installed, without=()) -> Path:
    """Returns the interpreter of a new environment in `folder`, where `pip install` has `installed`.

    Dependencies come from the environment of the tests, through a .pth file, except packages of `without`.
    """
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    backend = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}  # setuptools, for what has to be built
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *installed, env=backend)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    if without:
        ours = {
            str(_links_to_the_others(Path(place), packages / f"others{i}", without)) for i, place in enumerate(ours)
        }
    # Appended to the path and not followed further: an editable install of the checkout there stays out of sight.
    (packages / "dependencies.pth").write_text("\n".join(sorted(ours)) + "\n")
    return python


def _links_to_the_others(place: Path, folder: Path, without) -> Path:
    """Fills `folder` with links to the entries of `place`, except names that begin with one of `without`."""
    folder.mkdir()
    for path in place.iterdir() if place.is_dir() else ():
        if not path.name.startswith(tuple(without)) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def outside_variables() -> dict[str, str]:
    """Returns environment variables of a user without the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CPUNMT_MODEL")}
