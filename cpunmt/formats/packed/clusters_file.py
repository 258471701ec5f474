"""clusters.safetensors: sets of clusters, one for all targets or one for each target language.

    centroids float32 [K, model_dim]    offsets int64 [K + 1]    ids int32 [offsets[-1]]    see text.shortlists.clusters

The tensors of a target language are called `de.centroids` and so on, and the text `de.piece` in the file's header is
the piece that names the language (`>>de<<`). The other texts describe their making (quantize.clusters).
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.input_files import METADATA, AnyPath
from cpunmt.files.output_files import replacing_directory, replacing_file, sync, told
from cpunmt.formats.packed.packed_directory import CLUSTERS, NAMES, metadata_with
from cpunmt.formats.packed.safetensors_file import Array, check_tensors, read_described_safetensors, safetensors_bytes
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.clusters import Clusters

MOST_SETS = 256
_PIECE = "piece"  # the text that names the target language


def read_clusters(path: AnyPath, config: ModelConfig) -> dict[str, Clusters]:
    """Returns the sets in the file `path`, by the piece that names their target language; "" is for all others.

    Their arrays are views of one memory map. Raises ModelFileError, starting with `path`, for a file that is missing,
    broken or made for another model.
    """
    tensors, texts = read_described_safetensors(path)
    names = list(dict.fromkeys(name.rpartition(".")[0] for name in tensors))
    if not 1 <= len(names) <= MOST_SETS:
        raise _broken(path, f"{len(names)} sets of clusters, expected 1 to {MOST_SETS}")
    expected: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {}
    for name in names:
        count, total = (_length(tensors.get(_called(name, part))) for part in ("centroids", "ids"))
        expected[_called(name, "centroids")] = np.float32, (count, config.architecture.model_dim)
        expected[_called(name, "offsets")] = np.int64, (count + 1,)
        expected[_called(name, "ids")] = np.int32, (total,)
    check_tensors(tensors, expected, path)
    found: dict[str, Clusters] = {}
    for name in names:
        centroids, offsets, ids = (tensors[_called(name, part)] for part in ("centroids", "offsets", "ids"))
        own = {key.rpartition(".")[2]: text for key, text in texts.items() if key.rpartition(".")[0] == name}
        piece = own.pop(_PIECE, "") if name else ""
        if name and (not piece or piece in found):
            called = _called(name, _PIECE)
            raise _broken(path, f"the text {called!r} is {piece!r}, expected the target language of these clusters")
        where = f"{path}: clusters {name!r}" if name else os.fspath(path)
        found[piece] = Clusters(centroids, offsets, ids, config.vocab_size, config.eos_id, own, where)
    return found


def clusters_bytes(sets: Mapping[str, Clusters]) -> bytes:
    """Returns the content of such a file; the same sets give the same bytes. Raises ValueError above MOST_SETS."""
    if len(sets) > MOST_SETS:
        raise ValueError(f"{len(sets)} sets of clusters, expected at most {MOST_SETS}")
    tensors: dict[str, Array] = {}
    texts: dict[str, str] = {}
    for piece in sorted(sets):
        clusters, name = sets[piece], _set_name(piece, tensors)
        for part in ("centroids", "offsets", "ids"):
            tensors[_called(name, part)] = getattr(clusters, part)
        own = {_PIECE: piece, **clusters.texts} if piece else clusters.texts
        texts |= {_called(name, key): text for key, text in own.items()}
    return safetensors_bytes(tensors, texts)


def store_clusters(
    path: AnyPath, sets: Mapping[str, Clusters], out: AnyPath | None = None, force: bool = False
) -> None:
    """Writes the sets into the packed directory `path`, replacing earlier ones, or into a copy of it, `out`.

    The copy appears complete or not at all; for an existing directory see `replacing_directory`. A directory that stays
    gets a new file and a new metadata.json, each replaced at once.

    Raises ModelFileError.
    """
    path, content = Path(path), clusters_bytes(sets)
    metadata, names = metadata_with(path, {CLUSTERS: content})
    try:
        if out is None:
            # both are written before either is renamed; a file that metadata.json lacks is still loaded
            with replacing_file(path / METADATA) as description, told(path / METADATA):
                description.write(metadata)
                with replacing_file(path / CLUSTERS) as file, told(path / CLUSTERS):
                    file.write(content)
            return
        with replacing_directory(out, force, NAMES) as partial:
            for name in names:
                if name != CLUSTERS:
                    shutil.copyfile(path / name, partial / name)
            (partial / CLUSTERS).write_bytes(content)
            (partial / METADATA).write_bytes(metadata)
            for written in [*partial.iterdir(), partial]:
                sync(written)
    except CpunmtError as error:
        raise ModelFileError(str(error)) from None


def _length(tensor: Array | None) -> int:
    return len(tensor) if tensor is not None and tensor.ndim else 0


def _called(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _set_name(piece: str, taken: Mapping[str, Array]) -> str:
    """Returns the name of a target language's tensors: `>>de<<` is de, or de_2 if de is taken."""
    if not piece:
        return ""
    name = plain = re.sub(r"[^A-Za-z0-9]+", "_", piece, flags=re.ASCII).strip("_") or "language"
    number = 1
    while _called(name, "ids") in taken or name == "padding":
        number += 1
        name = f"{plain}_{number}"
    return name


def _broken(path: AnyPath, problem: str) -> ModelFileError:
    return ModelFileError(f"{path}: {problem}; fetch the model again, or make its clusters again")
