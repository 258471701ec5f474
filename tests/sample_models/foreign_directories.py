"""Small model directories in the formats of all other programs, for tests: random weights, trained vocabularies."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from cpunmt.files.input_files import zstd_module
from cpunmt.formats.any_directory import listing, read_checkpoint
from cpunmt.formats.foreign_model import FoundModel
from cpunmt.formats.huggingface.huggingface import read_huggingface_config
from cpunmt.formats.huggingface.stored_tensors import stored_tensors
from cpunmt.formats.marian.marian_directory import BergamotFiles, find_files
from cpunmt.formats.marian.marian_transformer import marian_names
from cpunmt.model.config import ModelConfig
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.float_checkpoint import float_tensors
from quantize.checkpoints.marian_export import marian_options, write_marian_npz
from tests.golden.argos_subwords import read_results, write_package
from tests.golden.bergamot_int8 import alphas_of, integers, write_intgemm
from tests.sample_models.ctranslate2_writer import random_variables, stored_as, write_ctranslate2
from tests.sample_models.huggingface_model import write_huggingface, write_vocabulary
from tests.sample_models.marian_bin_writer import write_marian_bin
from tests.sample_models.random_models import random_sources, random_tensors
from tests.sample_models.recurrents import make_config
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.t5_model import write_t5

CONFIG = ModelConfig.of(
    model_dim=32, ffn_dim=64, heads=2, encoder_layers=2, decoder_parameters=(0, 1), vocab_size=128, scheme="float32"
)
SPLIT = CONFIG.changed(source_vocab_size=120, shared_vocabulary=False, shared_embedding=False)
OPUS = CONFIG.changed(cell="self_attention", activation="swish", vocab_size=96)
ALPHAS, SHORTLIST, VOCABULARY = "model.ende.intgemm.alphas.bin", "lex.50.50.ende.s2t.bin", "vocab.deen.spm"
DECODER = {"relative-paths": True, "beam-size": 2, "normalize": 0.5, "word-penalty": 0.25, "max-length-factor": 1.5}


class Written(NamedTuple):
    """A directory, and its contents in float32."""

    path: Path
    config: ModelConfig
    tensors: dict[str, np.ndarray]  # canonical names; for quantized weights, their rounded values
    shortlist: Shortlist | None = None
    alphas: dict[str, float] | None = None  # canonical names


def stored(tensors) -> dict[str, np.ndarray]:
    """Rounds weights as 8-bit integers do."""
    rounded = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            values, multiplier = integers(tensor)
            tensor = np.float32(1) / multiplier * values.astype(np.float32)
        rounded[name] = tensor
    return rounded


def random_lists(seed, config, first=10) -> Shortlist:
    """Draws up to 12 target pieces for each source piece."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 13, config.source_size)
    lists = [np.sort(generator.choice(config.vocab_size, size, replace=False)) for size in sizes]
    return Shortlist(np.array([0, *np.cumsum(sizes)]), np.concatenate(lists).astype(np.int32), first, 12, 128)


def calibrated(config, tensors) -> dict[str, float]:
    """Returns activation scales, one for all products of an input."""
    sources = random_sources(1, config.source_size, 6, longest=12)
    found = alphas_of(config, tensors, sources, [None] * len(sources))
    for name in found:
        group = name.replace(".query.", ".key.") if ".self_attention." in name else name
        group = group.replace(".value.", ".key.").replace(".cell.forget.", ".cell.candidate.")
        found[name] = found.get(group, found[name])
    return found


def bergamot(folder, config=CONFIG, with_alphas=True, seed=7) -> Written:
    """Writes Firefox's layout: 8-bit weights, shared or split vocabularies, a binary shortlist."""
    folder.mkdir()
    tensors = random_tensors(config, seed)
    alphas = calibrated(config, tensors) if with_alphas else None
    write_intgemm(folder / (ALPHAS if with_alphas else "model.intgemm8.bin"), config, tensors, alphas)
    if config.shared_vocabulary:
        train_vocabulary(folder / VOCABULARY, config.vocab_size)
    else:
        train_vocabulary(folder / "srcvocab.ende.spm", config.source_size)
        train_vocabulary(folder / "trgvocab.ende.spm", config.vocab_size)
    shortlist = random_lists(seed, config)
    (folder / SHORTLIST).write_bytes(shortlist.to_bytes())
    return Written(folder, config, stored(tensors), shortlist, alphas)


