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
from cpunmt.registry.entries import ModelEntry, RemoteFile, archived_models

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
    releases: dict[tuple[str, str], dict[str, RemoteFile]] = {}
    for line in lines:
        found = re.fullmatch(r"([\w+-]{1,2000}?)-([\w+]{1,2000})/([\w.+-]{1,100})\.zip", line.strip(), re.ASCII)
        if found:
            source, target, release = found.groups()
            archive = RemoteFile(join_url(url.rpartition("/")[0], f"{source}-{target}/{release}.zip"), f"{release}.zip")
            releases.setdefault((source, target), {})[release] = archive
    if not releases:
        raise CpunmtError(f"{url}: no line like en-de/opus-2020-02-26.zip; expected OPUS-MT's list of archives")
    return archived_models(url, "opus", releases, _date)


def _date(release: str) -> tuple[str, str]:
    found = re.search(r"\d{4}-\d\d-\d\d$", release)
    return found[0] if found else "", release
