"""Firefox's translation models: reads both forms of their registry.

Remote Settings, collections translations-models-v2 and translations-models: {"data": [record, ...]}, one record for
each file; the attachments' address is in the server's root document.

    {"name", "fileType": "model", "lex", "vocab", "srcvocab" or "trgvocab", "version": "3.0", "filter_expression",
     "sourceLanguage", "targetLanguage" (before: "fromLang", "toLang"), "architecture": "tiny", "base-memory", "base",
     "variant", "decompressedHash", "decompressedSize",
     "attachment": {"filename": name + ".zst", "location", "hash", "size", "mimetype": "application/zstd"}}

In the newer collection files are packed with zstd, hash and size are those of the packed file, and versions are 3.x. In
the older one files are not packed, and versions are 1.x ("tiny") and 2.x. Firefox takes the newest version of a model
for its channel and system, and other files only of that version.

    firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models-v2/records
    firefox-source-docs.mozilla.org/services/settings (records and attachments)
    github.com/mozilla/translations: the tests of remote_settings (`list`: a record of each type),
    utils/common/remote_settings.py, db/updater.py (ReleaseStatusCollector: the meaning of each filter_expression)
    Firefox, toolkit/components/translations/actors/TranslationsParent.sys.mjs (LANGUAGE_MODEL_MAJOR_VERSION_MAX and
    the notes on versions before it; #getTranslationModelRecords: the records of a model)

models.json in the bucket of the training pipeline: {"baseUrl", "models": {"en-de": [{architecture, releaseStatus,
sourceLanguage, targetLanguage, files: {model: {path, uncompressedHash, uncompressedSize}, vocab: {path}, ...}}]}}.
Files are packed with gzip; only the model has a SHA-256, of its unpacked content.

    storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json
    github.com/mozilla/translations, the script that writes it (PublicModelsJsonGenerator)
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.input_files import plain_name
from cpunmt.registry.documents import is_language, is_sha256, is_size, join_url, parse_document, word
from cpunmt.registry.entries import ModelEntry, RemoteFile
from cpunmt.values.checks import inner

_Group = tuple[Any, str, ModelEntry]  # sort key, label, entry without its name
_COLLECTIONS = "https://firefox.settings.services.mozilla.com/v1/buckets/main/collections"
REGISTRIES = (  # tried in order
    f"{_COLLECTIONS}/translations-models-v2/records",
    f"{_COLLECTIONS}/translations-models/records",
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json",
)
VARIABLE = "CPUNMT_FIREFOX_REGISTRY"
_VOCABULARIES = ({"vocab"}, {"srcvocab", "trgvocab"})
_SIZES = ("tiny", "base-memory", "base")  # better last
_BUCKET_KINDS = {
    "model": "model",
    "lexicalShortlist": "lex",
    "vocab": "vocab",
    "srcVocab": "srcvocab",
    "trgVocab": "trgvocab",
}


def list_models(url: str, fetch: Callable[[str], bytes]) -> list[ModelEntry]:
    """Returns the models of the registry at `url`, in either form; `fetch` returns the content at a URL.

    Skips incomplete models (no vocabulary) and unknown records. For each pair of languages, the short name is that of
    the newest version for all desktop users.

    Raises
    ------
    CpunmtError
        The document is of another form.
    """
    document = parse_document(fetch(url), url)
    if isinstance(document.get("data"), list):
        groups = _remote_settings(document["data"], url, _attachments(url, fetch))
    elif isinstance(document.get("models"), dict):
        groups = _bucket(document, url)
    else:
        raise CpunmtError(f'{url}: expected a registry of Firefox\'s models, an object with "data" or "models"')
    return sorted(_named(groups), key=lambda entry: entry.name)


def _attachments(url: str, fetch: Callable[[str], bytes]) -> str:
    """Returns the address of the attachments, from the root document of the server."""
    root, version, _ = url.partition("/v1/")
    if not version:
        raise CpunmtError(f"{url}: expected /v1/ in the address of a Remote Settings collection")
    document = parse_document(fetch(root + version), root + version)
    base = inner(document, "capabilities", "attachments", "base_url", kind=str)
    if base is None:
        raise CpunmtError(f"{root + version}: capabilities.attachments.base_url is missing; expected a Kinto server")
    return base


# Of each pair of languages the group with the greatest key gets the short name.


def _remote_settings(records: list[Any], url: str, base: str) -> Iterator[_Group]:
    usable = [record for record in records if _is_record(record)]
    companions: dict[Any, Any] = {}
    for record in sorted(usable, key=lambda record: record["attachment"]["filename"]):
        companions.setdefault((*_release(record), record["fileType"], _build(record), _filter(record)), record)
    for model in usable:
        if model["fileType"] != "model":
            continue
        files = {"model": model}
        for kind in ("lex", "vocab", "srcvocab", "trgvocab"):
            # records with an architecture, or for the same audience, take precedence over those without, or for
            # everyone
            for build, audience in itertools.product((("", ""), _build(model)), ("", _filter(model))):
                if found := companions.get((*_release(model), kind, build, audience)):
                    files[kind] = found
        if not _is_complete(files):
            continue
        (source, target, version), (architecture, variant) = _release(model), _build(model)
        audience = _audience(_filter(model))
        described = {kind: _attachment(record, base) for kind, record in files.items()}
        entry = _unnamed(source, target, word(architecture), word(version), url, described)
        label = "-".join(part for part in (version, variant, audience) if part)
        key = audience in ("", "desktop"), not variant, *_version_key(version), _rank(architecture)
        yield key, label, entry


def _is_complete(files: Collection[str]) -> bool:
    """Returns whether a model can be loaded with these kinds of files."""
    return "model" in files and any(kinds <= set(files) for kinds in _VOCABULARIES)


def _unnamed(
    source: str, target: str, architecture: str, version: str, url: str, files: Mapping[str, RemoteFile]
) -> ModelEntry:
    """Returns an entry without a final name; `files`: kind -> RemoteFile."""
    return ModelEntry("", source, target, architecture, version, url, tuple(files[kind] for kind in sorted(files)))


def _rank(architecture: str) -> int:
    return _SIZES.index(architecture) if architecture in _SIZES else -1


def _is_record(record: Any) -> bool:
    attachment = inner(record, "attachment", kind=dict)
    return (
        attachment is not None
        and isinstance(record.get("fileType"), str)
        and all(is_language(language) for language in _languages(record))
        and all(isinstance(attachment.get(key), str) for key in ("filename", "location"))
        and is_size(attachment.get("size"))
        and is_sha256(attachment.get("hash"))
        and (record.get("decompressedHash") is None or is_sha256(record["decompressedHash"]))
        and (record.get("decompressedSize") is None or is_size(record["decompressedSize"]))
    )


def _languages(record: Any) -> tuple[Any, Any]:
    return (
        record.get("fromLang", record.get("sourceLanguage")),
        record.get("toLang", record.get("targetLanguage")),
    )


def _release(record: Any) -> tuple[Any, Any, str]:
    return *_languages(record), str(record.get("version", ""))


def _build(record: Any) -> tuple[str, str]:
    """Returns (architecture, variant), each empty if the record omits it."""
    return inner(record, "architecture", kind=str) or "", inner(record, "variant", kind=str) or ""


def _attachment(record: Any, base: str) -> RemoteFile:
    attachment, name, digest = record["attachment"], record["attachment"]["filename"], record.get("decompressedHash")
    if attachment.get("mimetype") == "application/zstd" and plain_name(name) == name:
        name += ".zst"
    packed = plain_name(name) != name
    return RemoteFile(
        url=join_url(base, attachment["location"]),
        path=name,
        size=attachment["size"],
        sha256=attachment["hash"].lower(),
        unpacked_sha256=digest.lower() if packed and digest else None,
        unpacked_size=record.get("decompressedSize") if packed else None,
    )


def _filter(record: Any) -> str:
    return inner(record, "filter_expression", kind=str) or ""


def _audience(expression: str) -> str:
    """Returns a record's audience in one word; empty for everyone."""
    if not expression:
        return ""
    for channel in ("nightly", "beta"):
        if channel in expression:
            return channel
    if "Android" in expression:
        return "desktop" if re.search(r"!=\s*['\"]Android", expression) else "android"
    return "limited"


