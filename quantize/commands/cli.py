"""Command line of the offline tools: `python -m quantize pack ...`, also installed as `cpunmt-quantize`."""

import cpunmt
from cpunmt.commands.flag_names import error_line
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.values.command_line import Parser
from quantize.commands import clusters as clusters_command
from quantize.commands import export_onnx as export_onnx_command
from quantize.commands import pack as pack_command
from quantize.commands import report as report_command
from quantize.commands import shortlist as shortlist_command

# modules with `add_parser(commands)`, which returns the parser, and `run(given)`; given.parser is that parser
COMMANDS = (pack_command, report_command, shortlist_command, clusters_command, export_onnx_command)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0, or 1 after an error. Wrong usage exits with 2."""
    example = "cpunmt-quantize pack models/ende-student/float32 packed --scheme log4"
    parser = Parser(prog="cpunmt-quantize", description=__doc__.splitlines()[0], examples=[example])
    parser.add_argument("-V", "--version", action="version", version=f"cpunmt {cpunmt.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        own = command.add_parser(commands)
        own.set_defaults(run=command.run, parser=own)
    try:
        given = parser.parse_args(arguments)
        return given.run(given) or 0
    except BrokenPipeError:
        return 141
    except (CpunmtError, OSError, ValueError, MemoryError) as error:
        say(f"{parser.prog}: error: {error_line(error)}")
        return 1
