"""The registries together: what they offer, and which model a name means."""

import os

from cpunmt.errors import CpunmtError
from cpunmt.registry import firefox, huggingface, opus
from cpunmt.registry.connection import fetch_document
from cpunmt.registry.entries import ModelEntry
from cpunmt.registry.store import is_name, plain, split_name
from cpunmt.values.spelling import nearest

_LISTED = {"firefox": firefox, "opus": opus}
_MOST_CHOICES = 12  # of a message


def address(registry: str) -> str:
    """URL of a registry: "firefox", "opus" or "hf", as its environment variable says."""
    module = huggingface if registry == "hf" else _LISTED[registry]
    return os.environ.get(module.VARIABLE) or module.REGISTRY


def listed(words=()) -> list[str]:
    """The registries that have a list, and that none of `words`, such as "opus:en", excludes."""
    named = [word.partition(":")[0] for word in words if is_name(word)]
    return [registry for registry in _LISTED if all(name == registry for name in named)]


def list_models(registry: str, say) -> list[ModelEntry]:
    """All models of one registry; CpunmtError where it cannot be read."""
    return _LISTED[registry].list_models(address(registry), lambda url: fetch_document(url, say))


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
            return huggingface.find_model(rest, address("hf"), lambda url: fetch_document(url, say))
        registries = [registry]
    else:
        registries = list(_LISTED)
    entries = [entry for registry in registries for entry in list_models(registry, say)]
    wanted = plain(name)
    found = [entry for entry in entries if wanted in (plain(entry.name), plain(entry.name.partition(":")[2]))]
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
    return f"; did you mean {names[found]}?" if found else ""
