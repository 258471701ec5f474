"""The description of the interface, OpenAPI 3.1, as openapi.json beside this file has it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any


@functools.cache
def openapi() -> dict[str, Any]:
    """All of it."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "openapi.json").read_text("utf-8"))
    return found
