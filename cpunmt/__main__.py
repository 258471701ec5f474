"""`python -m cpunmt`, and the command `cpunmt`."""

import sys

from cpunmt.process.run import run


def main() -> int:
    """The command line as a process; returns its exit status."""
    return run("cpunmt", "cpunmt.commands.cli")


if __name__ == "__main__":
    sys.exit(main())
