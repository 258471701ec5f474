"""Numba's settings: they never reach the program, and are restored afterwards, or one error says what to do."""

import os

import pytest

from tests.sample_models.real_model import ROOT
from tests.support.processes import output
from tests.support.speeds import slow_after

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
    without = dict.fromkeys(name for name in os.environ if name.startswith("NUMBA_"))
    code = CODE.format(before=before)
    return output("-W", "ignore", "-c", code, cwd=cwd, PYTHONPATH=str(ROOT), **{**without, **settings}).splitlines()


DEFAULT = "_OptLevel(3) None 0 None"


SET_BEFORE = "from numba.core import config; config.BOUNDSCHECK, config.DISABLE_JIT = 1, 1"
# Numba's own default of AVX is False there, which was once reported as a user's setting.
IVY_BRIDGE = "import llvmlite.binding; llvmlite.binding.get_host_cpu_name = lambda: 'ivybridge'"
CHANGED = {"NUMBA_OPT": "1", "NUMBA_DISABLE_JIT": "1", "NUMBA_CPU_NAME": "generic"}


@pytest.mark.parametrize(
    ("before", "settings", "after"),
    slow_after(
        4,
        [
            ("", CHANGED, "_OptLevel(1) None 1 generic"),
            ("import numba", {"NUMBA_BOUNDSCHECK": "1", "NUMBA_NUM_THREADS": "1"}, "_OptLevel(3) 1 0 None"),
            (SET_BEFORE, {}, "_OptLevel(3) 1 1 None"),  # it was once lost when the variables were read again
            (f"{IVY_BRIDGE}; import numba", {}, DEFAULT),
            ("", {}, DEFAULT),
            ("import numba", {"NUMBA_OPT": "3", "NUMBA_ENABLE_AVX": "1"}, DEFAULT),  # the default, set explicitly
            (IVY_BRIDGE, {}, DEFAULT),
        ],
    ),
)
def test_settings_hold_again_afterwards(tmp_path, before, settings, after):
    assert lines(tmp_path, before, **settings) == [DEFAULT, after, str(sorted(settings))]


def test_what_numba_was_imported_with_cannot_be_taken_back(tmp_path):
    message, after, left = lines(tmp_path, "import numba", NUMBA_OPT="0", NUMBA_CPU_NAME="generic")
    assert message.startswith("CpunmtError Numba was imported with NUMBA_CPU_NAME and NUMBA_OPT set, which would shape")
    assert message.endswith("run `cpunmt warmup` once, or unset it")
    assert after == "_OptLevel(0) None 0 generic" and left == "['NUMBA_CPU_NAME', 'NUMBA_OPT']"


@pytest.mark.parametrize("setting", ["opt: '0'", "disable_jit: 1", "boundscheck: 1"])
def test_a_file_of_settings_in_the_working_folder(tmp_path, setting):
    (tmp_path / ".numba_config.yaml").write_text(f"{setting}\n")
    message, _, left = lines(tmp_path)
    assert message.startswith("CpunmtError .numba_config.yaml of this folder says ") and left == "[]"
    assert setting.split(":")[0] in message and message.endswith("run `cpunmt warmup` once in another folder")
