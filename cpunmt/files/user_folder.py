"""Where cpunmt keeps what it fetches and makes for a user, unless an environment variable names another place.

platformdirs knows the places. On Linux its rule is the two lines below, so that a start does not import it (a test
compares them).
"""

import os
import sys
from pathlib import Path

_NAME = "cpunmt"
_XDG = {"data": ("XDG_DATA_HOME", ".local/share"), "cache": ("XDG_CACHE_HOME", ".cache")}


def user_folder(kind: str) -> Path:
    """cpunmt's folder of the user's "data" or "cache"; it need not exist.

    Raises RuntimeError if there is no home: no HOME, and a user without an entry in the password file (a container).
    """
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        variable, below_home = _XDG[kind]
        chosen = os.environ.get(variable, "")  # one that is no absolute path counts as none
        return Path(chosen if os.path.isabs(chosen) else Path.home() / below_home) / _NAME
    from cpunmt.process.first_use import LOCK

    with LOCK:
        from platformdirs import PlatformDirs
    folders = PlatformDirs(_NAME, appauthor=False)
    return folders.user_data_path if kind == "data" else folders.user_cache_path
