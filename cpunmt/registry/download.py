"""Downloads a file from a URL: resumes it, checks it, and names it only when it is right.

The received bytes are kept in NAME.part, with the server's tag of that content in NAME.etag, so that another run
continues: after a broken connection, a full disk or Ctrl-C. A packed file (.gz, .zst) is checked, unpacked, and checked
again.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import digest_of, open_expanded, packing, plain_name
from cpunmt.files.line_stream import write_all
from cpunmt.files.output_files import sync
from cpunmt.registry import hub
from cpunmt.registry.connection import ATTEMPTS, Attempts, HttpStatusError, Interrupted, Response, blocks, open_url
from cpunmt.registry.entries import LARGEST_MODEL, RemoteFile, fetch_again

_BLOCK = 1 << 20
_ENOUGH_PROGRESS = 1 << 20  # bytes between two failures that reset the count of failures
_TAG = re.compile(r'"[!-~]{0,200}"')
_BINARY = (".bin", ".spm", ".npz")
_START = 512  # bytes; each kind has zeros in the first of them
_TEXT = bytes({9, 10, 11, 12, 13, *range(32, 256)} - {127})  # bytes of a login page, in any encoding but UTF-16


def download(file: RemoteFile, folder: Path, on_bytes: Callable[[int], object], say: Callable[[str], object]) -> Path:
    """Downloads a file into a folder; an existing one is checked, and fetched only if it is wrong.

    Parameters
    ----------
    file : RemoteFile
    folder : Path
    on_bytes : callable
        Called with the number of received bytes, also those kept from before; negative when some are dropped.
    say : callable
        Called with one line after a temporary failure.

    Returns
    -------
    Path
        The file: `file.path` in `folder`; unpacked, and without .gz or .zst, so that it can be memory-mapped.

    Raises
    ------
    CpunmtError
        It cannot be fetched, or differs from the registry's description: then the received bytes are removed.
    """
    final, part = folder / plain_name(file.path), folder / f"{file.path}.part"
    if final.is_file() and not _wrong(final, file):
        on_bytes(final.stat().st_size if file.size is None else file.size)
        _restart(part)  # of a run that ended between the two
        return final
    final.unlink(missing_ok=True)
    kept = _size(part)
    if kept > (LARGEST_MODEL if file.size is None else file.size):
        _restart(part)
        kept = 0
    on_bytes(kept)
    while True:
        _complete(file, part, on_bytes, say)
        wrong = _wrong_as_sent(part, file)
        if not wrong:
            wrong = _finish(part, final, file)
            if not wrong:
                return final
            if file.sha256 or file.git_blob:
                kept = 0  # the content is the registry's: another attempt would get the same
        on_bytes(-_size(part))
        _restart(part)
        if not kept:
            raise CpunmtError(f"{file.url}: {wrong}; removed. Fetch again; if that fails too, the registry is wrong")
        say(f"{file.url}: {wrong}; it was continued from an earlier run, so it is fetched anew")
        kept = 0


def download_through_library(
    file: RemoteFile, folder: Path, on_bytes: Callable[[int], object], say: Callable[[str], object]
) -> Path:
    """Downloads as `download` does; huggingface_hub fetches what its cache lacks, and may report failures itself."""
    final = folder / file.path
    if not final.is_file() or _wrong(final, file):
        return hub.download(file, folder, on_bytes, lambda path: _wrong(Path(path), file))
    on_bytes(final.stat().st_size)
    return final


def _finish(part: Path, final: Path, file: RemoteFile) -> str | None:
    """Unpacks and renames the received file; if that is not possible, returns the problem."""
    with open(part, "rb") as content:
        packed = packing(content.read(4))
    if plain_name(file.path) == file.path or packed is None:  # or the server has unpacked it
        wrong = _wrong(part, file)
        if not wrong:
            sync(part)
            os.replace(part, final)
            _restart(part)
        return wrong
    unpacked = final.with_name(f"{final.name}.part")
    try:
        wrong = _unpack(part, unpacked, packed) or _wrong(unpacked, file)
        if not wrong:
            sync(unpacked)
            os.replace(unpacked, final)
            _restart(part)
    finally:
        unpacked.unlink(missing_ok=True)
    return wrong


def _unpack(part: Path, unpacked: Path, packed: str) -> str | None:
    try:
        with open_expanded(part, "download", LARGEST_MODEL) as content:
            with _told(unpacked):
                target = open(unpacked, "wb", buffering=0)  # noqa: SIM115  closed below
            with target:
                while block := content.read(_BLOCK):
                    with _told(unpacked):
                        write_all(target.fileno(), block)
    except ModelFileError as error:
        return f"it is damaged, or not a {packed} file ({error})"
    return None


def _complete(file: RemoteFile, part: Path, on_bytes: Callable[[int], object], say: Callable[[str], object]) -> None:
    """Completes the part file, in several attempts if needed."""
    attempts, furthest, restarts = Attempts(file.url, say), _size(part), 0

    def counted(count: int) -> None:
        nonlocal restarts
        restarts += count < 0
        on_bytes(count)

    while True:
        size = _size(part)
        if file.size is not None and size == file.size and part.exists():
            return
        try:
            _attempt(file, part, counted)
            return
        except Interrupted as error:
            # Progress is a size never reached before: else a server could drop and send the same for ever.
            size = _size(part)
            attempts.failed(error, size - furthest >= _ENOUGH_PROGRESS and restarts <= ATTEMPTS)
            furthest = max(furthest, size)


def _attempt(file: RemoteFile, part: Path, on_bytes: Callable[[int], object]) -> None:
    """Makes one request for the missing bytes; returns when everything is there."""
    start, headers = _size(part), {}
    if start:
        headers["Range"] = f"bytes={start}-"
        if tag := _kept_etag(part):
            headers["If-Range"] = tag
    try:
        response = open_url(file.url, headers, listed=True)
    except HttpStatusError as error:
        if error.status != 416 or not start:
            raise
        on_bytes(-start)  # the file has changed
        _restart(part)
        raise Interrupted("the server cannot continue it", wait=0.0) from None
    with response:
        total = response.length_remaining
        if response.status == 206:
            begin, total = _content_range(response)
            if begin != start or (None not in (total, file.size) and total != file.size):
                on_bytes(-start)
                _restart(part)
                raise Interrupted("the server continues elsewhere than asked", wait=0.0)
        else:
            on_bytes(-start)  # no ranges here, or the file has changed: the whole file comes again
            _restart(part)
            start = 0
        if None not in (total, file.size) and total != file.size:
            raise CpunmtError(f"{file.url}: the server has {total} bytes, the registry says {file.size}; not fetched")
        limit = file.size if file.size is not None else LARGEST_MODEL if total is None else total
        if limit > LARGEST_MODEL:
            raise CpunmtError(f"{file.url}: {limit} bytes, expected at most {LARGEST_MODEL}; not fetched")
        _keep_etag(response, part)
        arrived = _append(part, blocks(response, file.url), start, limit, file.url, on_bytes)
        if total is None:
            total = file.size
        if total is not None and arrived < total:
            raise Interrupted(f"the connection ended after {arrived} of {total} bytes")


def _append(
    part: Path, content: Iterable[bytes], start: int, limit: int, url: str, on_bytes: Callable[[int], object]
) -> int:
    """Writes the arriving bytes, unbuffered: Ctrl-C, which ends the process at once, loses none of them."""
    arrived = start
    with _told(part):
        target = open(part, "ab", buffering=0)  # noqa: SIM115  closed below
    with target:
        for block in content:
            if arrived + len(block) > limit:
                target.close()
                on_bytes(-arrived)
                _restart(part)
                raise CpunmtError(f"{url}: more comes than the expected {limit} bytes; removed")
            with _told(part):
                write_all(target.fileno(), block)
            arrived += len(block)
            on_bytes(len(block))
    return arrived


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Converts errors as `output_files.told` does, with advice for the error."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be written: {error.strerror}; what has come is kept{fetch_again(error)}"
        raise CpunmtError(message) from None


def _content_range(response: Response) -> tuple[int | None, int | None]:
    """Returns (first byte, size of the whole) from the header; None for a missing number."""
    found = re.fullmatch(r"bytes (\d{1,15})-\d{1,15}/(\d{1,15}|\*)", response.headers.get("Content-Range", ""))
    if found is None:
        return None, None
    return int(found[1]), None if found[2] == "*" else int(found[2])


def _keep_etag(response: Response, part: Path) -> None:
    """Stores a strong tag; a weak one does not identify bytes."""
    tag = response.headers.get("ETag", "")
    with _told(part):
        if _TAG.fullmatch(tag):
            _etag_file(part).write_text(tag, "latin-1")
        else:
            _etag_file(part).unlink(missing_ok=True)


def _kept_etag(part: Path) -> str | None:
    """Returns the tag of the received bytes; None if it is missing or damaged."""
    try:
        tag = _etag_file(part).read_bytes().decode("latin-1")
    except OSError:
        return None
    return tag if _TAG.fullmatch(tag) else None


def _etag_file(part: Path) -> Path:
    return part.with_suffix(".etag")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _restart(part: Path) -> None:
    part.unlink(missing_ok=True)
    _etag_file(part).unlink(missing_ok=True)


def _wrong_as_sent(path: Path, file: RemoteFile) -> str | None:
    """Returns the problem of the received content by the registry's data; None without a problem."""
    return _difference(path, file.size, file.sha256, file.git_blob)


