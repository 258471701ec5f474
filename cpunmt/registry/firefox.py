"""Firefox's translation models: reading the two forms of their registry.

Remote Settings, collection translations-models: {"data": [record, ...]}, one record for each file, with its size and
SHA-256; the attachments' address is in the server's root document. Files are not packed. Its successor,
translations-models-v2, packs them with zstd, which Python's standard library reads only since 3.14: it is refused.

    firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models/records
    firefox-source-docs.mozilla.org/services/settings (records and attachments)
    github.com/mozilla/translations, remote_settings (the fields; which records a channel or system gets)

models.json in the bucket of the training pipeline: {"baseUrl", "models": {"en-de": [{architecture, releaseStatus,
sourceLanguage, targetLanguage, files: {model: {path, uncompressedHash, uncompressedSize}, vocab: {path}, ...}}]}}.
Files are packed with gzip; only of the model the SHA-256 is told, of what it unpacks to.

    storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json
    github.com/mozilla/translations, the script that writes it (PublicModelsJsonGenerator)
"""

import re
from dataclasses import replace

from cpunmt.errors import CpunmtError
from cpunmt.registry.documents import is_language, is_sha256, is_size, join_url, parse_document, word
from cpunmt.registry.entries import ModelEntry, RemoteFile
from cpunmt.values.checks import inner

REGISTRY = "https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models/records"
VARIABLE = "CPUNMT_FIREFOX_REGISTRY"
_VOCABULARIES = ({"vocab"}, {"srcvocab", "trgvocab"})
_BUCKET_KINDS = {
    "model": "model",
    "lexicalShortlist": "lex",
    "vocab": "vocab",
    "srcVocab": "srcvocab",
    "trgVocab": "trgvocab",
}


def list_models(url: str, fetch) -> list[ModelEntry]:
    """The models of the registry at `url`, in either form; `fetch` returns the content at a URL.

    What is incomplete there (no vocabulary) or not understood is left out. Of each pair of languages the entry that
    Firefox gives to everyone on a desktop, in its newest version, has the short name.

    Raises
    ------
    CpunmtError
        The document is of another form, or its files cannot be read by this program.
    """
    document = parse_document(fetch(url), url)
    if isinstance(document.get("data"), list):
        groups = _remote_settings(document["data"], url, _attachments(url, fetch))
    elif isinstance(document.get("models"), dict):
        groups = _bucket(document, url)
    else:
        raise CpunmtError(f'{url}: expected a registry of Firefox\'s models, an object with "data" or "models"')
    return sorted(_named(groups), key=lambda entry: entry.name)


def _attachments(url, fetch) -> str:
    """Address of the attachments, from the root document of the server."""
    root, version, _ = url.partition("/v1/")
    if not version:
        raise CpunmtError(f"{url}: expected /v1/ in the address of a Remote Settings collection")
    document = parse_document(fetch(root + version), root + version)
    base = inner(document, "capabilities", "attachments", "base_url", kind=str)
    if base is None:
        raise CpunmtError(f"{root + version}: capabilities.attachments.base_url is missing; expected a Kinto server")
    return base


# A group is (sort key, label, entry without its name); of each pair the greatest key gets the short name.


def _remote_settings(records, url, base):
    usable = [record for record in records if _is_record(record)]
    if any(record["attachment"]["filename"].endswith(".zst") for record in usable):
        raise CpunmtError(
            f"{url}: its files are packed with zstd, which is not supported; use the collection translations-models "
            f"(unset {VARIABLE}), or models.json of Mozilla's bucket, whose files are packed with gzip"
        )
    companions = {}
    for record in sorted(usable, key=lambda record: record["attachment"]["filename"]):
        companions.setdefault((*_release(record), record["fileType"], _filter(record)), record)
    for model in usable:
        if model["fileType"] != "model":
            continue
        files = {"model": model}
        for kind in ("lex", "vocab", "srcvocab", "trgvocab"):
            for audience in ("", _filter(model)):  # what is for the same audience counts before what is for everyone
                if found := companions.get((*_release(model), kind, audience)):
                    files[kind] = found
        if not _is_complete(files):
            continue
        (source, target, version), audience = _release(model), _audience(_filter(model))
        files = {kind: _attachment(record, base) for kind, record in files.items()}
        entry = _unnamed(source, target, word(model.get("architecture")), word(version), url, files)
        label = version + (f"-{audience}" if audience else "")
        yield (audience in ("", "desktop"), *_version_key(version)), label, entry


def _is_complete(files) -> bool:
    """Whether a model can be loaded with these kinds of files."""
    return "model" in files and any(kinds <= set(files) for kinds in _VOCABULARIES)


def _unnamed(source, target, architecture, version, url, files) -> ModelEntry:
    """An entry whose name is not decided yet; `files`: kind -> RemoteFile."""
    return ModelEntry("", source, target, architecture, version, url, tuple(files[kind] for kind in sorted(files)))


def _is_record(record) -> bool:
    attachment = inner(record, "attachment", kind=dict)
    return (
        attachment is not None
        and isinstance(record.get("fileType"), str)
        and all(is_language(language) for language in _languages(record))
        and all(isinstance(attachment.get(key), str) for key in ("filename", "location"))
        and is_size(attachment.get("size"))
        and is_sha256(attachment.get("hash"))
    )


def _languages(record):
    return (
        record.get("fromLang", record.get("sourceLanguage")),
        record.get("toLang", record.get("targetLanguage")),
    )


def _release(record):
    return *_languages(record), str(record.get("version", ""))


def _attachment(record, base):
    attachment = record["attachment"]
    return RemoteFile(
        url=join_url(base, attachment["location"]),
        path=attachment["filename"],
        size=attachment["size"],
        sha256=attachment["hash"].lower(),
    )


def _filter(record) -> str:
    return inner(record, "filter_expression", kind=str) or ""


def _audience(expression: str) -> str:
    """Who gets the record, in one word; empty for everyone."""
    if not expression:
        return ""
    for channel in ("nightly", "beta"):
        if channel in expression:
            return channel
    if "Android" in expression:
        return "desktop" if re.search(r"!=\s*['\"]Android", expression) else "android"
    return "limited"


def _version_key(version: str):
    """Newer is greater: 2.1 > 2.0 > 2.0a3."""
    found = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?([a-z]\d{0,9})?", version)
    if found is None:
        return False, (), ""
    return not found[4], tuple(int(number or 0) for number in found.group(1, 2, 3)), found[4] or ""


def _bucket(document, url):
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
            sizes = ("tiny", "base-memory", "base")
            key = status == "Release Desktop", status == "Release", status.startswith("Release")
            yield (*key, sizes.index(architecture) if architecture in sizes else -1), architecture, entry


def _bucket_file(file, base):
    digest = file.get("uncompressedHash")
    return RemoteFile(
        url=join_url(base, file["path"]),
        path=file["path"].rpartition("/")[2],
        unpacked_sha256=digest.lower() if is_sha256(digest) else None,
    )


def _named(groups):
    pairs = {}
    for key, label, entry in groups:
        pairs.setdefault((entry.source, entry.target), []).append((key, label, entry))
    for (source, target), found in pairs.items():
        found.sort(key=lambda group: group[0], reverse=True)
        labels = {}
        for rank, (_, label, entry) in enumerate(found):
            label = re.sub(r"[^A-Za-z0-9._-]", "", label)[:40]
            labels[label] = labels.get(label, 0) + 1
            label += f"-{labels[label]}" if labels[label] > 1 else ""
            yield replace(entry, name=f"firefox:{source}{target}" + (f"@{label}" if rank else ""))
