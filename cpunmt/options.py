"""The options of a translation: one definition, from which API, command line and documentation come."""

import dataclasses
import numbers
from dataclasses import dataclass, field

VOCABULARIES = ("shortlist", "full")

# Marian's command line: flag -> (option, what the flag sets it to, or None: the value that follows)
MARIAN_FLAGS = {
    "-b": ("beam_size", None),
    "--mini-batch-words": ("max_batch_tokens", None),
    "--no-shortlist": ("vocabulary", "full"),
}


def _option(default, text, low=None, high=None, choices=None):
    return field(default=default, metadata={"help": text, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class Options:
    """How to translate. None means: what the model's config says, or else the default named in the help."""

    beam_size: int = _option(1, "hypotheses kept at each step; 1 is greedy search", 1, 1)
    vocabulary: str | None = _option(
        None,
        "target pieces to choose from: the sentence's lexical shortlist, or all (default: shortlist if there is one)",
        choices=VOCABULARIES,
    )
    max_length_factor: float | None = _option(
        None, "at most ceil(factor * source pieces) target pieces (default: from the model)", 0.1, 100.0
    )
    max_length: int | None = _option(None, "at most this many target pieces, </s> included", 1, 1 << 16)
    max_batch_tokens: int = _option(
        1 << 16,
        "source pieces translated in one compiled call; more sorts better, less starts sooner",
        1,
        1 << 24,
    )

    def __post_init__(self):
        for option in dataclasses.fields(self):
            _check(option, getattr(self, option.name))


def _check(option, value):
    """Raise TypeError or ValueError, naming the option, unless `value` fits it."""
    name, rule = option.name, option.metadata
    if value is None and option.default is None:
        return
    if rule["choices"]:
        if value not in rule["choices"]:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, rule['choices']))}")
        return
    whole = "float" not in str(option.type)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral if whole else numbers.Real):
        raise TypeError(f"{name} is {value!r}, expected {'an integer' if whole else 'a number'}")
    if not rule["low"] <= value <= rule["high"]:
        expected = rule["low"] if rule["low"] == rule["high"] else f"{rule['low']} to {rule['high']}"
        raise ValueError(f"{name} is {value!r}, expected {expected}")


def make_options(given: dict) -> Options:
    """Options from keyword arguments. Raises TypeError for an unknown name, TypeError or ValueError for a value."""
    if not given:
        return _DEFAULTS
    known = [option.name for option in dataclasses.fields(Options)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; expected one of: {', '.join(known)}")
    return Options(**given)


_DEFAULTS = Options()
