"""A server of translations over HTTP: `create_app` returns an ASGI application, `cpunmt serve` runs it."""

from cpunmt.process.first_use import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpunmt.serve.app import create_app
    from cpunmt.serve.settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]
_MODULES = {"create_app": "cpunmt.serve.app", "ServeSettings": "cpunmt.serve.settings"}


def _found(name: str) -> object:
    """Imports a name on first use: describing the command line needs no web framework."""
    if name not in _MODULES:
        raise AttributeError(f"module 'cpunmt.serve' has no attribute {name!r}", name=name)
    import importlib

    with LOCK:
        return getattr(importlib.import_module(_MODULES[name]), name)


if not TYPE_CHECKING:
    __getattr__ = _found
