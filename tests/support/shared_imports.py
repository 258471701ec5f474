"""Divides the first import of the test modules among the workers of a run."""

import contextlib
import importlib
from collections.abc import Sequence

import pytest


def import_share(names: Sequence[str], worker: int, workers: int) -> None:
    """Imports every `workers`-th of the named modules, from number `worker` on.

    In a new checkout pytest rewrites the assertions of every module, which takes a worker a quarter of a minute. So
    each worker rewrites a part, and reads the other parts from the cache. A module that cannot be imported, or that
    skips itself, is imported again by the collection, which reports it.
    """
    for name in names[worker::workers]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # raised again, and reported, by the collection
            importlib.import_module(name)
