"""Options defined by their help: the result of each line of the help."""

import argparse

import pytest

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
