"""Packages of Argos, which LibreTranslate uses: its published index, a JSON list.

    [{"package_version": "1.9", "argos_version", "from_code": "en", "from_name", "to_code": "de", "to_name",
      "code": "translate-en_de", "type": "translate", "links": ["https://.../translate-en_de-1_9.argosmodel"]}, ...]

There are no sizes and no digests; an archive has a CRC-32 of each of its files. Entries without a link, and of another
type, are skipped.

    raw.githubusercontent.com/argosopentech/argospm-index/main/index.json
    github.com/argosopentech/argos-translate, argostranslate/package.py (the fields) and settings.py (the address)
"""

import re
import urllib.parse
from collections.abc import Callable
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.formats.any_directory import PACKAGE_FILE
from cpunmt.registry.documents import is_language, parse_list, word
from cpunmt.registry.entries import ModelEntry, RemoteFile, archived_models
from cpunmt.values.checks import inner

REGISTRIES = ("https://raw.githubusercontent.com/argosopentech/argospm-index/main/index.json",)
VARIABLE = "CPUNMT_ARGOS_REGISTRY"


def list_models(url: str, fetch: Callable[[str], bytes]) -> list[ModelEntry]:
    """Returns the models in the list at `url`; the newest version for two languages has the short name.

    `fetch` returns the content at a URL.
    """
    packages: dict[tuple[str, str], dict[str, RemoteFile]] = {}
    for entry in parse_list(fetch(url), url):
        source, target = (inner(entry, name, kind=str) for name in ("from_code", "to_code"))
        link = _link(inner(entry, "links", kind=list) or [])
        if is_language(source) and is_language(target) and link and entry.get("type", "translate") == "translate":
            archive = RemoteFile(urllib.parse.quote(link, safe="/:%?&=~+@!$,;"), f"translate{PACKAGE_FILE}")
            packages.setdefault((source, target), {}).setdefault(word(entry.get("package_version")), archive)
    if not packages:
        raise CpunmtError(f"{url}: no entry with from_code, to_code and links; expected the index of Argos' packages")
    return archived_models(url, "argos", packages, _order)


def _link(links: list[Any]) -> str | None:
    """Returns the first address on the web of a package's file; others are of other networks."""
    return next((link for link in links if isinstance(link, str) and re.match(r"https?://", link)), None)


def _order(version: str) -> list[tuple[int, str]]:
    """Returns a key by which 1.10 is newer than 1.9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in version.split(".")]
