"""Reads Hugging Face's models of many languages: M2M-100, SMaLL-100, NLLB-200 and mBART-50.

config.json                     model_type m2m_100 or mbart
model.safetensors, ...          weights, see weight_files
generation_config.json          settings of the search; may be absent
sentencepiece.bpe.model         cuts text into pieces; or tokenizer.json, where transformers 5 saved it in its place
vocab.json                      M2M-100 and SMaLL-100: piece -> id. The others have the ids of the SentencePiece model
                                and 1, after <s>, <pad>, </s> and <unk>
tokenizer_config.json           the tokenizer's class, languages that were added; may be absent
added_tokens.json               the same; may be absent

The pieces of the languages follow those of the files; the tokenizers know them (`formats.language_families`). Further
rows of the weights have no piece; as in CTranslate2 they get one that no text has, `madeupword0`.

The network is a Transformer whose blocks normalize their input. Every row of the table takes part in the softmax. The
decoder's first input is the row of </s>. Positions are sinusoids, of mBART trained tables.

Source: `models/{m2m_100,nllb,mbart,mbart50}/` in https://github.com/huggingface/transformers.
"""

import os
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import optional_json
from cpunmt.formats.foreign_model import ForeignModel, VocabularyFiles
from cpunmt.formats.huggingface.huggingface import (
    ACTIVATIONS,
    MAX_JSON,
    SEARCH,
    added_pieces,
    beam_search,
    first_given,
    flag_fields,
    most_pieces,
    pieces_file,
    suppressed_pieces,
    unsupported,
    wrong_sizes,
)
from cpunmt.formats.huggingface.stored_tensors import TABLES, stored_tensors
from cpunmt.formats.huggingface.weight_files import FloatTensors, read_weights, stored_type
from cpunmt.formats.language_families import (
    M2M,
    MBART,
    NLLB,
    WMT,
    Family,
    is_small,
    language_metadata,
    languages_in,
    with_languages,
)
from cpunmt.model.config import ModelConfig
from cpunmt.text.vocabularies.piece_table import UNNAMED, read_table
from cpunmt.text.vocabularies.table_vocabulary import special_ids
from cpunmt.text.vocabularies.tokenizer_json import NAME as TOKENIZER
from cpunmt.text.vocabularies.vocabulary import load_processor

MODEL_TYPES = ("m2m_100", "mbart")
PIECES, TABLE = "sentencepiece.bpe.model", "vocab.json"
_ARCHITECTURE: dict[str, tuple[Any, ...]] = {
    "model_type": MODEL_TYPES,
    "is_encoder_decoder": (True,),
    "activation_function": ("relu", *ACTIVATIONS),
    "quantization_config": (None,),
}
_GENERATION = {name: values for name, values in SEARCH.items() if name != "forced_bos_token_id"}
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # the ids of NLLB and mBART, before the pieces of their SentencePiece model
_CONTROLS = 3  # pieces at the beginning of such a model, <unk>, <s>, </s>; tokenizer.json has _FIRST
_MASK = "<mask>"
_MOST_SOURCE = 512  # pieces of a source: NLLB's longest in training
_MAX_UNNAMED = 10_000  # rows that only fill up a table: M2M-100 has 8
_GENERIC = ("pretrainedtokenizer", "tokenizersbackend")  # classes that say nothing of the family
Table = dict[str, int]


def read_directory(folder: Path, weights: Path, fields: Mapping[str, Any]) -> ForeignModel:
    """Reads a directory, given its file of weights and its config. Raises ModelFileError."""
    generation, tokenizer = _other_configs(folder)
    family = family_of(folder, fields, tokenizer)
    table = _table(folder, family, tokenizer)
    arrays = read_weights(weights)
    config = _config(folder, fields, generation, arrays, table)
    languages = _languages(family, table)
    config = with_languages(config, family, languages, tokenizer)
    forced = _forced(folder, fields, generation, languages, table)
    config = config.changed(target_lang=forced)
    config, tensors = stored_tensors(config, arrays, os.fspath(weights), config.eos_id)
    files = VocabularyFiles(pieces_file(folder, PIECES), None, table)
    metadata = language_metadata(family, languages, config.source_tag == "target", forced)
    return ForeignModel(config, tensors, None, weights, files, files, None, metadata, stored_type(arrays))


