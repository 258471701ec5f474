"""Files of a git repository, at its newest commit or an older one, without a work tree."""

import subprocess
from pathlib import Path

HEAD = "HEAD"


class GitFiles:
    """A repository in a folder: a clone, or a bare one.

    Raises FileNotFoundError if the folder contains none.
    """

    def __init__(self, folder: Path) -> None:
        found = next((path for path in (folder, folder / ".git") if (path / "objects").is_dir()), None)
        if found is None:
            raise FileNotFoundError(f"{folder}: not a git repository; expected a clone, bare or not")
        self._folder = found
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "GitFiles":
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the program that reads."""
        if self._reader is not None:
            self._reader.communicate()
            self._reader = None

    def names(self) -> list[str]:
        """Returns the paths of the newest commit's files; one with a line end cannot be read, and is left out."""
        command = ["git", "--git-dir", str(self._folder), "ls-tree", "-r", "-z", "--name-only", HEAD]
        listed = subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")
        return [name for name in listed.split("\0")[:-1] if "\n" not in name]

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
