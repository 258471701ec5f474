"""Reads a package of argos-translate, as LibreTranslate uses them: a folder with a CTranslate2 directory in it.

metadata.json           languages, version
model/                  a CTranslate2 directory
sentencepiece.model     cuts texts of both languages into pieces; or
bpe.model               the codes of subword-nmt, which cut Moses' tokens
README.md               credits and licence; not read

The folders stanza/, spacy/ and minisbd/ find Argos' sentences. They are not used: cpunmt finds sentences itself. A
`.argosmodel` file is a zip archive of one package; `registry.package_file` unpacks it.

As in Argos, a translation may contain <unk>, which becomes the source piece with most attention. Argos' other settings
of the search belong to that program, not to a package: they are the option set "argos" (`options.option_sets`).

`target_prefix` in metadata.json is a piece that begins each translation and is not part of its text. Argos adds nothing
to sources, whatever the model; so a model of many languages that a package holds is one of one direction.

Source: `argostranslate/package.py`, `translate.py` and `tokenizer.py` of
https://github.com/argosopentech/argos-translate.
"""

import re
import reprlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import METADATA, read_json
from cpunmt.formats.ctranslate2 import ctranslate2_directory
from cpunmt.formats.foreign_model import ForeignModel, FoundModel

MODEL = "model"
_PIECES, _BPE = "sentencepiece.model", "bpe.model"
_CODE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}")
_PREFIX = "target_prefix"
_MAX_METADATA = 1 << 20  # bytes
_OURS = {"from_code": "source_language", "to_code": "target_language"}


def recognizes(folder: Path, names: Collection[str]) -> bool:
    """Returns whether a folder with files of these names may be a package: it has two of its three parts."""
    parts = METADATA in names, _PIECES in names or _BPE in names, (folder / MODEL).is_dir()
    return sum(parts) >= 2


def read_directory(found: FoundModel) -> ForeignModel:
    """Reads a package. Raises ModelFileError: a part of it is missing, damaged or not supported."""
    metadata = checked_metadata(found.folder)
    codes = None if (found.folder / _PIECES).is_file() else found.folder / _BPE
    model = ctranslate2_directory.read_directory(FoundModel("ctranslate2", found.folder / MODEL), codes)
    moses = tuple(metadata[name] for name in _OURS.values()) if codes else ()
    prompt = _prompt(found.folder, metadata, model)
    config = model.config.changed(replace_unknowns=True, moses_languages=moses, **prompt)
    return model._replace(config=config, metadata=metadata)


def _prompt(folder: Path, metadata: dict[str, Any], model: ForeignModel) -> dict[str, Any]:
    """Returns the fields of the config that force the beginning of translations, if the package states one."""
    if not (prefix := metadata.get(_PREFIX)):
        return {}
    id_ = (model.target_vocabulary.ids or {}).get(prefix)
    if id_ is None or id_ == model.config.eos_id:
        reason = "which the vocabulary lacks" if id_ is None else "which ends a translation"
        raise ModelFileError(
            f"{folder / METADATA}: {_PREFIX} is {reprlib.repr(prefix)}, {reason}; expected one of its other pieces, "
            "fetch the package again"
        )
    return {"prompt": (id_,), "languages": (), "source_tag": "none", "source_tag_last": False, "target_tag": False}


def checked_metadata(folder: Path) -> dict[str, Any]:
    """Returns the texts and numbers of a package's metadata, the languages under our names.

    Raises ModelFileError: a part of the package is missing, or cannot be used. The model itself is not read.
    """
    if not (folder / METADATA).is_file():
        raise ModelFileError(
            f"{folder}: {METADATA} is missing; expected a package of Argos, fetch or unpack it again; to use the "
            f"CTranslate2 model in it alone, name {folder / MODEL}"
        )
    fields = read_json(folder / METADATA, "package metadata", _MAX_METADATA)
    problems = []
    for name in _OURS:
        code = fields.get(name)
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            problems.append(f"{name} is {reprlib.repr(code)}, expected the code of a language")
    kind, prefix = fields.get("type", "translate"), fields.get(_PREFIX)
    if kind != "translate":
        problems.append(f"type is {reprlib.repr(kind)}, expected 'translate': only packages that translate are read")
    if not isinstance(prefix, str | None):
        problems.append(f"{_PREFIX} is {reprlib.repr(prefix)}, expected a piece of the vocabulary")
    for name in ("package_version", "argos_version"):
        if not isinstance(fields.get(name, ""), str | int | float):
            problems.append(f"{name} is {reprlib.repr(fields[name])}, expected a text")
    if problems:
        raise ModelFileError(f"{folder / METADATA}: {'; '.join(problems)}")
    if not (folder / MODEL).is_dir():
        raise ModelFileError(f"{folder}: the folder {MODEL} is missing; fetch or unpack the package again")
    if not (folder / _PIECES).is_file() and not (folder / _BPE).is_file():
        raise ModelFileError(f"{folder}: {_PIECES} is missing; fetch or unpack the package again")
    return {_OURS.get(name, name): value for name, value in fields.items() if isinstance(value, str | int | float)}
