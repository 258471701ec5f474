"""Settings of Numba's: none reaches the program, all are back afterwards, or one error says what to do."""

import os
import subprocess
import sys

import pytest

from tests.sample_models.real_model import ROOT

CODE = """
import os, sys
{before}
from cpunmt.engine.numba_settings import default_settings
try:
    with default_settings():
        from numba.core import config
        print(config.OPT, config.BOUNDSCHECK, config.DISABLE_JIT, config.CPU_NAME)
except Exception as error:
    print(type(error).__name__, error)
from numba.core import config
print(config.OPT, config.BOUNDSCHECK, config.DISABLE_JIT, config.CPU_NAME)
print(sorted(name for name in os.environ if name.startswith("NUMBA_")))
"""


def lines(cwd, before="", **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE.format(before=before)],
        env={**environment, "PYTHONPATH": str(ROOT), **settings},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


DEFAULT = "_OptLevel(3) None 0 None"


def test_variables_hold_again_afterwards(tmp_path):
    settings = {"NUMBA_OPT": "1", "NUMBA_DISABLE_JIT": "1", "NUMBA_CPU_NAME": "generic"}
    assert lines(tmp_path, **settings) == [DEFAULT, "_OptLevel(1) None 1 generic", str(sorted(settings))]
    assert lines(tmp_path) == [DEFAULT, DEFAULT, "[]"]


def test_after_an_import_of_numba(tmp_path):
    """What it reads anew can be taken back, what its code generator was made with cannot."""
    inside, after, _ = lines(tmp_path, "import numba", NUMBA_BOUNDSCHECK="1", NUMBA_NUM_THREADS="1")
    assert (inside, after) == (DEFAULT, "_OptLevel(3) 1 0 None")
    message, after, left = lines(tmp_path, "import numba", NUMBA_OPT="0", NUMBA_CPU_NAME="generic")
    assert message.startswith("CpunmtError Numba was imported with NUMBA_CPU_NAME and NUMBA_OPT set, which would shape")
    assert message.endswith("run `cpunmt warmup` once, or unset it")
    assert after == "_OptLevel(0) None 0 generic" and left == "['NUMBA_CPU_NAME', 'NUMBA_OPT']"


def test_the_default_said_aloud_is_no_harm(tmp_path):
    inside, after, _ = lines(tmp_path, "import numba", NUMBA_OPT="3", NUMBA_ENABLE_AVX="1")
    assert (inside, after) == (DEFAULT, DEFAULT)


def test_what_a_program_has_set_itself_holds_again(tmp_path):
    """It was lost when the variables were read anew."""
    before = "from numba.core import config; config.BOUNDSCHECK, config.DISABLE_JIT = 1, 1"
    inside, after, _ = lines(tmp_path, before)
    assert (inside, after) == (DEFAULT, "_OptLevel(3) 1 1 None")


def test_a_processor_whose_avx_numba_does_not_use(tmp_path):
    """Numba's own default is False there, which was told as a setting of the user's."""
    before = """
import llvmlite.binding
llvmlite.binding.get_host_cpu_name = lambda: "ivybridge"
"""
    assert lines(tmp_path, before) == [DEFAULT, DEFAULT, "[]"]
    assert lines(tmp_path, before + "import numba") == [DEFAULT, DEFAULT, "[]"]


@pytest.mark.parametrize("setting", ["opt: '0'", "disable_jit: 1", "boundscheck: 1"])
def test_a_file_of_settings_in_the_working_folder(tmp_path, setting):
    (tmp_path / ".numba_config.yaml").write_text(f"{setting}\n")
    message, _, left = lines(tmp_path)
    assert message.startswith("CpunmtError .numba_config.yaml of this folder says ") and left == "[]"
    assert setting.split(":")[0] in message and message.endswith("run `cpunmt warmup` once in another folder")
