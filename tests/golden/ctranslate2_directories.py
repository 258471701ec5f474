"""Records small directories that CTranslate2's own code writes, and its outputs with them. To record again:

    python -m tests.golden.ctranslate2_directories --python VENV/bin/python [--out FOLDER]

VENV is an environment with `pip install ctranslate2==4.8.5 numpy`.

For each shape: its directories, one for each stored type, the SentencePiece models in the folder above; `sources` and
`targets` (random ids without </s>); and for each type the log-probabilities of the targets' pieces, the translations,
greedy and with a beam of 4, as ids without </s>, and the attention of the first greedy translations. int8
models are run in int8, the others in float32. The weights are from `tests.sample_models.ctranslate2_writer`.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.sample_models.ctranslate2_writer import random_variables
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import train_vocabulary

FOLDER = ROOT / "tests" / "golden" / "ctranslate2_models"
RESULTS = FOLDER / "results.json.gz"
SENTENCES, ALIGNED, LIMIT = 300, 5, 24
SCALARS = ("queries_scale", "relative_attention_max_distance", "scale_embeddings", "scale_outputs")
_SPM = {"eos_id": 2, "unk_id": 0, "bos_id": 1}


class Shape(NamedTuple):
    """A model: its vocabulary of source and target, how the converter describes it, and its variables."""

    special: tuple[str, ...]  # pieces before SentencePiece's
    sizes: tuple[int, ...]  # of the SentencePiece models, which are two or one
    shared: bool
    spec: dict  # arguments of TransformerSpec.from_config
    config: dict
    variables: dict  # arguments of `random_variables`
    types: tuple[str, ...]
    end: float  # added to the bias of </s>, so that translations end
    eos_given: bool = False  # the caller adds </s> to sources
    languages: tuple[str, ...] = ()  # pieces after SentencePiece's
    settings: dict | None = None  # variables without a size, beside those of `from_config`


SHAPES = {
    "marian": Shape(
        ("</s>", "<unk>"),
        (90, 80),
        True,
        {"pre_norm": False, "activation": "SWISH"},
        {"add_source_eos": True, "decoder_start_token": "</s>"},
        {"enc": 1, "dec": 2},
        ("float32", "int8", "int16"),
        5.0,
    ),
    "opennmt": Shape(
        ("<unk>", "<blank>", "<s>", "</s>"),
        (90, 80),
        False,
        {"pre_norm": True, "alignment_layer": -1, "alignment_heads": 0},
        {"layer_norm_epsilon": 1e-6},
        {"enc": 1, "dec": 1, "pre_norm": True, "tied": False},
        ("float32", "int8", "float16"),
        5.0,
    ),
    "m2m": Shape(
        ("<s>", "<pad>", "</s>", "<unk>"),
        (80,),
        True,
        {"pre_norm": True, "alignment_heads": 1},
        {"decoder_start_token": "</s>"},
        {"enc": 1, "dec": 1, "pre_norm": True},
        ("float32",),
        -3.0,
        eos_given=True,
        languages=("__en__", "__de__"),
    ),
    "opennmt-tf": Shape(
        ("<blank>", "<s>", "</s>", "<unk>"),
        (80,),
        True,
        {"pre_norm": True, "activation": "GELU", "layernorm_embedding": True},
        {"add_source_eos": True},
        {"enc": 1, "dec": 1, "pre_norm": True, "stored": 0, "tied": False},
        ("float16",),
        4.5,
    ),
    "opennmt-relative": Shape(  # as of the option max_relative_positions
        ("<unk>", "<blank>", "<s>", "</s>"),
        (90, 80),
        False,
        {"pre_norm": True, "with_relative_position": True},
        {"layer_norm_epsilon": 1e-6},
        {"enc": 2, "dec": 2, "pre_norm": True, "tied": False, "relative": 5},
        ("float32", "int8"),
        4.0,
        settings={"scale_embeddings": 0},
    ),
    "t5": Shape(  # of version 1.0: tied, and a ReLU
        ("<pad>", "</s>", "<unk>"),
        (80,),
        True,
        {"pre_norm": True, "relative_attention_bias": True, "rms_norm": True},
        {"bos_token": "<pad>", "decoder_start_token": "<pad>"},
        {
            **{"enc": 2, "dec": 2, "pre_norm": True, "buckets": 8, "furthest": 12, "rms": True, "biased": False},
            "scale": 1.0,
        },
        ("float32", "int8"),
        1.0,
        eos_given=True,
        settings={"scale_embeddings": 0, "scale_outputs": 32**-0.5},
    ),
    "t5-gated": Shape(  # of version 1.1, and MADLAD-400's
        ("<pad>", "</s>", "<unk>"),
        (80,),
        True,
        {
            "pre_norm": True,
            "relative_attention_bias": True,
            "rms_norm": True,
            "ffn_glu": True,
            "activation": "GELUTanh",
        },
        {"bos_token": "<pad>", "decoder_start_token": "<pad>"},
        {
            **{"enc": 2, "dec": 2, "pre_norm": True, "tied": False, "width": 64, "buckets": 32, "furthest": 128},
            **{"rms": True, "gated": True, "biased": False, "scale": 1.0},
        },
        ("float32", "int8"),
        4.0,
        eos_given=True,
        settings={"scale_embeddings": 0},
    ),
    "umt5": Shape(  # each layer has its own bias
        ("<pad>", "</s>", "<unk>"),
        (80,),
        True,
        {"pre_norm": True, "relative_attention_bias": True, "rms_norm": True, "ffn_glu": True, "activation": "Tanh"},
        {"bos_token": "<pad>", "decoder_start_token": "<pad>"},
        {
            **{"enc": 2, "dec": 2, "pre_norm": True, "tied": False, "buckets": 6, "furthest": 9, "shared": False},
            **{"rms": True, "gated": True, "biased": False, "scale": 1.0},
        },
        ("float32",),
        4.0,
        eos_given=True,
        settings={"scale_embeddings": 0},
    ),
}

_DRIVER = r"""
import json, sys
from pathlib import Path
import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation

