"""The compared models, in the form of each engine."""

import itertools
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bench.packing import pack_quietly
from cpunmt.formats.packed.packed_directory import SHORTLIST, read_directory
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.checkpoints.marian_export import write_marian_npz
from tests.golden.bergamot_int8 import alphas_of, write_intgemm

INTEGERS = "model.intgemm.alphas.bin"
HOME_VOCABULARY, HOME_SHORTLIST = "data/vocab.deen.spm", "data/lex.50.50.ende.s2t.bin"  # in the peers' home

# Run by CTranslate2's interpreter: a Transformer with a self-attention decoder that copies its source, made by the
# generator of the peers' home for another vocabulary; then CTranslate2's own converter for Marian's files. The file
# `lists` has a line of candidates for each piece.
_MAKE_TRANSFORMER = """
import sys, json, shutil, os
home, folder, vocabulary, lists = sys.argv[1:5]
size, width, layers, first = map(int, sys.argv[5:9])
sys.path.insert(0, home)
import sentencepiece, ctranslate2, numpy
from ctranslate2.converters import marian
import gen_model, calib, marian_io
work = folder + ".work"
os.makedirs(work + "/data")
shutil.copy(vocabulary, work + "/data/vocab.deen.spm")
shutil.copy(home + "/data/wmt14.en", work + "/data/wmt14.en")
calib.HERE = work
tensors = gen_model.make("copy", V=size, F=width, E=layers, autoreg="self-attention")
marian_io.save_npz(work + "/model.npz", tensors, marian_io.meta(autoreg="self-attention", vocab=size, enc_depth=layers))
processor = sentencepiece.SentencePieceProcessor(model_file=vocabulary)
pieces = [processor.id_to_piece(i) for i in range(size)]
with open(work + "/vmap.txt", "w", encoding="utf8") as file:
    file.write("\\t" + " ".join(pieces[:first]) + "\\n")
    for piece, line in zip(pieces, open(lists)):
        file.write(piece + "\\t" + " ".join(pieces[int(i)] for i in line.split()) + "\\n")
marian.load_vocab = lambda path: list(pieces)
converter = marian.MarianConverter(work + "/model.npz", ["x", "x"])
converter.convert(folder, vmap=work + "/vmap.txt", quantization="int8")
shutil.rmtree(work)
"""


class Contest(NamedTuple):
    """One model in all forms."""

    ours: dict[str, Path]  # name of our engine, "cpunmt" first -> a model's directory
    marian: list[tuple[Path, str]]  # a file for bergamot, and the precision of products with it
    vocabulary: Path  # of SentencePiece, or the list of all pieces in JSON if lines are pieces
    shortlist: Path
    ctranslate2: Path | None  # a Transformer of equal dimensions; it may be missing
    length_factor: float = 2.5  # bergamot's limit; ours is the model's
    pieces: int = 0  # lines are pieces with blanks between them, and every translation has this many; 0: lines are text
    cut: bool = False  # every translation ends at the limit: figures are for cpunmt's number of pieces
    float32: Mapping[str, Path] = MappingProxyType({})  # peer that computes in float32 -> its directory of the model


def _contest(packed, npz, integers, vocabulary, shortlist, ctranslate2, folder) -> Contest:
    """Returns a student: bergamot's int8, with activation scales, is also run by cpunmt."""
    theirs = _beside(folder / "theirs", integers, vocabulary, shortlist)
    ours = {"cpunmt": packed, "cpunmt, bergamot's file": theirs}
    marian = [(integers, "int8shiftAlphaAll"), (npz, "int8shiftAll")]
    return Contest(ours, marian, vocabulary, shortlist, ctranslate2)


def synthetic(home: Path, folder: Path) -> Contest:
    """Returns the student of random weights in `home`, of tiny11's size, which copies its source."""
    model, vocabulary, shortlist = home / "models" / "copy", home / HOME_VOCABULARY, home / HOME_SHORTLIST
    packed = folder / "tiny11"
    pack_quietly(model / "model.npz", packed, "--vocab", str(vocabulary), "--shortlist", str(shortlist))
    ctranslate2 = home / "models" / "ct2" / "int8"
    return _contest(packed, model / "model.npz", model / INTEGERS, vocabulary, shortlist, ctranslate2, folder)


def trained(home: Path, folder: Path, model: Path, lines: list[str], python: str | None) -> Contest:
    """Returns a packed model with its shortlist; the others' files are made from its `float16`, if it has one.

    Parameters
    ----------
    lines : sentences for bergamot's activation scales: 127 / (mean + 1.1 standard deviations) of the largest activation
    of
        each call
    python : an interpreter with CTranslate2, for which the files in `home` make a Transformer of equal dimensions, of
        random weights that copy the source; None: skip it
    """
    source = model / "float16" if (model / "float16").is_dir() else model
    config, tensors = read_float_checkpoint(source, rounded=True)
    folder = folder / "trained"
    folder.mkdir()
    vocabulary, shortlist = read_directory(model).source_vocabulary.pieces.resolve(), (model / SHORTLIST).resolve()
    pieces = Vocabulary(vocabulary)
    listed = Shortlist.load(shortlist, pieces, pieces)
    sources = [list(ids) for ids in pieces.encode_batch(lines)]
    candidates = [listed.candidates(source, True) for source in sources]
    npz, integers = folder / "model.npz", folder / INTEGERS
    write_marian_npz(npz, config, tensors)
    write_intgemm(integers, config, tensors, alphas_of(config, tensors, sources, candidates))
    if python:
        _write_transformer(python, home, folder / "ct2", config, vocabulary, listed)
    return _contest(model.resolve(), npz, integers, vocabulary, shortlist, folder / "ct2", folder)


def _beside(folder, *files) -> Path:
    """Returns a directory with links to files: a model in bergamot's form."""
    folder.mkdir()
    for file in files:
        (folder / ("lex.s2t.bin" if file.suffix == ".bin" and file.name != INTEGERS else file.name)).symlink_to(file)
    return folder


def _write_transformer(python, home, folder, config, vocabulary, shortlist):
    """Runs `_MAKE_TRANSFORMER`, with the lists of the shortlist and the pieces themselves, which are candidates too."""
    bounds = shortlist.offsets.tolist()
    lists = folder.with_suffix(".lists")
    with open(lists, "w") as file:
        for piece, (begin, end) in enumerate(itertools.pairwise(bounds)):
            file.write(" ".join(map(str, sorted({piece, *shortlist.ids[begin:end].tolist()}))) + "\n")
    sizes = config.vocab_size, config.architecture.ffn_dim, config.architecture.encoder_layers, shortlist.first
    command = [python, "-c", _MAKE_TRANSFORMER, home, folder, vocabulary, lists, *sizes]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{python}: no Transformer for CTranslate2 was made:\n{done.stderr[-2000:]}")
