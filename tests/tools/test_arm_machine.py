"""The emulated machine reports what is missing; `make test-arm` tests what it runs."""

import subprocess
import sys

import pytest

from tests.sample_models.real_model import ROOT
from tools import arm_machine


def test_without_the_emulator_it_says_how_to_get_it(tmp_path):
    command = [sys.executable, "-m", "tools.arm_machine", str(tmp_path)]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and not list(tmp_path.iterdir())
    told = "qemu-aarch64-static is missing; on Debian and Ubuntu: apt-get install qemu-user-static"
    assert done.stderr == f"arm_machine: {told}\n"


def test_a_command_that_fails_ends_with_what_it_said():
    with pytest.raises(SystemExit, match=r"arm_machine: .* -c .* failed:\nout\nerr"):
        arm_machine.command(sys.executable, "-c", "import sys; print('out'); sys.exit('err')")


def test_a_machine_is_made_again_until_it_is_ready_and_then_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(arm_machine, "emulator", lambda: "/bin/true")
    monkeypatch.setattr(arm_machine, "fetch_packages", lambda folder, root: (root / "usr" / "bin").mkdir(parents=True))
    made = []

    def fetch_wheels(target):
        made.append(target)
        if len(made) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(arm_machine, "fetch_wheels", fetch_wheels)
    with pytest.raises(KeyboardInterrupt):
        arm_machine.set_up(tmp_path)
    for _ in range(2):
        launchers = arm_machine.set_up(tmp_path)
    assert len(made) == 2 and launchers == tmp_path / "root" / "usr" / "bin"
    launcher = (launchers / "python").read_text()
    assert launcher.startswith("#!/bin/sh\nexec /bin/true -L ") and launcher.endswith('python3.11 "$@"\n')
    moved = tmp_path.with_name("a place")
    tmp_path.rename(moved)
    launchers = arm_machine.set_up(moved)
    assert len(made) == 2 and subprocess.run([launchers / "python"], check=True, capture_output=True).stdout == b""
    assert f"'{moved}/root'" in (launchers / "python").read_text()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, monkeypatch):
    """It makes and removes a folder named root."""
    monkeypatch.setattr(arm_machine, "emulator", lambda: "/bin/true")
    kept = tmp_path / "root" / "kept"
    kept.parent.mkdir()
    kept.write_text("")
    with pytest.raises(SystemExit, match=r"holds something else; choose a folder that is empty or not there$"):
        arm_machine.set_up(tmp_path)
    assert kept.exists() and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(SystemExit, match="has a colon"):
        arm_machine.set_up(tmp_path / "a:b")


def test_a_command_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(arm_machine, "environment", lambda folder, cpu: {"PATH": str(tmp_path)})
    monkeypatch.setattr(sys, "argv", ["arm_machine", str(tmp_path), "--", "no-such-command"])
    with pytest.raises(SystemExit, match="^arm_machine: no-such-command cannot be run: No such file or directory$"):
        arm_machine.main()