def _wrong(path: Path, file: RemoteFile) -> str | None:
    """Returns the problem of the final file, or None."""
    if plain_name(file.path) == file.path:
        wrong = _wrong_as_sent(path, file)
    else:
        wrong = _difference(path, file.unpacked_size, file.unpacked_sha256)
        wrong = wrong and f"the unpacked {wrong}"
    return wrong or (None if file.sha256 or file.git_blob or file.unpacked_sha256 else _unlike_its_name(path, file))


def _unlike_its_name(path: Path, file: RemoteFile) -> str | None:
    """Returns the problem of a file without a digest: text in place of a binary file of a model."""
    if plain_name(file.path).endswith(_BINARY):
        with open(path, "rb") as content:
            if not content.read(_START).translate(None, _TEXT):
                return "it is text or empty, expected a model's binary file: is it a page for logging in?"
    return None


def _difference(path: Path, size: int | None, sha256: str | None, git_blob: str | None = None) -> str | None:
    there = _size(path)
    if size is not None and there != size:
        return f"size is {there}, expected {size}"
    blob = hashlib.sha1(b"blob %d\0" % there, usedforsecurity=False)
    for name, digest, expected in (("SHA-256", hashlib.sha256(), sha256), ("git's SHA-1", blob, git_blob)):
        if expected is None:
            continue
        with open(path, "rb") as content:
            found = digest_of(content, digest)
        if found != expected.lower():
            return f"{name} is {found}, expected {expected.lower()}"
    return None
