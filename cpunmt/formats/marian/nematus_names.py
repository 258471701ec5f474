"""Maps the names in files of Nematus and of amun to Marian's.

The unused parameter `decoder_c_tt` marks such files. Nematus' own have no options inside: the architecture is found
from names and shapes.

Sources: Marian's `src/models/amun.h` and `nematus.h` (https://github.com/marian-nmt/marian-dev), Nematus'
`nematus/nmt.py` (https://github.com/EdinburghNLP/nematus).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import Array, Weight

MARK = "decoder_c_tt"
IGNORED = frozenset([MARK, "uidx", "history_errs"])  # of the training, in whatever form
_INPUTS = {"prev": 0, "lstm": 1, "ctx": 2}
_NORM = r"(_ln[sb])?"
_RULES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (  # (pattern, the name for a match)
    (
        rf"encoder(_r)?_(Ux?|Wx?|bx?|gamma[12])(?:_drt_([0-9]{{1,2}}))?{_NORM}",
        lambda m: f"encoder_bi{m[1] or ''}{_place(m[3], 1)}_{m[2]}{m[4] or ''}",
    ),
    (rf"decoder_(Ux?|Wx?|bx?){_NORM}", lambda m: f"decoder_cell1_{m[1]}{m[2] or ''}"),
    (
        rf"decoder_(Ux?|bx?)_nl(?:_drt_([0-9]{{1,2}}))?{_NORM}",
        lambda m: f"decoder{_place(m[2] or '0', 2)}_{m[1]}{m[3] or ''}",
    ),
    (rf"decoder_Wc(x?){_NORM}", lambda m: f"decoder_cell2_W{m[1]}{m[2] or ''}"),
    (r"ff_logit_(prev|lstm|ctx)_(W|b|ln_s|ln_b)", lambda m: f"decoder_ff_logit_l1_{m[2]}{_INPUTS[m[1]]}"),
    (r"ff_logit_l1_gamma([012])", lambda m: f"decoder_ff_logit_l1_gamma{m[1]}"),
    (r"ff_logit_([Wb])", lambda m: f"decoder_ff_logit_l2_{m[1]}"),
    (r"ff_state_(W|b|gamma|ln_s|ln_b)", lambda m: f"decoder_ff_state_{m[1]}"),
    (r"Wemb_dec", lambda m: "decoder_Wemb"),
)


def _place(number: str | None, first: int) -> str:
    """Returns the place of a cell after others in one step; empty for the first."""
    return "" if number is None else f"_cell{int(number) + first}"


def renamed(arrays: Mapping[str, Weight], options: Mapping[str, Any], where: str) -> dict[str, Weight]:
    """Returns the arrays of such a file under Marian's names.

    Raises ModelFileError for two arrays of one parameter.
    """
    found: dict[str, Weight] = {}
    meant: dict[str, str] = {}
    for name, array in arrays.items():
        if name in IGNORED:
            continue
        other = meant.setdefault(_renamed(name), name)
        if other != name:
            raise ModelFileError(f"{where}: {other} and {name} are the same parameter; export the model again")
        found[_renamed(name)] = array
    if not (options.get("tied-embeddings-src") or options.get("tied-embeddings-all")) and "Wemb" in found:
        found["encoder_Wemb"] = found.pop("Wemb")
    return found


def _renamed(name: str) -> str:
    for pattern, made in _RULES:
        match = re.fullmatch(pattern, name)
        if match:
            return made(match)
    return name


def options_of(arrays: Mapping[str, Array], where: str) -> dict[str, Any]:
    """Returns the options that Marian would write for a file of Nematus, which has no options.

    Raises ModelFileError if it lacks the arrays that determine them.
    """
    found = {_renamed(name): array for name, array in arrays.items()}
    shapes: dict[str, tuple[int, ...]] = {}
    for name in ("Wemb", "decoder_ff_state_W"):
        shapes[name] = getattr(found.get(name), "shape", ())
        if len(shapes[name]) != 2:
            raise ModelFileError(
                f"{where}: holds no special:model.yml, and no matrix {name}; expected a model.npz written by Marian "
                "1.0 or newer, or by Nematus"
            )
    shared, tied = "decoder_Wemb" not in found, "decoder_ff_logit_l2_W" not in found
    bias = found.get("decoder_ff_logit_l2_b")
    norms = any(name.endswith("_lns") for name in found)
    return {
        "type": "nematus" if norms else "amun",
        "dim-vocabs": [shapes["Wemb"][0], shapes["Wemb"][0] if bias is None else bias.size],
        "dim-emb": shapes["Wemb"][1],
        "dim-rnn": shapes["decoder_ff_state_W"][1],
        "enc-cell": "gru-nematus" if norms else "gru",
        "dec-cell": "gru-nematus" if norms else "gru",
        "enc-cell-depth": _cells(found, "encoder_bi"),
        "dec-cell-base-depth": max(2, _cells(found, "decoder")),
        "layer-normalization": norms or "encoder_bi_gamma2" in found,
        "tied-embeddings-src": shared,
        "tied-embeddings": tied,
    }


def _cells(names: Iterable[str], prefix: str) -> int:
    """Counts the cells of a layer."""
    return max([1, *(int(m[1]) for name in names if (m := re.fullmatch(rf"{prefix}_cell([0-9]{{1,3}})_U", name)))])
