"""The directive `ctranslate2-names`: which of CTranslate2's public names are here, asked of the code."""

import cpunmt
from docs.extensions.markdown_table import Table

# CTranslate2 4.8, ctranslate2/__init__.py and the bindings of python/cpp/translator.cc; what is for GPUs is left out.
NAMES = (
    *("Translator", "Translator.translate_batch", "Translator.translate_iterable", "Translator.translate_file"),
    *("Translator.score_batch", "Translator.score_iterable", "Translator.score_file", "Translator.generate_tokens"),
    *("Translator.load_model", "Translator.unload_model", "Translator.model_is_loaded", "Translator.compute_type"),
    *("Translator.device", "Translator.device_index", "Translator.num_translators", "Translator.num_queued_batches"),
    *(
        "Translator.num_active_batches",
        "TranslationResult",
        "ScoringResult",
        "ExecutionStats",
        "AsyncTranslationResult",
    ),
    *("AsyncScoringResult", "contains_model", "get_supported_compute_types", "set_random_seed", "set_log_level"),
    *("get_log_level", "Generator", "Encoder", "StorageView", "models", "converters", "specs"),
)
OTHERS = {"AsyncTranslationResult": "AsyncResult", "AsyncScoringResult": "AsyncResult"}  # theirs -> ours


def ctranslate2_names() -> list[list[str]]:
    """Rows (names of CTranslate2, what they are here), the first of which is the heading; Markdown."""
    told = {name: "the same" if is_here(name) else "absent" for name in NAMES}
    told |= {name: f"`{ours}`" for name, ours in OTHERS.items() if is_here(ours)}
    found = [told[name] for name in NAMES]
    kinds = sorted(set(found), key=lambda kind: (kind == "absent", kind != "the same"))
    rows = [[", ".join(f"`{name}`" for name in NAMES if told[name] == kind), kind] for kind in kinds]
    return [["CTranslate2", "here"], *rows]


def is_here(name: str) -> bool:
    """Whether cpunmt has what CTranslate2 calls `name`."""
    found = cpunmt
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def setup(app):
    """Called by Sphinx."""
    app.add_directive("ctranslate2-names", Table.of(ctranslate2_names))
    return {"parallel_read_safe": True}
