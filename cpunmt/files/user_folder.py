"""Finds the folder for a user's downloads and compiled files, unless an environment variable names another place.

platformdirs defines the places. On Linux its rule is the two lines below, so that a start does not import it (a test
compares them). On a Mac it also uses XDG_DATA_HOME and XDG_CACHE_HOME, which earlier versions of cpunmt did not:
files in the former place stay there.
"""

import os
import sys
from pathlib import Path

from cpunmt.process.first_use import LOCK

_NAME = "cpunmt"
_XDG = {"data": ("XDG_DATA_HOME", ".local/share"), "cache": ("XDG_CACHE_HOME", ".cache")}
_FORMERLY_ON_MAC = {"data": "Library/Application Support", "cache": "Library/Caches"}


def user_folder(kind: str) -> Path:
    """Returns cpunmt's folder in the user's "data" or "cache"; it need not exist.

    Raises RuntimeError without a home: no HOME, and a user without an entry in the password file (a container).
    """
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        variable, below_home = _XDG[kind]
        chosen = os.environ.get(variable, "")  # a relative path is ignored
        return Path(chosen if os.path.isabs(chosen) else Path.home() / below_home) / _NAME
    if sys.platform == "darwin" and (formerly := Path.home() / _FORMERLY_ON_MAC[kind] / _NAME).is_dir():
        return formerly
    with LOCK:
        from platformdirs import PlatformDirs
    folders = PlatformDirs(_NAME, appauthor=False)
    return folders.user_data_path if kind == "data" else folders.user_cache_path
