"""Reads the settings of Hugging Face's MarianMT models: `config.json` and `generation_config.json`.

The network is a Marian Transformer with self-attention, with other sinusoids and another epsilon than Marian. The last
id, <pad>, is not a piece, and is left out (`stored_tensors`); so are rows behind it, which only fill up the table of a
model that was trained on. Unsupported features are refused by name.

Source: `models/marian/` in https://github.com/huggingface/transformers.
"""

import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import optional_json
from cpunmt.model.config import SEARCH_NUMBERS, ModelConfig
from cpunmt.text.vocabularies.tokenizer_json import NAME as TOKENIZER
from cpunmt.text.vocabularies.tokenizer_json import read_tokenizer_json

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
# option -> the only values that are supported, the first being the default
_ARCHITECTURE: dict[str, tuple[Any, ...]] = {
    "model_type": ("marian",),
    "is_encoder_decoder": (True,),
    "activation_function": ("gelu", *ACTIVATIONS),
    "add_bias_logits": (False,),  # of BART; Marian's bias is always there
    "add_final_layer_norm": (False,),
    "extra_pos_embeddings": (0, None),
    "normalize_before": (False,),
    "normalize_embedding": (False,),
    "quantization_config": (None,),
    "static_position_embeddings": (True,),
}
SEARCH: dict[str, tuple[Any, ...]] = {
    "begin_suppress_tokens": (None, []),
    "constraints": (None,),
    "diversity_penalty": (0.0, None),
    "do_sample": (False, None),
    "encoder_no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1.0, None),
    "exponential_decay_length_penalty": (None,),
    "force_words_ids": (None,),
    "forced_bos_token_id": (None,),
    "forced_decoder_ids": (None, []),
    "guidance_scale": (None, 1.0),
    "min_length": (0, None),
    "min_new_tokens": (None, 0),
    "num_beam_groups": (1, None),
    "penalty_alpha": (None, 0),
    "repetition_penalty": (1.0, None),
    "sequence_bias": (None, {}, []),
    "stop_strings": (None, []),
    "suppress_tokens": (None, []),
}
SIZES: tuple[str, ...] = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "encoder_ffn_dim")
SIZES += ("decoder_attention_heads", "decoder_ffn_dim", "vocab_size")
MAX_JSON = 4 << 20  # bytes of added_tokens.json and tokenizer_config.json: NLLB's has 70 KiB
_MAX_ADDED = 10_000
_ID = re.compile(r"[0-9]{1,7}")
_PAD = "<pad>"
_SIGNAL = "tensor2tensor"  # the sinusoids
_DEFAULT_PAD = 58100  # of MarianConfig


def read_huggingface_config(
    fields: Mapping[str, Any],
    generation: Mapping[str, Any],
    unk_id: int,
    shared_vocabulary: bool,
    where: str,
    pieces: Mapping[str, int] | None = None,
) -> ModelConfig:
    """Returns the architecture, and the search settings of `generation_config.json` (or `config.json` in its place).

    Parameters
    ----------
    fields : content of `config.json`
    generation : content of `generation_config.json`; empty without one
    where : the directory
    pieces : table of the target's vocabulary; None: it is not known, and only ids can be checked

    Raises
    ------
    ModelFileError
        Lists every option that is not supported or not possible.
    """
    problems = unsupported(fields, _ARCHITECTURE, "config.json")
    sizes: dict[str, Any] = {name: fields.get(name) for name in SIZES}
    problems += wrong_sizes(fields)
    flags = flag_fields(
        fields, problems, share_encoder_decoder_embeddings=True, tie_word_embeddings=True, scale_embedding=False
    )
    shared = flags["share_encoder_decoder_embeddings"]
    size: Any = sizes["vocab_size"]
    target_size: Any = fields.get("decoder_vocab_size") or size
    pad = fields.get("pad_token_id", _DEFAULT_PAD)
    left_out = 1
    if pieces and shared_vocabulary and type(size) is int and target_size == size and pieces.get(_PAD) == pad:
        left_out = max(1, size - max(pieces.values()))
    if type(target_size) is not int or not 2 <= target_size <= 1 << 22 or (shared and target_size != size):
        problems.append(
            f"config.json: decoder_vocab_size is {reprlib.repr(target_size)}, vocab_size {reprlib.repr(size)}; "
            "expected the same number for one embedding"
        )
    else:
        if type(size) is int and not (type(pad) is int and pad == size - left_out):
            problems.append(
                f"config.json: pad_token_id is {reprlib.repr(pad)} of {size} pieces, expected the last id; pieces that "
                "were added behind it are not supported"
            )
        last = pieces.get(_PAD, target_size - left_out) if pieces else target_size - left_out
        if last != target_size - left_out:
            problems.append(
                f"the target's vocabulary has {_PAD} as id {last} of {target_size} pieces, expected the last id; "
                "pieces that were added behind it are not supported"
            )
        start = start_id(fields, generation)
        if type(start) is not int or not 0 <= start < target_size:
            problems.append(
                f"decoder_start_token_id is {reprlib.repr(start)}, expected an id of the {target_size} target pieces"
            )
    file, given = ("generation_config.json", generation) if generation else ("config.json", fields)
    search = _search(fields, generation, file, problems)
    if type(target_size) is int:
        first = target_size - left_out
        search["suppress_sequences"] = suppressed_pieces(
            given.get("bad_words_ids"),
            lambda id_: id_ == unk_id or first <= id_ < target_size,
            search.get("eos_id"),
            pieces,
            file,
            problems,
        )
    problems += unsupported(given, SEARCH, file, "; remove it: nothing but beam search is done")
    if problems:
        raise ModelFileError(f"{where}: not supported: {'; '.join(problems)}")
    try:
        return ModelConfig.of(
            model_dim=sizes["d_model"],
            ffn_dim=sizes["encoder_ffn_dim"],
            decoder_ffn_dim=None if sizes["decoder_ffn_dim"] == sizes["encoder_ffn_dim"] else sizes["decoder_ffn_dim"],
            heads=sizes["encoder_attention_heads"],
            encoder_layers=sizes["encoder_layers"],
            decoder_parameters=tuple(range(min(sizes["decoder_layers"], 1 << 8))),
            vocab_size=target_size - left_out,
            source_vocab_size=None if size == target_size else size - 1,
            shared_vocabulary=shared_vocabulary,
            shared_embedding=shared,
            tied_output=flags["tie_word_embeddings"],
            scale_embedding=flags["scale_embedding"],
            positions=_SIGNAL,
            activation=ACTIVATIONS[fields.get("activation_function", "gelu")],
            cell="self_attention",
            layer_norm_epsilon=1e-5,
            unk_id=unk_id,
            **search,
        )
    except ModelFileError as error:
        raise ModelFileError(f"{where}: config.json: {error}") from None


def wrong_sizes(fields: Mapping[str, Any]) -> list[str]:
    """Reports the sizes of config.json that are missing or impossible."""
    problems = [
        f"config.json: {name} is {reprlib.repr(fields.get(name))}, expected a number from 1 to {1 << 22}"
        for name in SIZES
        if type(fields.get(name)) is not int or not 1 <= fields[name] <= 1 << 22
    ]
    if fields.get("encoder_attention_heads") != fields.get("decoder_attention_heads"):
        problems.append("config.json: encoder and decoder have different numbers of attention heads")
    return problems


def flag_fields(fields: Mapping[str, Any], problems: list[str], **defaults: bool) -> dict[str, bool]:
    """Returns the switches of config.json with these defaults; adds wrong values to the problems."""
    flags: dict[str, bool] = {name: fields.get(name, default) for name, default in defaults.items()}
    problems += [f"config.json: {name} is {reprlib.repr(flags[name])}, expected true or false" for name in flags
                 if not isinstance(flags[name], bool)]  # fmt: skip
    return flags


def first_given(names: tuple[str, ...], default: Any, *places: Mapping[str, Any]) -> Any:
    """Returns the first value that is not null: of a name in all places, then of the next name; of a list of one id
    this id."""
    found = (place.get(name) for name in names for place in places)
    value = next((value for value in found if value is not None), default)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def start_id(fields: Mapping[str, Any], generation: Mapping[str, Any]) -> Any:
    """Returns the id whose row of the target's table is the decoder's first input."""
    default = fields.get("pad_token_id", _DEFAULT_PAD)
    return first_given(("decoder_start_token_id",), default, generation, fields)


def _search(fields: Mapping[str, Any], generation: Mapping[str, Any], file: str, problems: list[str]) -> dict[str, Any]:
    """Returns the config's fields for the search."""
    given = dict(generation or fields)
    longest = 512 if given.get("max_length") is None else given["max_length"]
    positions = fields.get("max_position_embeddings", 1024)
    for name, value in (("max_length", longest), ("max_position_embeddings", positions)):
        if type(value) is not int or value < 2:
            problems.append(f"{name} is {reprlib.repr(value)}, expected a number from 2")
            return {}
    eos = first_given(("eos_token_id",), 0, fields)
    ended = [first_given((name,), eos, generation, fields) for name in ("eos_token_id", "forced_eos_token_id")]
    if ended != [eos, eos]:
        problems.append(f"{file}: eos_token_id and forced_eos_token_id differ, expected {reprlib.repr(eos)}")
    return {
        "eos_id": eos,
        "max_source_length": min(longest, positions, 4096),
        "max_length": most_pieces(given, file, 1, positions, problems),
        **beam_search(given),
    }


