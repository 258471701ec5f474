"""Runs of pytest with this project's settings: started with ignored signals, and with a test that hangs."""

import signal
import subprocess
import sys

from tests.support.command_line import ROOT, TIMEOUT


def of_pytest(path, content, *flags, **settings):
    """Runs a file of tests."""
    path.write_text(content)
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *flags, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, **settings
    )


def test_what_tests_start_hears_signals_that_the_run_ignores(tmp_path):
    code = "import signal; print(sum(signal.getsignal(number) is signal.SIG_IGN for number in (1, 2, 15)))"
    content = f"""
import subprocess, sys
def test_a_child():
    assert subprocess.check_output([sys.executable, "-c", {code!r}]) == b"0\\n"
"""
    ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    done = of_pytest(
        tmp_path / "test_it.py",
        content,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored],
    )
    assert done.returncode == 0, done.stdout


def test_a_test_that_hangs_fails_with_its_stack(tmp_path):
    content = "import time\ndef test_hanging():\n    time.sleep(1000)\n"
    done = of_pytest(tmp_path / "test_it.py", content, "-o", "faulthandler_timeout=3")
    assert done.returncode == 1 and "in test_hanging" in done.stderr and "passed" not in done.stdout
