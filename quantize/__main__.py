"""`python -m quantize`, and the command `cpunmt-quantize`."""

import sys

from cpunmt.process.run import run


def main() -> int:
    """Runs the command line as a process; returns its exit status."""
    return run("cpunmt-quantize", "quantize.commands.cli")


if __name__ == "__main__":
    sys.exit(main())
