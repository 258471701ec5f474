"""Downloads of one file from the local server, with the folder's files and the requests."""

from pathlib import Path

from cpunmt.registry import download
from cpunmt.registry.entries import RemoteFile
from tests.registry.shapes import noise, sha256

CONTENT = noise("content", 300_000)
PATH = "/cdn/model.bin"


def remote(server, content=CONTENT, path=PATH, **known) -> RemoteFile:
    server.content.setdefault(path, content)
    known = known or {"size": len(content), "sha256": sha256(content)}
    return RemoteFile(server.url + path, path.rpartition("/")[2], **known)


class Count:
    """A sum of the numbers for `on_bytes`."""

    total = 0

    def __call__(self, count):
        self.total += count


def run(file, folder, said=None) -> Path:
    """Downloads, and compares the count of bytes with the file."""
    count = Count()
    path = download.download(file, folder, count, (said if said is not None else []).append)
    assert file.path != path.name or count.total == path.stat().st_size
    assert file.size is None or count.total == file.size
    return path


def ranges(server) -> list:
    return [request.headers.get("Range") for request in server.requests]


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
