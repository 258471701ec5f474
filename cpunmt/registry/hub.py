"""The library huggingface_hub, for hf: where it is installed (pip install 'cpunmt[hf]'): its cache and its tokens.

HF_TOKEN or `hf auth login` opens private and gated models, HF_HOME moves the cache, HF_ENDPOINT names a mirror. A
model's description is read as without the library, with its token; the files come through it. Which files, how large
they may be and what their digests are is decided by `huggingface`; what comes is checked here, and lies in the cache
and in the user's folder of models as one file, if both are on one disk.
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
    """Whether the library is there; it is not imported for that."""
    with contextlib.suppress(ValueError):  # a test puts None in its place
        return importlib.util.find_spec("huggingface_hub") is not None
    return False


def _library() -> Any:
    """The library and what is needed of it; CpunmtError where it is there and broken."""
    try:
        with LOCK:
            import huggingface_hub
            from huggingface_hub import constants, errors, get_token, hf_hub_download  # noqa: F401  it makes them late
    except Exception as error:  # a part of it that is missing, or does not fit the rest
        raise CpunmtError(
            f"huggingface_hub is installed, and cannot be imported ({one_line(error) or type(error).__name__}); run: "
            "pip install --force-reinstall 'cpunmt[hf]', or uninstall it: public models can be fetched without"
        ) from None
    return huggingface_hub


def endpoint(chosen: str | None) -> str:
    """The hub's address: `chosen`, or what the library's environment variable says."""
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
    """The header with the user's token, for what is read from `hub` without the library; empty if there is none."""
    _check_online(hub)
    library = _library()
    if library.constants.HF_HUB_OFFLINE:
        raise CpunmtError(f"{hub} is not asked, since the library is offline; unset HF_HUB_OFFLINE to fetch models")
    with _failures("the token of huggingface_hub"):
        token = None if library.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else library.get_token()
    if token and not re.fullmatch(r"[!-~]+", token):
        raise CpunmtError("the token of huggingface_hub is no token: set HF_TOKEN, or run: hf auth login")
    return {"Authorization": f"Bearer {token}"} if token else {}


def download(
    file: RemoteFile, folder: Path, on_bytes: Callable[[int], object], wrong: Callable[[str], str | None]
) -> Path:
    """Bring a file of `huggingface.find_model` into a folder, from the library's cache or through it.

    Parameters: see `download.download`; `wrong` says what is wrong with the content of a path, or None.

    Raises
    ------
    CpunmtError
        It cannot be had, or is not what the hub's description says.
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
    """What the library takes for a bar, and tells how many bytes have come."""

    on_bytes: Callable[[int], object]
    file: RemoteFile
    total_bytes = 0

    @classmethod
    def of(cls, on_bytes: Callable[[int], object], file: RemoteFile) -> Any:
        """A class of its own for each file: the library makes the bar."""
        return type("_Counted", (cls,), {"on_bytes": staticmethod(on_bytes), "file": file, "total_bytes": 0})

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(disable=True)

    def update(self, count: float | None = 1) -> None:
        """Called by the library as bytes come; it believes any size that the server tells."""
        type(self).total_bytes += int(count or 0)
        if self.file.size is not None and self.total_bytes > self.file.size:
            raise CpunmtError(f"{self.file.url}: more comes than the expected {self.file.size} bytes; not fetched")
        self.on_bytes(int(count or 0))


# tqdm's own lock is also one between processes. From Python 3.14 on (start method forkserver) that is a semaphore that
# the system keeps, and is told of as leaked, since a command's process ends without Python's way out.
_Counted.set_lock(threading.RLock())


def _check_online(what: str) -> None:
    if is_offline():
        raise OfflineError(f"CPUNMT_OFFLINE is set, so {what} is not opened; unset it to fetch models")


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    """What the library raises, as one CpunmtError: of its own classes and of those of the HTTP client that it uses."""
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