def most_pieces(given: Mapping[str, Any], file: str, first: int, most: int, problems: list[str]) -> int | None:
    """Returns the limit of a translation's pieces, with </s>; None without one.

    max_new_tokens overrides max_length. `first`: number of the decoder's first inputs that are not pieces of a
    translation: max_length counts all of them, max_new_tokens all but one. `most`: of max_length.
    """
    for name, counted in (("max_new_tokens", first - 1), ("max_length", first)):
        if (value := given.get(name)) is None:
            continue
        if type(value) is not int or value <= counted:
            problems.append(f"{file}: {name} is {reprlib.repr(value)}, expected a number from {counted + 1}")
            return None
        return min(value - counted, most - first, (1 << 16) - first)
    return None


def beam_search(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the config's fields for a file's settings of the search, except for lengths."""
    keys = {name: name for name in SEARCH_NUMBERS} | {"beam_size": "num_beams"}
    return {name: given[key] for name, key in keys.items() if given.get(key) is not None}


def suppressed_pieces(
    sequences: Any,
    never: Callable[[int], bool],
    eos_id: Any,
    pieces: Mapping[str, int] | None,
    file: str,
    problems: list[str],
) -> tuple[tuple[str, ...], ...] | None:
    """Returns the sequences of pieces that no translation may contain, without those of a piece that is `never`
    chosen, and without </s> alone, which transformers ignores too."""
    if not sequences:
        return None
    lists = isinstance(sequences, list) and all(isinstance(ids, list) for ids in sequences)
    if not lists or not all(type(id_) is int for ids in sequences for id_ in ids):
        problems.append(f"{file}: bad_words_ids is {reprlib.repr(sequences)}, expected lists of ids")
        return None
    wanted = [ids for ids in sequences if not any(map(never, ids)) and ids != [eos_id]]
    if not wanted:
        return None
    if ended := [ids for ids in wanted if eos_id in ids]:
        problems.append(
            f"{file}: bad_words_ids has {reprlib.repr(ended[0])}, and {eos_id} ends a translation; remove the sequence"
        )
        return None
    names = {id_: piece for piece, id_ in (pieces or {}).items()}
    unknown = [ids for ids in wanted if not ids or not names.keys() >= set(ids)]
    if unknown:
        problems.append(
            f"{file}: bad_words_ids has {reprlib.repr(unknown[0])}, expected ids of the target's vocabulary; remove it"
        )
        return None
    return tuple(tuple(names[id_] for id_ in ids) for ids in wanted)


def pieces_file(folder: Path, name: str) -> Path:
    """Returns the file of the SentencePiece model, `name`, or tokenizer.json in its place. Raises ModelFileError."""
    for file in (folder / name, folder / TOKENIZER):
        if file.is_file():
            return file
    raise ModelFileError(
        f"{folder}: {name} is missing, and so is {TOKENIZER}; expected the SentencePiece model of the tokenizer, which "
        "is in the repository of the original model"
    )


def added_pieces(folder: Path, tokenizer: Mapping[str, Any], name: str) -> dict[str, int]:
    """Returns the pieces that files of the tokenizer add to the SentencePiece model `name`, and their ids.

    `tokenizer`: the content of tokenizer_config.json. Raises ModelFileError for a damaged list.
    """
    found: dict[Any, Any] = dict(optional_json(folder / "added_tokens.json", "config", MAX_JSON))
    listed = tokenizer.get("added_tokens_decoder")
    if isinstance(listed, dict):
        for id_, entry in listed.items():
            piece = entry.get("content") if isinstance(entry, dict) else None
            found[piece] = int(id_) if _ID.fullmatch(id_) else id_
    if not (folder / name).is_file() and (folder / TOKENIZER).is_file():
        found |= read_tokenizer_json(folder / TOKENIZER).added
    wrong = [f"{piece!r}: {id_!r}"[:80] for piece, id_ in found.items()
             if not (isinstance(piece, str) and type(id_) is int and 0 <= id_ < 1 << 22)]  # fmt: skip
    if wrong or len(found) > _MAX_ADDED:
        problem = f"has {wrong[0]}, expected a piece and its id" if wrong else f"has over {_MAX_ADDED} pieces"
        raise ModelFileError(f"{folder}: the list of added pieces {problem}; fetch the tokenizer of this model again")
    return found


def unsupported(
    fields: Mapping[str, Any], supported: Mapping[str, tuple[Any, ...]], file: str, advice: str = ""
) -> list[str]:
    """Reports options of a file with other values than the `supported` ones; of each the first is the default."""
    found = []
    for name, values in supported.items():
        value = fields.get(name, values[0])
        if not any(value == one and (isinstance(value, bool) == isinstance(one, bool)) for one in values):
            expected = " or ".join(dict.fromkeys(map(repr, values)))
            found.append(f"{file}: {name} is {reprlib.repr(value)}, supported is {expected}{advice}")
    return found
