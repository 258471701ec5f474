"""Small random models in the layout of Hugging Face's MarianMT, for tests: weights from seeds that never change."""

import json
from collections.abc import Iterator

import numpy as np

FIELDS = {
    "model_type": "marian",
    "is_encoder_decoder": True,
    "architectures": ["MarianMTModel"],
    "activation_function": "swish",
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 97,
    "decoder_vocab_size": 97,
    "max_position_embeddings": 512,
    "pad_token_id": 96,
    "decoder_start_token_id": 96,
    "bad_words_ids": [[96]],
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
    "bos_token_id": 0,
    "num_beams": 6,
    "max_length": 512,
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "dropout": 0.1,
}
_APART = {"share_encoder_decoder_embeddings": False, "activation_function": "gelu", "decoder_ffn_dim": 96}
SHAPES = {
    "shared": {},
    "apart": _APART,
    "untied": {"tie_word_embeddings": False, "activation_function": "relu", "scale_embedding": False},
    "apart and untied": _APART | {"tie_word_embeddings": False, "decoder_layers": 1, "encoder_layers": 3},
    "trained on": {},
    "trained on, apart": _APART | {"encoder_layers": 1},
    "apart, of two sizes": _APART | {"decoder_vocab_size": 113, "bad_words_ids": [[112]], "decoder_layers": 1},
    "tc-big": {"activation_function": "relu", "encoder_ffn_dim": 96},
}


def random_tensors(fields, seed=0, trained_on=False, two_heads=False) -> dict[str, np.ndarray]:
    """Name -> float32 array, as `save_pretrained` names them, scaled so that translations depend on the source.

    `trained_on`: the row of <pad> is not zero. `two_heads`: `lm_head.weight` is stored, too, and differs from the tied
    embedding. The weights are small: larger ones magnify the last bits of float32
    until two correct programs differ by 1e-4.
    """
    generator = np.random.RandomState(seed)
    d, size = fields["d_model"], fields["decoder_vocab_size"]
    found = {}

    def normal(name, *shape, deviation=0.1):
        found[name] = (generator.standard_normal(shape) * deviation).astype(np.float32)

    def affine(name, inputs, outputs, gain):
        normal(f"{name}.weight", outputs, inputs, deviation=gain * inputs**-0.5)
        normal(f"{name}.bias", outputs)

    def norm(name):
        normal(f"{name}.weight", d, deviation=1.0)
        normal(f"{name}.bias", d)

    shared, tied = fields["share_encoder_decoder_embeddings"], fields["tie_word_embeddings"]
    tables = ["model.shared"] if shared else ["model.encoder.embed_tokens", "model.decoder.embed_tokens"]
    for name in tables:
        rows = fields["vocab_size"] if "encoder" in name else size
        normal(f"{name}.weight", rows, d, deviation=2 * d**-0.5 * (1 if fields["scale_embedding"] else d**0.5))
        if not trained_on:
            found[f"{name}.weight"][-1] = 0
    if shared and not tied:  # then the library takes them for three tables
        found |= {f"model.{side}.embed_tokens.weight": found["model.shared.weight"] for side in ("encoder", "decoder")}
    if not tied or two_heads:
        normal("lm_head.weight", size, d, deviation=3 * d**-0.5)
    normal("final_logits_bias", 1, size)
    found["final_logits_bias"][0, 0] += 2 if tied else 3
    for side in ("encoder", "decoder"):
        for i in range(fields[f"{side}_layers"]):
            layer, width = f"model.{side}.layers.{i}", fields[f"{side}_ffn_dim"]
            for block, gain in [("self_attn", 1)] + [("encoder_attn", 2)] * (side == "decoder"):
                for part in ("q", "k", "v", "out"):
                    affine(f"{layer}.{block}.{part}_proj", d, d, gain)
                norm(f"{layer}.{block}_layer_norm")
            affine(f"{layer}.fc1", d, width, 1)
            affine(f"{layer}.fc2", width, d, 1)
            norm(f"{layer}.final_layer_norm")
    return found


def bfloat16(array) -> np.ndarray:
    """The upper halves of float32s, rounded to the nearest."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def safetensors_bytes(tensors, kind="F32") -> bytes:
    """Makes a file like the safetensors library, with the tensors in sequence."""
    convert = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": bfloat16}[kind]
    arrays = {name: (bfloat16(a) if kind == "BF16" else a.astype(convert)) for name, a in tensors.items()}
    return b"".join(safetensors_parts(arrays, kind))


def safetensors_parts(arrays, kind="F32") -> Iterator[bytes]:
    """Yields the header of such a file and the data of each tensor, which is of that type."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        span = [offset, offset + array.nbytes]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": span}
        offset = span[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    yield from (array.tobytes() for array in arrays.values())


def write_huggingface(folder, shape="shared", seed=0, kind="F32", **changes):
    """Writes config.json and model.safetensors; returns (fields, tensors). Of other weights: `torch_writer`."""
    fields = FIELDS | SHAPES[shape] | changes
    tensors = random_tensors(fields, seed, "trained on" in shape, two_heads=shape == "tc-big")
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors, kind))
    return fields, tensors


def write_vocabulary(folder, train, size=97, separate=False, target_size=None):
    """Writes source.spm, target.spm, vocab.json (and target_vocab.json), with pieces in another order than
    SentencePiece's. Returns the target's table.

    `train` is `small_vocabulary.train_vocabulary`.
    """
    train(folder / "source.spm", 90, eos_id=2, unk_id=0, bos_id=1)
    train(folder / "target.spm", 80, eos_id=2, unk_id=0, bos_id=1)
    import sentencepiece

    found = []
    for side in ("source", "target"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        found.append([model.id_to_piece(i) for i in range(3, model.get_piece_size())])
    pieces = list(dict.fromkeys([*found[1], *found[0]]))

    def table_of(size):
        table = {piece: i for i, piece in enumerate(["</s>", "<unk>", *pieces[: size - 4], ">>fra<<"])}
        return table | {f"spare{i}": i for i in range(len(table), size - 1)} | {"<pad>": size - 1}

    table = table_of(size)
    (folder / "vocab.json").write_text(json.dumps(table))
    if separate:
        table = table_of(target_size or size)
        (folder / "target_vocab.json").write_text(json.dumps(table))
    tokenizer = {"source_lang": "en", "target_lang": "fr", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return table
