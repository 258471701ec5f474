"""Small random models in the layouts of Hugging Face's M2M-100, SMaLL-100, NLLB-200 and mBART-50, for tests."""

import json
from typing import NamedTuple

import numpy as np

from cpunmt.text.language_lists import M2M_100, MBART_50, NLLB_200
from tests.sample_models.huggingface_model import random_tensors, safetensors_bytes
from tests.sample_models.small_vocabulary import train_vocabulary

FIELDS = {
    "is_encoder_decoder": True,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "scale_embedding": True,
    "tie_word_embeddings": True,
    "num_beams": 1,
    "max_length": 200,
}
_M2M = {"model_type": "m2m_100", "activation_function": "relu", "architectures": ["M2M100ForConditionalGeneration"]}
_MBART = {"model_type": "mbart", "activation_function": "relu", "architectures": ["MBartForConditionalGeneration"]}
_SPM = {"eos_id": 2, "unk_id": 0, "bos_id": 1}
_FIRST = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = 90  # of the SentencePiece model


class Shape(NamedTuple):
    """A model: its config, its tokenizer, the pieces of its languages, and rows without a piece."""

    fields: dict
    tokenizer: dict
    languages: list
    unnamed: int
    begin: str  # whose language's piece is before a source: "source", "target" or ""
    finish: str  # behind its </s>
    prompt: bool  # the target's piece begins a translation


_TAGS = [f"__{code}__" for code in M2M_100]
SHAPES = {
    "m2m": Shape(_M2M, {"tokenizer_class": "M2M100Tokenizer"}, _TAGS, 8, "source", "", True),
    "small": Shape(
        _M2M | {"encoder_layers": 3, "decoder_layers": 1, "encoder_ffn_dim": 96},
        {"tokenizer_class": "SMALL100Tokenizer"},
        _TAGS,
        8,
        "target",
        "",
        False,
    ),
    "nllb": Shape(_M2M, {"tokenizer_class": "NllbTokenizer"}, [*NLLB_200], 2, "source", "", True),
    "nllb-legacy": Shape(
        _M2M | {"scale_embedding": False},
        {"tokenizer_class": "NllbTokenizer", "legacy_behaviour": True},
        [*NLLB_200],
        2,
        "",
        "source",
        True,
    ),
    "mbart": Shape(_MBART, {"tokenizer_class": "MBart50Tokenizer"}, [*MBART_50], 0, "source", "", True),
}


def tensors_of(fields, seed=0) -> dict[str, np.ndarray]:
    """Name -> float32 array, as `save_pretrained` names them."""
    shared = {"share_encoder_decoder_embeddings": True, "decoder_vocab_size": fields["vocab_size"]}
    found = random_tensors(fields | shared, seed, trained_on=True)
    generator, d = np.random.RandomState(seed + 1), fields["d_model"]
    found["final_logits_bias"][0, :4] = [-20, -20, 3, 0]
    for side in ("encoder", "decoder"):
        norms = ["layer_norm"] + ["layernorm_embedding"] * (fields["model_type"] == "mbart")
        for name in norms:
            found[f"model.{side}.{name}.weight"] = generator.standard_normal(d).astype(np.float32)
            found[f"model.{side}.{name}.bias"] = (generator.standard_normal(d) / 10).astype(np.float32)
        if fields["model_type"] == "mbart":
            rows = fields["max_position_embeddings"] + 2
            table = (generator.standard_normal((rows, d)) / 3).astype(np.float32)
            found[f"model.{side}.embed_positions.weight"] = table
    if fields["model_type"] == "m2m_100":
        del found["final_logits_bias"]
    return found


def write_model(folder, name="m2m", seed=0, spm=None, kind="F32", **changes) -> dict[str, int]:
    """Writes a directory; returns its table, piece -> id. `spm`: content of the SentencePiece model; None: trains it.

    `changes`: of config.json.
    """
    import sentencepiece

    shape = SHAPES[name]
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "sentencepiece.bpe.model"
    if spm is None:
        train_vocabulary(path, PIECES, **_SPM)
    else:
        path.write_bytes(spm)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [*_FIRST, *(model.id_to_piece(i) for i in range(3, model.get_piece_size()))]
    if shape.languages[0].startswith("__"):
        order = np.random.RandomState(3).permutation(len(pieces) - 4) + 4  # other ids than SentencePiece's
        pieces = [*_FIRST, *(pieces[i] for i in order)]
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
        pieces += shape.languages
    else:
        pieces += [*shape.languages, "<mask>"]
    table = {piece: i for i, piece in enumerate(pieces)}
    fields = FIELDS | shape.fields | {"vocab_size": len(pieces) + shape.unnamed} | changes
    (folder / "config.json").write_text(json.dumps(fields))
    (folder / "tokenizer_config.json").write_text(json.dumps(shape.tokenizer))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors_of(fields, seed), kind))
    return table
