"""Parses command lines: full names of options, each at most once, and hints at the likely meaning of wrong ones."""

import argparse
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

from cpunmt.files.console import say, tell
from cpunmt.values.spelling import CLOSELY, did_you_mean, hint

_MOST_FLAGS = 6  # that a synopsis names; more are [OPTIONS]
_COUNTS = {None: "{0}", "?": "[{0}]", "*": "[{0} ...]", "+": "{0} [{0} ...]"}


class _Once(argparse.Action):
    """Action that stores a value (`const` if `nargs` is 0) and refuses a second one, which would silently win."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: object, option_string: str | None = None
    ) -> None:
        """Stores the value; called by argparse."""
        flag = self.nargs == 0
        value = self.const if flag else values
        given = vars(namespace).setdefault("_given", {})
        if self.dest in given and not (flag and given[self.dest] == value):
            raise argparse.ArgumentError(self, f"is given twice, {given[self.dest]!r} and {value!r}; expected it once")
        given[self.dest] = value
        setattr(namespace, self.dest, value)


class _Help(argparse.Action):
    """Action that prints the help, after -h only its most used part, and ends the process."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: object, option_string: str | None = None
    ) -> None:
        """Prints; called by argparse."""
        assert isinstance(parser, Parser)
        tell((parser.format_brief_help() if option_string == "-h" else parser.format_help()).removesuffix("\n"))
        parser.exit()


class _Unbroken(argparse.HelpFormatter):
    """Formatter that does not break flags at their hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """Parser without abbreviations, that allows each option once and texts between options; reports errors in one
    line."""

    def __init__(
        self, fill: Callable[["Parser"], object] | None = None, examples: Sequence[str] = (), **settings: Any
    ) -> None:
        """`fill` adds the arguments just before the parser is first used, so that unused commands cost nothing.

        It may set `meant`, which maps flags and values of other programs to those of this one, and `most_used`, the
        `dest` of the arguments that -h shows; --help shows all. `examples`: lines that end the help.
        """
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Unbroken, "add_help": False, **settings})
        self.register("action", None, _Once)
        suppressed: Any = argparse.SUPPRESS
        self._help = self.add_argument(
            *("-h", "--help"),
            **{"action": _Help, "nargs": 0, "dest": suppressed, "help": "show this help message and exit"},
        )
        self.most_used: Collection[str] = ()
        self._fill, self._examples = fill, examples
        self._groups: dict[str, argparse._ArgumentGroup] = {}
        self.meant: Mapping[str, str] = {}

    def group(self, title: str) -> "argparse._ArgumentGroup":
        """Returns the group of this title, which the help shows in the order of the first calls."""
        if title not in self._groups:
            self._groups[title] = self.add_argument_group(title)
        return self._groups[title]

    @property
    def arguments(self) -> list[argparse.Action]:
        """All arguments, after the filling."""
        self._filled()
        return self._actions

    def _filled(self) -> None:
        fill, self._fill = self._fill, None
        if fill:
            fill(self)
            if self.most_used:
                self._help.help = "-h shows the most used arguments, --help all"
            if self.usage is None and len(self._optionals_shown()) > _MOST_FLAGS:
                self.usage = self._synopsis()

    def _optionals_shown(self) -> list[argparse.Action]:
        return [one for one in self._actions if one.option_strings and one.help is not argparse.SUPPRESS]

    def _synopsis(self) -> str:
        """Returns the synopsis without the flags that may be left out."""
        needed = [f"{one.option_strings[-1]} {one.metavar}" for one in self._optionals_shown() if one.required]
        values = [_COUNTS[one.nargs].format(one.metavar) for one in self._get_positional_actions()]  # type: ignore[index]
        return " ".join(["%(prog)s", "[OPTIONS]", *needed, *values])

    def format_help(self) -> str:
        """Formats the help of all arguments."""
        self._filled()
        return super().format_help() + self._shown_examples()

    def format_brief_help(self) -> str:
        """Formats the help of the most used arguments, or of all if the command does not name them."""
        self._filled()
        if not self.most_used:
            return self.format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, [])
        formatter.add_text(self.description)
        formatter.start_section("most used")
        formatter.add_arguments([one for one in self._actions if one.dest in self.most_used])
        formatter.end_section()
        formatter.add_text(f"{self.prog} --help describes all {len(self._optionals_shown())} flags.")
        return formatter.format_help() + self._shown_examples()

    def _shown_examples(self) -> str:
        return "\nexamples:\n" + "".join(f"  {line}\n" for line in self._examples) if self._examples else ""

    def error(self, message: str) -> NoReturn:
        """Exits with 2 after one line; argparse would print the whole synopsis first."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Also assigns the arguments after the second group of options, which argparse leaves over.

        An unknown argument is an error of the command that it follows.
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
            known = self.meant.get(first.replace("_", "-"))
            meant = hint(known) if known else did_you_mean(first, self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        setattr(found, list_of_all.dest, getattr(found, list_of_all.dest) + unknown[:end] + unknown[end + 1 :])
        return found, []

    def _list_of_all(self) -> argparse.Action | None:
        """Returns the argument without a flag that takes any number of values, or None."""
        return next((one for one in self._get_positional_actions() if one.nargs in ("*", "+")), None)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            texts = self._list_of_all()
            if texts is not None and action.nargs == "?":  # an option with an optional value took it
                error.message += f"; put {texts.metavar} first, or -- before it"
            raise

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = [str(one) for one in action.choices or ()]
            meant = hint(self.meant[value]) if value in self.meant else did_you_mean(value, choices, CLOSELY)
            error.message = f"invalid choice: {value!r}{meant}; choose from {', '.join(choices)}"
            raise

    def _print_message(self, message: str, file: Any = None) -> None:
        """Prints --help, --version and errors."""
        (tell if file is sys.stdout else say)(message.removesuffix("\n"))
