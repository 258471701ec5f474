"""Each worker imports a part of the modules; those that fail are left to the collection, where they fail again."""

import importlib
import sys

import pytest

from tests.support.shared_imports import import_share

CONTENTS = {
    "whole": "",
    "broken": "raise RuntimeError",
    "skipped": "import pytest; pytest.skip('lacks a package', allow_module_level=True)",
    "last": "",
}


def test_a_share_is_imported(tmp_path, monkeypatch):
    names = [f"shared_imports_{name}" for name in CONTENTS]
    for name, content in zip(names, CONTENTS.values(), strict=True):
        (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)

    def imported():
        return [name.rpartition("_")[2] for name in names if name in sys.modules]

    try:
        import_share(names, 1, 3)
        assert imported() == []  # the only one is broken
        import_share(names, 0, 3)
        assert imported() == ["whole", "last"]
        import_share([*names, "shared_imports_missing"], 0, 1)
        assert imported() == ["whole", "last"]
        with pytest.raises(RuntimeError):
            importlib.import_module("shared_imports_broken")
        with pytest.raises(pytest.skip.Exception, match="lacks a package"):
            importlib.import_module("shared_imports_skipped")
    finally:
        for name in names:
            sys.modules.pop(name, None)
