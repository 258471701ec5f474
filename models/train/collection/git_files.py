"""Files of a git repository, at its newest commit or an older one, without a work tree."""

import subprocess
from pathlib import Path

HEAD = "HEAD"


class GitFiles:
    """A repository in a folder: a clone, or a bare one.

    Raises FileNotFoundError if the folder contains none.
    """

    def __init__(self, folder: Path) -> None:
        found = [path for path in (folder, folder / "repo", folder / "repo" / ".git") if (path / "objects").is_dir()]
        found += [path for path in (folder / ".git",) if path.is_dir()]
        if not found:
            raise FileNotFoundError(f"{folder}: is no git repository; expected a clone of it")
        self._folder = found[0]
        self._reader: subprocess.Popen[bytes] | None = None

    def names(self) -> list[str]:
        """Returns the paths of the newest commit's files."""
        return self._run("ls-tree", "-r", "-z", "--name-only", HEAD).decode("utf-8", "replace").split("\0")[:-1]

    def content(self, path: str, commit: str = HEAD) -> bytes | None:
        """Returns the content of a file, None if it is not there."""
        if self._reader is None:
            command = ["git", "--git-dir", str(self._folder), "cat-file", "--batch"]
            pipe = subprocess.PIPE
            self._reader = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        asked, answers = self._reader.stdin, self._reader.stdout
        assert asked and answers
        asked.write(f"{commit}:{path}\n".encode())
        asked.flush()
        head = answers.readline().split()
        if len(head) < 3 or not head[-1].isdigit():  # "... missing"
            return None
        content = answers.read(int(head[-1]) + 1)[:-1]
        return content if head[-2] == b"blob" else None

    def close(self) -> None:
        """Ends the program that reads."""
        if self._reader is not None:
            self._reader.communicate()
            self._reader = None

    def _run(self, *arguments: str) -> bytes:
        command = ["git", "--git-dir", str(self._folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout
