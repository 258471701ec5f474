"""The user's folder of models, where names like "firefox:ende" are looked up.

    CPUNMT_MODELS_DIR    the folder; default: cpunmt/models in the user's data folder

In it firefox/ende, opus/en-de, argos/en-de and hf/OWNER/NAME are model directories. Each appears complete, with its
origin in metadata.json.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA, read_json
from cpunmt.files.user_folder import user_folder
from cpunmt.process.first_use import LOCK
from cpunmt.registry.argos_folder import installed_packages
from cpunmt.values.spelling import hint, nearest

_NAME = re.compile(r"(firefox|opus|argos|hf):(.*)", re.DOTALL)
_REST = {
    "firefox": r"[A-Za-z][A-Za-z_-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?",
    "opus": r"[A-Za-z][A-Za-z0-9_+-]*(@[A-Za-z0-9][A-Za-z0-9._+-]*)?",
    "argos": r"[A-Za-z][A-Za-z0-9_-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?",
    "hf": r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9._/-]*)?",
}
_PAIR = r"(?:.*[-_./:])?([a-z]{2,3})[-_]([a-z]{2,3})/?|.*:([a-z]{2})([a-z]{2})(?:@.*)?"
_LANGUAGES = (("sourceLanguage", "targetLanguage"), ("source_language", "target_language"), ("from_code", "to_code"))
_LONGEST = 100  # characters of a folder's name; OPUS-MT has names of hundreds of languages


class Languages(NamedTuple):
    """Codes of source and target, as ISO 639 has them; None: not known."""

    source: str | None = None
    target: str | None = None


class Installed(NamedTuple):
    """A model of a name in the user's folder, or a package of argos-translate; `metadata`: its metadata.json."""

    name: str
    path: Path
    metadata: dict[str, Any]


def is_name(text: object) -> TypeGuard[str]:
    """Returns whether `text` names a model of a registry, rather than a directory."""
    return isinstance(text, str) and _NAME.match(text) is not None


def plain(name: str) -> str:
    """Returns `name` without punctuation that users vary: firefox:en-de is firefox:ende. Hugging Face's names have
    owners and revisions, which it may distinguish, so only the case of owner and repository is ignored."""
    if name.lower().startswith("hf:"):
        repository, at, revision = name.partition("@")
        return repository.lower() + at + revision
    return re.sub(r"[-_]", "", name).lower()


def find(name: str) -> Path:
    """Returns the directory of a fetched model.

    Raises
    ------
    CpunmtError
        It is missing; the message has the command that fetches it.
    """
    path = folder_of(name)
    if find_metadata(path) is not None:
        return path
    for model in installed():
        if plain(model.name) == plain(name):  # firefox:en-de for firefox:ende
            return model.path
    raise CpunmtError(f"the model {name} is not in {models_folder()}{_near(name)}; run: cpunmt fetch {name}")


def _near(name: str) -> str:
    """Suggests a fetched model for a missing name: the end of a message, or ""."""
    registry, _, rest = name.partition(":")
    there = [model.name.partition(":")[2] for model in installed() if model.name.startswith(f"{registry}:")]
    found = nearest(rest, there)
    # One changed letter names another language: enfr is not a misspelt enhr.
    if found is None or (len(found) == len(rest) and sorted(found) != sorted(rest)):
        return ""
    return hint(f"{registry}:{found}")


def models_folder() -> Path:
    """Returns the user's folder of models; it need not exist."""
    chosen = os.environ.get("CPUNMT_MODELS_DIR")
    if chosen:
        return Path(chosen)
    try:
        return user_folder("data") / "models"
    except RuntimeError:
        raise CpunmtError("no home folder was found; name a folder for models in CPUNMT_MODELS_DIR") from None


def folder_of(name: str) -> Path:
    """Returns the directory of the model of this name; it need not exist."""
    registry, rest = split_name(name)
    if registry != "hf":
        return models_folder() / registry / _folder_name(rest)
    owner, _, repository = rest.partition("/")
    return models_folder() / registry / _folder_name(owner) / _folder_name(repository)


