"""Load time and memory of models of many languages at their true size, with random weights.

Writes a directory of Hugging Face, with config.json, model.safetensors, and a SentencePiece model of random words with
as many pieces as the published one. Converts it to int8 (`cpunmt convert`). Loads each of the two in a process of its
own, and prints seconds and MB: the peak, and what is not a mapped file. Seconds are CPU time: the machine may be busy.

    --model NAME      nllb-600m, m2m-418m or tiny
    --dtype TYPE      of the directory: F32 or F16
    --folder DIR      for the two directories, which are kept (default: a temporary one)
"""

import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.harness.command import command, machine, save
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
TINY = {"d_model": 32} | {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 64))
}
# rows of the table, pieces of the SentencePiece model, class of the tokenizer, fields of their own
MODELS = {
    "nllb-600m": (256_206, 256_000, "NllbTokenizer", {}),
    "m2m-418m": (128_112, 128_000, "M2M100Tokenizer", {}),
    "tiny": (506, 300, "NllbTokenizer", TINY),
}
UNNAMED = 8  # rows of M2M-100 without a piece
ROWS = 1 << 13  # of a table that are drawn at once
CUTS = 200
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


def shapes(rows, fields) -> dict[str, tuple[int, ...]]:
    d, width = fields["d_model"], fields["encoder_ffn_dim"]
    found = {"model.shared.weight": (rows, d)}
    for side in ("encoder", "decoder"):
        found |= {f"model.{side}.layer_norm.{part}": (d,) for part in ("weight", "bias")}
        for i in range(fields[f"{side}_layers"]):
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
    rows, pieces, tokenizer, own = MODELS[model]
    fields = FIELDS | own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields | {"vocab_size": rows}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": tokenizer}))
    content, names = sentencepiece_model(pieces)
    (folder / "sentencepiece.bpe.model").write_bytes(content)
    if model == "m2m-418m":
        table = ["<s>", "<pad>", "</s>", "<unk>", *names[3:]]
        table += [f"unused{i}" for i in range(rows - len(M2M_100) - UNNAMED - len(table))]
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(table)}))
    kind, header, offset = np.dtype({"F32": np.float32, "F16": np.float16}[dtype]), {}, 0
    for name, shape in shapes(rows, fields).items():
        size = int(np.prod(shape)) * kind.itemsize
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = np.random.default_rng(2)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes(rows, fields).items():
            for begin in range(0, shape[0], ROWS):
                part = (min(ROWS, shape[0] - begin), *shape[1:])
                drawn = generator.standard_normal(part, np.float32) * (1.0 if "norm.weight" in name else 0.03)
                file.write(drawn.astype(kind).tobytes())
    print(f"{folder}: {offset / 1e6:.0f} MB, {rows} pieces")


def memory() -> dict[str, float]:
    """Returns MB of this process: the peak, and what is anonymous now."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[name].split()[0]) / 1e3 for name in ("VmHWM", "RssAnon", "RssFile")}


def measure(folder: Path) -> dict[str, float]:
    """Loads a directory in this process and translates; returns seconds and MB."""
    began, found = time.process_time(), {}
    translator = Translator(folder, source_lang="en", target_lang="de")
    found["load"] = time.process_time() - began
    found |= {f"loaded, {name}": size for name, size in memory().items()}
    for which in ("first", "second"):
        began = time.process_time()
        result = translator.translate(TEXT, max_length=20)
        found[f"{which} sentence"] = time.process_time() - began
    found |= {f"used, {name}": size for name, size in memory().items()} | {"pieces": len(result.pieces)}
    began = time.process_time()
    for _ in range(CUTS):
        translator.source_vocabulary.encode(TEXT)
    return found | {"cutting into pieces": (time.process_time() - began) / CUTS}


def main(arguments=None) -> None:
    parser = command("bench.many_languages", __doc__)
    parser.add_argument("--model", choices=MODELS, default="nllb-600m")
    parser.add_argument("--dtype", choices=("F32", "F16"), default="F32")
    parser.add_argument("--folder", type=Path, help="for the directories, which are kept (default: a temporary one)")
    given, figures = parser.parse_args(arguments), {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        theirs, packed = folder / given.dtype, folder / "int8"
        make(theirs, given.model, given.dtype)
        subprocess.run([sys.executable, "-m", "cpunmt", "convert", theirs, packed], check=True)
        for directory in (theirs, packed):
            code = f"import bench.many_languages as b, json; print(json.dumps(b.measure({str(directory)!r})))"
            done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
            figures[directory.name] = found = json.loads(done.stdout)
            print(f"{directory.name}: " + ", ".join(f"{name} {value:.3g}" for name, value in found.items()))
    save(given.json, {"machine": machine(), **figures})


if __name__ == "__main__":
    main()
