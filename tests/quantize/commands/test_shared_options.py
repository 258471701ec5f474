"""Options defined by their help: the result of each line of the help."""

import argparse

import pytest

from quantize.commands import clusters, export_onnx, pack, report, shortlist
from quantize.commands.shared_options import add_options, number, whole

TEXT = """
model MODEL    a directory; it
               is read
--count N      how many (default: 30)
--share X      at most (default: 0.25, of all)
--name WORD    no default
--text FILE...  may be given several times
--force        a flag
--a-longer-name VALUE
               below its name
"""


@pytest.fixture
def parser():
    made = argparse.ArgumentParser(exit_on_error=False)
    share = number(float, lambda value: 0 < value <= 1, "a share")
    add_options(made, TEXT, count=whole(1, 99), share=share, a_longer_name={"required": True})
    return made


def test_defaults_are_those_of_the_help(parser):
    given = vars(parser.parse_args(["m", "--a-longer-name", "x"]))
    expected = {"model": "m", "count": 30, "share": 0.25, "name": None, "text": [], "force": False}
    assert given == {**expected, "a_longer_name": "x"}
    told = " ".join(parser.format_help().split())
    assert "MODEL a directory; it is read" in told and "--a-longer-name VALUE below its name" in told


def test_what_is_given_is_checked(parser):
    flags = ["--text", "a", "--text", "b", "--force", "--count", "99", "--share", "1", "--a-longer-name", "x"]
    given = parser.parse_args(["m", *flags])
    assert (given.text, given.force, given.count, given.share) == (["a", "b"], True, 99, 1.0)
    for flag, value, told in (
        ("--count", "0", "'0' is not a number from 1 to 99"),
        ("--count", "100", "'100' is not a number from 1 to 99"),
        ("--share", "0", "'0' is not a share"),
        ("--share", "x", "'x' is not a share"),
    ):
        with pytest.raises(argparse.ArgumentError, match=told):
            parser.parse_args(["m", flag, value, "--a-longer-name", "x"])
    assert parser.parse_args(["m", "--count", "1", "--a-longer-name", "x"]).count == 1


REQUIRED = {
    clusters: ["m", "--text", "t"],
    export_onnx: ["m", "o"],
    pack: ["m", "o", "--vocab", "v"],
    report: ["m", "--baseline", "b"],
    shortlist: ["--out", "o"],
}


@pytest.mark.parametrize(
    ("command", "flag", "low", "high"),
    [
        (clusters, "--count", 1, 65536),
        (clusters, "--top", 1, 1000),
        (clusters, "--near", 1, 1000),
        (clusters, "--iterations", 1, 10_000),
        (clusters, "--beam-size", 1, 64),
        (clusters, "--most-sentences", 1, 100_000_000),
        (clusters, "--most-states", 1, 10_000_000),
        (clusters, "--seed", 0, (1 << 31) - 1),
        (clusters, "--active", 0.1, 100),
        (export_onnx, "--positions", 1, 65536),
        (pack, "--calibration-lines", 1, 1_000_000),
        (pack, "--percentile", 0.1, 100),
        (pack, "--sigmas", 0.1, 1e300),
        (report, "--beam-size", 1, 64),
        (report, "--rounds", 0, 1000),
        (report, "--samples", 0, 1_000_000),
        (shortlist, "--first", 1, (1 << 31) - 1),
        (shortlist, "--best", 1, (1 << 31) - 1),
        (shortlist, "--threshold", 0, 0.999),
        (shortlist, "--diagonal", 0, 100),
    ],
)
def test_the_ranges_of_numbers(command, flag, low, high, capsys):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers(dest="command"))
    name = command.__name__.rpartition(".")[2].replace("_", "-")
    for value in (low, high):
        given = parser.parse_args([name, *REQUIRED[command], flag, str(value)])
        assert getattr(given, flag[2:].replace("-", "_")) == value
    below = low - 1 if isinstance(low, int) else 0
    above = high + 1 if isinstance(high, int) else 1 if high < 1 else float("inf")
    for value in (below, above):
        with pytest.raises(SystemExit):
            parser.parse_args([name, *REQUIRED[command], f"{flag}={value}"])
        assert f"argument {flag}: '{value}' is not " in capsys.readouterr().err
