"""A model's directory of any kind: which one it is, and the model in it if it is another program's.

One of its files stands for the directory; where that holds several models, for the one that the file belongs to.
"""

import os
from pathlib import Path
from typing import NamedTuple

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import read_json
from cpunmt.formats.foreign_model import ForeignModel
from cpunmt.process.first_use import LOCK


class Kind(NamedTuple):
    """A kind of directory, for people."""

    title: str
    files: str  # what one holds


KINDS = {
    "packed": Kind("packed by cpunmt", "config.json of cpunmt, weights.safetensors and vocabulary.spm"),
    "marian": Kind(
        "Marian, Bergamot or OPUS-MT",
        "a Marian, Bergamot or OPUS-MT model: *.npz or model*.bin, and vocab*.spm or *vocab.yml with source.spm and "
        "target.spm, or *vocab.yml of words",
    ),
    "huggingface": Kind(
        "Hugging Face MarianMT",
        "a MarianMT model of Hugging Face: config.json, model.safetensors, vocab.json, source.spm and target.spm",
    ),
}


# How the files of models end, each with or without .gz: another file is no name of a model.
MODEL_FILES = (".json", ".yml", ".yaml", ".npz", ".bin", ".safetensors", ".spm")
_OWN = ("shortlist.bin", "pytorch_model.bin")  # of packed models and of Hugging Face; other .bin may be Marian's


def model_folder(path: str | os.PathLike) -> Path:
    """The directory of the model that `path` means: itself, or the one that the file is in. Whether it is there or not.

    Raises ModelFileError for a file that is none of a model's, and for a device or a pipe.
    """
    path = Path(path)
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise ModelFileError(f"{path}: is a device or a pipe; expected a model's directory, or one of its files")
        return path
    if not path.name.removesuffix(".gz").endswith(MODEL_FILES):
        raise ModelFileError(f"{path}: not a file of a model; expected a model's directory, or one of its files")
    return path.parent


def kind_of(path: str | os.PathLike) -> str:
    """One of `KINDS`, by what config.json says, or by the names of files if there is none or it does not say.

    Raises ModelFileError, with what was found, if it is none of them.
    """
    folder = model_folder(path)
    name = marian_file(path, folder)
    if not name and (folder / "config.json").is_file():
        fields = read_json(folder / "config.json", "config", 1 << 20)
        if fields.get("format") == "cpunmt":
            return "packed"
        if "model_type" in fields:
            return "huggingface"
    with LOCK:  # our own models need none of the readers of others, which take 30 ms to import
        from cpunmt.formats.marian.bergamot_directory import listing
        from cpunmt.formats.marian.bergamot_directory import looks_like_one as looks_like_marian

    names = listing(folder)
    if "weights.safetensors" in names and not name:
        return "packed"  # whose reader says what is missing
    if "shared_vocabulary.json" in names or "shared_vocabulary.txt" in names or "source_vocabulary.json" in names:
        raise ModelFileError(f"{folder}: a CTranslate2 model, which is not read; load the one it was converted from")
    if name or looks_like_marian(names):
        return "marian"
    if "model.safetensors" in names or "pytorch_model.bin" in names:
        return "huggingface"
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    expected = "; or ".join(kind.files for kind in KINDS.values())
    raise ModelFileError(f"{folder}: not a model's directory. Found: {shown or 'no file'}. Expected {expected}")


def marian_file(path, folder) -> str | None:
    """The name of the file that `path` is, if it says which of Marian's models in its folder is meant."""
    name = Path(path).name
    if Path(path) == folder or name in _OWN or not name.removesuffix(".gz").endswith((".yml", ".yaml", ".npz", ".bin")):
        return None
    with LOCK:
        from cpunmt.formats.marian.bergamot_directory import chooses
    return name if chooses(name) else None


def read_checkpoint(path: str | os.PathLike) -> ForeignModel:
    """Read another program's model, its weights as they are stored. `path`: its directory, or a file in that.

    Raises ModelFileError as `kind_of` and the readers do, and for a packed directory: it needs no conversion.
    """
    kind = kind_of(path)
    if kind == "packed":
        raise ModelFileError(f"{path}: is packed already; load it as it is")
    folder = model_folder(path)
    with LOCK:
        if kind == "huggingface":
            from cpunmt.formats.huggingface.huggingface_directory import read_huggingface_directory
        else:
            from cpunmt.formats.marian.marian_directory import read_marian_directory
    if kind == "huggingface":
        return read_huggingface_directory(folder)
    return read_marian_directory(folder, marian_file(path, folder))


def read_model(path: str | os.PathLike, scheme: str | None = None, activation_scales: str = "dynamic") -> ForeignModel:
    """The same, ready to run: `tensors` are what tensors.expected_tensors lists.

    Integers are used as they are stored; float weights are quantized, or kept. Scales of activations that the file has
    are used where that is asked for; by default each row has its own, which is closer to float32.

    Parameters
    ----------
    scheme : one of `config.SCHEMES`; None: int8
    activation_scales : "dynamic", or "static" for those that the file has

    Raises ModelFileError too for a file without such scales, and as `packed_tensors` does.
    """
    found = read_checkpoint(path)
    with LOCK:
        from cpunmt.formats.conversion import packed_tensors
    if activation_scales == "static" and found.alphas is None:
        raise ModelFileError(
            f"{found.weights}: holds no activation scales (..._QuantMultA); load with activation_scales='dynamic'"
        )
    alphas = found.alphas if activation_scales == "static" else None
    try:
        config, tensors = packed_tensors(found.config, found.tensors, scheme or "int8", alphas=alphas)
    except ModelFileError as error:
        raise ModelFileError(f"{found.weights}: {error}") from None
    return found._replace(config=config, tensors=tensors)
