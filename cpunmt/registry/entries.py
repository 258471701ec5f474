"""Registries' models: each a few files at URLs, with checks of their names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import METADATA, plain_name
from cpunmt.files.output_files import remedy

# Of one model, in bytes: larger downloads and archives are refused. The largest OPUS-MT has 1 GB.
LARGEST_MODEL = 4 << 30  # bytes of an archive, or of a file whose size is unknown
LARGEST_FILES = 32 << 30  # of files whose sizes the registry knows: NLLB of 3.3 billion numbers has 17.6 GB
_LONGEST_NAME = 150
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


@dataclass(frozen=True)
class RemoteFile:
    """One file of a model.

    Attributes
    ----------
    path : name inside the model's folder; see `check_file_name`
    size : bytes, by the registry
    sha256 : hex digest of the file as it is sent
    git_blob : git's SHA-1 of the content; for files of a repository without SHA-256
    unpacked_sha256, unpacked_size : of the content of a .gz or .zst file; its name inside the folder lacks the suffix
    """

    url: str
    path: str
    size: int | None = None
    sha256: str | None = None
    git_blob: str | None = None
    unpacked_sha256: str | None = None
    unpacked_size: int | None = None


@dataclass(frozen=True)
class ModelEntry:
    """One model that a registry offers.

    Attributes
    ----------
    name : as the user writes it: "firefox:ende"; of older releases "firefox:ende@1.0"
    source, target : languages; several are joined by "+"
    architecture, version : empty if the registry omits them
    registry : URL of the document that describes the model
    licence : empty if the registry omits it
    packed : the files are zip archives, whose content is the model
    through_library : huggingface_hub fetches the files
    """

    name: str
    source: str
    target: str
    architecture: str
    version: str
    registry: str
    files: tuple[RemoteFile, ...]
    licence: str | None = None
    packed: bool = False
    through_library: bool = False

    @property
    def size(self) -> int | None:
        """Returns the bytes to download; None if the registry omits them."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    @property
    def unpacked_size(self) -> int:
        """Returns the bytes needed beyond `size` while packed files are unpacked, by the registry."""
        return sum(file.unpacked_size or 0 for file in self.files)


def archived_models(
    registry: str,
    kind: str,
    releases: Mapping[tuple[str, str], Mapping[str, RemoteFile]],
    order: Callable[[str], Any],
) -> list[ModelEntry]:
    """Returns the models of a list of archives, sorted by name; the newest of two languages has the short name.

    Parameters
    ----------
    registry : str
        URL of the list.
    kind : str
        What names begin with: "opus".
    releases : (source, target) -> version -> archive
        An older release whose version is "" has no name, and is left out.
    order : callable
        version -> key that sorts them, the newest last
    """
    entries = []
    for (source, target), archives in releases.items():
        for rank, version in enumerate(sorted(archives, key=order, reverse=True)):
            if version or not rank:
                name = f"{kind}:{source}-{target}" + (f"@{version}" if rank else "")
                archive = (archives[version],)
                entries.append(ModelEntry(name, source, target, "", version, registry, archive, packed=True))
    return sorted(entries, key=lambda entry: entry.name)


def fetch_again(error: OSError) -> str:
    """Returns the end of a message about a file that cannot be written."""
    return f"; {remedy(error)} and fetch again"


def check_file_name(name: str, where: str) -> None:
    """Refuses a file name that would leave the model's folder, or that has a special meaning on some system.

    Raises
    ------
    CpunmtError
        Starts with `where`.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+=@-]*", name):
        why = "expected letters, digits and . _ + = @ -"
    elif len(name) > _LONGEST_NAME:
        why = f"it has {len(name)} characters, expected at most {_LONGEST_NAME}"
    elif plain_name(plain_name(name)) != plain_name(name):
        why = "it is packed twice, expected one .gz or .zst"
    else:
        why = _taken(name) or _taken(plain_name(name)) or ""  # the received name, and the final one
    if why:
        raise CpunmtError(f"{where}: file name {str(name)[:200]!r} is refused: {why}; nothing was fetched of it")


def _taken(name: str) -> str | None:
    """Returns the special meaning of a name of valid characters, or None."""
    if name.endswith(".") or name.split(".")[0].lower() in _WINDOWS_DEVICES:
        return "Windows gives it a meaning of its own"
    if name.lower() == METADATA or name.lower().endswith((".part", ".etag")):
        return "cpunmt writes such files itself"
    return None


def check_entry(entry: ModelEntry) -> None:
    """Refuses a model with unsafe names, a repeated name (in any case, packed or not), or too many
    bytes.
    """
    seen = set()
    for file in entry.files:
        check_file_name(file.path, entry.name)
        name = plain_name(file.path).lower()
        if name in seen:
            raise CpunmtError(f"{entry.name}: the registry names the file {file.path!r} twice; expected it once")
        seen.add(name)
    for size, most in (
        (sum(file.size or 0 for file in entry.files), LARGEST_FILES),
        (entry.unpacked_size, LARGEST_MODEL),
    ):
        if size > most:
            raise CpunmtError(f"{entry.name}: the registry says {size} bytes, expected at most {most}; not a model?")
