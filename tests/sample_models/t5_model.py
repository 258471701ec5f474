"""Small random models in the layout of Hugging Face's T5, for tests: weights from seeds that never change."""

import json

import numpy as np

from tests.sample_models.huggingface_model import safetensors_bytes
from tests.sample_models.small_vocabulary import train_vocabulary

LANGUAGES = ["<2de>", "<2en>"]
_SPIECE = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
_SPIECE_MADLAD = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
SIZE, ROWS = 84, 96  # pieces, and rows of the tables
FIELDS = {
    "model_type": "t5",
    "is_encoder_decoder": True,
    "architectures": ["T5ForConditionalGeneration"],
    "d_model": 32,
    "d_kv": 16,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "feed_forward_proj": "relu",
    "layer_norm_epsilon": 1e-6,
    "vocab_size": ROWS,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "dropout_rate": 0.1,
}
_GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
SHAPES = {
    "t5": {},
    "t5 1.1": _GATED | {"num_heads": 3, "num_decoder_layers": 1, "relative_attention_num_buckets": 32}
    | {"relative_attention_max_distance": 128},
    # its file has no shared.weight, and the decoder starts with the row of <unk>
    "madlad": _GATED | {"d_kv": 32, "num_heads": 4, "pad_token_id": 1, "eos_token_id": 2},
    "mt5": _GATED | {"model_type": "mt5", "feed_forward_proj": "gated-silu"}
    | {"architectures": ["MT5ForConditionalGeneration"]},
    "umt5": _GATED | {"model_type": "umt5", "architectures": ["UMT5ForConditionalGeneration"]},
    # as transformers 5 writes it: called tied, which scales outputs, with an output layer of its own
    "umt5, scaled": _GATED | {"model_type": "umt5", "architectures": ["UMT5ForConditionalGeneration"]}
    | {"tie_word_embeddings": True, "num_decoder_layers": 1},
}  # fmt: skip


def random_tensors(fields, seed=0, named_alike=True) -> dict[str, np.ndarray]:
    """Name -> float32 array, as `save_pretrained` names them, scaled so that translations depend on the source.

    `named_alike`: the table has the name shared.weight, not that of the decoder's alone.
    """
    generator = np.random.RandomState(seed)
    d, width, forward = fields["d_model"], fields["num_heads"] * fields["d_kv"], fields["d_ff"]
    found = {}

    def normal(name, *shape, deviation=1.0, mean=0.0):
        found[f"{name}.weight"] = (generator.standard_normal(shape) * deviation + mean).astype(np.float32)

    table = "shared" if named_alike else "decoder.embed_tokens"
    normal(table, fields["vocab_size"], d)
    end = fields["eos_token_id"]
    found[f"{table}.weight"][end] *= 2.5  # so that translations end
    if fields.get("tie_word_embeddings") is False or fields["model_type"] == "umt5":
        normal("lm_head", fields["vocab_size"], d, deviation=2 * d**-0.5)
        found["lm_head.weight"][end] *= 2.5
    for side, layers in (("encoder", fields["num_layers"]), ("decoder", fields["num_decoder_layers"])):
        normal(f"{side}.final_layer_norm", d, deviation=0.1, mean=1.0)
        for i in range(layers):
            blocks = ["SelfAttention", "EncDecAttention"][: 1 + (side == "decoder")]
            for place, module in enumerate(blocks):
                prefix = f"{side}.block.{i}.layer.{place}"
                gain = 1.5 if module == "SelfAttention" else 3.0
                for part in "qkv":
                    small = fields["d_kv"] ** -0.5 if part == "q" else 1.0  # queries are not scaled
                    normal(f"{prefix}.{module}.{part}", width, d, deviation=gain * small * d**-0.5)
                normal(f"{prefix}.{module}.o", d, width, deviation=gain * width**-0.5)
                normal(f"{prefix}.layer_norm", d, deviation=0.1, mean=1.0)
                if module == "SelfAttention" and (i == 0 or fields["model_type"] == "umt5"):
                    buckets = fields["relative_attention_num_buckets"]
                    normal(f"{prefix}.{module}.relative_attention_bias", buckets, fields["num_heads"])
            prefix = f"{side}.block.{i}.layer.{len(blocks)}"
            gated = fields["feed_forward_proj"].startswith("gated")
            for part in ("wi_0", "wi_1") if gated else ("wi",):
                normal(f"{prefix}.DenseReluDense.{part}", forward, d, deviation=1.5 * d**-0.5)
            normal(f"{prefix}.DenseReluDense.wo", d, forward, deviation=1.5 * forward**-0.5)
            normal(f"{prefix}.layer_norm", d, deviation=0.1, mean=1.0)
    return found


def write_t5(folder, shape="t5 1.1", seed=0, kind="F32", **changes):
    """Writes config.json, model.safetensors and spiece.model; returns (fields, tensors)."""
    fields = FIELDS | SHAPES[shape] | changes
    tensors = random_tensors(fields, seed, named_alike=shape != "madlad")
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, kind))
    write_pieces(folder / "spiece.model", **(_SPIECE_MADLAD if shape == "madlad" else _SPIECE))
    return fields, tensors


def write_pieces(path, **options):
    """Trains a SentencePiece model that names languages by pieces of the usual kind, as MADLAD's does."""
    train_vocabulary(path, SIZE, user_defined_symbols=LANGUAGES, **options)
    content = path.read_bytes()
    for piece in map(str.encode, LANGUAGES):
        place = content.index(piece) + len(piece)  # then the score, and the type: user-defined
        assert content[place : place + 7] == b"\x15\0\0\0\0\x18\x04"
        content = content[: place + 6] + b"\x01" + content[place + 7 :]
    path.write_bytes(content)
