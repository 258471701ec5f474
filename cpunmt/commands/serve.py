"""`cpunmt serve`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cpunmt.commands.flags import add_fields, fields_of
from cpunmt.commands.libretranslate_settings import add_flags, settings_of
from cpunmt.commands.model_choice import default_model
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.process.interrupts import end_by
from cpunmt.values.command_line import Parser

_HOST, _PORT = "127.0.0.1", 5000  # the port is LibreTranslate's


def serve_arguments(parser: Parser) -> None:
    """Adds the arguments of the command: a server's settings and address."""
    from cpunmt.serve.settings import GROUPS, ServeSettings

    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="*",
        help="languages such as en-de, whose model is fetched if it is missing; names of fetched models such as "
        "firefox:ende; or directories, en-de=DIR if nothing else says its languages (default: $CPUNMT_MODEL, else "
        "models/ende of a checkout)",
    )
    address = parser.group(GROUPS["address"])
    address.add_argument(
        "--languages",
        metavar="LIST",
        help="serve all pairs of these languages, as en,de,fr; missing models are fetched, and where there is none for "
        "a pair, it goes through English",
    )
    address.add_argument("--host", help=f"the address to serve at; 0.0.0.0: all of this machine (default: {_HOST})")
    address.add_argument("--port", metavar="N", type=int, help=f"the port; 0: any that is free (default: {_PORT})")
    for title in GROUPS.values():
        parser.group(title)
    parser.group(GROUPS["clients"]).add_argument(
        "--api-keys", metavar="FILE", help="serve only clients that have one of the keys in this file, a line each"
    )
    add_fields(parser, ServeSettings)
    address.add_argument(
        "--trusted-proxies",
        metavar="LIST",
        help="addresses and networks, with commas, of proxies whose X-Forwarded-For, -Host, -Prefix and -Proto are "
        "believed (default: 127.0.0.1,::1)",
    )
    add_flags(parser)
    parser.meant = {"-p": "--port"}


def serve(given: argparse.Namespace) -> int:
    """Serves until a signal arrives."""
    try:
        from cpunmt.serve import server
        from cpunmt.serve.keys import read_keys
        from cpunmt.serve.settings import ServeSettings
    except ModuleNotFoundError as error:
        raise CpunmtError(
            f"a server needs {error.name}, which is not installed; run: pip install 'cpunmt[serve,detect]'"
        ) from None
    chosen: dict[str, Any] = {"host": _HOST, "port": _PORT, "languages": ""}
    theirs, without_effect = settings_of(given, os.environ)
    chosen |= theirs | fields_of(given, [*ServeSettings.__dataclass_fields__, *chosen])
    host, port, languages = (chosen.pop(name) for name in ("host", "port", "languages"))
    if not 0 <= port <= 65535:
        given.parser.error(f"argument --port: {port} is not a port, expected 0 to 65535")
    try:
        if given.api_keys is not None:
            chosen["api_keys"] = read_keys(given.api_keys)
        if given.trusted_proxies is not None:
            chosen["trusted_proxies"] = _items(given.trusted_proxies)
        settings = ServeSettings(**chosen)
    except (TypeError, ValueError) as error:
        given.parser.error(str(error))
    if without_effect:
        say(f"cpunmt: without effect here: {', '.join(without_effect)}; see docs/migrating.md")
    models = _models(given.models, _items(languages))
    below = f"{settings.url_prefix}/" if settings.url_prefix else ""
    made = server.server_of(models, host, port, settings, lambda address: say(f"cpunmt: {address}{below}"))
    end_by(made.drain)
    server.run(made)
    return 0


def _models(named: list[str], languages: list[str]) -> list[str]:
    if not named and not languages:
        default = default_model()
        named = [] if default is None else [default]
    from cpunmt.commands.models_by_languages import served_models

    return served_models(named, languages)


def _items(text: str) -> list[str]:
    """Returns the items of a list with commas, each once."""
    return list(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
