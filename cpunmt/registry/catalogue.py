"""The registries together: what they offer, and which model a name means."""

import os
from collections.abc import Callable, Iterator

from cpunmt.errors import CpunmtError
from cpunmt.registry import firefox, hub, huggingface, opus
from cpunmt.registry.connection import OfflineError, fetch_document
from cpunmt.registry.entries import ModelEntry
from cpunmt.registry.store import is_name, plain, split_name
from cpunmt.values.spelling import hint, nearest

_LISTED = {"firefox": firefox, "opus": opus}
_MOST_CHOICES = 12  # of a message
_ATTEMPTS = 2  # at an address where there is another one


def addresses(registry: str) -> tuple[str, ...]:
    """URLs of a registry: "firefox", "opus" or "hf"; the one that its environment variable names, and no other."""
    module = huggingface if registry == "hf" else _LISTED[registry]
    chosen = os.environ.get(module.VARIABLE)
    return (chosen,) if chosen else module.REGISTRIES


def listed(words=()) -> list[str]:
    """The registries that have a list, and that none of `words`, such as "opus:en", excludes."""
    named = [word.partition(":")[0] for word in words if is_name(word)]
    return [registry for registry in _LISTED if all(name == registry for name in named)]


def list_models(registry: str, say: Callable[[str], object]) -> list[ModelEntry]:
    """All models of one registry, from the first of its addresses that has some; CpunmtError where none can be read.

    `say` is told in one line when another address has to be tried.
    """
    return next(_lists(registry, say))


def _lists(registry, say) -> Iterator[list[ModelEntry]]:
    """The lists at all addresses of a registry that can be read, at least one; read as they are asked for."""
    urls, found = addresses(registry), False
    for place, url in enumerate(urls, 1):
        attempts = _ATTEMPTS if place < len(urls) else None
        try:
            entries = _LISTED[registry].list_models(url, lambda at, n=attempts: fetch_document(at, say, attempts=n))
            if not entries and not found and place < len(urls):
                raise CpunmtError(f"{url}: there is no model in it")
        except OfflineError:
            raise
        except CpunmtError as error:
            if place < len(urls):
                reason = str(error).removeprefix(f"{url}: ").partition(";")[0]
                say(f"{url} cannot be read ({reason}); trying {urls[place]}")
            elif not found:
                raise
            continue
        found = True
        yield entries


def resolve(name: str, say) -> ModelEntry:
    """The model that `name` means: exactly, up to hyphens and case, with or without its registry's name.

    Raises
    ------
    CpunmtError
        No model, or several: the message names them.
    """
    if is_name(name):
        registry, rest = split_name(name)
        if registry == "hf":
            describe = hub.describe if hub.is_installed() else None
            url = hub.endpoint(os.environ.get(huggingface.VARIABLE)) if describe else addresses("hf")[0]
            return huggingface.find_model(rest, url, lambda at: fetch_document(at, say), describe)
        registries = [registry]
    else:
        registries = list(_LISTED)
    wanted, entries, found = plain(name), [], []
    for registry in registries:
        for place, offered in enumerate(_lists(registry, say)):
            exact = [entry for entry in offered if wanted in (plain(entry.name), plain(entry.name.partition(":")[2]))]
            entries += offered if place == 0 else exact
            if exact or "@" not in name:  # an older release may be at an older address only
                break
        found += exact
    if len(found) == 1:
        return found[0]
    near = found or [entry for entry in entries if wanted in plain(entry.name)]
    if not near:
        raise CpunmtError(f"no model is called {name}{_nearest(name, entries)}; see cpunmt ls")
    choices = ", ".join(entry.name for entry in near[:_MOST_CHOICES])
    more = f" and {len(near) - _MOST_CHOICES} more" if len(near) > _MOST_CHOICES else ""
    raise CpunmtError(f"{name} is not the whole name of one model; choose from {choices}{more}")


def _nearest(name, entries) -> str:
    """The end of a message: the model whose name without its registry's is most like `name`, or nothing."""
    names = {entry.name.partition(":")[2]: entry.name for entry in entries if "@" not in entry.name}
    found = nearest(name.partition(":")[2] if is_name(name) else name, names)
    return hint(names.get(found))
