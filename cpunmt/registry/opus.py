"""OPUS-MT's own releases: zip archives with a Marian model, listed in a text file.

index.txt has one path a line below its own address: en-de/opus-2020-02-26.zip, and beside it .yml, .eval.txt and
.test.txt. The list has neither sizes nor digests; an archive holds a CRC-32 of each of its files. Inside: the .npz,
decoder.yml, vocabularies, source.spm and target.spm, README.md, LICENSE. A folder's name is languages, joined by "+", a
hyphen, languages.

    object.pouta.csc.fi/OPUS-MT-models/index.txt; object.pouta.csc.fi/Tatoeba-MT-models has the same form
    github.com/Helsinki-NLP/OPUS-MT-train, lib/dist.mk (the content of an archive, MODELINDEX)
"""

import re
from collections.abc import Callable

from cpunmt.errors import CpunmtError
from cpunmt.registry.documents import join_url
from cpunmt.registry.entries import ModelEntry, RemoteFile

REGISTRIES = ("https://object.pouta.csc.fi/OPUS-MT-models/index.txt",)
VARIABLE = "CPUNMT_OPUS_REGISTRY"


def list_models(url: str, fetch: Callable[[str], bytes]) -> list[ModelEntry]:
    """Returns the models in the list at `url`; the newest of each folder has the short name.

    Skips lines other than a model's archive; `fetch` returns the content at a URL.
    """
    try:
        lines = fetch(url).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise CpunmtError(f"{url}: not UTF-8; expected a list of archives") from None
    releases: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        found = re.fullmatch(r"([\w+-]{1,2000}?)-([\w+]{1,2000})/([\w.+-]{1,100})\.zip", line.strip(), re.ASCII)
        if found:
            source, target, release = found.groups()
            releases.setdefault((source, target), set()).add(release)
    if not releases:
        raise CpunmtError(f"{url}: no line like en-de/opus-2020-02-26.zip; expected OPUS-MT's list of archives")
    entries = []
    for (source, target), names in releases.items():
        for rank, release in enumerate(sorted(names, key=_date, reverse=True)):
            entries.append(_entry(source, target, release, rank > 0, url))
    return sorted(entries, key=lambda entry: entry.name)


def _date(release: str) -> tuple[str, str]:
    found = re.search(r"\d{4}-\d\d-\d\d$", release)
    return found[0] if found else "", release


def _entry(source: str, target: str, release: str, older: bool, url: str) -> ModelEntry:
    path = f"{source}-{target}/{release}.zip"
    return ModelEntry(
        name=f"opus:{source}-{target}" + (f"@{release}" if older else ""),
        source=source,
        target=target,
        architecture="",
        version=release,
        registry=url,
        files=(RemoteFile(url=join_url(url.rpartition("/")[0], path), path=f"{release}.zip"),),
        packed=True,
    )
