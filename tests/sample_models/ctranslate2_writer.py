"""Small models in CTranslate2's container, of each version, written without that program; for tests."""

import json
import struct

import numpy as np

TYPES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4, "bfloat16": 5}


class Bits(np.ndarray):
    """The upper halves of float32s, as uint16: bfloat16."""


def bfloat16(array) -> np.ndarray:
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return (bits >> 16).astype(np.uint16).view(Bits)


def text(string) -> bytes:
    return struct.pack("<H", len(string.encode()) + 1) + string.encode() + b"\0"


def model_bytes(variables, aliases=None, version=6, specification="TransformerSpec", revision=7) -> bytes:
    """Returns the content of a `model.bin`; below version 3 an alias is written as a second variable."""
    aliases = aliases or {}
    if version < 3:
        variables = variables | {name: variables[target] for name, target in aliases.items()}
        for name, target in aliases.items():
            if f"{target}_scale" in variables:
                variables[f"{name}_scale"] = variables[f"{target}_scale"]
    made = [struct.pack("<I", version), text(specification), struct.pack("<II", revision, len(variables))]
    for name, array in sorted(variables.items()):
        array = np.asanyarray(array)
        made += [text(name), struct.pack("<B", array.ndim), struct.pack(f"<{array.ndim}I", *array.shape)]
        kind = "bfloat16" if isinstance(array, Bits) else array.dtype.name
        size = (TYPES[kind], array.nbytes) if version > 3 else (array.itemsize, array.size)
        made += [struct.pack("<BI", *size), array.tobytes()]
    if version > 2:
        made.append(struct.pack("<I", len(aliases)))
        made += [text(name) + text(target) for name, target in sorted(aliases.items())]
    return b"".join(made)


def quantized(array, kind) -> dict[str, np.ndarray]:
    """Returns a matrix as CTranslate2 stores it in a type: suffix of its name -> array."""
    array = np.asarray(array, np.float32)
    if kind == "int8":
        scale = (127 / np.abs(array).max(axis=1)).astype(np.float32)
        return {"": np.rint(array * scale[:, None]).astype(np.int8), "_scale": scale}
    if kind == "int16":
        scale = np.float32(2**10 / np.abs(array).max())
        return {"": np.rint(array * scale).astype(np.int16), "_scale": scale}
    return {"": bfloat16(array) if kind == "bfloat16" else array.astype(kind)}


