"""What a command line gives: options in full, once where a second one would win in silence, hints at what is meant."""

import argparse
import sys

from cpunmt.files.console import say, tell
from cpunmt.values.spelling import CLOSELY, did_you_mean, hint


class _Once(argparse.Action):
    """Stores a value, or `const` where `nargs` is 0, and refuses a second one: the last would win in silence."""

    def __call__(self, parser, namespace, values, option_string=None):
        """As argparse calls it."""
        flag = self.nargs == 0
        value = self.const if flag else values
        given = vars(namespace).setdefault("_given", {})
        if self.dest in given and not (flag and given[self.dest] == value):
            raise argparse.ArgumentError(self, f"is given twice, {given[self.dest]!r} and {value!r}; expected it once")
        given[self.dest] = value
        setattr(namespace, self.dest, value)


class Parser(argparse.ArgumentParser):
    """No abbreviations of options, each once, texts between them; what is wrong in one line, with what may be meant."""

    def __init__(self, fill=None, meant=None, **settings):
        """`fill` is called with the parser before it is used: of many commands one is, the others cost nothing.

        `meant`: flags that other programs have, and what they are here.
        """
        super().__init__(**{"allow_abbrev": False, **settings})
        self.register("action", None, _Once)
        self._fill, self._meant = fill, meant or {}

    def _filled(self):
        fill, self._fill = self._fill, None
        if fill:
            fill(self)

    def format_help(self):
        """argparse's, of all arguments."""
        self._filled()
        return super().format_help()

    def error(self, message):
        """Exit with 2 after one line; argparse would print the whole synopsis first."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args=None, namespace=None):
        """argparse's, which leaves over arguments behind the second group of options: they belong to the first ones.

        What is unknown is wrong usage of the command that it follows.
        """
        self._filled()
        found, unknown = super().parse_known_args(args, namespace)
        if not unknown:
            return found, unknown
        end = unknown.index("--") if "--" in unknown else len(unknown)
        flags = [text for text in unknown[:end] if self._parse_optional(text) is not None]
        list_of_all = self._list_of_all()
        if flags or list_of_all is None:
            first = flags[0].partition("=")[0] if flags else ""
            known = self._meant.get(first.replace("_", "-"))
            meant = hint(known) if known else did_you_mean(first, self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        setattr(found, list_of_all.dest, getattr(found, list_of_all.dest) + unknown[:end] + unknown[end + 1 :])
        return found, []

    def _list_of_all(self):
        """The argument without a flag that takes as many as there are, or None."""
        return next((one for one in self._get_positional_actions() if one.nargs in ("*", "+")), None)

    def _get_value(self, action, arg_string):
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            texts = self._list_of_all()
            if texts is not None and action.nargs == "?":  # an option that can be without a value took it for one
                error.message += f"; put {texts.metavar} first, or -- before it"
            raise

    def _check_value(self, action, value):
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = did_you_mean(value, action.choices, CLOSELY)
            error.message = f"invalid choice: {value!r}{meant}; choose from {', '.join(map(str, action.choices))}"
            raise

    def _print_message(self, message, file=None):
        """argparse's, for --help, --version and errors."""
        (tell if file is sys.stdout else say)(message.removesuffix("\n"))
