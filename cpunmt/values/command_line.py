"""What a command line gives: options in full, once where a second one would win in silence, hints at what is meant."""

import argparse
import sys

from cpunmt.files.console import say, tell
from cpunmt.values.spelling import CLOSELY, did_you_mean


class Once(argparse.Action):
    """Stores a value, and refuses a second one: the last would win in silence."""

    def __call__(self, parser, namespace, values, option_string=None):
        """As argparse calls it."""
        before = getattr(namespace, self.dest)
        if before is not None:
            raise argparse.ArgumentError(self, f"is given twice, {before!r} and {values!r}; expected it once")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """No abbreviations of options; what is wrong with the usage in one line, with what may be meant."""

    def __init__(self, **settings):
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message):
        """Exit with 2 after one line; argparse would print the whole synopsis first."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args=None, namespace=None):
        """argparse's, but what is unknown is wrong usage of the command that it follows."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flags = [text.partition("=")[0] for text in unknown if text.startswith("-")]
            meant = did_you_mean(flags[0], self._option_string_actions) if flags else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return found, unknown

    def _check_value(self, action, value):
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(value, action.choices, CLOSELY)
            raise

    def _print_message(self, message, file=None):
        """argparse's, for --help, --version and errors."""
        (tell if file is sys.stdout else say)(message.removesuffix("\n"))
