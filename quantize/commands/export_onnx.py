"""`quantize export-onnx`: exports a float32 checkpoint to a directory of ONNX graphs."""

import argparse
import importlib.util
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.console import tell
from cpunmt.files.output_files import check_directory
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.commands.shared_options import add_options, whole

_OPTIONS = """
checkpoint CHECKPOINT  Marian's model.npz, or a model directory of any kind that cpunmt reads; if packed, as floats
out OUT                the directory to make
--positions N          longest source and target, in pieces (default: what the model's limits allow, at most 4,096)
--force                replace OUT if it is a directory of such graphs
"""


def add_parser(commands: Any) -> Any:
    """Adds `export-onnx` to the commands of `quantize`."""
    export = commands.add_parser(
        "export-onnx",
        help="a float32 checkpoint -> ONNX graphs for other runtimes",
        description="Write encoder and decoder step of a float32 model as ONNX graphs.",
    )
    add_options(export, _OPTIONS, positions=whole(1, 1 << 16))
    return export


def run(given: argparse.Namespace) -> None:
    """Runs the command. Raises CpunmtError for obstacles."""
    if importlib.util.find_spec("onnx") is None:
        raise CpunmtError("export-onnx needs the package onnx; install it with: pip install 'cpunmt[onnx]'")
    from quantize.onnx.export import FILES, default_positions, export_onnx

    check_directory(given.out, given.force, FILES)  # before the work
    config, tensors = read_float_checkpoint(given.checkpoint)
    positions = given.positions or default_positions(config)
    export_onnx(given.out, config, tensors, positions, given.force)
    size = sum(file.stat().st_size for file in Path(given.out).iterdir())
    tell(f"{given.out}: {len(FILES)} files, {size / 1e6:.1f} MB, for up to {positions} pieces")
