"""`cpunmt info` and `cpunmt convert`: describe a model's directory, and convert it to our format."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any, cast

from cpunmt import __version__
from cpunmt.architectures.families import family_of
from cpunmt.commands.model_choice import add_ensemble, check_weights, model_of, paths_of
from cpunmt.decoding.ensemble import checked_weights, load_ensemble
from cpunmt.decoding.loading import open_parts
from cpunmt.files.console import tell
from cpunmt.files.input_files import plain_name
from cpunmt.files.output_files import check_directory, refuse_overwriting
from cpunmt.formats.any_directory import KINDS, kind_of, model_files, model_folder, read_model
from cpunmt.formats.foreign_model import Array, ForeignModel
from cpunmt.formats.packed.clusters_file import read_clusters
from cpunmt.formats.packed.packed_directory import (
    NAMES,
    WEIGHTS,
    PackedDirectory,
    kept_metadata,
    read_directory,
    shortlist_arguments,
    verify,
    vocabulary_arguments,
    write_directory,
)
from cpunmt.formats.packed.safetensors_file import check_tensors
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.config import ACTIVATION_SCALES, ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, expected_tensors, second_layout_bytes
from cpunmt.text.languages.codes import code_of
from cpunmt.text.shortlists.vocabulary_map import NAME as MAP
from cpunmt.values.command_line import Parser


def info_arguments(parser: Parser) -> None:
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        help="model directory, a file in it, or the name of a fetched model (default: that of translate)",
    )
    parser.add_argument("--verify", action="store_true", help="compare size and SHA-256 of every file")
    add_ensemble(parser)


def info(given: argparse.Namespace) -> int:
    check_weights(given)
    paths = paths_of(model_of(given.directory), given)
    for number, path in enumerate(paths):
        lines = describe(path, given.verify)
        width = max(map(len, lines)) + 2
        tell(*[""] * (number > 0), *[f"{name + ':':{width}}{value}" for name, value in lines.items()])
    if len(paths) > 1:
        tell("", describe_ensemble(paths, given.weights))
    return 0


def convert_arguments(parser: Parser) -> None:
    parser.meant = {"int4": "code4"}
    parser.add_argument("directory", metavar="DIR", help="the model's directory, or the name of a fetched model")
    parser.add_argument("out", metavar="OUT", help="the directory to write")
    parser.add_argument(
        "--scheme", choices=SCHEMES, help="what the weights become; log4 and code4 have 4 bits (default: int8)"
    )
    parser.add_argument(
        "--activation-scales",
        choices=ACTIVATION_SCALES,
        default="dynamic",
        help="int8: each row of activations has its own scale, or the model file's are used (default: dynamic)",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT, if it is a packed model")


def convert(given: argparse.Namespace) -> int:
    model = model_of(given.directory)
    tell(*converted(model, given.out, given.scheme, given.activation_scales, given.force))
    return 0


def describe(path: Path, verified: bool) -> dict[str, str]:
    """Returns the content of the model's directory (or the file's), and how it loads: heading -> text.

    `verified` compares every file of a packed directory with the SHA-256 of its metadata, at the end of the lines.

    Raises ModelFileError for a directory that cannot be loaded.
    """
    kind, folder = kind_of(path), model_folder(path)
    found: ForeignModel | PackedDirectory
    if kind == "packed":
        found = packed = read_directory(folder)
        check_tensors(packed.tensors, expected_tensors(packed.config), folder / WEIGHTS)
        weights = _stored(packed.config)
    else:
        found = foreign = read_model(path)
        open_parts(foreign)
        weights = f"{foreign.stored} in the file" + (", with calibrated activation scales" if foreign.alphas else "")
        weights += "; used as int8" + (
            "" if foreign.stored == "int8" else ", or with compute_type='float32' as they are"
        )
    config = found.config
    shapes = checkpoint_tensors(config)
    parameters = sum(math.prod(shape) for shape in shapes.values())
    sizes = [file.stat().st_size for file in model_files(folder)]
    loaded, converted = ": loaded as it is", ": converted in memory; `cpunmt convert` does that once"
    twice = second_layout_bytes(config if kind == "packed" else config.changed(scheme="int8", schemes=()))
    kept = family_of(config.architecture).most_kept(config.architecture, config.source_size, config.vocab_size)
    searched = f"beam {config.beam_size}, length penalty {config.length_penalty:g}"
    unknown = {"unknown words": "the source's word with most attention"} if config.replace_unknowns else {}
    moses = " to ".join(config.moses_languages)
    subwords = {"subwords": f"of subword-nmt, of Moses' tokens: {_line(moses)}"} if moses else {}
    pieces = f"{config.source_size} source and {config.vocab_size} target pieces"
    lines = {
        "model": str(path),
        "format": KINDS[kind].title + (loaded if kind == "packed" else converted),
        "size": f"{sum(sizes) / 1e6:.1f} MB in {len(sizes)} files",
        "weights": weights,
        "weights twice": f"{twice / 1e6:.1f} MB more in memory; in exchange, zeros behind a ReLU take no time"
        if twice
        else "no",
        **({"kept products": f"up to {kept / 1e6:.1f} MB more, of pieces as they are met"} if kept else {}),
        "activation scales": config.activation_scales if SCHEMES[config.scheme] == "int8" else "none",
        "parameters": f"{parameters:,}",
        **config.architecture.described(),
        "vocabulary": f"{config.vocab_size} pieces, joint" if config.shared_vocabulary else pieces,
        **subwords,
        **unknown,
        "shortlist": _shortlist(found),
        "clusters": _clusters(found) if isinstance(found, PackedDirectory) and found.clusters else "no",
        "search": f"{searched} unless a call says otherwise",
        "longest source": f"{config.max_source_length} pieces; longer sentences are split",
        "longest target": f"{config.max_length_factor:g} x source pieces",
    }
    if config.languages:
        codes = [code_of(piece) for piece in config.languages]
        lines["languages"] = f"{len(codes)}: {', '.join(codes)}"
    for key, value in found.metadata.items():
        if config.languages and key in ("source_language", "target_language"):
            continue
        if not isinstance(value, dict | list):
            lines.setdefault(_line(key.replace("_", " ")), _line(value))
    if verified and kind == "packed":
        digests = verify(folder)
        lines |= {f"SHA-256 of {name}": digest for name, digest in digests.items()}
        lines["verified"] = f"{len(digests)} files are as packed"
    return lines


def _shortlist(found: Any) -> str:
    """Returns whether there is a shortlist, and when it is used."""
    path = getattr(found.shortlist, "path", found.shortlist)
    if path is None:
        return "no"
    return f"{path.name}, which is used with --vocabulary shortlist" if plain_name(path.name) == MAP else "yes"


def _clusters(found: Any) -> str:
    """Returns the number of clusters, and of pieces scored with them in a step, for each target language."""
    told = []
    for piece, clusters in read_clusters(found.clusters, found.config).items():
        share = clusters.texts.get("active_share", "")
        active = f"{100 * float(share):.2f} %" if re.fullmatch(r"[01]\.\d{1,9}", share) else "an unknown share"
        told.append(f"{_line(piece)}: " * bool(piece) + f"{len(clusters.centroids)}, {active} of the pieces active")
    return "; ".join(told)


def describe_ensemble(paths: list[Path], weights: list[float] | None) -> str:
    """Describes several models together, in a line. Raises ModelFileError unless they can translate together."""
    chosen = checked_weights(weights, len(paths))
    found = load_ensemble(paths, chosen)
    parts = ", ".join(f"{weight / sum(chosen):.3g}" for weight in chosen)
    shortlist = "with a shortlist" if found.engine.shortlist is not None else "without a shortlist"
    return f"ensemble: {len(paths)} models with the same vocabularies, weighted {parts}, {shortlist}"


def _stored(config: ModelConfig) -> str:
    """Returns how the weights are stored, with the exceptions."""
    others = [f"{name} as {scheme}" for name, scheme in config.schemes]
    return f"{config.scheme} ({', '.join(others)})" if others else config.scheme


def _line(value: object) -> str:
    """Returns a value on one line: foreign text must not look like our lines, or move the cursor."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in str(value)).split())


def converted(path: Path, out: Path, scheme: str | None, activation_scales: str, force: bool) -> list[str]:
    """Converts another program's model, given by its directory or a file in it, to a packed one; returns messages.

    Raises ModelFileError if it cannot be read or written, or is packed already.
    """
    folder = model_folder(path)
    refuse_overwriting([out], [folder])
    check_directory(out, force, NAMES)  # before the work
    found = read_model(path, scheme, activation_scales)
    source, target, shortlist = open_parts(found)
    write_directory(
        out,
        found.config,
        cast("dict[str, Array]", found.tensors),  # packed
        **vocabulary_arguments(
            found.config, (found.source_vocabulary, found.target_vocabulary), (source, target), folder
        ),
        **shortlist_arguments(shortlist, (source, target)),
        metadata=kept_metadata(found.metadata)
        | {"made_by": f"cpunmt {__version__}", "converted_from": folder.resolve().name},
        force=force,
    )
    size = sum(file.stat().st_size for file in Path(out).iterdir())
    return [f"{out}: {_stored(found.config)}, {size / 1e6:.1f} MB"]
