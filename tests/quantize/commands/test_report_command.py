"""`quantize report`: from the command line to the table, the files and the exit status."""

import json
import sys

import pytest

from quantize.commands.cli import main
from tests.sample_models.model_pairs import SENTENCES
from tests.support import command_line


@pytest.fixture
def files(pair):
    """The folder of the pair of models."""
    return pair.int8.parent


def report(files, *flags, model="int8", baseline="float32", rounds="0"):
    given = [str(files / model), "--baseline", str(files / baseline), "--rounds", rounds, "--samples", "20"]
    return main(["report", *given, *map(str, flags)])


def test_table_json_and_picture(files, tmp_path, capsys):
    told, drawn = tmp_path / "out.json", tmp_path / "out.png"
    flags = ["--test", f"dogs={files / 'small.tsv'}", "--test", files / "text.txt", "--json", told, "--picture", drawn]
    assert report(files, *flags, "--gate", "size=0.9,agreement@dogs=0", rounds="1") == 0
    printed = capsys.readouterr()
    assert printed.err == "" and len(printed.out.split("\n\n")) == 7
    found = json.loads(told.read_text("utf-8"))
    assert [one["name"] for one in found["sets"]] == ["dogs", "text"] and found["sets"][0]["speed"]["rounds"] == 1
    assert [(limit["measure"], limit["kept"]) for limit in found["gate"]] == [("size", True), ("agreement", True)]
    assert drawn.read_bytes().startswith(b"\x89PNG") and sorted(tmp_path.iterdir()) == [told, drawn]


def test_a_broken_limit_is_shown_and_is_the_exit_status(files, tmp_path, capsys):
    flags = ["--test", files / "small.tsv", "--gate", "agreement=1,sqnr=99,size=0.9", "--json", tmp_path / "x"]
    assert report(files, *flags) == 1
    printed = capsys.readouterr()
    assert [line.split()[-1] for line in printed.out.splitlines()[-3:]] == ["BROKEN", "BROKEN", "kept"]
    assert printed.err == "cpunmt-quantize report: 2 of 3 limits broken\n"
    assert [limit["kept"] for limit in json.loads((tmp_path / "x").read_text("utf-8"))["gate"]] == [False, False, True]


def test_files_are_replaced_only_by_force_and_refused_before_the_work(files, tmp_path, capsys):
    told = tmp_path / "out.json"
    told.write_text("mine")
    for flag in ("--json", "--picture"):
        assert report(files, flag, told, model="none") == 1
        assert capsys.readouterr().err.startswith(f"cpunmt-quantize: error: {told}: exists; choose another name")
        assert told.read_text() == "mine"
    assert report(files, "--json", told, "--force") == 0
    assert json.loads(told.read_text("utf-8"))["sets"] == []


def test_the_same_report_has_the_same_json(files, tmp_path, capsys):
    flags = ["--test", files / "small.tsv", "--vocabulary", "full", "--beam-size", "3"]
    for name in ("one", "two"):
        assert report(files, *flags, "--json", tmp_path / name) == 0
        assert capsys.readouterr().out.count("full vocabulary, beam 3") == 2
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    told = json.loads((tmp_path / "one").read_text("utf-8"))["settings"]
    assert told == {"vocabulary": "full", "beam_size": 3}


def test_activations_are_a_table_and_in_the_json(files, tmp_path, capsys):
    assert report(files, "--activations", files / "text.txt", "--json", tmp_path / "x") == 0
    found = json.loads((tmp_path / "x").read_text("utf-8"))["activations"]
    lines = capsys.readouterr().out.split("\n\n")[2].split("\n")
    assert lines[0].startswith("ReLU outputs read by ") and len(lines) == 2 + len(found["layers"])
    assert found["file"] == str(files / "text.txt")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--test", "{}/none.tsv"], "{}/none.tsv: test set not found; check the path"),
        (["--gate", "agreement=0.9"], "gate: agreement is measured on test sets, and there is none"),
        (["--test", "{}/text.txt", "--gate", "bleu=1"], "gate: bleu needs references, which {}/text.txt lacks"),
        (["--test", "{}/text.txt", "--gate", "tokens@x=1"], "gate: no test set is called 'x'; there are text"),
        (["--activations", "{}/none.txt"], "{}/none.txt: text of --activations not found; check the path\n"),
        (["--activations", "{}/empty"], "{}/empty: text of --activations is empty; expected text, one"),
        (["--json", "{}/no/such/x"], "{0}/no/such/x: the directory {0}/no/such does not exist"),
        (["--vocabulary", "shortlist", "--beam-size", "2", "--json", "{}"], "{}: is a directory"),
    ],
)
def test_what_stands_in_the_way_is_one_clear_error(files, capsys, flags, expected):
    assert report(files, *(flag.format(files) for flag in flags)) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith(f"cpunmt-quantize: error: {expected.format(files)}")


@pytest.mark.parametrize(
    ("module", "flags"),
    [("sacrebleu.metrics", ["--test", "{}/small.tsv"]), ("matplotlib.figure", ["--picture", "{}/x.png"])],
)
def test_a_missing_package_is_named_before_the_work(files, capsys, monkeypatch, module, flags):
    monkeypatch.setitem(sys.modules, module, None)
    assert report(files, *(flag.format(files) for flag in flags)) == 1
    assert "pip install 'cpunmt[report]'" in capsys.readouterr().err
    assert not (files / "x.png").exists()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--gate", "bleu"], "expected a number after ="),
        (["--gate", "blue=1"], "one of the names bleu"),
        (["--test", "a b=x"], "NAME=FILE"),
        (["--test", "{}/small.tsv", "--test", "{}/small.tsv"], "two sets are called 'small'"),
        (["--rounds", "-1"], "'-1' is not a number from 0 to 1000"),
        (["--samples", "x"], "'x' is not a number from 0"),
        (["--beam-size", "0"], "'0' is not a number from 1 to 64"),
        (["--vocabulary", "half"], "invalid choice"),
        (["--base", "x"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_exits_with_two(files, capsys, flags, expected):
    with pytest.raises(SystemExit) as caught:
        report(files, *(flag.format(files) for flag in flags))
    assert caught.value.code == 2 and expected in capsys.readouterr().err


def test_a_terminal_sees_a_bar_and_is_left_clean(files, monkeypatch):
    monkeypatch.setattr(command_line, "CPUNMT", [sys.executable, "-m", "quantize"])
    given = ["report", files / "int8", "--baseline", files / "float32", "--test", files / "small.tsv", "--rounds", "1"]
    status, output, shown = command_line.on_terminal(*given)
    assert status == 0 and b"identical %" in output
    assert "small: baseline translates" in shown and "small: speed" in shown and "sentences" in shown
    assert shown.split("\r")[-1].strip() == ""


def test_two_outputs_in_one_file_and_outputs_that_are_inputs_are_refused(files, tmp_path, capsys):
    test = files / "small.tsv"
    before = test.read_bytes()
    for flags, expected in (
        (["--json", tmp_path / "x", "--picture", tmp_path / "x"], "is to be written twice"),
        (["--json", test, "--test", test, "--force"], "is read, and would be replaced"),
        (
            ["--activations", files / "text.txt", "--json", files / "text.txt", "--force"],
            "text.txt: is read, and",
        ),
        (["--picture", "-"], "-: expected the name of a file"),
    ):
        assert report(files, *flags) == 1
        assert expected in capsys.readouterr().err
    assert test.read_bytes() == before and list(tmp_path.iterdir()) == []
    assert (files / "text.txt").read_text("utf-8").startswith(SENTENCES[0])