folder = Path(sys.argv[1])
given = json.loads((folder / "given.json").read_text())
arrays = dict(np.load(folder / "variables.npz"))
options = given["spec"] | {"activation": Activation[given["spec"].get("activation", "RELU")]}


def fill(spec, prefix, aliases):
    for name, value in list(vars(spec).items()):
        path = f"{prefix}/{name}" if prefix else name
        if name.startswith("_"):
            continue
        if isinstance(value, list):
            for i, one in enumerate(value):
                fill(one, f"{path}_{i}", aliases)
        elif hasattr(value, "validate"):
            fill(value, path, aliases)
        else:
            found = arrays.get(aliases.get(path, path))
            if found is not None and (found.ndim or name in given["scalars"]):
                setattr(spec, name, found.copy() if found.ndim else found[()])  # quantizing changes it


for kind in given["types"]:
    spec = TransformerSpec.from_config((given["enc"], given["dec"]), given["heads"], **options)
    spec.decoder.start_from_zero_embedding = not options["pre_norm"]
    fill(spec, "", given["aliases"])
    for name, value in given["config"].items():
        setattr(spec.config, name, value)
    spec.register_source_vocabulary(given["source"])
    spec.register_target_vocabulary(given["target"])
    spec.validate()
    spec.optimize(quantization=kind)
    made = folder / "made" / kind
    made.mkdir(parents=True)
    spec.save(str(made))
    compute = "int8" if kind == "int8" else "float32"
    model = ctranslate2.Translator(str(made), device="cpu", intra_threads=1, compute_type=compute)
    sources, targets = given["sources"], given["targets"]
    number = {piece: i for i, piece in enumerate(given["target"])}
    limits = {"max_decoding_length": given["limit"], "min_decoding_length": 0}
    result = {"log_probs": [one.log_probs for one in model.score_batch(sources, targets)]}
    for name, beam in (("greedy", 1), ("beam", 4)):
        told = model.translate_batch(sources, beam_size=beam, **limits)
        result[name] = [[number[piece] for piece in one.hypotheses[0]] for one in told]
    told = model.translate_batch(sources[: given["aligned"]], beam_size=1, return_attention=True, **limits)
    result["attention"] = [one.attention[0] for one in told]
    print(json.dumps(result))
