"""Where cpunmt keeps what it fetches and makes for a user, unless an environment variable names another place."""

import os
import sys
from pathlib import Path

# kind -> the folder below home on a Mac; elsewhere the variable that names it, and where it is by default
_FOLDERS = {
    "data": ("Library/Application Support", "XDG_DATA_HOME", ".local/share"),
    "cache": ("Library/Caches", "XDG_CACHE_HOME", ".cache"),
}


def user_folder(kind: str) -> Path:
    """cpunmt's folder of the user's "data" or "cache"; it need not exist.

    Raises RuntimeError if there is no home: no HOME, and a user without an entry in the password file (a container).
    """
    home, (on_mac, variable, elsewhere) = Path.home(), _FOLDERS[kind]
    if sys.platform == "darwin":
        return home / on_mac / "cpunmt"
    return Path(os.environ.get(variable) or home / elsewhere) / "cpunmt"
