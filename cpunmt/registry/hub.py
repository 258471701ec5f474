"""The library huggingface_hub, for hf: models if it is installed (pip install 'cpunmt[hf]'): its cache and its tokens.

HF_TOKEN or `hf auth login` opens private and gated models, HF_HOME moves the cache, HF_ENDPOINT names a mirror. A
model's description is read as without the library, with its token; the library fetches the files. `huggingface` decides
the files with their sizes and digests. This module checks the received ones; the cache and the user's folder of models
share them as one file, if both are on one disk.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import remedy, sync, told
from cpunmt.process.first_use import LOCK
from cpunmt.registry.connection import OfflineError, check_url, is_offline, one_line
from cpunmt.registry.entries import RemoteFile, fetch_again

_NAME = "cpunmt"


def is_installed() -> bool:
    """Returns whether the library is installed, without importing it."""
    with contextlib.suppress(ValueError):  # a test puts None in its place
        return importlib.util.find_spec("huggingface_hub") is not None
    return False


def _library() -> Any:
    """Returns the library's needed parts; raises CpunmtError if it is installed but broken."""
    try:
        with LOCK:
            import huggingface_hub
            from huggingface_hub import constants, errors, get_token, hf_hub_download  # noqa: F401  it makes them late
    except Exception as error:  # a part of it is missing, or does not fit the rest
        raise CpunmtError(
            f"huggingface_hub is installed, and cannot be imported ({one_line(error) or type(error).__name__}); run: "
            "pip install --force-reinstall 'cpunmt[hf]', or uninstall it: public models can be fetched without"
        ) from None
    return huggingface_hub


def endpoint(chosen: str | None) -> str:
    """Returns the hub's address: `chosen`, or the library's environment variable."""
    url = chosen or _library().constants.ENDPOINT
    try:
        check_url(url)
    except CpunmtError as error:
        if chosen or not url.startswith("http://"):
            raise
        raise CpunmtError(
            f"{url}: HF_ENDPOINT is refused, expected https://; to trust this host, set CPUNMT_HF_REGISTRY to it"
        ) from error
    return url


def authorization(hub: str) -> dict[str, str]:
    """Returns the header with the user's token, for requests to `hub` without the library; empty without a token."""
    _check_online(hub)
    library = _library()
    if library.constants.HF_HUB_OFFLINE:
        raise CpunmtError(f"{hub} is not asked, since the library is offline; unset HF_HUB_OFFLINE to fetch models")
    with _failures("the token of huggingface_hub"):
        token = None if library.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else library.get_token()
    if token and not re.fullmatch(r"[!-~]+", token):
        raise CpunmtError("the token of huggingface_hub is not valid: set HF_TOKEN, or run: hf auth login")
    return {"Authorization": f"Bearer {token}"} if token else {}


def download(
    file: RemoteFile, folder: Path, on_bytes: Callable[[int], object], wrong: Callable[[str], str | None]
) -> Path:
    """Downloads a file of `huggingface.find_model` into a folder, from the library's cache or through it.

    Parameters: see `download.download`; `wrong` returns the problem of a path's content, or None.

    Raises
    ------
    CpunmtError
        It cannot be fetched, or differs from the hub's description.
    """
    where, _, rest = file.url.partition("/resolve/")
    commit, (hub, *repository) = rest.partition("/")[0], where.rsplit("/", 2)
    final = folder / file.path
    for again in (False, True):
        counted = _Counted.of(on_bytes, file)
        _check_online(file.url)
        library = _library()
        with _failures(file.url):
            cached = library.hf_hub_download(
                "/".join(repository),
                file.path,
                revision=commit,
                endpoint=hub,
                library_name=_NAME,
                force_download=again,
                tqdm_class=counted,
            )
        problem = wrong(cached)
        if not problem:
            break
        on_bytes(-counted.total_bytes)
    if problem:
        raise CpunmtError(f"{cached}: {problem}; delete it there and fetch again; if that fails too, the hub is wrong")
    on_bytes(os.path.getsize(cached) - counted.total_bytes)
    final.unlink(missing_ok=True)
    part = folder / f"{file.path}.part"
    part.unlink(missing_ok=True)
    with told(part, fetch_again):
        try:
            os.link(os.path.realpath(cached), part)
        except OSError:  # another disk, or one without links
            shutil.copyfile(cached, part)
        sync(part)
        os.replace(part, final)
    return final


class _Counted(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
    """A replacement of the library's progress bar, which reports the received bytes."""

    on_bytes: Callable[[int], object]
    file: RemoteFile
    total_bytes = 0

    @classmethod
    def of(cls, on_bytes: Callable[[int], object], file: RemoteFile) -> Any:
        """Returns a class of its own for each file: the library makes the bar."""
        return type("_Counted", (cls,), {"on_bytes": staticmethod(on_bytes), "file": file, "total_bytes": 0})

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(disable=True)

    def update(self, count: float | None = 1) -> None:
        """Counts bytes for the library; stops at the size limit, as the library believes any size from the server."""
        type(self).total_bytes += int(count or 0)
        if self.file.size is not None and self.total_bytes > self.file.size:
            raise CpunmtError(f"{self.file.url}: more comes than the expected {self.file.size} bytes; not fetched")
        self.on_bytes(int(count or 0))


# tqdm's own lock is also one between processes. From Python 3.14 on (start method forkserver) that is a semaphore of
# the system, and is reported as leaked, since a command's process ends without Python's shutdown.
_Counted.set_lock(threading.RLock())


def _check_online(what: str) -> None:
    if is_offline():
        raise OfflineError(f"CPUNMT_OFFLINE is set, so {what} is not opened; unset it to fetch models")


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    """Converts the library's errors, and those of its HTTP client, to one CpunmtError."""
    try:
        yield
    except CpunmtError:
        raise
    except Exception as error:
        errors = _library().errors
        said = one_line(error) or type(error).__name__
        hint = "try again later"
        if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
            hint = "if the name is right, ask for access there, and set HF_TOKEN or run: hf auth login"
        elif isinstance(error, errors.OfflineModeIsEnabled):
            hint = "unset HF_HUB_OFFLINE to fetch models"
        elif isinstance(error, errors.RevisionNotFoundError):
            hint = "expected a branch, a tag or a commit after @"
        elif isinstance(error, OSError) and error.filename:
            hint = f"{remedy(error)}, or set HF_HOME to another one"
        elif type(error).__module__ == "builtins" and not isinstance(error, OSError):
            said = f"huggingface_hub does not understand the answer ({type(error).__name__}: {said})"
        raise CpunmtError(f"{what}: {said}; {hint}") from None
