"""A validator of the part of JSON Schema that the tests use. Unknown keywords are refused."""

KINDS = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
KNOWN = {"$ref", "type", "enum", "oneOf", "items", "properties", "required", "additionalProperties", "minItems",
         "maxItems", "minimum", "maximum", "description", "default", "format"}  # fmt: skip


def problem(value, schema, document, place="it"):
    """Returns a value's problem, as text; None without one."""
    assert set(schema) <= KNOWN, schema
    if "$ref" in schema:
        found = document
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return problem(value, found, document, place)
    kinds = schema.get("type", list(KINDS))
    if not any(KINDS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return f"{place} is {value!r}, expected {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is {value!r}, expected one of {schema['enum']}"
    if "oneOf" in schema:
        problems = [problem(value, one, document, place) for one in schema["oneOf"]]
        if problems.count(None) != 1:
            return f"{place} fits {problems.count(None)} of {len(problems)} forms: {problems}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{place} has {len(value)} items"
        inner = [problem(one, schema.get("items", {}), document, f"{place}[{n}]") for n, one in enumerate(value)]
        return next(filter(None, inner), None)
    if isinstance(value, dict):
        return _of_object(value, schema, document, place)
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{place} is {value}, outside its range"
    return None


def _of_object(value, schema, document, place):
    known = schema.get("properties", {})
    if missing := [name for name in schema.get("required", []) if name not in value]:
        return f"{place} lacks {missing[0]}"
    for name, inner in value.items():
        of_it = known.get(name, schema.get("additionalProperties", {}))
        if of_it is False:
            return f"{place} has {name}, which is not known"
        if found := problem(inner, {} if of_it is True else of_it, document, f"{place}.{name}"):
            return found
    return None
