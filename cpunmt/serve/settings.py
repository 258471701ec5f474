"""The settings of a server: one definition for the command line, its help and the checks."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any

from cpunmt.values.checks import check_fields, shown
from cpunmt.values.fields import checked, ranged, switch

PATH_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{1,100}){1,10}")

# Groups of settings, in the order of the help: key -> title
GROUPS = {
    "address": "languages and address",
    "work": "work",
    "clients": "clients",
    "requests": "limits of a request",
    "load": "limits of all requests together",
}


def setting(group: str, default: Any, help: str, low: float, high: float) -> Any:
    """Declares a number from `low` to `high`; `help` is that of the command line, and `group` a key of GROUPS."""
    return ranged(low, high, default, help=help, group=GROUPS[group])


def _prefix(name: str, value: object) -> str:
    """Validates a path, and returns it with a slash at its begin only."""
    path = f"/{value.strip('/')}" if isinstance(value, str) else ""
    if not (value == "" or PATH_PREFIX.fullmatch(path)):
        raise ValueError(f"{name} is {shown(value)}, expected a path such as /translate")
    return path.rstrip("/")


@dataclasses.dataclass(frozen=True)
class ServeSettings:
    """The settings of a server: how it works, and what it refuses.

    Raises TypeError or ValueError for a wrong value.
    """

    workers: int = setting("work", 1, "translate with N threads, each on one core", 1, 256)
    batch_tokens: int = setting("work", 1024, "source pieces, about, that are translated together", 1, 1 << 20)
    cache_mb: int = setting("work", 64, "MB of translations of sentences that are kept; 0: none", 0, 1 << 20)
    deadline: float = setting("load", 30.0, "refuse what would have to wait longer than N seconds", 0.01, 86400.0)
    max_queued: int = setting("load", 20_000, "sentences that may wait", 1, 1 << 30)
    max_requests: int = setting("load", 512, "requests that may be in progress, each of which has a thread", 1, 4096)
    max_connections: int = setting("load", 12_000, "connections that may be open", 1, 1 << 20)
    max_body: int = setting("requests", 1_000_000, "bytes of a request", 1, 1 << 30)
    max_file: int = setting("requests", 10_000_000, "bytes of a request with a file", 1, 1 << 30)
    max_text: int = setting("requests", 50_000, "characters of a text", 1, 1 << 30)
    max_characters: int = setting("requests", 200_000, "characters of all texts of a request", 1, 1 << 30)
    max_texts: int = setting("requests", 1000, "texts of a request", 1, 1 << 20)
    max_alternatives: int = setting("requests", 10, "translations of a text beside the best, and the beam", 0, 63)
    body_seconds: float = setting("requests", 30.0, "seconds that a client has to send a request", 0.01, 86400.0)
    drain: float = setting("load", 30.0, "seconds that requests in progress have after SIGTERM", 0.0, 86400.0)
    idle_unload: float = setting("work", 0.0, "unload a model after N seconds without use; 0: never", 0.0, 1e9)
    memory: int = setting("work", 0, "MB of models that stay loaded, those used last; 0: all", 0, 1 << 30)
    max_glossaries: int = setting(
        "clients", 1000, "glossaries that are kept; a client may have a tenth of them", 0, 1 << 20
    )
    max_rate: int = setting("clients", 0, "requests of a client in a minute; 0: any number", 0, 1 << 30)
    quota: int = setting(
        "clients", 0, "characters of each key, or of all without --api-keys, in a period; 0: any", 0, 1 << 50
    )
    quota_hours: float = setting("clients", 0.0, "hours of such a period; 0: a calendar month, UTC", 0.0, 1e6)
    api_keys: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """Keys, one of which each request must have; empty: none is asked for."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """Addresses and networks of proxies whose X-Forwarded-For, -Host, -Prefix and -Proto are believed."""
    no_files: bool = switch(False, help="translate no files", group=GROUPS["requests"])
    no_page: bool = switch(False, help="serve no page for browsers", group=GROUPS["address"])
    url_prefix: str = checked(
        _prefix, "", help="serve below this path, as /translate", takes="PATH", group=GROUPS["address"]
    )
    preload: bool = switch(True, help="load models at the start (the default)", group=GROUPS["work"])

    def __post_init__(self) -> None:
        check_fields(self)
        keys = self.api_keys
        if isinstance(keys, str) or not all(isinstance(key, str) and key.strip() for key in keys):
            raise TypeError("api_keys: expected a list of texts, none of them empty")
        object.__setattr__(self, "api_keys", tuple(keys))
        if isinstance(self.trusted_proxies, str):
            raise TypeError("trusted_proxies: expected a list of texts")
        for network in self.trusted_proxies:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise ValueError(
                    f"trusted_proxies has {network!r}, expected addresses and networks such as 10.0.0.0/8"
                ) from None
        object.__setattr__(self, "trusted_proxies", tuple(self.trusted_proxies))
