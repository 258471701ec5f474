"""The command line: `python -m models.train COMMAND`."""

import argparse
import sys

from cpunmt.errors import CpunmtError
from cpunmt.files.console import one_line, say


def main(arguments=None) -> int:
    """Runs one command; returns the exit status."""
    from models.train.commands import collect as collect_command  # PyTorch takes seconds; Ctrl-C is handled below
    from models.train.commands import dictionary as dictionary_command
    from models.train.commands import experiment as experiment_command
    from models.train.commands import recipe as recipe_commands
    from models.train.commands import sentences as sentences_command
    from models.train.commands import train as train_command
    from models.train.commands.smoke import smoke

    parser = argparse.ArgumentParser(prog="python -m models.train", description=__doc__, allow_abbrev=False)
    parser.add_argument("--tiny-smoke", action="store_true", help="try every step on a toy language, in about a minute")
    commands = parser.add_subparsers(metavar="COMMAND")
    collect_command.add_parser(commands)
    dictionary_command.add_parser(commands)
    sentences_command.add_parser(commands)
    train_command.add_parser(commands)
    recipe_commands.add_parsers(commands)
    experiment_command.add_parser(commands, main)
    given = parser.parse_args(arguments)
    if given.tiny_smoke:
        smoke(main)
        return 0
    if "run" not in given:
        parser.error("which command? See --help")
    return 0 if given.run(given) is not False else 130


def command_line() -> int:
    """Runs `main`; an error of the input, or a missing package, is reported in one line."""
    try:
        return main()
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        say(f"models.train: error: {error.name} is not installed; run: pip install -e '.[train]'")
        return 1
    except (CpunmtError, OSError, ValueError, MemoryError) as error:
        say(f"models.train: error: {one_line(error)}")
        return 1


if __name__ == "__main__":
    sys.exit(command_line())