def random_variables(
    seed=1,
    d=32,
    f=64,
    heads=2,
    enc=2,
    dec=1,
    source=96,
    target=None,
    pre_norm=False,
    stored=40,
    tied=True,
    width=None,
    relative=0,
    buckets=0,
    furthest=20,
    shared=True,
    gated=False,
    rms=False,
    biased=True,
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Draws the variables of a model of version 6, float32, and their aliases. `stored`: positions; 0: computed.

    Two vocabularies if `target` is given; else one table, which is the output layer if `tied`. `width`: of queries.
    `relative`: distances with vectors, for keys and values the same ones, as of OpenNMT-py; `buckets`: those of T5's
    bias up to `furthest`, the table of each side's first layer unless not `shared`.
    """
    generator = np.random.RandomState(seed)
    width = width or d
    found, aliases = {}, {}

    def normal(name, *shape, deviation=0.1, mean=0.0):
        found[name] = (generator.standard_normal(shape) * deviation + mean).astype(np.float32)

    def linear(name, inputs, outputs, gain=1.0):
        normal(f"{name}/weight", outputs, inputs, deviation=gain * inputs**-0.5)
        if biased:
            normal(f"{name}/bias", outputs)

    def norm(name):
        normal(f"{name}/gamma", d, mean=1.0)
        if not rms:
            normal(f"{name}/beta", d)

    def distances(block, first):
        if relative:
            normal(f"{block}/relative_position_keys", 2 * relative + 1, d // heads, deviation=0.5)
            aliases[f"{block}/relative_position_values"] = f"{block}/relative_position_keys"
        if buckets:
            table, limit = (f"{block}/relative_attention_{part}" for part in ("bias", "max_distance"))
            found[limit] = np.int32(furthest)
            if first == block or not shared:
                normal(table, buckets, heads, deviation=1.0)
            else:
                aliases[table] = f"{first}/relative_attention_bias"

    sizes = {"encoder": source, "decoder": target or source}
    for side, layers in (("encoder", enc), ("decoder", dec)):
        found[f"{side}/num_heads"] = np.int16(heads)
        found |= {f"{side}/pre_norm": np.int8(pre_norm), f"{side}/activation": np.int8(0)}
        found[f"{side}/scale_embeddings"] = np.int8(1)
        table = f"{side}/embeddings_0" if side == "encoder" else f"{side}/embeddings"
        normal(f"{table}/weight", sizes[side], d, deviation=2 * d**-0.5)
        if stored and not (relative or buckets):
            angles = np.arange(stored)[:, None] / 10000 ** (np.arange(d // 2) / (d // 2))
            found[f"{side}/position_encodings/encodings"] = np.hstack([np.sin(angles), np.cos(angles)]).astype("f4")
        if pre_norm:
            norm(f"{side}/layer_norm")
        for i in range(layers):
            block = f"{side}/layer_{i}"
            norm(f"{block}/self_attention/layer_norm")
            linear(f"{block}/self_attention/linear_0", d, 3 * width)
            linear(f"{block}/self_attention/linear_1", width, d)
            distances(f"{block}/self_attention", f"{side}/layer_0/self_attention")
            if side == "decoder":
                norm(f"{block}/attention/layer_norm")
                linear(f"{block}/attention/linear_0", d, width, 2)
                linear(f"{block}/attention/linear_1", d, 2 * width, 2)
                linear(f"{block}/attention/linear_2", width, d, 2)
            norm(f"{block}/ffn/layer_norm")
            linear(f"{block}/ffn/linear_0", d, f)
            if gated:
                linear(f"{block}/ffn/linear_0_noact", d, f)
            linear(f"{block}/ffn/linear_1", f, d)
    found |= {"encoder/embeddings_merge": np.int8(0), "encoder/multi_query_attention": np.int8(0)}
    found |= {"decoder/alignment_layer": np.int16(-1), "decoder/alignment_heads": np.int16(1)}
    for name in ("alibi", "scale_alibi"):
        found[f"decoder/{name}"] = np.int8(0)
    found["decoder/alibi_use_positive_positions"] = np.int8(0)
    found["decoder/start_from_zero_embedding"] = np.int8(not pre_norm)
    normal("decoder/projection/bias", sizes["decoder"])
    if target is None:
        del found["encoder/embeddings_0/weight"]
        aliases["encoder/embeddings_0/weight"] = "decoder/embeddings/weight"
    if tied:
        aliases["decoder/projection/weight"] = "decoder/embeddings/weight"
    else:
        normal("decoder/projection/weight", sizes["decoder"], d, deviation=3 * d**-0.5)
    if stored and not (relative or buckets):
        del found["encoder/position_encodings/encodings"]
        aliases["encoder/position_encodings/encodings"] = "decoder/position_encodings/encodings"
    return found, aliases


def stored_as(variables, kind) -> dict[str, np.ndarray]:
    """Stores the matrices of linear layers and tables in a type; "int8_float16" the other variables in float16."""
    weights, _, others = kind.partition("_")
    others = others or ("float32" if weights.startswith("int") else weights)
    found = {}
    for name, array in variables.items():
        if name.endswith("/weight"):
            found |= {name + suffix: part for suffix, part in quantized(array, weights).items()}
        elif np.ndim(array):
            found |= {name + suffix: part for suffix, part in quantized(array, others).items()}
        else:
            found[name] = array
    return found


def older(variables, version, eos_in_source=False, start="<s>") -> tuple[dict[str, np.ndarray], int]:
    """Returns the variables of a model of version 2 to 5, and its revision."""
    found = dict(variables)
    for name in ("unk", "bos", "eos"):
        token = {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}[name]
        found[f"{name}_token"] = np.frombuffer(token.encode(), np.int8)
    found |= {"with_source_bos": np.int8(0), "with_source_eos": np.int8(eos_in_source)}
    found |= {"with_target_bos": np.int8(start == "<s>"), "user_decoder_start_tokens": np.int8(start is None)}
    if version > 4:
        return found, 6
    for name in ("num_heads", "pre_norm", "activation", "alignment_layer", "alignment_heads"):  # at the top
        moved = [found.pop(f"{side}/{name}", None) for side in ("encoder", "decoder")]
        found[name] = moved[1]
    found |= {name: np.int8(0) for name in ("with_relative_position", "layernorm_embedding")}
    found["embeddings_merge"] = found.pop("encoder/embeddings_merge")
    found["num_heads"] = np.int8(found["num_heads"])
    if version > 3:
        return found, 4
    for side in ("encoder", "decoder"):  # as before revision 4
        found[f"{side}/embeddings/multiply_by_sqrt_depth"] = found.pop(f"{side}/scale_embeddings")
    return found, 3


def write_ctranslate2(folder, vocabularies, variables, aliases, version=6, config=None, **header):
    """Writes a directory; `vocabularies`: the pieces of both languages, or those of each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(model_bytes(variables, aliases, version, **header))
    names = ["shared"] if len(vocabularies) == 1 else ["source", "target"]
    for name, pieces in zip(names, vocabularies, strict=True):
        if version > 5:
            (folder / f"{name}_vocabulary.json").write_text(json.dumps(pieces), "utf-8")
        else:
            (folder / f"{name}_vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    if version > 5:
        fields = {"add_source_bos": False, "add_source_eos": False, "bos_token": "<s>", "eos_token": "</s>"}
        fields |= {"unk_token": "<unk>", "decoder_start_token": "<s>", "layer_norm_epsilon": None, **(config or {})}
        (folder / "config.json").write_text(json.dumps(fields))
    return folder
