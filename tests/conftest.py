"""Settings and fixtures of all tests."""

import gc
import os
import signal
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from cpunmt import Translator
from cpunmt.engine import program as compiled
from cpunmt.engine.program_files import cache_file
from tests.sample_models.real_model import DIRECTORIES, ENSEMBLE
from tests.support.built_programs import quick_paths, warmed_up
from tests.support.command_line import sentences
from tests.support.shared_imports import import_share

# No deadline: a busy or emulated machine may be slow.
settings.register_profile("cpunmt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cpunmt")

# In the quick set, every property has a twentieth of its examples, but at least LEAST_EXAMPLES, the same in every run.
EXAMPLES_SHARE, LEAST_EXAMPLES = 20, 5

TESTS = Path(__file__).parent
# Run by `make test-all` only.
THOROUGH_ONLY = {
    "bench",
    "train",
    "typing",
    "documentation/test_site.py",
    "quick",  # `make test-pythons` runs it on every Python
    "support/test_test_runs.py",
    "test_editable_install.py",
    "test_macos.py",
    "test_wheel.py",
    "tools/test_arm_tiles.py",
    "tools/test_programs.py",
    "tools/test_same_bits.py",
}


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="slow tests too, and all examples of each property")


def pytest_ignore_collect(collection_path, config):
    """Leaves out benchmarks, trainings, type checkers and builds, unless they are named or all tests are requested."""
    if config.getoption("--thorough") or not collection_path.is_relative_to(TESTS):
        return None
    named = [Path(argument.split("::")[0]).absolute() for argument in config.args]
    if any(
        collection_path == path or collection_path in path.parents or path in collection_path.parents
        for path in named
        if path != TESTS
    ):
        return None
    return True if collection_path.relative_to(TESTS).as_posix() in THOROUGH_ONLY else None


def pytest_collection(session):
    """Imports a share of the test modules in each worker, before all are collected."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    modules = [
        ".".join(module.relative_to(TESTS.parent).with_suffix("").parts)
        for module in sorted(TESTS.rglob("test_*.py"))
        if not any(pytest_ignore_collect(path, session.config) for path in (module, *module.parents))
    ]
    import_share(modules, int(worker["workerid"][2:]), worker["workercount"])


def pytest_collection_modifyitems(config, items):
    """Leaves out slow tests, and most examples of properties, unless all are requested."""
    if config.getoption("--thorough"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    shortened = set()
    for item in items:
        function = getattr(item.obj, "__func__", item.obj)
        if getattr(function, "is_hypothesis_test", False) and function not in shortened:
            shortened.add(function)
            full = getattr(function, "_hypothesis_internal_use_settings", None) or settings()
            count = min(full.max_examples, max(LEAST_EXAMPLES, full.max_examples // EXAMPLES_SHARE))
            quick = settings(full, max_examples=count, derandomize=True, database=None)
            function._hypothesis_internal_use_settings = quick


def pytest_collection_finish(session):
    """Refuses modules that load the program when they are imported: each worker would compile it by itself.

    Tests and modules live to the end, so the garbage collector need not visit them: a tenth of the time.
    """
    if compiled._load_once.cache_info().currsize:
        raise pytest.UsageError("a module of the tests loads cpunmt's program at its import: make it a fixture")
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


# Programs started by the tests must react to signals, even if this run was started with some ignored (nohup). Programs
# inherit ignored signals, but a signal with a handler gets its default action.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)


# It would hide a missing flush in a command.
os.environ.pop("PYTHONUNBUFFERED", None)

# Tests of commands expect the output of `student`, unless they choose a model.
os.environ["CPUNMT_MODEL"] = str(DIRECTORIES["int8"])


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """`once(name, make)` returns the result of the first call of `make` with this name in any worker."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    def run(name, make):
        made = folder / f"once {name}"
        with FileLock(f"{made}.lock"):
            if not made.exists():
                content = make()
                made.write_text(content, "utf-8")
            return made.read_text("utf-8")

    return run


@pytest.fixture(scope="session", autouse=True)
def compiled_once(once):
    """If several workers begin without a compiled program, the first one compiles it, and the others those of the
    other paths meanwhile."""
    file = cache_file()
    if file is not None and not file.exists():
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
        if 0 < worker < len(quick_paths()):
            warmed_up(quick_paths()[worker])
        once("program", lambda: str(compiled.warm_up()))


@pytest.fixture(scope="session")
def student():
    """A Translator of models/ende-student, with known translations by Marian."""
    return Translator(DIRECTORIES["int8"])


@pytest.fixture(scope="session")
def float_student():
    """A Translator of the same model in float32."""
    return Translator(DIRECTORIES["float32"], compute_type="float32")


@pytest.fixture(scope="session")
def ensemble():
    """A Translator of two models with different sizes, schemes and shortlists."""
    return Translator(ENSEMBLE, weights=[1, 2])


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """A Translator of a random recurrent word model that may output <unk>."""
    from quantize.commands.cli import main as quantize
    from tests.sample_models import foreign_directories

    folder = tmp_path_factory.mktemp("words")
    written, shortlist = foreign_directories.words(folder / "marian"), folder / "lex.bin"
    shortlist.write_bytes(foreign_directories.random_lists(1, written.config).to_bytes())
    command = ["pack", str(written.path), str(folder / "packed"), "--shortlist", str(shortlist)]
    assert quantize([*command, "--replace-unknowns"]) == 0
    return Translator(folder / "packed")


@pytest.fixture
def source(tmp_path):
    """A file of 40 English lines."""
    path = tmp_path / "english"
    path.write_text("".join(f"{line}\n" for line in sentences(40)), "utf-8")
    return path


@pytest.fixture(scope="session")
def program():
    """The compiled program: tests run the machine code that users run."""
    return compiled.load()