"""


def rounded(value):
    """Rounds numbers in nested lists."""
    return [rounded(one) for one in value] if isinstance(value, list) else round(value, 5)


def vocabularies_of(shape: Shape, folder: Path) -> list[list[str]]:
    """Trains the SentencePiece models in `folder`; returns the pieces of source and target."""
    import sentencepiece

    names = ["source.spm", "target.spm"] if len(shape.sizes) == 2 else ["sentencepiece.model"]
    trained = []
    for name, size in zip(names, shape.sizes, strict=True):
        train_vocabulary(folder / name, size, **_SPM)
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        trained.append([model.id_to_piece(i) for i in range(3, size)])
    if shape.shared:
        trained = [list(dict.fromkeys([*trained[-1], *trained[0]]))]
    made = [[*shape.special, *pieces, *shape.languages] for pieces in trained]
    return [made[0], made[-1]]


def variables_of(name: str, pieces: list[list[str]]) -> tuple[dict, dict]:
    shape = SHAPES[name]
    sizes = {"source": len(pieces[0]), "target": None if shape.shared else len(pieces[1])}
    options = dict(shape.variables)
    scale = options.pop("scale", None)
    variables, aliases = random_variables(11 + list(SHAPES).index(name), f=32, **sizes, **options)
    variables |= {f"{side}/scale_embeddings": np.int8(1) for side in ("encoder", "decoder")}
    extra = shape.settings or {}
    if "scale_embeddings" in extra:
        variables |= {f"{side}/scale_embeddings": np.int8(0) for side in ("encoder", "decoder")}
    if "scale_outputs" in extra:
        variables["decoder/scale_outputs"] = np.float32(extra["scale_outputs"])
        variables["decoder/embeddings/weight"] *= np.float32(5)  # trained to be large
    if scale is not None:
        prefixes = {name.rpartition("/linear_")[0] for name in variables if "attention/linear_" in name}
        variables |= {f"{prefix}/queries_scale": np.float32(scale) for prefix in prefixes}
        for prefix in prefixes:  # queries that are not scaled are trained to be small
            weight = variables[f"{prefix}/linear_0/weight"]
            weight[: len(weight) // (1 if prefix.endswith("/attention") else 3)] *= np.float32(0.25)
    bias = variables["decoder/projection/bias"]
    bias[pieces[1].index("</s>")] += shape.end
    bias[[pieces[1].index(piece) for piece in shape.special if piece != "</s>"]] -= 20  # never said
    encodings = variables.get("decoder/position_encodings/encodings")
    if name == "opennmt":  # sines and cosines in turn
        encodings[:] = np.stack(np.split(encodings, 2, axis=1), axis=2).reshape(encodings.shape)
    if name == "m2m":  # from position 2
        rates = np.exp(-np.log(10000) * np.arange(16) / 15)
        angles = np.arange(2, 2 + len(encodings))[:, None] * rates
        encodings[:] = np.hstack([np.sin(angles), np.cos(angles)])
    if name == "opennmt-tf":
        generator = np.random.RandomState(5)
        for side in ("encoder", "decoder"):
            variables[f"{side}/layernorm_embedding/gamma"] = 1 + generator.standard_normal(32).astype("f4") / 10
            variables[f"{side}/layernorm_embedding/beta"] = generator.standard_normal(32).astype("f4") / 10
    return variables, aliases


def recorded(python: str, name: str, out: Path) -> dict:
    shape = SHAPES[name]
    shutil.rmtree(out / name, ignore_errors=True)
    (out / name).mkdir(parents=True)
    pieces = vocabularies_of(shape, out / name)
    variables, aliases = variables_of(name, pieces)
    generator = np.random.RandomState(6)
    first = len(shape.special)
    sources, targets = (
        [generator.randint(first, len(side), generator.randint(1, 16)).tolist() for _ in range(SENTENCES)]
        for side in pieces
    )
    given = {"spec": shape.spec, "config": shape.config, "aliases": aliases, "types": shape.types, "limit": LIMIT}
    given |= {"source": pieces[0], "target": pieces[1], "heads": 2, "aligned": ALIGNED, "scalars": SCALARS}
    given |= {side: shape.variables[side] for side in ("enc", "dec")}
    given["sources"] = [[pieces[0][i] for i in ids] + ["</s>"] * shape.eos_given for ids in sources]
    given["targets"] = [[pieces[1][i] for i in ids] for ids in targets]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "given.json").write_text(json.dumps(given))
        np.savez(Path(folder) / "variables.npz", **variables)
        done = subprocess.run([python, "-c", _DRIVER, folder], capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(f"CTranslate2 failed ({done.returncode}): {done.stderr[-2000:]}")
        for kind in shape.types:
            shutil.copytree(Path(folder) / "made" / kind, out / name / kind)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for result in results:
        for key in ("log_probs", "attention"):
            result[key] = rounded(result[key])
    return {"sources": sources, "targets": targets, **dict(zip(shape.types, results, strict=True))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--out", default=str(FOLDER))
    given = parser.parse_args()
    made = {name: recorded(given.python, name, Path(given.out)) for name in SHAPES}
    content = json.dumps(made, separators=(",", ":")).encode()
    (Path(given.out) / RESULTS.name).write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main()
