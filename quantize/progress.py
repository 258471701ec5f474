"""A bar on stderr that shows how far a command is, if someone looks at it."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(total: int | None, unit: str, doing: str = "") -> Iterator[Callable]:
    """A function to call with how many more are done, and with what is being done if that changes.

    It does nothing where stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield lambda done, doing="": None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own
    bar = tqdm(total=total, desc=doing, unit=f" {unit}", file=sys.stderr, dynamic_ncols=True, leave=False)
    with bar:

        def show(done: int, doing: str = ""):
            if doing:
                bar.set_description_str(doing, refresh=doing != bar.desc)
            bar.update(done)

        yield show
