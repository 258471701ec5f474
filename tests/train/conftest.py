"""Training needs PyTorch (the extra `train`): without it these tests are skipped, but for those of the data."""

import io
import subprocess
import tarfile
from contextlib import nullcontext
from importlib.util import find_spec

import pytest

_NETWORKS = ("commands", "distillation", "network", "recurrent", "text", "updates")
collect_ignore_glob = [] if find_spec("torch") else [f"{folder}/test_*.py" for folder in _NETWORKS]


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Returns data of a toy language, and runs on it."""
    from tests.train.toy_run import ToyRuns

    return ToyRuns(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def float32(monkeypatch):
    """Disables rounding to bfloat16, which depends on the batch."""
    monkeypatch.setattr("models.train.updates.updates.mixed_precision", lambda device: nullcontext())


_PO = 'msgid "Open a file."\nmsgstr "Öffnen Sie eine Datei."\n'
_DESCRIPTION = r"""
pages:
  manual: {licence: MIT, en: a/manual, de: a/manual.de:docs, commit: 'source: (\w{40})', without: 'by: MT'}
messages:
  app: {licence: MIT, en: a/app:en, de: a/app:de}
catalogues:
  office: {licence: MPL 2.0, archive: https://example.org/x.tar.xz, folder: po/de}
tables:
  phrases: {licence: CC0, file: 'a/phrases:data/deu.txt'}
"""


def _committed(folder, files):
    """Writes files and commits them; returns the commit's hash."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clones(tmp_path):
    old = _committed(
        tmp_path / "a+manual",
        {"one.md": "# Two dogs\n\nThey run home.\n", "two.md": "A cat sleeps.\n", "four.md": "By a machine.\n"},
    )
    _committed(tmp_path / "a+manual", {"one.md": "# Birds\n\nThey fly.\n\nSome swim.\n"})
    pages = {
        "docs/one.md": f"---\nsource: {old}\n---\n# Zwei Hunde\n\nSie laufen nach Hause.\n",
        "docs/two.md": "Eine Katze schläft.\n",
        "docs/three.md": "Ohne Original.\n",
        "docs/four.md": "---\nby: MT\n---\nVon einer Maschine.\n",
        "other/one.md": "Woanders.\n",
    }
    _committed(tmp_path / "a+manual.de", pages)
    messages = {"en/x/m.properties": "a=One dog\nb=Two dogs\n", "de/x/m.properties": "a=Ein Hund\nc=Drei Hunde\n"}
    _committed(tmp_path / "a+app", messages | {"en/y.ftl": "a = Cats\n"})
    _committed(tmp_path / "a+phrases", {"data/deu.txt": "Go.\tGeh.\nRun.\tLauf.\n"})
    with tarfile.open(tmp_path / "x.tar.xz", "w:xz") as archive:
        for name, content in (("po/de/a.po", _PO), ("po/fr/a.po", _PO), ("po/de/a.txt", "x")):
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    (tmp_path / "sources.yaml").write_text(_DESCRIPTION)
    return tmp_path
