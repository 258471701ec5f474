"""Read a model's directory as Bergamot, Firefox and Marian have it. Which file is what: `bergamot_directory`."""

import json
import os

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import expanded
from cpunmt.formats.foreign_model import ForeignModel
from cpunmt.formats.marian.bergamot_directory import find_files
from cpunmt.formats.marian.decoder_options import DecoderOptions
from cpunmt.formats.marian.marian import read_marian
from cpunmt.formats.marian.marian_file import StoredIntegers
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlist import ShortlistOptions

_MAX_METADATA = 1 << 20  # bytes


def read_marian_directory(directory: str | os.PathLike, chosen: str | None = None) -> ForeignModel:
    """Read a directory. Raises ModelFileError: a file is missing, ambiguous, damaged or not supported.

    `chosen`: see `find_files`.
    """
    files = find_files(directory, chosen)
    checkpoint = read_marian(files.model)
    shortlist = files.decoder_options and files.decoder_options.shortlist
    if files.shortlist and not (shortlist and shortlist.path == files.shortlist):
        shortlist = ShortlistOptions(files.shortlist)
    stored = any(isinstance(tensor, StoredIntegers) for tensor in checkpoint.tensors.values())
    return ForeignModel(
        _configured(checkpoint.config, files),
        checkpoint.tensors,
        checkpoint.alphas,
        files.model,
        files.source_vocabulary,
        files.target_vocabulary,
        shortlist,
        _metadata(files.metadata),
        "int8" if stored else "float32",
    )


def _configured(config, files) -> ModelConfig:
    """The architecture with what the decoder's options say about searching."""
    options = files.decoder_options or DecoderOptions()
    changes = {"shared_vocabulary": files.source_vocabulary.ids_from == files.target_vocabulary.ids_from}
    for ours, theirs, name in (
        ("max_length_factor", options.max_length_factor, "max-length-factor"),
        ("max_source_length", options.max_length_break, "max-length-break"),
        ("beam_size", options.beam_size, "beam-size"),
        ("length_penalty", options.normalize, "normalize"),
        ("word_penalty", options.word_penalty, "word-penalty"),
    ):
        if name in options.given:
            changes[ours] = theirs
    try:
        return config.changed(**changes)
    except ModelFileError as error:
        raise ModelFileError(f"{files.model}: {error}") from None


def _metadata(path) -> dict:
    """The texts and numbers of a metadata.json; nothing where there is none."""
    if path is None:
        return {}
    try:
        fields = json.loads(expanded(path, "metadata", _MAX_METADATA).tobytes())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not JSON ({str(error)[:200]}); remove it or fetch it again") from None
    if not isinstance(fields, dict):
        raise ModelFileError(f"{path}: not a JSON object; remove it or fetch it again")
    return {key: value for key, value in fields.items() if isinstance(value, str | int | float)}