def _version_key(version: str) -> tuple[bool, tuple[int, ...], str]:
    """Returns a sort key, greater for newer versions: 2.1 > 2.0 > 2.0a3."""
    found = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?([a-z]\d{0,9})?", version)
    if found is None:
        return False, (), ""
    return not found[4], tuple(int(number or 0) for number in found.group(1, 2, 3)), found[4] or ""


def _bucket(document: dict[str, Any], url: str) -> Iterator[_Group]:
    base = inner(document, "baseUrl", kind=str)
    if base is None:
        raise CpunmtError(f"{url}: baseUrl is missing; expected a registry of Firefox's models")
    for models in document["models"].values():
        for model in models if isinstance(models, list) else ():
            described = inner(model, "files", kind=dict)
            if described is None:
                continue
            source, target, architecture = *_languages(model), word(model.get("architecture"))
            files = {
                kind: _bucket_file(described[key], base)
                for key, kind in _BUCKET_KINDS.items()
                if inner(described, key, "path", kind=str) is not None
            }
            if not _is_complete(files) or not architecture or not is_language(source) or not is_language(target):
                continue
            entry = _unnamed(source, target, architecture, "", url, files)
            status = str(model.get("releaseStatus") or "")
            key = status == "Release Desktop", status == "Release", status.startswith("Release")
            yield (*key, _rank(architecture)), architecture, entry


def _bucket_file(file: Any, base: str) -> RemoteFile:
    digest, size = file.get("uncompressedHash"), file.get("uncompressedSize")
    return RemoteFile(
        url=join_url(base, file["path"]),
        path=file["path"].rpartition("/")[2],
        unpacked_sha256=digest.lower() if is_sha256(digest) else None,
        unpacked_size=size if is_size(size) else None,
    )


def _named(groups: Iterable[_Group]) -> Iterator[ModelEntry]:
    pairs: dict[tuple[str, str], list[_Group]] = {}
    for key, label, entry in groups:
        pairs.setdefault((entry.source, entry.target), []).append((key, label, entry))
    for (source, target), found in pairs.items():
        found.sort(key=lambda group: group[0], reverse=True)
        labels: dict[str, int] = {}
        for rank, (_, label, entry) in enumerate(found):
            label = re.sub(r"[^A-Za-z0-9._-]", "", label)[:40]
            if label in labels and entry.architecture and entry.architecture not in label:
                label += f"-{entry.architecture}"
            labels[label] = labels.get(label, 0) + 1
            label += f"-{labels[label]}" if labels[label] > 1 else ""
            yield replace(entry, name=f"firefox:{source}{target}" + (f"@{label}" if rank else ""))
