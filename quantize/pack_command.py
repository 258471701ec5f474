"""`quantize pack`: files in, a packed model directory out, and what quantization cost each matrix."""

import argparse
import dataclasses
import hashlib
import math
from pathlib import Path

from cpunmt import __version__
from cpunmt.config import ModelConfig
from cpunmt.conversion import SCHEMES
from cpunmt.files import map_bytes
from cpunmt.loading import check_vocabulary
from cpunmt.model_files.marian import read_marian_npz
from cpunmt.model_files.packed_directory import write_directory
from cpunmt.shortlist import Shortlist
from cpunmt.vocabulary import Vocabulary
from quantize.pack import LayerError, pack_tensors

_OURS = ("made_by", "checkpoint", "quantization")  # keys of metadata.json that are written here


def add_parser(commands):
    """Add `pack` to the commands of `quantize`."""
    pack = commands.add_parser(
        "pack",
        help="a Marian checkpoint -> a packed model directory",
        description="Quantize a float32 checkpoint and write a model directory that cpunmt loads.",
        allow_abbrev=False,
    )
    pack.add_argument("checkpoint", metavar="CHECKPOINT", help="Marian's model.npz")
    pack.add_argument("out", metavar="OUT", help="the model directory to make")
    pack.add_argument("--scheme", choices=SCHEMES, required=True, help="how weights are stored")
    pack.add_argument("--vocab", metavar="FILE", help="SentencePiece model of both languages")
    pack.add_argument("--source-vocab", metavar="FILE", help="SentencePiece model of the source language")
    pack.add_argument("--target-vocab", metavar="FILE", help="SentencePiece model of the target language")
    pack.add_argument("--shortlist", metavar="FILE", help="lexical shortlist, text or binary, may be gzipped")
    pack.add_argument(
        "--sigmas",
        type=_sigmas,
        default=7.0,
        metavar="N",
        help="a column's range is at most N standard deviations; 'none': its largest weight (default: 7)",
    )
    pack.add_argument(
        "--max-length-factor",
        type=float,
        metavar="N",
        help="the model's own limit: at most N target pieces per source piece (default: 3)",
    )
    pack.add_argument(
        "--metadata",
        type=_key_value,
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="what metadata.json shall say: source, licence, ...; may be given several times",
    )
    pack.add_argument("--force", action="store_true", help="replace OUT if it is a model directory")
    pack.set_defaults(run=_run, parser=pack)


def _run(given):
    if (given.source_vocab is None) != (given.target_vocab is None):
        given.parser.error("--source-vocab and --target-vocab belong together; a joint vocabulary is --vocab")
    if given.vocab and given.source_vocab:
        given.parser.error("--vocab is a joint vocabulary: give it or --source-vocab and --target-vocab")
    if not (given.vocab or given.source_vocab):
        given.parser.error("a vocabulary is needed: --vocab FILE, or --source-vocab FILE and --target-vocab FILE")
    pack_checkpoint(given)


def pack_checkpoint(given):
    """Do what the command line says (`given`: the options below); prints the table of errors.

    Raises ModelFileError for a file that is missing, broken or of another model, ValueError for a metadata key
    that is not the caller's to set.
    """
    taken = [key for key, _ in given.metadata if key in _OURS]
    if taken:
        raise ValueError(f"metadata: the key {taken[0]!r} is written by this command; choose another name")
    config, tensors = read_marian_npz(given.checkpoint)
    paths = [given.vocab] if given.vocab else [given.source_vocab, given.target_vocab]
    config = dataclasses.replace(config, shared_vocabulary=len(paths) == 1)
    if given.max_length_factor is not None:
        config = dataclasses.replace(config, max_length_factor=given.max_length_factor)
    vocabularies = [Vocabulary(path) for path in paths]
    for vocabulary in vocabularies:
        check_vocabulary(vocabulary, config)
    shortlist = None
    if given.shortlist:
        shortlist = Shortlist.load(given.shortlist, vocabularies[0], vocabularies[-1])
    config, packed, errors = pack_tensors(config, tensors, given.scheme, given.sigmas)
    metadata = {
        **dict(given.metadata),
        "made_by": f"cpunmt {__version__}",
        "checkpoint": _described(given.checkpoint),
        "quantization": _report(config, given.sigmas, errors),
    }
    write_directory(
        given.out,
        config,
        packed,
        vocabulary=paths if len(paths) == 2 else paths[0],
        shortlist=shortlist.to_bytes() if shortlist else None,
        metadata=metadata,
        force=given.force,
    )
    for line in table(errors):
        print(line)
    size = sum(file.stat().st_size for file in Path(given.out).iterdir() if file.is_file())
    print(f"{given.out}: {config.scheme}, {size / 1e6:.1f} MB")


def table(errors: list[LayerError]) -> list[str]:
    """One line for each matrix, under a heading; nothing where nothing was quantized."""
    if not errors:
        return []
    width = max(len(error.name) for error in errors)
    lines = [f"{'matrix':{width}}  {'shape':>12}  {'SQNR dB':>7}  {'clipped %':>9}"]
    for name, shape, decibels, clipped in errors:
        size = f"{shape[0]} x {shape[1]}"
        lines.append(f"{name:{width}}  {size:>12}  {decibels:7.2f}  {100 * clipped:9.4f}")
    return lines


def _report(config: ModelConfig, sigmas, errors):
    """The same for metadata.json, which cannot hold infinity."""
    matrices = {
        name: {"sqnr_db": round(decibels, 2) if math.isfinite(decibels) else None, "clipped": round(clipped, 8)}
        for name, _, decibels, clipped in errors
    }
    if config.scheme == "float32":
        return {"scheme": config.scheme}
    reach = "max" if sigmas is None else f"min(max, {sigmas:g} sigma)"
    return {"scheme": config.scheme, "range": reach, "matrices": matrices}


def _described(checkpoint):
    path = Path(checkpoint)
    content = map_bytes(path, "checkpoint", 1 << 40)
    return {"name": path.name, "sha256": hashlib.sha256(content).hexdigest()}


def _sigmas(text):
    if text == "none":
        return None
    value = float(text)  # ValueError: argparse says so
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number or 'none'")
    return value


def _key_value(text):
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=TEXT")
    return key, value