def packed(folder, ending=".gz") -> Written:
    """The same, with each file packed."""
    written = bergamot(folder)
    compress = gzip.compress if ending == ".gz" else zstd_module().compress
    for file in list(folder.iterdir()):
        (folder / f"{file.name}{ending}").write_bytes(compress(file.read_bytes()))
        file.unlink()
    return written


def write_float_bin(path, config, tensors):
    """A float32 `.bin` as marian-conv writes it."""
    names = marian_names(config, list(range(1, config.architecture.decoder_sets + 1)))
    theirs = {name: np.atleast_2d(tensors[ours]) for ours, name in names.items()}
    write_marian_bin(path, theirs, yaml.safe_dump(marian_options(config)).encode())


def marian(folder, model="model.npz") -> Written:
    """Writes the output of a training: float32, a text shortlist, decoder.yml."""
    folder.mkdir()
    tensors = random_tensors(CONFIG, 43)
    write = write_float_bin if model.endswith(".bin") else write_marian_npz
    write(folder / model, CONFIG, tensors)
    vocabulary = Vocabulary(train_vocabulary(folder / "vocab.spm"))
    pieces, lists = vocabulary.pieces(range(vocabulary.size)), random_lists(43, CONFIG)
    lines = [
        f"{pieces[target]} {pieces[source]} {0.9 - rank / 16}\n"
        for source in range(2, vocabulary.size)
        for rank, target in enumerate(lists.ids[lists.offsets[source] : lists.offsets[source + 1]])
        if target > 1
    ]
    (folder / "lex.s2t.gz").write_bytes(gzip.compress("".join(lines).encode()))
    decoder = DECODER | {"models": [model], "vocabs": ["vocab.spm"] * 2, "shortlist": ["lex.s2t.gz", 9, 4, 0]}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    shortlist = Shortlist.from_text(folder / "lex.s2t.gz", vocabulary, vocabulary, 9, 4)
    return Written(folder, CONFIG.changed(max_length_factor=1.5), tensors, shortlist)


def opus(folder, tables=("opus.vocab.yml",)) -> Written:
    """Writes a release of OPUS-MT: SentencePiece models that cut, YAML tables that number."""
    folder.mkdir()
    table = write_vocabulary(folder, train_vocabulary)
    table.pop("<pad>")
    for name in ("vocab.json", "tokenizer_config.json"):
        (folder / name).unlink()
    for name in tables:
        (folder / name).write_text(yaml.safe_dump(table, allow_unicode=True, sort_keys=False), "utf-8")
    tensors = random_tensors(OPUS, 2)
    write_marian_npz(folder / "opus.npz", OPUS, tensors)
    decoder = {"relative-paths": True, "models": ["opus.npz"], "vocabs": [tables[0], tables[-1]], "beam-size": 3}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return Written(folder, replace(OPUS, shared_vocabulary=len(tables) == 1), tensors)


def words_of(texts) -> dict[str, int]:
    """Returns a table of the words between spaces, most frequent first."""
    words = Counter(word for text in texts for word in text.split())
    return {word: number for number, word in enumerate(["</s>", "<unk>", *sorted(words, key=lambda w: (-words[w], w))])}


def words(folder, tables=("train.src.vocab.yml", "train.trg.vocab.yml"), seed=5) -> Written:
    """Writes a recurrent word model in Marian's layout: English to German, with tables in YAML alone."""
    folder.mkdir()
    made = [words_of(TEXT[::2]), words_of(TEXT[1::2])] if len(tables) == 2 else [words_of(TEXT)]
    for name, table in zip(tables, made, strict=True):
        (folder / name).write_text(yaml.safe_dump(table, allow_unicode=True, sort_keys=False), "utf-8")
    sizes = {"vocab_size": len(made[-1]), "source_vocab_size": len(made[0]) if len(made) == 2 else None}
    shared = {"shared_vocabulary": len(made) == 1, "shared_embedding": len(made) == 1}
    config = make_config(model_dim=32, encoder_dim=32, decoder_dim=32, scheme="float32", **sizes, **shared)
    tensors = random_tensors(config, seed)
    write_marian_npz(folder / "model.npz", config, tensors)
    return Written(folder, config, tensors)