def read_metadata(folder: Path, fields: Mapping[str, Any]) -> dict[str, str]:
    """Returns the languages of a model. Raises ModelFileError."""
    generation, tokenizer = _other_configs(folder)
    family = family_of(folder, fields, tokenizer)
    table = _table(folder, family, tokenizer)
    languages = _languages(family, table)
    small = family is M2M and is_small(tokenizer, (fields.get("encoder_layers"), fields.get("decoder_layers")))
    return language_metadata(family, languages, small, _forced(folder, fields, generation, languages, table))


def _other_configs(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the content of generation_config.json and of tokenizer_config.json."""
    generation, tokenizer = (
        optional_json(folder / f"{name}_config.json", "config", MAX_JSON) for name in ("generation", "tokenizer")
    )
    return generation, tokenizer


def family_of(folder: Path, fields: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> Family:
    """Returns the family of a model. Raises ModelFileError for a tokenizer of another one."""
    kind = tokenizer.get("tokenizer_class") or fields.get("tokenizer_class")
    name = kind.lower().removesuffix("fast") if isinstance(kind, str) else ""
    name = "" if name in _GENERIC else name
    if fields.get("model_type") == "mbart":
        if name not in ("", "mbart50tokenizer"):
            raise ModelFileError(
                f"{folder}: not supported: the tokenizer {reprlib.repr(kind)} of mBART, whose decoder starts with the "
                "language; expected MBart50Tokenizer, of a model such as mbart-large-50-many-to-many-mmt"
            )
        return MBART
    if name == "nllbtokenizer" or (not name and not (folder / TABLE).exists()):
        return NLLB
    return WMT if tokenizer.get("language_codes") == "wmt21" else M2M


def _languages(family: Family, table: Table) -> tuple[str, ...]:
    """Returns the pieces that name languages, which follow those of texts."""
    first = table[family.pieces[0]]
    return languages_in(family, (piece for piece, id_ in table.items() if id_ >= first))


def _table(folder: Path, family: Family, tokenizer: Mapping[str, Any]) -> Table:
    """Returns piece -> id of the tokenizer, with the languages and the pieces that were added, in the order of ids."""
    pieces_path = pieces_file(folder, PIECES)
    if family in (M2M, WMT):
        table = read_table(folder / TABLE)
        first = len(table)
        named = family.pieces
    else:
        processor = load_processor(pieces_path)
        controls = len(_FIRST) if pieces_path.name == TOKENIZER else _CONTROLS
        pieces = [processor.id_to_piece(id_) for id_ in range(controls, processor.get_piece_size())]
        table = {piece: id_ for id_, piece in enumerate((*_FIRST, *pieces))}
        first = len(_FIRST) + len(pieces)
        if len(table) != first:
            raise ModelFileError(f"{pieces_path}: a piece occurs twice, or is one of {', '.join(_FIRST)}")
        named = (*family.pieces, _MASK)
    table |= {piece: first + number for number, piece in enumerate(named)}
    for piece, id_ in added_pieces(folder, tokenizer, PIECES).items():
        if table.get(piece, id_) != id_:
            raise ModelFileError(
                f"{folder}: the added piece {piece[:80]!r} has id {id_}, expected {table[piece]}; fetch the tokenizer "
                "of this model again"
            )
        table[piece] = id_
    if len(set(table.values())) < len(table):
        raise ModelFileError(f"{folder}: two pieces have one id; fetch the tokenizer of this model again")
    return dict(sorted(table.items(), key=lambda entry: entry[1]))


def _config(
    folder: Path, fields: Mapping[str, Any], generation: Mapping[str, Any], arrays: FloatTensors, table: Table
) -> ModelConfig:
    """Returns the config, without the languages; adds pieces to the table for rows of the weights that have none."""
    is_mbart = fields["model_type"] == "mbart"
    problems = unsupported(fields, _ARCHITECTURE, "config.json") + wrong_sizes(fields)
    flags = flag_fields(fields, problems, tie_word_embeddings=True, scale_embedding=not is_mbart)
    positions = fields.get("max_position_embeddings", 1024)
    if type(positions) is not int or not 8 <= positions <= 1 << 16:
        problems.append(f"config.json: max_position_embeddings is {reprlib.repr(positions)}, expected 8 to {1 << 16}")
        positions = 1024
    file, given = ("generation_config.json", generation) if generation else ("config.json", fields)
    problems += unsupported(given, _GENERATION, file, "; remove it: nothing but beam search is done")
    eos_id, unk_id = special_ids(table, folder)
    for name, default in (("decoder_start_token_id", None if is_mbart else eos_id), ("eos_token_id", eos_id)):
        value = first_given((name,), default, generation, fields)
        if value != eos_id:
            problems.append(f"{name} is {reprlib.repr(value)}, expected {eos_id}, the id of </s>")
    if first_given(("forced_eos_token_id",), eos_id, generation, fields) != eos_id:
        problems.append(f"forced_eos_token_id differs from eos_token_id, expected {eos_id}")
    size, last = fields.get("vocab_size"), max(table.values())
    shape = next((arrays[name].shape for name in TABLES if name in arrays), None)
    if type(size) is int and shape == (size, fields.get("d_model")):
        if last >= size:
            problems.append(f"config.json: vocab_size is {size}, but the tokenizer has ids up to {last}")
        elif size - len(table) > _MAX_UNNAMED:  # a row of one number costs a file 2 bytes, its piece 200
            problems.append(
                f"config.json: vocab_size is {size}, but the tokenizer has {len(table)} pieces, expected at most "
                f"{_MAX_UNNAMED} rows without one"
            )
        else:
            _name_rows(table, size)
    else:
        problems.append(f"config.json: vocab_size is {reprlib.repr(size)}, but the embedding has shape {shape}")
    longest = most_pieces(given, file, 2, positions, problems)  # the first input, and the language
    sequences = suppressed_pieces(given.get("bad_words_ids"), {unk_id}.__contains__, eos_id, table, file, problems)
    if problems:
        raise ModelFileError(f"{folder}: not supported: {'; '.join(problems)}")
    widths = fields["encoder_ffn_dim"], fields["decoder_ffn_dim"]
    try:
        return ModelConfig.of(
            model_dim=fields["d_model"],
            ffn_dim=widths[0],
            decoder_ffn_dim=None if widths[0] == widths[1] else widths[1],
            heads=fields["encoder_attention_heads"],
            encoder_layers=fields["encoder_layers"],
            decoder_parameters=tuple(range(min(fields["decoder_layers"], 1 << 8))),
            vocab_size=size,
            tied_output=flags["tie_word_embeddings"],
            scale_embedding=flags["scale_embedding"],
            positions="trained" if is_mbart else "fairseq",
            target_positions=is_mbart,
            activation=ACTIVATIONS[fields.get("activation_function", "gelu" if is_mbart else "relu")],
            preprocess="n",
            postprocess="a",
            embedding_norm=is_mbart,
            top_norm=True,
            cell="self_attention",
            start_vector=True,
            layer_norm_epsilon=1e-5,
            eos_id=eos_id,
            unk_id=unk_id,
            max_source_length=min(positions, _MOST_SOURCE),
            max_length=longest,
            **beam_search(given),
            suppress_sequences=sequences,
        )
    except ModelFileError as error:
        raise ModelFileError(f"{folder}: config.json: {error}") from None


def _name_rows(table: Table, size: int) -> None:
    """Adds a piece for each id below `size` that has none."""
    unnamed = sorted(set(range(size)) - set(table.values()))
    for number, id_ in enumerate(unnamed):
        table[UNNAMED.format(number)] = id_


def _forced(
    folder: Path, fields: Mapping[str, Any], generation: Mapping[str, Any], languages: tuple[str, ...], table: Table
) -> str | None:
    """Returns the piece of the language that every translation is in; None if there may be several."""
    forced = generation.get("forced_bos_token_id", fields.get("forced_bos_token_id"))
    if not forced:
        return None
    ids = {table[piece]: piece for piece in languages}
    if type(forced) is not int or forced not in ids:
        raise ModelFileError(
            f"{folder}: forced_bos_token_id is {reprlib.repr(forced)}, expected the id of a language's piece"
        )
    return ids[forced]
