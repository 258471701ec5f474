"""The packages that argos-translate has installed for this user, each a folder: they are models with names, too.

    ARGOS_PACKAGES_DIR    the folder of packages; default: argos-translate/packages in XDG_DATA_HOME or ~/.local/share

Source: `argostranslate/settings.py` of https://github.com/argosopentech/argos-translate.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import METADATA, read_json

_MOST = 1000  # packages
_MAX_METADATA = 1 << 20  # bytes


def installed_packages() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yields (name such as "argos:en-de", folder, metadata) of each package that translates, by its folder's name.

    Skips folders that are damaged. Of two packages for the same languages both are yielded.
    """
    folder = _packages_folder()
    if folder is None:
        return
    try:
        paths = sorted(path for path in folder.iterdir() if (path / "model").is_dir())
    except OSError:  # there is none
        return
    for path in paths[:_MOST]:
        try:
            metadata = read_json(path / METADATA, "package metadata", _MAX_METADATA)
        except CpunmtError:
            continue
        source, target = metadata.get("from_code"), metadata.get("to_code")
        if isinstance(source, str) and isinstance(target, str):
            yield f"argos:{source}-{target}", path, metadata


def _packages_folder() -> Path | None:
    """Returns the folder of packages, which need not exist; None without a home."""
    chosen, data = (os.environ.get(name) for name in ("ARGOS_PACKAGES_DIR", "XDG_DATA_HOME"))
    if chosen:
        return Path(chosen)
    try:
        return Path(data or Path.home() / ".local" / "share") / "argos-translate" / "packages"
    except RuntimeError:
        return None
