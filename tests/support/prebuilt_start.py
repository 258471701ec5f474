"""Runs a module's main() on prebuilt programs, without a cache and without a compiler.

python -m tests.support.prebuilt_start FOLDER MODULE
"""

import importlib
import os
import sys
import tempfile
from pathlib import Path

from cpunmt.engine import prebuilt, program

if __name__ == "__main__":
    prebuilt.FOLDER = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as empty:
        os.environ["CPUNMT_CACHE_DIR"] = empty
        importlib.import_module(sys.argv[2]).main()
        assert program.load().origin == "prebuilt" and not os.listdir(empty)
