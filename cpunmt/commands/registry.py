"""`cpunmt ls` and `cpunmt fetch`."""

import contextlib
import sys

from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, say, tell
from cpunmt.files.tables import aligned
from cpunmt.registry import store

_HEADER = ("NAME", "LANGUAGES", "ARCHITECTURE", "SIZE", "INSTALLED")


def add_commands(commands):
    """Add both commands to an argparse object of subcommands."""
    ls = commands.add_parser(
        "ls",
        help="list the models that can be fetched",
        description="List the models that can be fetched, of Firefox and of OPUS-MT, and those that have been. Older "
        "releases are shown for a TEXT with @. Models of the Hugging Face hub are not listed, but can be fetched: "
        "hf:OWNER/NAME.",
    )
    ls.add_argument("text", metavar="TEXT", nargs="*", help="show only lines that have all of these: firefox: en tiny")
    ls.add_argument("--installed", action="store_true", help="only those that have been fetched; needs no network")
    ls.set_defaults(run=list_command)

    fetch = commands.add_parser(
        "fetch",
        help="download a model",
        description="Download models into $CPUNMT_MODELS_DIR or the user's data folder, check them, and print their "
        "directories. What was interrupted is continued. Afterwards their names can stand for their directories.",
    )
    fetch.add_argument("names", metavar="NAME", nargs="+", help="firefox:ende, opus:en-de, hf:OWNER/NAME[@REVISION]")
    fetch.add_argument("--force", action="store_true", help="also what is there already")
    fetch.set_defaults(run=fetch_command)


def list_command(given) -> int:
    """Print one line for each model that fits; 1 if a registry could not be read, else 0."""
    status, rows = 0, []
    here = {model.name: model for model in store.installed()}
    if not given.installed:
        from cpunmt.registry import catalogue
        from cpunmt.registry.connection import is_offline

        if is_offline():
            raise CpunmtError("CPUNMT_OFFLINE is set, so no registry is read; see cpunmt ls --installed")
        older = any("@" in word for word in given.text)
        for registry in catalogue.listed(given.text):
            try:
                entries = catalogue.list_models(registry, _say)
            except CpunmtError as error:
                _say(f"error: {error}")
                status = 1
                continue
            for entry in entries:
                model = here.pop(entry.name, None)
                if model or older or "@" not in entry.name:
                    about = entry.source, entry.target, entry.architecture, entry.size
                    rows.append(_row(entry.name, *about, _state(model, entry.version)))
    for model in here.values():
        about = *(store.languages_of(model.metadata) or ("", "")), str(model.metadata.get("architecture") or "")
        rows.append(_row(model.name, *about, sum(path.stat().st_size for path in model.path.iterdir()), "yes"))
    words = [word.lower() for word in given.text]
    rows = [row for row in rows if all(word in " ".join(row).lower() for word in words)]
    if rows:
        tell(*aligned(_HEADER, rows, len(_HEADER)))
    elif not status:
        _say("no model fits" if given.text or not given.installed else f"no models in {store.models_folder()}")
    return status


def _row(name, source, target, architecture, size, state):
    return name, f"{_short(source)} > {_short(target)}", architecture or "-", _megabytes(size), state


def _state(model, version) -> str:
    """Whether it is installed, and in which version if not in that of the registry."""
    if model is None:
        return "no"
    own = str(model.metadata.get("version") or "")
    return "yes" if own == version else f"yes, {own}"


def _short(languages) -> str:
    count = languages.count("+") + 1
    return languages if count <= 3 else f"{count} languages"


def _megabytes(size) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def fetch_command(given) -> int:
    """Fetch models, print their directories."""
    from cpunmt.registry import catalogue

    wanted = []
    for name in given.names:  # all names before the first download: a typing error shows at once
        path = None if given.force else _installed(name)
        wanted.append(path or catalogue.resolve(name, _say))
    for item in wanted:
        path = item
        if hasattr(item, "files"):
            path = _fetched(item, given.force)
        tell(str(path))
    return 0


def _fetched(entry, force):
    """Where the model is, now; fetched from a later address of its registry if its own does not give a file."""
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


def _installed(name):
    """Where the model is, if `name` is whole and it is there: that needs no network."""
    if store.is_name(name):
        store.split_name(name)
        with contextlib.suppress(CpunmtError):
            return store.find(name)
    return None


@contextlib.contextmanager
def _progress(entry):
    """(on_bytes, say): a bar on a terminal, elsewhere one line."""
    if not is_watched():
        count = f"{len(entry.files)} file{'s' if len(entry.files) > 1 else ''}"
        size = "" if entry.size is None else f", {_megabytes(entry.size)}"
        _say(f"fetching {entry.name}: {count}{size}")
        yield (lambda count: None), _say
        return
    with progress_bar(total=entry.size, desc=entry.name, unit="B", unit_scale=True) as bar:
        yield bar.update, lambda text: bar.write(f"cpunmt: {text}", file=sys.stderr)


def _say(text):
    say(f"cpunmt: {text}")
