"""The progress bar: on a terminal only, and gone afterwards."""

import io
import sys

import pytest

from quantize.progress import progress_bar


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_what_is_done_is_shown_to_who_looks_at_it(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    with progress_bar(10, "sentences") as progress:
        progress(0, "layers")
        progress(5)
        progress(3, "news: speed")
    shown = sys.stderr.getvalue().split("\r")
    if stream is Terminal:
        assert shown[-1] == "" and shown[-2].strip() == ""
        assert any(line.startswith("layers:") for line in shown)
        assert any(line.startswith("news: speed:  50%") and "5/10" in line for line in shown)
    else:
        assert shown == [""]
