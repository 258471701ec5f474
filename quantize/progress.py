"""A progress bar on stderr, if that is a terminal."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cpunmt.files import console


@contextlib.contextmanager
def progress_bar(total: int | None, unit: str, doing: str = "") -> Iterator[Callable[..., Any]]:
    """Yields a function to call with the number of further finished items, and with the current task when it changes.

    It does nothing if stderr is not a terminal.
    """
    if not console.is_watched():
        yield lambda done, doing="": None
        return
    with console.progress_bar(total=total, desc=doing, unit=f" {unit}", dynamic_ncols=True, leave=False) as bar:

        def show(done: int, doing: str = "") -> None:
            if doing:
                bar.set_description_str(doing, refresh=doing != bar.desc)
            bar.update(done)

        yield show
