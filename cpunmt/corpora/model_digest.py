"""The digest of a model: of its files' contents, wherever they are and whatever their names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import digest_of, plain_name
from cpunmt.formats.any_directory import MODEL_FILES, marian_file, model_files, model_folder

_SIZE = 16  # bytes


def model_digest(paths: Sequence[Path], arguments: object = None) -> str:
    """Returns the BLAKE2b of a model's files, or of all models of an ensemble in their order; hexadecimal.

    Parameters
    ----------
    paths : of the directory of each, or of a file in it that selects one of several models
    arguments : a `Translator`'s further arguments that change results, such as weights; its repr counts

    Raises ModelFileError for a directory that is missing or cannot be read.
    """
    whole = hashlib.blake2b(repr(arguments).encode(), digest_size=_SIZE)
    for path in paths:
        folder = model_folder(path)
        try:
            files = [one for one in model_files(folder) if plain_name(one.name).endswith(MODEL_FILES)]
            whole.update(b"\1" + ((marian_file(path, folder) or "").encode()))
            for file in files:
                with open(file, "rb") as opened:
                    digest = digest_of(opened, hashlib.blake2b(digest_size=_SIZE))
                whole.update(b"\0" + file.name.encode(errors="surrogateescape") + b"\0" + digest.encode())
        except OSError as error:
            raise ModelFileError(f"{error.filename or path}: cannot read the model: {error.strerror}") from None
    return whole.hexdigest()
