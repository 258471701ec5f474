"""The library huggingface_hub, for hf: where it is installed (pip install 'cpunmt[hf]'): its cache and its tokens.

HF_TOKEN or `hf auth login` opens private and gated models, HF_HOME moves the cache, HF_ENDPOINT names a mirror. Which
files are fetched, how large they may be and what their digests are is decided by `huggingface`, as without it; what
comes is checked here, and lies in the cache and in the user's folder of models as one file, if both are on one disk.
"""

import contextlib
import importlib.util
import os
import shutil
from pathlib import Path

from tqdm import tqdm

from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import sync, told
from cpunmt.registry.connection import OfflineError, check_url, is_offline, one_line
from cpunmt.registry.entries import RemoteFile

_NAME = "cpunmt"


def is_installed() -> bool:
    """Whether the library is there; it is not imported for that."""
    with contextlib.suppress(ValueError):  # a test puts None in its place
        return importlib.util.find_spec("huggingface_hub") is not None
    return False


def endpoint(chosen: str | None) -> str:
    """The hub's address: `chosen`, or what the library's environment variable says."""
    from huggingface_hub import constants

    url = chosen or constants.ENDPOINT
    check_url(url)
    return url


def describe(repository: str, revision: str, hub: str) -> dict:
    """The hub's description of a model, as its address /api/models gives it; CpunmtError if it cannot be had."""
    with _failures(f"hf:{repository}", hub):
        from huggingface_hub import HfApi

        found = HfApi(endpoint=hub, library_name=_NAME).model_info(repository, revision=revision, files_metadata=True)
    siblings = [
        {
            "rfilename": file.rfilename,
            "size": file.size,
            "blobId": file.blob_id,
            "lfs": file.lfs and {"sha256": file.lfs.sha256},
        }
        for file in found.siblings or ()
    ]
    card = found.card_data.to_dict() if found.card_data else {}
    return {"sha": found.sha, "siblings": siblings, "cardData": card}


def download(file: RemoteFile, folder: Path, on_bytes, wrong) -> Path:
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
        with _failures(f"{file.url}", hub):
            from huggingface_hub import hf_hub_download

            cached = hf_hub_download(
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
    with told(part, "; make room and fetch again"):
        try:
            os.link(os.path.realpath(cached), part)
        except OSError:  # another disk, or one without links
            shutil.copyfile(cached, part)
        sync(part)
        os.replace(part, final)
    return final


class _Counted(tqdm):
    """What the library takes for a bar, and tells how many bytes have come."""

    on_bytes, file, total_bytes = None, None, 0

    @classmethod
    def of(cls, on_bytes, file):
        """A class of its own for each file: the library makes the bar."""
        return type("_Counted", (cls,), {"on_bytes": staticmethod(on_bytes), "file": file, "total_bytes": 0})

    def __init__(self, *arguments, **settings):
        super().__init__(disable=True)

    def update(self, count=1):
        """Called by the library as bytes come; it believes any size that the server tells."""
        type(self).total_bytes += int(count or 0)
        if self.total_bytes > self.file.size:
            raise CpunmtError(f"{self.file.url}: more comes than the expected {self.file.size} bytes; not fetched")
        self.on_bytes(int(count or 0))


@contextlib.contextmanager
def _failures(what, hub):
    """What the library raises, as one CpunmtError: of its own classes and of those of the HTTP client that it uses."""
    if is_offline():
        raise OfflineError(f"CPUNMT_OFFLINE is set, so {hub} is not asked for {what}; unset it to fetch models")
    try:
        yield
    except CpunmtError:
        raise
    except Exception as error:
        from huggingface_hub import errors

        hint = "try again later"
        if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
            hint = "if the name is right, ask for access there, and set HF_TOKEN or run: hf auth login"
        elif isinstance(error, errors.OfflineModeIsEnabled):
            hint = "unset HF_HUB_OFFLINE to fetch models"
        elif isinstance(error, errors.RevisionNotFoundError):
            hint = "expected a branch, a tag or a commit after @"
        elif isinstance(error, OSError) and error.filename:
            hint = "make room, or set HF_HOME to another folder"
        raise CpunmtError(f"{what}: {one_line(error) or type(error).__name__}; {hint}") from None