def huggingface(folder, shape="shared") -> Written:
    """Writes the layout of `save_pretrained`."""
    folder.mkdir()
    fields, tensors = write_huggingface(folder, shape)
    write_vocabulary(folder, train_vocabulary, separate=shape == "apart")
    config = read_huggingface_config(fields, {}, 1, shape == "shared", "config")
    return Written(folder, *stored_tensors(config, tensors, "model", left_out=1))


def ctranslate2(folder, kind="float32", pre_norm=True) -> Written:
    """Writes a model of OpenNMT, or one of Marian, as CTranslate2's converter does, with SentencePiece models."""
    folder.mkdir()
    special = ["<unk>", "<blank>", "<s>", "</s>"]
    if pre_norm:
        trained = Vocabulary(train_vocabulary(folder / "sentencepiece.model", 90, eos_id=2, unk_id=0, bos_id=1))
        pieces = [*special, *trained.pieces(range(3, trained.size))]
    else:
        pieces = [piece for piece, _ in sorted(write_vocabulary(folder, train_vocabulary).items(), key=lambda x: x[1])]
        pieces.pop()  # <pad>
        for name in ("vocab.json", "tokenizer_config.json"):
            (folder / name).unlink()
    variables, aliases = random_variables(4, source=len(pieces), pre_norm=pre_norm, stored=0 if pre_norm else 60)
    config = {"decoder_start_token": "<s>" if pre_norm else "</s>"}
    write_ctranslate2(folder, [pieces], stored_as(variables, kind), aliases, config=config)
    found = read_checkpoint(folder)
    return Written(folder, found.config, float_tensors(found.tensors))


def subwords(folder) -> Written:
    """Writes a package of Argos with the codes of subword-nmt."""
    write_package(folder, read_results()["codes"])
    found = read_checkpoint(folder)
    return Written(folder, found.config, float_tensors(found.tensors))


def t5(folder, shape="t5 1.1") -> Written:
    """Writes a T5 model as `save_pretrained` does, with its tokenizer's pieces."""
    folder.mkdir()
    write_t5(folder, shape)
    found = read_checkpoint(folder)
    return Written(folder, found.config, float_tensors(found.tensors))


def relative(folder) -> Written:
    """Writes a model of OpenNMT-py with relative positions, as CTranslate2's converter does."""
    written = ctranslate2(folder)
    pieces = json.loads((folder / "shared_vocabulary.json").read_text())
    variables, aliases = random_variables(4, source=len(pieces), pre_norm=True, relative=6, tied=False)
    write_ctranslate2(folder, [pieces], variables, aliases)
    found = read_checkpoint(written.path)
    return Written(folder, found.config, float_tensors(found.tensors))


def files_of(folder: Path) -> BergamotFiles:
    """Returns the files of a directory of Marian, or perhaps of another kind."""
    return find_files(FoundModel("marian", folder, listing(folder)))


KINDS: dict[str, Callable[[Path], Written]] = {
    "bergamot": bergamot,
    "bergamot without alphas": lambda folder: bergamot(folder, with_alphas=False),
    "bergamot gzipped": packed,
    "bergamot packed with zstd": lambda folder: packed(folder, ".zst"),
    "bergamot with two vocabularies": lambda folder: bergamot(folder, SPLIT, seed=21),
    "marian npz": marian,
    "marian bin": lambda folder: marian(folder, "model.bin"),
    "opus": opus,
    "opus with two tables": lambda folder: opus(folder, ("opus.src.vocab.yml", "opus.trg.vocab.yml")),
    "words": words,
    "words of both languages": lambda folder: words(folder, ("vocab.yml",)),
    "ctranslate2": ctranslate2,
    "ctranslate2 int8": lambda folder: ctranslate2(folder, "int8_float16", pre_norm=False),
    "ctranslate2 with relative positions": relative,
    "argos with bpe": subwords,
    "huggingface": huggingface,
    "huggingface with two tables": lambda folder: huggingface(folder, "apart"),
    "huggingface t5": t5,
}
