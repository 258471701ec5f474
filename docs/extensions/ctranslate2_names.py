"""The directive `ctranslate2-names`: the names of CTranslate2 that cpunmt has, read from the code."""

import inspect

import cpunmt
from cpunmt.options.foreign_names import ABSENT, CTRANSLATE2_OFF
from cpunmt.options.options import CTRANSLATE2_NAMES, OF_PIECES
from docs.extensions.markdown_table import Table

# CTranslate2 4.8, ctranslate2/__init__.py and the bindings of python/cpp/translator.cc, without names for GPUs.
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

# Arguments of its constructor, and the options of `translate_batch`.
ARGUMENTS = (
    *("model_path", "device", "device_index", "compute_type", "inter_threads", "intra_threads", "max_queued_batches"),
    *("flash_attention", "tensor_parallel", "files"),
)
OPTIONS = (
    *("source", "target_prefix", "max_batch_size", "batch_type", "asynchronous", "beam_size", "patience"),
    *("num_hypotheses", "length_penalty", "coverage_penalty", "repetition_penalty", "no_repeat_ngram_size"),
    *("disable_unk", "suppress_sequences", "end_token", "return_end_token", "prefix_bias_beta", "max_input_length"),
    *("max_decoding_length", "min_decoding_length", "use_vmap", "return_scores", "return_logits_vocab"),
    *("return_attention", "return_alternatives", "min_alternative_expansion_prob", "sampling_topk", "sampling_topp"),
    *("sampling_temperature", "replace_unknowns", "callback"),
)
# Arguments of the constructor that have one possible value, or few, because there is one CPU.
OF_ONE_VALUE = ("device", "device_index", "intra_threads", "flash_attention", "tensor_parallel", "files")


def ctranslate2_names() -> list[list[str]]:
    """Returns rows (part, names of CTranslate2, their meaning here) in Markdown; the first row is the heading."""
    rows = [["", "CTranslate2", "here"]]
    for what, names, told in (
        ("module", NAMES, _of_module),
        ("constructor", ARGUMENTS, _of_constructor),
        ("`translate_batch`", OPTIONS, _of_translate_batch),
    ):
        kinds = dict.fromkeys(map(told, names))
        for kind in sorted(kinds, key=lambda kind: (kind.startswith("refused"), kind != "the same")):
            rows.append([what, ", ".join(f"`{name}`" for name in names if told(name) == kind), kind])
    return rows


def is_here(name: str) -> bool:
    """Returns whether cpunmt has CTranslate2's `name`."""
    found = cpunmt
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def _of_module(name: str) -> str:
    if is_here(name):
        return "the same"
    if name in OTHERS and is_here(OTHERS[name]):
        return f"`{OTHERS[name]}`"
    return f"refused: {ABSENT[name]}" if name in ABSENT else "absent"


def _of_constructor(name: str) -> str:
    if name not in inspect.signature(cpunmt.Translator).parameters:
        return "absent"
    return "the same, at values that match this engine; others are refused" if name in OF_ONE_VALUE else "the same"


def _of_translate_batch(name: str) -> str:
    own = {*inspect.signature(cpunmt.Translator.translate_batch).parameters, *CTRANSLATE2_OFF, "batch_type", "use_vmap"}
    return "the same" if name in own or CTRANSLATE2_NAMES.get(name, name) in OF_PIECES else "absent"


def setup(app):
    """Registers the directive; called by Sphinx."""
    app.add_directive("ctranslate2-names", Table.of(ctranslate2_names))
    return {"parallel_read_safe": True}
