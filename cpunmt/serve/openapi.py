"""Descriptions of the API, from the files beside this one: OpenAPI 3.1 of all, Swagger 2.0 of a part."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

from cpunmt.options.option_field import kind
from cpunmt.options.options import Options


@functools.cache
def described(name: str = "openapi.json") -> dict[str, Any]:
    """Returns a description: openapi.json, or swagger.json with the part for LibreTranslate's clients."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    if options := found.get("components", {}).get("schemas", {}).get("Options"):
        for one in dataclasses.fields(Options):  # except those in the file
            if one.metadata["is_served"]:
                options["properties"].setdefault(one.name, _schema(one))
    return found


def _schema(option: dataclasses.Field[Any]) -> dict[str, Any]:
    rule, said = option.metadata, {"description": option.metadata["help"]}
    if rule["choices"]:
        return {"enum": [*rule["choices"], *([None] if option.default is None else [])], **said}
    if kind(option) is bool:
        return {"type": "boolean", **said}
    name = "integer" if kind(option) is int else "number"
    return {"type": name, "minimum": rule["low"], "maximum": rule["high"], **said}
