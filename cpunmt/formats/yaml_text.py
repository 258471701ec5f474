"""YAML that nobody vouches for: one flat mapping of names to values and lists, small and without tricks."""

import yaml

from cpunmt.errors import ModelFileError

_LIMIT = 1 << 14  # bytes; real ones have 1 to 3 kB
_DEPTH = 4  # nested collections


def parse_yaml(text: bytes, where: str) -> dict:
    """The mapping in the UTF-8 bytes `text`: name -> value as PyYAML's safe loader makes it.

    Raises
    ------
    ModelFileError
        Starting with `where`: over 16 KiB, not YAML, not a mapping, a name that is no text or comes twice, aliases
        (a few bytes of them unfold to gigabytes), or deep nesting (which costs PyYAML minutes).
    """
    if len(text) > _LIMIT:
        raise ModelFileError(f"{where} has {len(text)} bytes, expected at most {_LIMIT}")
    try:
        decoded = text.decode("utf-8")
        _refuse_unfolding(yaml.parse(decoded, yaml.SafeLoader))
        loader = yaml.SafeLoader(decoded)
        node = loader.get_single_node()
        found = None if node is None else loader.construct_document(node)
    except Exception as error:  # besides YAMLError whatever its constructors meet: IndexError, KeyError, ...
        raise ModelFileError(f"{where} is not valid YAML ({_said(error)}); fetch or export it again") from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ModelFileError(f"{where} is not a mapping of option names to values")
    names = [key.value for key, _ in node.value]
    if len(names) > len(set(names)):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(f"{where}: {twice!r} occurs twice; remove one of them")
    return found


def _said(error) -> str:
    """In one line: PyYAML draws the place."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return "; ".join(str(error).splitlines())


def _refuse_unfolding(events) -> None:
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _DEPTH:
            raise ValueError("expected neither aliases nor deep nesting")
