"""Environments of their own, in which the project is installed as a user installs it. Nothing is downloaded."""

import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path


def run(*command, **settings) -> str:
    """The standard output of a command that must succeed."""
    finished = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", **settings)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def environment(folder, *installed, without=()) -> Path:
    """The interpreter of a new environment in `folder`, where `pip install` has `installed`.

    What that depends on comes from the environment of the tests, through a .pth file; but no package of `without`.
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
    """`folder` with a link to whatever `place` has, but for what begins with a name of `without`."""
    folder.mkdir()
    for path in place.iterdir() if place.is_dir() else ():
        if not path.name.startswith(tuple(without)) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def outside_variables() -> dict[str, str]:
    """Environment variables of a user who knows nothing of the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CPUNMT_MODEL")}
