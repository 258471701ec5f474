"""Descriptions of the interface, as the files beside this one have them: OpenAPI 3.1 of all, Swagger 2.0 of a part."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any


@functools.cache
def described(name: str = "openapi.json") -> dict[str, Any]:
    """All of a file: openapi.json, or swagger.json, which has what LibreTranslate's clients ask for."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    return found
