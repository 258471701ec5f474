"""`cpunmt completion`: scripts for shells, generated from the parsers of all commands."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import NamedTuple

from cpunmt.files.console import tell
from cpunmt.values.command_line import Parser

_PATHS = ("FILE", "DIR", "IN", "INPUT", "OUT", "MODEL", "DIR,...")  # metavars


class Argument(NamedTuple):
    """An argument as a shell completes it.

    flags   empty for an argument without a flag
    text    the beginning of its help
    values  the possible values; empty: others
    takes   "" if no value follows, "?" if one may, else "1"
    files   whether the value is a path
    """

    flags: tuple[str, ...]
    text: str
    values: str
    takes: str
    files: bool


Commands = dict[str, tuple[str, list[Argument]]]
"""Name of a command -> its line in the list of commands, and its arguments."""


def completion_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=_SCRIPTS, help="the shell")


def completion(given: argparse.Namespace) -> int:
    tell(script(given.shell))
    return 0


def script(shell: str) -> str:
    """Returns the script for a shell."""
    from cpunmt.commands.cli import COMMANDS  # which imports this module by its name

    commands = {}
    for command in COMMANDS:
        command.fill(parser := Parser())
        shown = [one for one in parser.arguments if one.help != argparse.SUPPRESS]
        commands[command.name] = (command.help, [_argument(one) for one in shown])
    return "\n".join(_SCRIPTS[shell](commands))


def _argument(action: argparse.Action) -> Argument:
    text = re.split(r"; |: | \(", str(action.help))[0]
    values = " ".join(map(str, action.choices or ()))
    takes = "" if action.nargs == 0 else "?" if action.nargs == "?" else "1"
    return Argument(tuple(action.option_strings), text, values, takes, action.metavar in _PATHS)


def _bash(commands: Commands) -> list[str]:
    of_flags, of_commands = [], []
    for name, (_, arguments) in commands.items():
        flags = " ".join(flag for one in arguments for flag in one.flags)
        words = " ".join(one.values for one in arguments if not one.flags)
        of_commands.append(f'            {name}) flags="{flags}" words="{words.strip()}" ;;')
        for one in arguments:
            if one.flags and (one.takes == "1" or one.values):
                keys = "|".join(f"{name}:{flag}" for flag in one.flags)
                found = f'words="{one.values}"' if one.values else "" if one.files else "nothing=1"
                of_flags.append(f"        {keys}) {found} ;;")
    return [
        "# Completes cpunmt in bash.",
        "_cpunmt() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local flags="" words="" nothing=""',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" = 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]}:$before" in',
        *of_flags,
        "        *)",
        '            case "${COMP_WORDS[1]}" in',
        *(f"    {line}" for line in of_commands),
        "            esac",
        '            case "$current" in -*) words="$flags" ;; esac ;;',
        "    esac",
        '    if [ -n "$words" ]; then',
        '        COMPREPLY=($(compgen -W "$words" -- "$current"))',
        '    elif [ -z "$nothing" ]; then',
        "        compopt -o default 2>/dev/null",  # the shell's own: files
        "    fi",
        "}",
        "complete -F _cpunmt cpunmt",
    ]


def _zsh(commands: Commands) -> list[str]:
    lines = ["#compdef cpunmt", "_cpunmt() {", "    local -a commands=("]
    for name, (text, _) in commands.items():
        line = name + ":" + text.replace(":", "\\:")
        lines.append(f"        {shlex.quote(line)}")
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines += ["    local name=$words[2]", "    shift words", "    (( CURRENT-- ))", "    case $name in"]
    for name, (_, arguments) in commands.items():
        parts = [f"    ({name}) _arguments -S"]
        for one in arguments:
            text = "".join(f"\\{sign}" if sign in "[]\\" else sign for sign in one.text)
            value = f"({one.values})" if one.values else "_files" if one.files or not one.flags else " "
            tail = {"": "", "?": f"::value:{value}", "1": f":value:{value}"}[one.takes]
            parts += [shlex.quote(f"{flag}[{text}]{tail}") for flag in one.flags] or [shlex.quote(f"*:value:{value}")]
        lines.append(" \\\n        ".join(parts) + " ;;")
    return [
        *lines,
        "    esac",
        "}",
        'if [ "$funcstack[1]" = _cpunmt ]; then _cpunmt "$@"; else compdef _cpunmt cpunmt; fi',
    ]


def _fish(commands: Commands) -> list[str]:
    lines = ["# Completes cpunmt in fish."]
    for name, (text, _) in commands.items():
        lines.append(f"complete -c cpunmt -n __fish_use_subcommand -f -a {name} -d {shlex.quote(text)}")
    for name, (_, arguments) in commands.items():
        for one in arguments:
            if not one.flags and not one.values:
                continue
            parts = [f"complete -c cpunmt -n '__fish_seen_subcommand_from {name}'"]
            parts += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in one.flags]
            parts += [f"-a '{one.values}'"] if one.values else []
            if one.takes == "1":
                parts.append("-f" if not one.flags else "-r" if one.files else "-x")
            lines.append(" ".join([*parts, f"-d {shlex.quote(one.text)}"]))
    return lines


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
