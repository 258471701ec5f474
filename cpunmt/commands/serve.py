"""`cpunmt serve`."""

from __future__ import annotations

import argparse

from cpunmt.commands.flags import add_fields, fields_of
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.process.interrupts import end_by

_PORT = 5000  # LibreTranslate's


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command: a server's settings and address."""
    from cpunmt.serve.settings import ServeSettings

    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="directories, or names of fetched models such as firefox:ende; en-de=DIR says which languages one is for",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to serve at; 0.0.0.0: all of this machine (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", metavar="N", type=int, default=_PORT, help=f"the port; 0: any that is free (default: {_PORT})"
    )
    add_fields(parser, ServeSettings)
    parser.add_argument(
        "--api-keys", metavar="FILE", help="serve only who has one of the keys in this file, a line each"
    )
    parser.add_argument(
        "--trusted-proxies",
        metavar="LIST",
        help="addresses and networks, with commas, of proxies whose X-Forwarded-Host, -Prefix and -Proto are believed "
        "(default: 127.0.0.1,::1)",
    )


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
    chosen = fields_of(given, ServeSettings.__dataclass_fields__)
    if not 0 <= given.port <= 65535:
        given.parser.error(f"argument --port: {given.port} is not a port, expected 0 to 65535")
    try:
        if given.api_keys is not None:
            chosen["api_keys"] = read_keys(given.api_keys)
        if given.trusted_proxies is not None:
            chosen["trusted_proxies"] = [one.strip() for one in given.trusted_proxies.split(",") if one.strip()]
        settings = ServeSettings(**chosen)
    except (TypeError, ValueError) as error:
        given.parser.error(str(error))
    made = server.server_of(given.models, given.host, given.port, settings, lambda address: say(f"cpunmt: {address}"))
    end_by(made.drain)
    server.run(made)
    return 0
