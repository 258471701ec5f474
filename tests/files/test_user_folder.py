"""The user's folders: equal to those of platformdirs everywhere."""

import sys
from pathlib import Path

import pytest

from cpunmt.files.user_folder import user_folder

KINDS = ("data", "cache")


def platform_folders() -> list[Path]:
    """Returns the folders of platformdirs for `sys.platform`, which it reads on import."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "platformdirs"]:
        del sys.modules[name]
    from platformdirs import PlatformDirs

    folders = PlatformDirs("cpunmt", appauthor=False)
    return [folders.user_data_path, folders.user_cache_path]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    platform_folders()  # of the real platform again


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize(
    "variables",
    [{}, {"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c/"}, {"XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}],
)
def test_they_are_those_of_platformdirs(monkeypatch, platform, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert platform_folders() == [user_folder(kind) for kind in KINDS]


def test_a_relative_variable_counts_as_none(home, monkeypatch):
    """The specification of XDG requires it."""
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert user_folder("data") == home / ".local/share/cpunmt"


def test_they_are_where_they_were(home, monkeypatch):
    assert [user_folder(kind) for kind in KINDS] == [home / ".local/share/cpunmt", home / ".cache/cpunmt"]
    monkeypatch.setattr(sys, "platform", "darwin")
    platform_folders()
    mac = [home / "Library/Application Support/cpunmt", home / "Library/Caches/cpunmt"]
    assert [user_folder(kind) for kind in KINDS] == mac
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / "new"))
    assert [user_folder(kind) for kind in KINDS] == [home / "new/cpunmt"] * 2
    for folder in mac:
        folder.mkdir(parents=True)
    assert [user_folder(kind) for kind in KINDS] == mac


def test_without_a_home(monkeypatch):
    def homeless(*arguments):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(RuntimeError):
        user_folder("data")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert user_folder("data") == Path("/data/cpunmt")
