"""An engine that runs another program temporarily."""

import contextlib
from collections.abc import Iterator

from cpunmt.engine.engine import Engine
from cpunmt.engine.program import Program


@contextlib.contextmanager
def running(engine: Engine, program: Program) -> Iterator[None]:
    """Makes the engine run `program` within the block."""
    own, engine._program = engine._program, program
    try:
        yield
    finally:
        engine._program = own
