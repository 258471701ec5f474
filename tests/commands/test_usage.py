"""Wrong usage of the command line: one line with the mistake, and the likely meaning."""

import itertools
import os
import re
import shlex
import shutil
import subprocess

import pytest

from cpunmt.commands import cli, model_choice
from tests.sample_models.real_model import SHIPPED
from tests.support.command_line import ROOT, here


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translat"], "cpunmt: error: no command is called 'translat' (did you mean translate?); see cpunmt --help"),
        (["tranlsate", "Hello"], " (did you mean translate?); "),
        (["Download", "firefox:ende"], "no command is called 'Download' (did you mean fetch?)"),
        (["xyzzy"], "no command is called 'xyzzy'; choose from translate, translate-file, batch, "),
        (["help", "translat"], "no command is called 'translat' (did you mean translate?); see cpunmt --help"),
        (["Two dogs."], "'Two dogs.'; to translate a text: cpunmt translate 'Two dogs.'; see cpunmt --help"),
        (["README.md"], "'README.md'; it is a file: cpunmt translate-file README.md; see"),
        (["firefox:ende"], "it names a model: cpunmt fetch firefox:ende, then cpunmt translate -m firefox:ende TEXT"),
        (["translate", "--beems", "4"], "cpunmt translate: error: unrecognized arguments: --beems (did you mean"),
        (["translate", "--bem-size=4"], "unrecognized arguments: --bem-size=4 (did you mean --beam-size?); see cpunmt"),
        (["translate", "--beam", "1"], "arguments: --beam (did you mean --beam-size?)"),  # flags are spelled out
        (["translate", "One.", "-b", "2", "Two.", "--beems"], "unrecognized arguments: Two. --beems (did you mean --"),
        (["translate", "--num-beams"], "unrecognized arguments: --num-beams (did you mean --beam-size?); see "),
        (
            ["translate", "--max-new-tokens=9"],
            "unrecognized arguments: --max-new-tokens=9 (did you mean --max-length?)",
        ),
        (["translate", "--xyzzy"], "unrecognized arguments: --xyzzy; see cpunmt translate --help"),
        (
            ["translate", "--vocabulary", "shortlst"],
            "'shortlst' (did you mean shortlist?); choose from shortlist, full",
        ),
        (["ls", "--instaled"], "cpunmt ls: error: unrecognized arguments: --instaled (did you mean --installed?)"),
        (["translate", "-b", "two"], "argument -b/--beam-size: invalid int value: 'two'"),
        (["translate", "-b", "0"], "cpunmt translate: error: beam_size is 0, expected "),
        (["translate", "--max-length-factor", "nan"], "max_length_factor is nan, expected 0.1 to 100.0"),
        (["translate", "--vocabulary", "half"], "argument --vocabulary: invalid choice: 'half'"),
        (["translate", "--n-best", "3", "-b", "2"], "error: num_hypotheses is 3 and beam_size is 2, expected at most "),
        (
            ["translate", "--min-alternative-expansion-prob", "0.1"],
            "min_alternative_expansion_prob is 0.1 and --alternatives is False; expected --alternatives; see ",
        ),
        (["translate", "--alternatives", "-b", "2"], "beam_size is 2 and --alternatives is True, expected 1"),
        (["translate", "--seed", "4"], "seed is 4 and sampling_topk is 1; expected sampling_topk 0, which draws from "),
        (["translate", "--n-best", "-1"], "num_hypotheses is -1, expected 1 to 64"),
        (["translate", "--alignment", "soggy"], "argument --alignment: 'soggy' is not a kind of alignment, expected"),
        (["translate", "--cpu-threads", "0"], "inter_threads is 0, expected 1 to 256"),
        (["translate", "--min-length", "5", "--max-length", "4"], "min_length is 5 and max_length is 4"),
        (["score", "--source", "file"], "give both --source and --target, or neither"),
        (["score", "-b", "4"], "unrecognized arguments: -b 4"),
        (["score", "--word-penalty", "200"], "word_penalty is 200.0, expected -100.0 to 100.0"),
        (["info", "--verfy"], "unrecognized arguments: --verfy"),
        (["convert", "model"], "cpunmt convert: error: the following arguments are required: OUT"),
        (
            ["convert", "model", "out", "--scheme", "int4"],
            "argument --scheme: invalid choice: 'int4' (did you mean code4?)",
        ),
        (["translate", "-m", "a", "-m", "a"], "argument -m/--model: is given twice, 'a' and 'a'; expected it once"),
        (["translate", "-m", "a", "--model=b"], "argument -m/--model: is given twice, 'a' and 'b'"),
        (["translate", "-i", "a", "--input", "b"], "argument -i/--input: is given twice"),
        (["translate", "-o", "a", "-o", "b"], "argument -o/--output: is given twice"),
        (["score", "--source", "a", "--source", "b"], "argument --source: is given twice"),
        (["score", "-o", "a", "-o", "b"], "argument -o/--output: is given twice"),
        (["translate", "--beam-size", "2", "-b", "3"], "argument -b/--beam-size: is given twice, 2 and 3; expected it"),
        (["translate", "--beam-size", "1", "-b", "1"], "argument -b/--beam-size: is given twice, 1 and 1"),
        (["translate", "-n", "1", "--normalize", "2"], "is given twice, 1.0 and 2.0"),
        (["translate", "--cpu-threads", "1", "--inter-threads", "2"], "--cpu-threads: is given twice, 1 and 2"),
        (["translate", "--no-shortlist", "--vocabulary", "full"], "--vocabulary: is given twice, 'full' and 'full'"),
        (["translate", "--vocabulary", "shortlist", "--no-shortlist"], "--no-shortlist: is given twice, 'shortlist'"),
        (["translate", "--alignment", "--alignment", "soft"], "--alignment: is given twice, 'hard' and 'soft'"),
        (
            ["convert", "a", "b", "--scheme", "int8", "--scheme", "int16"],
            "--scheme: is given twice, 'int8' and 'int",
        ),
        (["translate", "--n-best", "A man."], "invalid int value: 'A man.'; put TEXT first, or -- before it; see"),
        (["translate", "--normalize", "A man."], "invalid float value: 'A man.'; put TEXT first, or -- before it"),
        (
            ["translate", "--alignment", "A man."],
            "a number from 0 to 1; put TEXT first, or -- before it; see",
        ),
        (
            ["translate-file", "A dog."],
            "there is no file 'A dog.'; to translate a text: cpunmt translate 'A dog.'; see",
        ),
        (["version"], "no command is called 'version' (did you mean --version?)"),
        (["quantize", "pack"], "no command is called 'quantize' (did you mean cpunmt-quantize?)"),
        (["serve", "-p", "80"], "unrecognized arguments: -p (did you mean --port?)"),
        (
            ["translate-file", "README.md", "-o", "docs"],
            "docs is a directory; give -o the name of a file, or --out docs",
        ),
        (["translate", "--from", "en"], "give both --from and --to, or neither: they choose a model (here en > de"),
        (["score", "--to", "de"], "give both --from and --to, or neither"),
        (
            ["translate", "--from", " ", "--to", "de"],
            "--from is '', expected a code or a name, as de, deu_Latn or",
        ),
        (["translate", "Hello.", "-i", "a"], "give TEXT, or a file of lines with -i, not both: 'Hello.' and 'a'"),
        (["translate", "README.md"], "README.md is a file; cpunmt translate-file README.md translates it, `printf"),
        (["translate", "LICENSE"], "LICENSE is a file; -i LICENSE translates the lines in it, `printf"),
        (["translate", "models/ende-tiny"], "models/ende-tiny is a directory; -m models/ende-tiny names a model"),
        (
            ["translate", "firefox:ende", "Hello."],
            "firefox:ende names a model; -m firefox:ende translates with it, `p",
        ),
        (["fetch"], "cpunmt fetch: error: the following arguments are required: NAME"),
    ],
)
def test_wrong_usage_is_one_line_and_exits_with_two(arguments, message, capfd, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    output, shown = capfd.readouterr()
    assert message in shown and shown.count("\n") == 1 and output == ""


def test_no_command_is_answered_by_the_help_and_the_next_step(capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path))
    monkeypatch.delenv("CPUNMT_MODEL", raising=False)
    monkeypatch.setattr(model_choice, "SHIPPED", tmp_path / "none")
    assert cli.main([]) == 2
    output, shown = capfd.readouterr()
    assert output.startswith("usage: cpunmt COMMAND ...\n") and shown == ""
    assert output.endswith("\nNext: no model is installed; cpunmt fetch firefox:ende gets one, cpunmt ls lists all.\n")
    monkeypatch.setattr(model_choice, "SHIPPED", tmp_path)
    assert cli.main([]) == 2
    said = f'\nNext: cpunmt translate "Two dogs." uses {tmp_path}; cpunmt ls lists other models.\n'
    assert capfd.readouterr().out.endswith(said)
    (tmp_path / "firefox" / "encs").mkdir(parents=True)
    (tmp_path / "firefox" / "encs" / "metadata.json").write_text('{"name": "firefox:encs"}')
    assert cli.main([]) == 2
    assert capfd.readouterr().out.endswith(
        "\nNext: cpunmt translate -m firefox:encs TEXT; cpunmt models lists what is installed.\n"
    )


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
def test_help_fits_a_terminal_and_its_examples_can_be_typed(command, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        cli.main([command.name, "--help"])
    output, shown = capfd.readouterr()
    assert caught.value.code == 0 and shown == "" and max(map(len, output.splitlines())) <= 80
    assert output.startswith(f"usage: cpunmt {command.name} [") and command.examples
    assert output.endswith("\nexamples:\n" + "".join(f"  {line}\n" for line in command.examples))
    for line in command.examples:
        words = [*itertools.takewhile(lambda word: word not in ("<", ">"), shlex.split(line, comments=True))]
        assert words[:2] == ["cpunmt", command.name]
        assert cli.command_parser().parse_args(words[1:]).run.__name__ == command.name.replace("-", "_")


@pytest.mark.parametrize("words", [[], ["help"], ["info"], ["info", "again"]])
def test_help_as_a_word(words, capfd, monkeypatch):
    helps = []
    for arguments in (["help", *words], [*[word for word in words if word == "info"], "--help"]):
        monkeypatch.setattr("sys.argv", ["cpunmt", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        helps.append(capfd.readouterr())
        assert caught.value.code == 0
    assert helps[0] == helps[1] and helps[0].out.startswith("usage: cpunmt ") and helps[0].err == ""


def test_the_list_of_commands_fits_a_terminal(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    lines = capfd.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and "models:" in lines
    assert "  translate-file  documents: Word, PDF, subtitles, catalogues and 15 other" in lines
    assert [
        name for name in (line.split(" ")[2] for line in lines if re.match("  [a-z]", line)) if name != "cpunmt"
    ] == [one.name for one in cli.COMMANDS]


@pytest.mark.parametrize(
    ("command", "shown", "hidden"), [("translate", "--n-best", "--patience"), ("info", "--w", "-")]
)
def test_the_short_help_has_the_most_used_flags(command, shown, hidden, capfd):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "-h"])
    output = capfd.readouterr().out
    assert caught.value.code == 0 and shown in output and output.count("\n") < 60
    if hidden != "-":
        assert hidden not in output and re.search(r"--help describes all \d\d flags", output)
        assert output.index("most used:") < output.index("examples:")


def test_help_has_groups_and_the_names_of_flags(capfd):
    with pytest.raises(SystemExit):
        cli.main(["translate", "--help"])
    output = capfd.readouterr().out
    titles = re.findall(r"^([a-z ]+):$", output, re.M)
    assert titles[2:6] == ["input and output", "model and languages", "text", "length"] and titles[-1] == "examples"
    assert not re.search(r"--[a-z-]+-\n", output)
    assert "at most --beam-size (without N: as many as" in " ".join(output.split()) and "in Python" not in output
    assert output.index("--to LANGUAGE") < output.index("--split {") < output.index("--max-length N")
    assert output.index("  --copy-numbers") < output.index("  --no-copy-numbers")


def test_a_word_that_is_a_model_beside_is_no_text(tmp_path, capfd, monkeypatch):
    """Another folder's name is a text."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SHIPPED, tmp_path / "dogs")
    (tmp_path / "dog").mkdir()
    with pytest.raises(SystemExit):
        cli.main(["translate", "dogs", "Two dogs."])
    assert "error: dogs is a directory; -m dogs names a model" in capfd.readouterr().err
    assert cli.main(["translate", "-m", "dogs", "dog"]) == 0 and capfd.readouterr().out == "Hund\n"


@pytest.mark.parametrize("word", ["hf:ok", "it's.txt", "$(id).txt", "a`b`;c.txt"])
def test_advice_about_a_word_can_be_pasted_into_a_shell(word, student, tmp_path, capfd, monkeypatch):
    """A word may be the name of something, and is still translated."""
    monkeypatch.chdir(tmp_path)
    if not word.startswith("hf:"):
        (tmp_path / word).write_text("A dog.\n")
    with pytest.raises(SystemExit):
        cli.main(["translate", word])
    shown = capfd.readouterr().err
    advice = re.search(r"`(printf .* \| )cpunmt translate` translates the word itself", shown)[1]
    files = sorted(os.listdir(tmp_path))
    assert subprocess.run(["sh", "-c", f"{advice}cat"], capture_output=True).stdout.decode() == f"{word}\n"
    assert sorted(os.listdir(tmp_path)) == files
    if files:
        flag = re.search(r"; (-i .*) translates the lines in it", shown)[1]
        listed = subprocess.run(["sh", "-c", f"printf '%s\\n' {flag}"], capture_output=True).stdout.decode()
        assert listed == f"-i\n{word}\n" and sorted(os.listdir(tmp_path)) == files


@pytest.mark.parametrize("flag", ["--alignment", "--word-scores"])
def test_pages_have_no_pieces_to_tell_of(flag):
    done = here("translate", "-m", SHIPPED, "--html", flag, stdin=b"<p>A dog.</p>\n")
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    assert f"{flag} is about pieces, which the result of --html lacks".encode() in done.stderr
