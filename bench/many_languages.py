"""Load time and memory of models of many languages at their true size, with random weights.

    python -m bench.many_languages make FOLDER [--model nllb-600m|m2m-418m] [--dtype F16]
    cpunmt convert FOLDER PACKED
    python -m bench.many_languages measure FOLDER|PACKED

`make` writes a directory of Hugging Face: config.json, model.safetensors, and a SentencePiece model of random words
with as many pieces as the published one. `measure` loads it in this process, and prints seconds and memory: the peak,
and what is not a mapped file. Seconds are CPU time: the machine may be busy.
"""

import argparse
import json
import struct
import time
from pathlib import Path

import numpy as np

from cpunmt import Translator
from cpunmt.text.languages.lists import M2M_100

FIELDS = {
    **{"model_type": "m2m_100", "is_encoder_decoder": True, "activation_function": "relu", "d_model": 1024},
    **{f"{side}_layers": 12 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 16 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 4096 for side in ("encoder", "decoder")},
    **{"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "scale_embedding": True},
    **{"max_position_embeddings": 1024, "max_length": 200},
}
MODELS = {"nllb-600m": (256_206, 256_000, "NllbTokenizer"), "m2m-418m": (128_112, 128_000, "M2M100Tokenizer")}
UNNAMED = 8  # rows of M2M-100 without a piece
ROWS = 1 << 13  # of a table that are drawn at once
TEXT = "The quick brown fox jumps over the lazy dog, and a man is riding a bicycle in the rain."


def sentencepiece_model(size) -> tuple[bytes, list[str]]:
    """Returns a unigram model of single letters and random words, as the bytes of its message, and its pieces."""
    generator = np.random.default_rng(1)
    letters = "etaoinshrdlucmfwypvbgkjqxzETAOINSHRDLUCMFWYPVBGKJQXZ.,\u2581"
    pieces = dict.fromkeys(("<unk>", "<s>", "</s>", *letters))
    while len(pieces) < size:
        lengths = generator.integers(2, 9, 1 << 16)
        drawn = generator.integers(0, 26, (len(lengths), 8))
        for row, length in zip(drawn.tolist(), lengths.tolist(), strict=True):
            if len(pieces) < size:
                pieces["".join(letters[i] for i in row[:length])] = None
    content = bytearray()
    for number, piece in enumerate(pieces):
        kind = {0: 2, 1: 3, 2: 3}.get(number, 1)  # unknown, control, normal
        name = piece.encode()
        entry = b"\x0a" + bytes([len(name)]) + name + b"\x15" + struct.pack("<f", -8.0 - number / size)
        entry += b"\x18" + bytes([kind])
        content += b"\x0a" + bytes([len(entry)]) + entry
    content += b"\x12\x02\x18\x01"  # trained as a unigram model
    return bytes(content), list(pieces)


def shapes(rows) -> dict[str, tuple[int, ...]]:
    d, width = FIELDS["d_model"], FIELDS["encoder_ffn_dim"]
    found = {"model.shared.weight": (rows, d)}
    for side in ("encoder", "decoder"):
        found |= {f"model.{side}.layer_norm.{part}": (d,) for part in ("weight", "bias")}
        for i in range(FIELDS[f"{side}_layers"]):
            layer = f"model.{side}.layers.{i}"
            for block in ("self_attn", "encoder_attn")[: 1 + (side == "decoder")]:
                for part in ("q", "k", "v", "out"):
                    found |= {f"{layer}.{block}.{part}_proj.weight": (d, d), f"{layer}.{block}.{part}_proj.bias": (d,)}
                found |= {f"{layer}.{block}_layer_norm.{part}": (d,) for part in ("weight", "bias")}
            found |= {f"{layer}.fc1.weight": (width, d), f"{layer}.fc1.bias": (width,)}
            found |= {f"{layer}.fc2.weight": (d, width), f"{layer}.fc2.bias": (d,)}
            found |= {f"{layer}.final_layer_norm.{part}": (d,) for part in ("weight", "bias")}
    return found


def make(folder: Path, model: str, dtype: str) -> None:
    rows, pieces, tokenizer = MODELS[model]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(FIELDS | {"vocab_size": rows}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": tokenizer}))
    content, names = sentencepiece_model(pieces)
    (folder / "sentencepiece.bpe.model").write_bytes(content)
    if model == "m2m-418m":
        table = ["<s>", "<pad>", "</s>", "<unk>", *names[3:]]
        table += [f"unused{i}" for i in range(rows - len(M2M_100) - UNNAMED - len(table))]
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(table)}))
    kind, header, offset = np.dtype({"F32": np.float32, "F16": np.float16}[dtype]), {}, 0
    for name, shape in shapes(rows).items():
        size = int(np.prod(shape)) * kind.itemsize
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = np.random.default_rng(2)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes(rows).items():
            for begin in range(0, shape[0], ROWS):
                part = (min(ROWS, shape[0] - begin), *shape[1:])
                drawn = generator.standard_normal(part, np.float32) * (1.0 if "norm.weight" in name else 0.03)
                file.write(drawn.astype(kind).tobytes())
    print(f"{folder}: {offset / 1e6:.0f} MB, {rows} pieces")


def memory() -> dict[str, float]:
    """Returns MB of this process: the peak, and what is anonymous now."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[name].split()[0]) / 1e3 for name in ("VmHWM", "RssAnon", "RssFile")}


def measure(folder: Path) -> None:
    began = time.process_time()
    translator = Translator(folder, source_lang="en", target_lang="de")
    loaded = time.process_time() - began
    print(f"loaded in {loaded:.2f} s; MB: {memory()}")
    began = time.process_time()
    result = translator.translate(TEXT, max_length=20)
    print(f"first sentence in {time.process_time() - began:.2f} s, {len(result.pieces)} pieces; MB: {memory()}")
    began = time.process_time()
    result = translator.translate(TEXT, max_length=20)
    seconds = time.process_time() - began
    print(f"second in {seconds:.2f} s, {1e3 * seconds / len(result.pieces):.1f} ms a piece")
    began = time.process_time()
    for _ in range(200):
        translator.tokenize(TEXT)
        translator.source_vocabulary.encode(TEXT)
    print(f"cutting a sentence into pieces: {(time.process_time() - began) / 400 * 1e6:.0f} us; {translator!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=MODELS, default="nllb-600m")
    parser.add_argument("--dtype", choices=("F32", "F16"), default="F32")
    given = parser.parse_args()
    if given.action == "make":
        make(given.folder, given.model, given.dtype)
    else:
        measure(given.folder)


if __name__ == "__main__":
    main()
