"""Runs another program's Python for the scripts that record its results."""

import json
import subprocess


def answer_of(python, driver, asked, *arguments):
    """Returns what the code `driver` prints as JSON, run by the interpreter `python`; it reads `asked` as JSON.

    Raises RuntimeError with the end of its errors if it fails.
    """
    done = subprocess.run(
        [python, "-c", driver, *arguments], input=json.dumps(asked), capture_output=True, text=True, timeout=1800
    )
    if done.returncode:
        raise RuntimeError(f"{python} failed ({done.returncode}): {done.stderr[-2000:]}")
    return json.loads(done.stdout)
