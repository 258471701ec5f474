"""Every reader of a file refuses one that is larger than its limit before it reads anything of it.

The files are sparse: they take no space on disk.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import read_json
from cpunmt.formats.argos.argos_package import checked_metadata
from cpunmt.formats.ctranslate2.model_bin import read_model_bin
from cpunmt.formats.huggingface.weight_files import read_weights
from cpunmt.formats.marian.decoder_options import read_decoder_options
from cpunmt.formats.marian.marian_bin import read_marian_bin
from cpunmt.formats.marian.npz import read_npz
from cpunmt.formats.packed.safetensors_file import read_safetensors
from cpunmt.formats.pytorch.pytorch_file import read_torch_tensors
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.vocabulary import Vocabulary

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40


@pytest.mark.parametrize(
    "read, name, limit",
    [
        (lambda path: read_json(path, "config"), "config.json", 16 * MIB),
        (lambda path: checked_metadata(path.parent), "metadata.json", MIB),
        (read_weights, "pytorch_model.bin.index.json", MIB),
        (read_decoder_options, "decoder.yml", MIB),
        (read_table, "vocab.yml", 16 * MIB),
        (Vocabulary, "vocab.spm", 64 * MIB),
        (lambda path: Shortlist.read(path, 9, 9), "lex.bin", 64 * MIB),
        (read_marian_bin, "model.bin", 64 * GIB),
        (read_npz, "model.npz", 64 * GIB),
        (read_model_bin, "model.bin", 64 * GIB),
        (read_safetensors, "model.safetensors", TIB),
        (read_torch_tensors, "pytorch_model.bin", TIB),
    ],
)
def test_a_file_over_the_limit_is_refused(
    read: Callable[[Path], object], name: str, limit: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    with open(path, "wb") as file:
        file.truncate(limit + 1)
    with pytest.raises(ModelFileError, match=f"{name}: .* has {limit + 1} bytes, expected at most {limit};"):
        read(path)
