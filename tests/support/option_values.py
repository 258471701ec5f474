"""Options of a translation, drawn from their own definition: a new option is automatically in these tests."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from cpunmt import Glossary
from cpunmt.options.option_field import kind
from cpunmt.options.options import Options
from cpunmt.sentence_layers.protection.finding import KINDS

FIELDS = Options.__dataclass_fields__
INTEGERS = (int, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
DRAWN, ALTERNATIVES = {"sampling_topk": 0}, {"return_alternatives": True}
COMPANIONS = {  # other options that an option needs
    "tags": {"xml": True},
    "num_hypotheses": {"beam_size": 64},
    "sampling_topp": DRAWN,
    "sampling_temperature": DRAWN,
    "seed": DRAWN,
    "num_beam_groups": {"beam_size": 64, "diversity_penalty": 1.0},
    "diversity_penalty": {"beam_size": 4, "num_beam_groups": 2},
    "min_alternative_expansion_prob": ALTERNATIVES,
    "rerank": {"beam_size": 64},
    "num_candidates": {"rerank": "mbr-chrf", "beam_size": 64},
}
TERMS = {"man": "Kerl", "dogs": "Köter", "the": "das"}


def keep_ends(text: str) -> list[tuple[int, int]]:
    """Keeps the first and the last character of a sentence."""
    return [(0, 1), (len(text) - 1, len(text))] if text else []


READ = {  # option: pairs of values that mean the same
    "protect": [
        ("all", np.str_("all")),
        ("none", "none"),
        (("url", "emoji"), "emoji, url"),
        *((kind, [kind]) for kind in KINDS),
        (("tag", re.compile("[A-Z][a-z]+")), ["tag", re.compile("[A-Z][a-z]+")]),
        (("version", "date", keep_ends), ["date", keep_ends, "version"]),
    ],
    "suppress_sequences": [
        ("Hund, Kerl", ("Hund", "Kerl")),
        ([["▁Ein"], "Mann"], (("▁Ein",), "Mann")),
        (["Zwei Hunde"], np.array(["Zwei Hunde"])),
    ],
    "end_token": [(".", np.str_(".")), (["▁Hund"], ("▁Hund",)), ([5, "."], (np.int64(5), "."))],
    "tags": [
        ((("b", "keep"), ("p", "inline")), {"p": "inline", "b": "keep"}),
        ("i=split", (("i", "split"),)),
        ({"*": "inline"}, [["*", "inline"]]),
    ],
    "source_lang": [("en", np.str_("en"))],  # those of the models of the tests
    "target_lang": [("de", np.str_("de"))],
    "glossary": [(Glossary(TERMS), Glossary(TERMS)), (Glossary(TERMS), TERMS)],
}


def beside(name, value) -> dict:
    """Returns the other options that an option needs to have that value."""
    return {} if value == FIELDS[name].default else COMPANIONS.get(name, {})


REALS = (float, Fraction, Decimal, np.float16, np.float32, np.float64, np.longdouble)


@st.composite
def of_any_type(draw, option, largest=100):
    """Draws (a value of the option, the same in another accepted type); integers are at most `largest`."""
    rule = option.metadata
    if rule["choices"]:
        value = draw(st.sampled_from(rule["choices"]))
        return value, draw(st.sampled_from((str, np.str_)))(value)
    if rule["read"]:
        return draw(st.sampled_from(READ[option.name]))
    if rule["low"] is None:
        value = draw(st.booleans())
        return value, draw(st.sampled_from((bool, np.bool_)))(value)
    if kind(option) is int:
        value = draw(st.integers(rule["low"], min(rule["high"], largest)))
        return value, draw(st.sampled_from(INTEGERS))(value)
    value = draw(st.sampled_from([x for x in (0.0, 0.5, 1.0, 2.0) if rule["low"] <= x <= rule["high"]]))
    return value, draw(st.sampled_from(REALS))(value)


@st.composite
def option_sets(draw, names=tuple(FIELDS), most=4, largest=100):
    """Draws (options, the same options in other accepted types)."""
    chosen = draw(st.lists(st.sampled_from(list(names)), unique=True, max_size=most))
    drawn = {name: draw(of_any_type(FIELDS[name], largest)) for name in chosen}
    return {name: plain for name, (plain, _) in drawn.items()}, {name: typed for name, (_, typed) in drawn.items()}


@st.composite
def consistent_options(draw, clusters=False):
    """Draws options without contradictions; beams and lengths are small. `clusters`: the model has some."""
    found, _ = draw(option_sets(most=len(FIELDS), largest=6))
    if found.pop("xml", False):  # most texts are not well-formed
        found["html"] = True
    found.pop("num_hypotheses" if found.get("html") else "tags", None)
    if not clusters and found.get("vocabulary") in ("clusters", "both"):
        found["vocabulary"] = "full"
    if "num_hypotheses" in found:
        found["beam_size"] = max(found.get("beam_size", 1), found["num_hypotheses"])
    of_samples = {"sampling_topp": 1, "sampling_temperature": 1, "seed": 0}
    if any(found.get(name, off) != off for name, off in of_samples.items()):
        found["sampling_topk"] = {1: 0}.get(found.get("sampling_topk", 1), found.get("sampling_topk"))
    if found.get("sampling_topk", 1) != 1:
        found.update(return_alternatives=False)
    if found.get("min_alternative_expansion_prob"):
        if found.get("sampling_topk", 1) != 1:
            del found["min_alternative_expansion_prob"]
        else:
            found["return_alternatives"] = True
    if found.get("sampling_topk", 1) != 1 or found.get("return_alternatives"):
        found["beam_size"] = 1
        found.pop("patience", None)
        if found.get("retry") == "beam":
            found["retry"] = "sentences"
    groups, penalty = found.pop("num_beam_groups", 1), found.pop("diversity_penalty", 0) or 0.5
    if found.get("beam_size", 1) == 1:
        groups = 1
    if groups > 1:
        beam = -(-found["beam_size"] // groups) * groups
        found |= {"num_beam_groups": groups, "diversity_penalty": penalty, "beam_size": beam}
    most = groups * max(1, int(found.get("beam_size", 1) // groups * (found.get("patience") or 1) + 0.5))
    if found.get("patience") and found.get("num_hypotheses", 1) > most:
        found["num_hypotheses"] = most
    if found.get("rerank") and (found.get("patience") is None or most > 1):
        wanted = max(found.get("num_candidates") or 2, found.get("num_hypotheses", 1))
        found["num_candidates"] = min(wanted, most) if found.get("patience") else wanted
        if found.get("sampling_topk", 1) == 1 and not found.get("return_alternatives"):
            found["beam_size"] = -(-max(found.get("beam_size", 1), wanted) // groups) * groups
    else:
        found |= {"rerank": None, "num_candidates": None}
    if "min_length" in found and "max_length" in found:
        found["max_length"] = max(found["max_length"], found["min_length"])
    return found
