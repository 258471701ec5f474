"""Small random models in the layouts of Hugging Face's M2M-100, SMaLL-100, NLLB-200 and mBART-50, for tests."""

import json
from typing import NamedTuple

import numpy as np

from cpunmt.text.languages.lists import M2M_100, MBART_50, NLLB_200
from cpunmt.text.vocabularies.vocabulary import load_processor
from tests.sample_models.ctranslate2_writer import stored_as, write_ctranslate2
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


def put_tokenizer_json(file, first, languages=()) -> None:
    """Replaces a SentencePiece model by tokenizer.json, as transformers 5 saves it; `first`: the first pieces."""
    processor = load_processor(file)
    pieces = [processor.id_to_piece(id_) for id_ in range(processor.get_piece_size())]
    scores = [[piece, processor.get_score(id_)] for id_, piece in enumerate(pieces) if piece not in (*first, "<s>")]
    ids = [*enumerate(first), *enumerate(languages, len(first) + len(scores))]
    fields = {
        "added_tokens": [{"id": id_, "content": piece, "special": True} for id_, piece in ids],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "vocab": [*([piece, 0.0] for piece in first), *scores, *([piece, 0.0] for piece in languages)],
        },
    }
    file.unlink()
    file.with_name("tokenizer.json").write_text(json.dumps(fields))


def ctranslate2_variables(fields, tensors) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns the variables of a model.bin, and their aliases, as CTranslate2's converter names them."""
    found, d = {}, fields["d_model"]

    def linear(ours, *theirs):
        for part in ("weight", "bias"):
            found[f"{ours}/{part}"] = np.concatenate([tensors[f"{name}.{part}"] for name in theirs])

    def norm(ours, theirs):
        found[f"{ours}/gamma"], found[f"{ours}/beta"] = tensors[f"{theirs}.weight"], tensors[f"{theirs}.bias"]

    is_mbart = fields["model_type"] == "mbart"
    rates = np.exp(-np.log(10000) * np.arange(d // 2) / (d // 2 - 1))
    angles = np.arange(2, fields["max_position_embeddings"] + 2)[:, None] * rates
    sinusoids = np.hstack([np.sin(angles), np.cos(angles)]).astype(np.float32)
    for side in ("encoder", "decoder"):
        found[f"{side}/num_heads"] = np.int16(fields[f"{side}_attention_heads"])
        found |= {f"{side}/pre_norm": np.int8(1), f"{side}/activation": np.int8(0)}
        found[f"{side}/scale_embeddings"] = np.float32(d**0.5 if fields["scale_embedding"] else 1)
        learned = tensors.get(f"model.{side}.embed_positions.weight")
        found[f"{side}/position_encodings/encodings"] = sinusoids if learned is None else learned[2:]
        norm(f"{side}/layer_norm", f"model.{side}.layer_norm")
        if is_mbart:
            norm(f"{side}/layernorm_embedding", f"model.{side}.layernorm_embedding")
        for i in range(fields[f"{side}_layers"]):
            ours, theirs = f"{side}/layer_{i}", f"model.{side}.layers.{i}"
            own, other = f"{theirs}.self_attn", f"{theirs}.encoder_attn"
            norm(f"{ours}/self_attention/layer_norm", f"{own}_layer_norm")
            linear(f"{ours}/self_attention/linear_0", *(f"{own}.{part}_proj" for part in "qkv"))
            linear(f"{ours}/self_attention/linear_1", f"{own}.out_proj")
            if side == "decoder":
                norm(f"{ours}/attention/layer_norm", f"{other}_layer_norm")
                linear(f"{ours}/attention/linear_0", f"{other}.q_proj")
                linear(f"{ours}/attention/linear_1", f"{other}.k_proj", f"{other}.v_proj")
                linear(f"{ours}/attention/linear_2", f"{other}.out_proj")
            norm(f"{ours}/ffn/layer_norm", f"{theirs}.final_layer_norm")
            linear(f"{ours}/ffn/linear_0", f"{theirs}.fc1")
            linear(f"{ours}/ffn/linear_1", f"{theirs}.fc2")
    found |= {"encoder/embeddings_merge": np.int8(0), "decoder/start_from_zero_embedding": np.int8(0)}
    found |= {"decoder/alignment_layer": np.int16(-1), "decoder/alignment_heads": np.int16(1)}
    found["decoder/embeddings/weight"] = tensors["model.shared.weight"]
    if "final_logits_bias" in tensors:
        found["decoder/projection/bias"] = tensors["final_logits_bias"][0]
    names = ("encoder/embeddings_0/weight", "decoder/projection/weight")
    return found, dict.fromkeys(names, "decoder/embeddings/weight")


def write_ctranslate2_model(
    folder, name, seed=0, spm=None, kind="float32", with_tokenizer=True, is_biased=False
) -> list[str]:
    """Writes the model of `write_model` as CTranslate2's converter does; returns its pieces.

    `with_tokenizer`: tokenizer_config.json lies beside it, which the converter can copy. `is_biased`: against <pad> and
    <unk>, so that no search chooses them.
    """
    table = write_model(folder / "source", name, seed, spm)
    source, folder = folder / "source", folder / "converted"
    fields, shape = json.loads((source / "config.json").read_text()), SHAPES[name]
    pieces = [*table, *(f"madeupword{i}" for i in range(shape.unnamed))]
    variables, aliases = ctranslate2_variables(fields, tensors_of(fields, seed))
    if is_biased:
        bias = variables.get("decoder/projection/bias", np.zeros(fields["vocab_size"], np.float32))
        variables["decoder/projection/bias"] = bias - 30 * np.isin(np.arange(len(bias)), (1, 3)).astype(np.float32)
    config = {"decoder_start_token": "</s>", "layer_norm_epsilon": None}
    write_ctranslate2(folder, [pieces], stored_as(variables, kind), aliases, config=config)
    names = ["sentencepiece.bpe.model"] + ["tokenizer_config.json"] * with_tokenizer
    for file in names:
        (folder / file).write_bytes((source / file).read_bytes())
    return pieces
