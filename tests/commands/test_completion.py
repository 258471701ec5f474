"""Completion, as the shells do it: bash; zsh and fish, which must be installed, in the slow set."""

import shutil
import subprocess

import pytest

from cpunmt.commands import cli
from cpunmt.commands.completion import script
from tests.support.speeds import slow_after

_BASH = """
{script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _cpunmt
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def in_bash(*words) -> list[str]:
    """Returns what bash offers for the last word."""
    text = _BASH.format(script=script("bash"), words=" ".join(f"'{word}'" for word in words))
    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    "words, offered",
    slow_after(
        4,
        [
            (["tr"], ["translate", "translate-file"]),
            (["translate", "--vocabulary", "sh"], ["shortlist"]),
            (["translate", "--beam-size", ""], []),  # a number
            (["completion", ""], ["bash", "zsh", "fish"]),
            (["--v"], ["--version"]),
            (["translate", "--beam"], ["--beam-size"]),
            (["translate", "a", "--max-length"], ["--max-length-factor", "--max-length-extra", "--max-length"]),
            (["translate", "--vocabulary", ""], ["shortlist", "full", "clusters", "both"]),
            (["serve", "--char"], []),  # LibreTranslate's
            (["ls", "--inst"], ["--installed"]),
            (["nonsense", "--"], []),
        ],
    ),
)
def test_bash(words, offered):
    assert in_bash("cpunmt", *words) == offered


def test_every_command_and_flag_is_offered():
    assert in_bash("/opt/bin/cpunmt", "tr") == ["translate", "translate-file"]  # a command given by its path
    assert in_bash("cpunmt", "") == [*(command.name for command in cli.COMMANDS), "--help", "--version"]
    flags = in_bash("cpunmt", "serve", "--")
    assert {"--languages", "--port", "--max-file", "--help"} <= {*flags} and "--load-only" not in flags
    fish, zsh = script("fish"), script("zsh")
    for command in cli.COMMANDS:
        assert f"-a {command.name} -d " in fish and f"\n    ({command.name}) _arguments" in zsh
    for flag in flags:
        assert f" -l {flag[2:]}" in fish and f"'{flag}[" in zsh
    assert "complete -c cpunmt -n '__fish_seen_subcommand_from translate' -l html -d 'the text is HTML" in fish
    assert "'--vocabulary[target pieces to choose from]:value:(shortlist full clusters both)'" in zsh
    assert "'--n-best[translations of each sentence, best first]::value: '" in zsh
    assert "-s i -l input -r -d 'lines to translate'" in fish and "'--input[lines to translate]:value:_files'" in zsh


def _run(shell, *arguments):
    assert shutil.which(shell), f"{shell} is missing: apt-get install {shell}"
    return subprocess.run([shell, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("shell", slow_after(1, ["bash", "zsh", "fish"]))
def test_a_shell_reads_its_script(shell, tmp_path, capsys):
    assert cli.main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    done = _run(shell, "-n", str(tmp_path / "script"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_fish(tmp_path):
    (tmp_path / "script").write_text(script("fish"))

    def offered(line):
        done = _run("fish", "--no-config", "-c", f"source {tmp_path / 'script'}; complete --do-complete '{line}'")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    assert offered("cpunmt trans") == ["translate", "translate-file"]
    assert offered("cpunmt translate --beam-s") == ["--beam-size"]
    assert offered("cpunmt translate --vocabulary s") == ["shortlist"]
    assert offered("cpunmt completion z") == ["zsh"]