def split_name(name: str) -> tuple[str, str]:
    """Returns ("firefox", "ende") for "firefox:ende". Raises CpunmtError for an impossible name."""
    found = _NAME.fullmatch(name)
    if found is None or not re.fullmatch(_REST[found[1]], found[2]) or ".." in found[2] or len(name) > 2000:
        raise CpunmtError(
            f"{name[:200]!r} names no model; expected firefox:ende, opus:en-de, argos:en-de, hf:OWNER/NAME, or "
            "one of these with @ and a version; see cpunmt ls"
        )
    return found[1], found[2]


def _folder_name(text: str) -> str:
    """Returns `text` as a folder's name, which is unique to the text."""
    name = text.replace("/", "=").rstrip(".")  # of a revision: refs/pr/3
    if len(name) > _LONGEST or name != text:
        name = f"{name[: _LONGEST - 20]}={hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name


def installed() -> list[Installed]:
    """Returns all models in the user's folder, by name; skips folders that are unfinished or not ours.

    Packages that argos-translate has installed follow, where the user's folder has no model of the same name.
    """
    folder, models = models_folder(), []
    for pattern in ("firefox/*", "opus/*", "argos/*", "hf/*/*"):
        for path in folder.glob(pattern):
            metadata = None if path.name.startswith(".") else find_metadata(path)
            if metadata is not None:
                models.append(Installed(metadata["name"], path, metadata))
    known = {model.name for model in models}
    for name, path, metadata in installed_packages():
        if name not in known and re.fullmatch(_REST["argos"], name.partition(":")[2]):
            known.add(name)
            models.append(Installed(name, path, metadata))
    return sorted(models, key=lambda model: model.name)


def languages_of(metadata: Mapping[str, Any]) -> tuple[str, str] | None:
    """Returns (source, target) of a model from its metadata; None if it lacks them.

    Fetched models have Firefox's names of the fields; packed ones have ours, and packages of Argos its own.
    """
    for keys in _LANGUAGES:
        source, target = map(metadata.get, keys)
        if isinstance(source, str) and isinstance(target, str):
            return source, target
    return None


def model_languages(metadata: Mapping[str, Any], name: str) -> Languages:
    """Returns the languages from the metadata, or else from the name or directory: "opus-mt-en-de", "firefox:ende"."""
    if said := languages_of(metadata):
        return Languages(*said)
    match = re.fullmatch(_PAIR, name.lower())
    return Languages(match[1] or match[3], match[2] or match[4]) if match else Languages()


def find_metadata(path: Path) -> dict[str, Any] | None:
    """Returns the metadata of a fetched model, or None if the directory is not one."""
    try:
        metadata = read_json(path / METADATA, "model metadata")
    except CpunmtError:
        return None
    return metadata if is_name(metadata.get("name")) else None


def located(model: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Path:
    """Finds the model that a user names: a path, or the name of a fetched model.

    An .argosmodel file is unpacked into the user's folder of models, unless it is there already.

    Raises
    ------
    CpunmtError
        As `find`, or as `package_file.unpacked`.
    ModelFileError
        The path is empty or does not exist; the message suggests another path or a model's name if it is probably
        meant.
    """
    if is_name(model):
        return find(model)
    text = os.fsdecode(model)
    if not text:  # Path would take it as the current directory
        raise ModelFileError("the model's path is empty; expected a directory, a file in it, or a fetched model's name")
    with LOCK:
        from cpunmt.formats.any_directory import is_package_file, missing
    if not os.path.exists(text):
        meant = _meant(text)
        raise ModelFileError(f"{text}: no such directory{meant}") if meant else missing(text)
    if is_package_file(text):
        with LOCK:
            from cpunmt.registry.package_file import unpacked
        return unpacked(Path(text), models_folder())
    return Path(text)


def _meant(path: str) -> str:
    """Suggests the likely meaning of a missing path, and how to get it: the end of a message, or ""."""
    with LOCK:
        from cpunmt.registry.misspelt import beside, published
    folder = beside(Path(path))
    if folder:
        return hint(str(folder))
    name = published(path)
    if name is None or (os.sep in path and os.path.isdir(os.path.dirname(path))):
        return ""
    try:
        split_name(name)
    except CpunmtError:
        return ""
    if any(plain(model.name) == plain(name) for model in installed()):
        return hint(f"{name}, which has been fetched")
    return f"{hint(name)}; run: cpunmt fetch {name}"
