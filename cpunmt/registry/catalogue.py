"""All registries together: lists their models, and resolves names."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import ModuleType

from cpunmt.errors import CpunmtError
from cpunmt.registry import argos, firefox, hub, huggingface, opus
from cpunmt.registry.connection import OfflineError, UnreachableError, fetch_document, one_line
from cpunmt.registry.entries import ModelEntry
from cpunmt.registry.store import is_name, plain, split_name
from cpunmt.values.spelling import hint, nearest

_LISTED: dict[str, ModuleType] = {"firefox": firefox, "opus": opus, "argos": argos}
_MOST_CHOICES = 12  # shown in a message
_ATTEMPTS = 2  # at an address with alternatives


def addresses(registry: str) -> tuple[str, ...]:
    """Returns the URLs of a registry ("firefox", "opus", "argos", "hf"), or the one in its environment variable."""
    module = huggingface if registry == "hf" else _LISTED[registry]
    chosen = os.environ.get(module.VARIABLE)
    return (chosen,) if chosen else module.REGISTRIES


def listed(words: Iterable[str] = ()) -> list[str]:
    """Returns the registries with a list that no word, such as "opus:en", excludes."""
    named = [word.partition(":")[0] for word in words if is_name(word)]
    return [registry for registry in _LISTED if all(name == registry for name in named)]


def list_models(registry: str, say: Callable[[str], object]) -> list[ModelEntry]:
    """Returns all models of one registry, from its first address with models; raises CpunmtError if none can be read.

    `say` is called with a line when another address must be tried.
    """
    return next(_lists(registry, addresses(registry), say))


def _lists(registry: str, urls: Sequence[str], say: Callable[[str], object]) -> Iterator[list[ModelEntry]]:
    """Yields the lists at the readable `urls`, lazily; if none can be read, raises the last one's CpunmtError."""
    found, unreachable = False, []
    for place, url in enumerate(urls, 1):
        attempts = _ATTEMPTS if place < len(urls) else None
        try:
            entries = _list(registry, url, partial(fetch_document, say=say, attempts=attempts))
            if not entries and not found and place < len(urls):
                raise CpunmtError(f"{url}: lists no models")
        except OfflineError:
            raise
        except UnreachableError:
            unreachable.append(url)  # reported when another address is reached, or by the last error
            if place == len(urls) and not found:
                raise
            continue
        except CpunmtError as error:
            _tell_unreachable(unreachable, url, say)
            if place < len(urls):
                reason = str(error).removeprefix(f"{url}: ").partition(";")[0]
                say(f"{url} cannot be read ({reason}); trying {urls[place]}")
            elif not found:
                raise
            continue
        _tell_unreachable(unreachable, url, say)
        found = True
        yield entries


def _tell_unreachable(urls: list[str], other: str, say: Callable[[str], object]) -> None:
    """Reports once the unreachable addresses, when `other` has answered."""
    for url in urls:
        say(f"{url} cannot be read (host not found); trying {other}")
    urls.clear()


def _list(registry: str, url: str, fetch: Callable[[str], bytes]) -> list[ModelEntry]:
    """Returns the list at `url`; any error in it is a CpunmtError, so that others are tried."""
    try:
        models: list[ModelEntry] = _LISTED[registry].list_models(url, fetch)
        return models
    except (ValueError, ArithmeticError) as error:
        raise CpunmtError(f"{url}: not understood ({one_line(error)}); expected a registry") from None


def elsewhere(entry: ModelEntry, say: Callable[[str], object]) -> ModelEntry | None:
    """Returns the model of the same name at a later address of its registry; None if there is none."""
    registry = entry.name.partition(":")[0]
    urls = addresses(registry)
    if entry.registry not in urls:
        return None
    try:
        for offered in _lists(registry, urls[urls.index(entry.registry) + 1 :], say):
            for other in offered:
                if other.name == entry.name:
                    return other
    except CpunmtError as error:
        say(str(error))
    return None


def resolve(name: str, say: Callable[[str], object]) -> ModelEntry:
    """Returns the model that `name` means: exactly, up to hyphens and case, with or without its registry's name.

    Raises
    ------
    CpunmtError
        No model, or several: the message names them.
    """
    if is_name(name):
        registry, rest = split_name(name)
        if registry == "hf":
            through_library = hub.is_installed()
            url = hub.endpoint(os.environ.get(huggingface.VARIABLE)) if through_library else addresses("hf")[0]
            headers = hub.authorization(url) if through_library else None
            return huggingface.find_model(
                rest, url, lambda at: fetch_document(at, say, headers=headers), through_library
            )
        registries = [registry]
    else:
        registries = list(_LISTED)
    wanted = plain(name)
    entries: list[ModelEntry] = []
    found: list[ModelEntry] = []
    for registry in registries:
        for offered in _lists(registry, addresses(registry), say):
            exact = [entry for entry in offered if wanted in (plain(entry.name), plain(entry.name.partition(":")[2]))]
            known = {entry.name for entry in entries}
            entries += [entry for entry in offered if entry.name not in known]
            if exact:  # an older release, or a pair of languages, may be at an older address only
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


def _nearest(name: str, entries: list[ModelEntry]) -> str:
    """Returns the end of a message: the model whose name without its registry's is most like `name`, or ""."""
    names = {entry.name.partition(":")[2]: entry.name for entry in entries if "@" not in entry.name}
    found = nearest(name.partition(":")[2] if is_name(name) else name, names)
    return hint(names.get(found or ""))
