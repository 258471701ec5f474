"""`cpunmt models`, `cpunmt ls` and `cpunmt fetch`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, say, tell
from cpunmt.files.tables import aligned
from cpunmt.registry import store

_HEADER = ["NAME", "LANGUAGES", "ARCHITECTURE", "SIZE", "INSTALLED"]
_HEADER_HERE = ["NAME", "LANGUAGES", "KIND", "SIZE", "FOLDER"]


def models_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="*", help="show only lines that have all of these: firefox: en")


def models(given: argparse.Namespace) -> int:
    """Prints one line for each installed model."""
    from cpunmt.commands.model_choice import GET_ONE, default_model

    default = default_model()
    there = {model.name: model.path for model in store.installed()}
    rows = [_row_here(name + " (default)" * (name == default), path) for name, path in there.items()]
    if default is not None and default not in there:
        try:
            rows.append(_row_here("(default)", store.located(default)))
        except CpunmtError as error:
            _say(f"CPUNMT_MODEL: {error}")
    if rows:
        _print(_HEADER_HERE, rows, given.text)
    else:
        _say(f"no model is installed in {store.models_folder()}: {GET_ONE}")
    return 0


def _row_here(name: str, path: Path) -> list[str]:
    from cpunmt.formats.any_directory import KINDS, kind_of, model_files, model_folder, read_metadata

    try:
        size = sum(file.stat().st_size for file in model_files(model_folder(path)))
        languages, kind = store.model_languages(read_metadata(path), str(path)), KINDS[kind_of(path)].title
    except (CpunmtError, OSError):
        return [name, "-", "damaged: see cpunmt info", "-", str(path)]
    return [name, _pair([one or "?" for one in languages]), kind, _megabytes(size), str(path)]


def ls_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="show only lines that have all of these: firefox: en tiny"
    )
    parser.add_argument(
        "--installed", action="store_true", help="the installed models, as cpunmt models; needs no network"
    )


def fetch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="firefox:ende, opus:en-de, argos:en-de, hf:OWNER/NAME[@REVISION]"
    )
    parser.add_argument("--force", action="store_true", help="fetch models again that are installed")


def ls(given: argparse.Namespace) -> int:
    """Prints one line for each matching model; returns 1 if a registry could not be read."""
    if given.installed:
        return models(given)
    from cpunmt.registry import catalogue
    from cpunmt.registry.connection import UnreachableError, is_offline

    status, is_unreachable = 0, False
    rows: list[list[str]] = []
    here = {model.name: model for model in store.installed()}
    if is_offline():
        raise CpunmtError("CPUNMT_OFFLINE is set, so no registry is read; see cpunmt models")
    older = any("@" in word for word in given.text)
    for registry in catalogue.listed(given.text):
        try:
            entries = catalogue.list_models(registry, _say)
        except CpunmtError as error:
            if not (is_unreachable and isinstance(error, UnreachableError)):  # without a network all are
                _say(f"error: {error}")
            is_unreachable = is_unreachable or isinstance(error, UnreachableError)
            status = 1
            continue
        for entry in entries:
            model = here.pop(entry.name, None)
            if model or older or "@" not in entry.name:
                languages, state = (entry.source, entry.target), _state(model, entry.version)
                rows.append(_row(entry.name, languages, entry.architecture, entry.size, state))
    if here:
        from cpunmt.formats.any_directory import model_files
    for model in here.values():
        size = sum(path.stat().st_size for path in model_files(model.path))
        architecture = str(model.metadata.get("architecture") or "")
        rows.append(_row(model.name, store.languages_of(model.metadata) or ("", ""), architecture, size, "yes"))
    if rows or not status:
        _print(_HEADER, rows, given.text)
    return status


def _print(header: list[str], rows: list[list[str]], words: Sequence[str]) -> None:
    """Prints the rows that have all words; the last column does not count."""
    fit = [row for row in rows if all(word.lower() in " ".join(row[:-1]).lower() for word in words)]
    if fit:
        tell(*aligned(header, fit, len(header)))
    else:
        _say("no model fits")


def _row(name: str, languages: Sequence[str], architecture: str, size: int | None, state: str) -> list[str]:
    return [name, _pair(languages), architecture or "-", _megabytes(size), state]


def _state(model: store.Installed | None, version: str) -> str:
    """Returns whether it is installed, and its version if the registry has another one."""
    if model is None:
        return "no"
    own = str(model.metadata.get("version") or model.metadata.get("package_version") or "")
    return "yes" if own == version else f"yes, {own}"


def _pair(languages: Sequence[str]) -> str:
    return " > ".join(map(_short, languages))


def _short(languages: str) -> str:
    count = languages.count("+") + 1
    return languages if count <= 3 else f"{count} languages"


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def fetch(given: argparse.Namespace) -> int:
    from cpunmt.registry import catalogue

    wanted: list[Any] = []
    for name in given.names:  # all names before the first download: a typing error shows at once
        path = None if given.force else _installed(name)
        wanted.append(path or catalogue.resolve(name, _say))
    for item in wanted:
        path = item
        if hasattr(item, "files"):
            path = fetched(item, given.force)
        tell(str(path))
    return 0


def fetched(entry: Any, force: bool = False) -> Path:
    """Fetches a model, trying the registry's further addresses if one lacks a file. Returns its path."""
    from cpunmt.registry import catalogue
    from cpunmt.registry.connection import HttpStatusError
    from cpunmt.registry.install import install

    while True:
        try:
            with _progress(entry) as (on_bytes, say):
                return install(entry, force=force, on_bytes=on_bytes, say=say)
        except HttpStatusError as error:
            entry = catalogue.elsewhere(entry, _say)
            if entry is None:
                raise
            _say(f"{error}; trying {entry.registry}")


def _installed(name: str) -> Path | None:
    """Returns the path of an installed model, without network; None unless `name` is complete."""
    if store.is_name(name):
        store.split_name(name)
        with contextlib.suppress(CpunmtError):
            return store.find(name)
    return None


@contextlib.contextmanager
def _progress(entry: Any) -> Iterator[tuple[Callable[[int], object], Callable[[str], object]]]:
    """Yields (on_bytes, say): a bar on a terminal, elsewhere one line."""
    if not is_watched():
        count = f"{len(entry.files)} file{'s' if len(entry.files) > 1 else ''}"
        size = "" if entry.size is None else f", {_megabytes(entry.size)}"
        _say(f"fetching {entry.name}: {count}{size}")
        yield (lambda count: None), _say
        return
    with progress_bar(total=entry.size, desc=entry.name, unit="B", unit_scale=True) as bar:
        yield bar.update, lambda text: bar.write(f"cpunmt: {text}", file=sys.stderr)


def _say(text: str) -> None:
    say(f"cpunmt: {text}")
