"""The weights of a CTranslate2 directory in float32, for transformers and onnxruntime.

transformers reads a directory in the layout of `save_pretrained`: a MarianMT model if the blocks normalize their
output, else one of M2M-100, as NLLB-200 is. `cpunmt.formats.huggingface.stored_tensors` reads the tensors back.
onnxruntime runs the graphs of `quantize export-onnx`.
"""

import json
import shutil
from collections.abc import Container
from pathlib import Path

import numpy as np

from cpunmt.formats.huggingface.stored_tensors import file_names
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import table_sizes
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from tests.sample_models.huggingface_model import safetensors_parts

PAD = 1  # of M2M-100, which counts positions from there; no line and no translation may have it


def write_huggingface(folder: Path, config: ModelConfig, tensors: dict[str, np.ndarray], start_id: int) -> None:
    """Writes config.json and model.safetensors; `start_id`: the piece whose row is the decoder's first input.

    The positions must be the family's sinusoids, which are not written. MarianMT's last row, <pad>, is added, and can
    never be chosen. M2M-100 does not have an output bias.
    """
    is_marian = not config.architecture.top_norm
    found = {}
    for ours, theirs in file_names(config.changed(positions="tensor2tensor", start_vector=False), {}).items():
        array = tensors[ours]
        if ours == "output.bias":
            if is_marian:
                found[theirs] = np.append(array, np.float32(-1e4))[None]
        elif ours in table_sizes(config):
            found[theirs] = np.append(array, np.zeros_like(array[:1]), axis=0) if is_marian else array
        else:
            found[theirs] = array.T
    folder.mkdir()
    fields = _fields(config, is_marian, start_id)
    (folder / "config.json").write_text(json.dumps(fields), "utf-8")
    with open(folder / "model.safetensors", "wb") as file:
        file.writelines(safetensors_parts(found))


def _fields(config: ModelConfig, is_marian: bool, start_id: int) -> dict:
    """Returns the content of config.json."""
    inner, size = config.architecture, config.vocab_size + is_marian
    layers = {"encoder": inner.encoder_layers, "decoder": inner.decoder_layers}
    widths = {"encoder": inner.ffn_dim, "decoder": inner.decoder_ffn_dim or inner.ffn_dim}
    return {
        "model_type": "marian" if is_marian else "m2m_100",
        "architectures": ["MarianMTModel" if is_marian else "M2M100ForConditionalGeneration"],
        "is_encoder_decoder": True,
        "d_model": inner.model_dim,
        **{f"{side}_layers": number for side, number in layers.items()},
        **{f"{side}_ffn_dim": width for side, width in widths.items()},
        **{f"{side}_attention_heads": inner.heads for side in layers},
        "activation_function": inner.activation,
        "scale_embedding": inner.scale_embedding,
        "max_position_embeddings": config.max_source_length,
        "vocab_size": size,
        "decoder_vocab_size": size,
        "pad_token_id": size - 1 if is_marian else PAD,
        "bos_token_id": start_id,
        "eos_token_id": config.eos_id,
        "forced_eos_token_id": None,
        "decoder_start_token_id": start_id,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }


def float32_models(folder: Path, checkpoint: Path, start_id: int, peers: Container[str]) -> dict[str, Path]:
    """Writes the weights for transformers and onnxruntime if they are among these peers; returns peer -> directory."""
    wanted = [name for name in ("transformers", "onnxruntime") if name in peers]
    found = {name: folder / name for name in wanted}
    if not found:
        return {}
    config, tensors = read_float_checkpoint(checkpoint)
    if "transformers" in found:
        write_huggingface(found["transformers"], config, tensors, start_id)
    if "onnxruntime" in found:
        from bench.onnx.graphs import prepare
        from quantize.onnx.export import export_onnx

        exported = folder / "exported"
        export_onnx(exported, config.changed(source_end=True), tensors)  # the lines are all that the encoder gets
        prepare(exported, found["onnxruntime"])
        shutil.rmtree(exported)
    return found
