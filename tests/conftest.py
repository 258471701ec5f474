"""Settings and fixtures of all tests."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from cpunmt import Translator
from cpunmt.engine import program as compiled
from tests.sample_models.real_model import DIRECTORIES, ENSEMBLE
from tests.support.command_line import sentences

# No deadline: a busy machine is no failure, nor is an emulated one.
settings.register_profile("cpunmt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cpunmt")


# What the tests start must hear signals, also in a run that was started with some of them ignored (nohup).
# Programs inherit an ignored signal, but of a caught one the usual effect.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)


# It would hide that a command forgets to flush.
os.environ.pop("PYTHONUNBUFFERED", None)

# Tests of commands expect what `student` says, unless they choose a model.
os.environ["CPUNMT_MODEL"] = str(DIRECTORIES["int8"])


@pytest.fixture(scope="session")
def student():
    """A Translator of models/ende-student, of which Marian's translations are known."""
    return Translator(DIRECTORIES["int8"])


@pytest.fixture(scope="session")
def float_student():
    """A Translator of the same model in float32."""
    return Translator(DIRECTORIES["float32"], compute_type="float32")


@pytest.fixture(scope="session")
def ensemble():
    """A Translator of two models, of different sizes, schemes and shortlists."""
    return Translator(ENSEMBLE, weights=[1, 2])


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """A Translator of a recurrent network of words, of random weights, that may say <unk>."""
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
