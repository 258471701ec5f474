"""`python -m cpunmt`, and the command `cpunmt`."""

import os
import sys

from cpunmt.process.run import run


def main() -> int:
    """The command line as a process; returns its exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads have nothing to do here, and take memory
    return run("cpunmt", "cpunmt.commands.cli")


if __name__ == "__main__":
    sys.exit(main())
