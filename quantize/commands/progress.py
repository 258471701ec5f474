"""A bar on stderr that shows how far a command is, if someone looks at it."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(doing: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
    """A function to call with how many more are done; it does nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own
    with tqdm(total=total, desc=doing, unit=unit, file=sys.stderr, dynamic_ncols=True, leave=False) as bar:
        yield bar.update
