"""Packs models for measurements."""

import contextlib
import io
from pathlib import Path

from quantize.commands.cli import main as quantize


def pack_quietly(checkpoint: Path, model: Path, *options: str) -> None:
    """Runs `quantize pack CHECKPOINT MODEL OPTIONS`; shows its output only if it fails, which ends the benchmark."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):  # warnings too
        status = quantize(["pack", str(checkpoint), str(model), *options])
    if status:
        raise SystemExit(told.getvalue())
