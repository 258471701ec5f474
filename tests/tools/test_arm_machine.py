"""The emulated machine says what it lacks; what it runs is tested by `make test-arm`."""

import subprocess
import sys

import pytest

from tests.sample_models.real_model import ROOT
from tools import arm_machine


def test_without_the_emulator_it_says_how_to_get_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tools.arm_machine", str(tmp_path)],
        env={"PATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "") and not list(tmp_path.iterdir())
    assert done.stderr == (
        "arm_machine: there is no qemu-aarch64-static; on Debian and Ubuntu: apt-get install qemu-user-static\n"
    )


def test_a_command_that_fails_ends_with_what_it_said():
    with pytest.raises(SystemExit, match=r"arm_machine: .* -c .* failed:\nout\nerr"):
        arm_machine.command(sys.executable, "-c", "import sys; print('out'); sys.exit('err')")


def test_a_machine_that_is_ready_is_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(arm_machine, "emulator", lambda: "/bin/true")
    made = []
    monkeypatch.setattr(arm_machine, "fetch_packages", lambda folder, root: (root / "usr" / "bin").mkdir(parents=True))
    monkeypatch.setattr(arm_machine, "fetch_wheels", made.append)
    for _ in range(2):
        launchers = arm_machine.set_up(tmp_path)
    assert len(made) == 1 and launchers == tmp_path / "root" / "usr" / "bin"
    launcher = (launchers / "python").read_text()
    assert launcher.startswith("#!/bin/sh\nexec /bin/true -L ") and launcher.endswith('python3.11 "$@"\n')
