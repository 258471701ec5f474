"""Command line of the offline tools: `python -m quantize pack ...`, also installed as `cpunmt-quantize`."""

import argparse
import sys

from cpunmt.errors import CpunmtError
from quantize import export_onnx_command, pack_command, report_command, shortlist_command

# modules with `add_parser(commands)`; its parser's default `run` takes what was given
COMMANDS = (pack_command, report_command, shortlist_command, export_onnx_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 1 after an error. Wrong usage exits with 2."""
    parser = argparse.ArgumentParser(prog="cpunmt-quantize", description=__doc__.splitlines()[0], allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    given = parser.parse_args(arguments)
    try:
        return given.run(given) or 0
    except (CpunmtError, OSError, ValueError) as error:
        print(f"{parser.prog}: error: {'; '.join(map(str.strip, str(error).splitlines()))}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
