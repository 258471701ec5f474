"""Every reader of files against damaged ones: one ModelFileError or a result; no hang, and no great allocation.

Damage is bits, bytes and whole numbers overwritten, pieces cut out, doubled, cut off and appended, mostly at the
ends, where the tables are.
"""

import functools
import gzip
import hashlib
import json
import resource
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import METADATA, read_json
from cpunmt.formats.any_directory import read_checkpoint
from cpunmt.formats.any_directory import read_metadata as read_any_metadata
from cpunmt.formats.ctranslate2.model_bin import read_model_bin
from cpunmt.formats.ctranslate2.transformer import NetworkSettings, Vocabularies, network_of
from cpunmt.formats.foreign_model import StoredIntegers, open_vocabularies
from cpunmt.formats.huggingface.huggingface import read_huggingface_config
from cpunmt.formats.huggingface.stored_tensors import stored_tensors
from cpunmt.formats.huggingface.t5 import read_t5_config, t5_tensors
from cpunmt.formats.marian.decoder_options import read_decoder_options
from cpunmt.formats.marian.marian import read_marian, read_marian_file
from cpunmt.formats.marian.marian_transformer import parse_options
from cpunmt.formats.marian.npz import read_npz
from cpunmt.formats.packed.clusters_file import clusters_bytes, read_clusters
from cpunmt.formats.packed.packed_directory import read_directory, verify, write_directory
from cpunmt.formats.packed.safetensors_file import read_float_tensors, read_safetensors, write_safetensors
from cpunmt.formats.pytorch.pytorch_file import read_torch_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors
from cpunmt.registry.package_file import unpacked
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.shortlists.vocabulary_map import VocabularyMap
from cpunmt.text.vocabularies.piece_table import read_table
from cpunmt.text.vocabularies.subword_codes import SubwordCodes
from cpunmt.text.vocabularies.vocabulary import Vocabulary, load_processor
from quantize.checkpoints.marian_export import write_marian_npz
from tests.formats.huggingface.test_weight_files import write_shards
from tests.golden.argos import write_package
from tests.golden.argos_subwords import read_results
from tests.registry.test_argos import archive_of
from tests.sample_models import t5_model
from tests.sample_models.ctranslate2_writer import model_bytes, older, random_variables, stored_as, write_ctranslate2
from tests.sample_models.foreign_directories import ctranslate2, huggingface, t5
from tests.sample_models.huggingface_model import FIELDS, random_tensors, safetensors_bytes
from tests.sample_models.many_languages_model import SHAPES, put_tokenizer_json, write_ctranslate2_model, write_model
from tests.sample_models.marian_bin_writer import is_quantized, write_marian_bin
from tests.sample_models.marian_model import marian_options, marian_tensors, options_item
from tests.sample_models.random_clusters import random_clusters, use_clusters
from tests.sample_models.random_models import random_tensors as random_weights
from tests.sample_models.recurrents import make_config
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.sample_models.t5_model import FIELDS as T5_FIELDS
from tests.sample_models.t5_model import ROWS, write_pieces
from tests.sample_models.torch_writer import torch_bytes
from tests.support.speeds import slow_after

SIZES = {"d": 32, "f": 128, "heads": 1, "enc": 1, "dec": 1, "vocab": 100}
SECONDS = 2.0
GROWTH = 200 << 10  # kilobytes that the whole process may grow by: C++ reads SentencePiece models
QUICK = ["marian int8 .bin with alphas", "npz", "packed metadata", "safetensors", "clusters", "vocab.json"]
QUICK += ["CTranslate2 int8", "CTranslate2 int16, version 2"]


class Reader(NamedTuple):
    """A reader: `write(path)` makes a sound file, `read(path)` reads it, uses all its contents and returns them.

    An accepted file with checksums must have the sound file's content.
    """

    write: Callable
    read: Callable
    constant: int = 512 << 10  # bytes that may be allocated, besides three times the file
    checksums: bool = False


def write_bin(precision, zipped=False):
    def write(path):
        tensors = marian_tensors(1, **SIZES)
        alphas = {name: 9.5 for name in tensors if is_quantized(name)} if precision == "int8" else None
        text = yaml.safe_dump(marian_options(**SIZES)).encode()
        content = write_marian_bin(path, tensors, text, precision, alphas)
        if zipped:
            path.write_bytes(gzip.compress(content))

    return write


def read_model(path):
    model = read_marian_file(path)
    assert isinstance(model.options, dict) and all(value > 0 for value in model.alphas.values())
    for array in model.tensors.values():
        assert isinstance(array, np.ndarray | StoredIntegers)
        if isinstance(array, StoredIntegers):
            assert np.isfinite(array.multiplier) and array.values.min() >= -127
            array = array.values
        use(array)


def use(array):
    """Reads every element."""
    with np.errstate(invalid="ignore"):
        assert array.size == 0 or array.min() is not None


def write_npz(path):
    options = options_item(marian_options(**SIZES))
    with open(path, "wb") as file:
        np.savez(file, **marian_tensors(1, **SIZES), **{"special:model.yml": options})


def read_arrays(path):
    found = read_npz(path)
    for array in found.values():
        use(array)
    return {name: (array.shape, array.tobytes()) for name, array in found.items()}


def write_nematus(path):
    """Writes a file without options: the architecture is found from names and shapes."""
    config = make_config(encoder_dim=32, decoder_dim=32, shared_embedding=False, shared_vocabulary=False, vocab_size=24)
    with tempfile.TemporaryDirectory() as folder:
        write_marian_npz(Path(folder) / "model.npz", config, random_weights(config, 1))
        arrays = dict(np.load(Path(folder) / "model.npz"))
    del arrays["special:model.yml"]
    arrays["Wemb"] = arrays.pop("encoder_Wemb")
    with open(path, "wb") as file:
        np.savez(file, **arrays, decoder_c_tt=np.zeros((), np.float32), history_errs=np.array([1.5]))


def read_nematus(path):
    config, tensors, _ = read_marian(path)
    return config, {name: (array.shape, array.tobytes()) for name, array in tensors.items()}


def write_tensors(path):
    path.unlink(missing_ok=True)
    write_safetensors(path, {name.replace(":", "."): array for name, array in marian_tensors(1, **SIZES).items()})


def read_tensors(path):
    for array in read_safetensors(path).values():
        use(array)


def some_shortlist():
    generator = np.random.default_rng(4)
    lists = [np.flatnonzero(generator.random(1000) < 0.02) for _ in range(1000)]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    assert offsets[-1] % 2 == 0  # else the checksum leaves out the last id
    return Shortlist(offsets, np.concatenate(lists).astype(np.int32), 100, 50, 1000)


def write_shortlist(path):
    path.write_bytes(some_shortlist().to_bytes())


def read_shortlist(path):
    """Reads with the file's own checksum."""
    shortlist = Shortlist.read(path, 1000, 1000)
    use_shortlist(shortlist)
    return shortlist.to_bytes()


def read_forged_shortlist(path):
    """Reads with a matching SHA-256, as a forger could make it."""
    use_shortlist(Shortlist.read(path, 1000, 1000, hashlib.sha256(path.read_bytes()).hexdigest()))


def use_shortlist(shortlist):
    found = shortlist.candidates(range(1000), True)
    assert found[0] >= 0 and found[-1] < 1000


CLUSTERED = make_config(vocab_size=1000)


def write_clusters(path):
    sets = {piece: random_clusters(4, CLUSTERED, 50, 20, active_share="0.02") for piece in ("", ">>de<<")}
    path.write_bytes(clusters_bytes(sets))


def read_all_clusters(path):
    for clusters in read_clusters(path, CLUSTERED).values():
        use_clusters(clusters, CLUSTERED)


@functools.cache
def small_vocabulary():
    with tempfile.TemporaryDirectory() as folder:
        return Vocabulary(train_vocabulary(Path(folder) / "small.spm"))


def write_text(zipped):
    def write(path):
        pieces = small_vocabulary().pieces(range(small_vocabulary().size))
        generator = np.random.default_rng(4)
        rows = zip(generator.choice(pieces, 1_000), generator.choice(pieces, 1_000), strict=True)
        text = "".join(f"{target} {source} {generator.random():.7f}\n" for target, source in rows).encode()
        path.write_bytes(gzip.compress(text) if zipped else text)

    return write


def read_text(path):
    vocabulary = small_vocabulary()
    found = Shortlist.load(path, vocabulary, vocabulary).candidates(range(vocabulary.size), True)
    assert found[0] >= 0 and found[-1] < vocabulary.size


def write_map(path):
    pieces = small_vocabulary().pieces(range(2, small_vocabulary().size))
    generator = np.random.default_rng(5)
    sides = [[" ".join(generator.choice(pieces, generator.integers(1, 4))) for _ in range(300)] for _ in range(2)]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)))


def read_map(path):
    vocabulary = small_vocabulary()
    found = VocabularyMap.read(path, vocabulary, vocabulary).candidates(range(vocabulary.size))
    assert found[0] == 0 and found[-1] < vocabulary.size


def read_vocabulary(path):
    vocabulary = Vocabulary(path)
    ids = vocabulary.encode(TEXT[1] + " \u00e9\0")
    assert all(0 <= id_ < vocabulary.size for id_ in ids)
    assert isinstance(vocabulary.decode(ids[::-1]), str)
    vocabulary.pieces(ids)


def write_options(path):
    options = {
        "relative-paths": True,
        "models": ["model.bin"],
        "vocabs": ["vocab.spm", "vocab.spm"],
        "shortlist": ["lex.s2t.bin", False],
        "beam-size": 1,
        "normalize": 1.0,
        "gemm-precision": "int8shiftAlphaAll",
    }
    path.write_text(yaml.safe_dump(options))


def read_huggingface_weights(path):
    config = read_huggingface_config(FIELDS, {}, 1, True, str(path))
    for array in stored_tensors(config, read_float_tensors(path), str(path), left_out=1)[1].values():
        assert array.dtype == np.float32 and np.isfinite(array).all()


def write_huggingface_weights(kind):
    return lambda path: path.write_bytes(safetensors_bytes(random_tensors(FIELDS), kind))


def write_torch(container):
    return lambda path: path.write_bytes(torch_bytes(random_tensors(FIELDS), "F32", container))


def read_torch(path):
    config = read_huggingface_config(FIELDS, {}, 1, True, str(path))
    for array in stored_tensors(config, read_torch_tensors(path), str(path), left_out=1)[1].values():
        assert array.dtype == np.float32 and np.isfinite(array).all()


def read_huggingface_fields(path):
    """Reads as config.json, and as generation_config.json."""
    fields = read_json(path, "config")
    read_huggingface_config(FIELDS, fields, 1, True, str(path))
    read_huggingface_config(fields, {}, 1, True, str(path))


@functools.cache
def t5_vocabulary():
    with tempfile.TemporaryDirectory() as folder:
        write_pieces(Path(folder) / "spiece.model", pad_id=0, eos_id=1, unk_id=2)
        return Vocabulary(Path(folder) / "spiece.model")


def read_t5_fields(path):
    """Reads as config.json, and as generation_config.json."""
    fields = read_json(path, "config")
    read_t5_config(T5_FIELDS, fields, t5_vocabulary(), str(path))
    read_t5_config(fields, {}, t5_vocabulary(), str(path))


def read_t5_weights(path):
    config, start = read_t5_config(T5_FIELDS, {}, t5_vocabulary(), str(path))
    found = t5_tensors(config, read_float_tensors(path), ROWS, start, True, str(path))[1]
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in found.values())


def write_ctranslate2_bin(kind, version, **options):
    def write(path):
        variables, aliases = random_variables(source=40, enc=1, dec=1, stored=20, **options)
        path.write_bytes(model_bytes(stored_as(variables, kind), aliases, version))

    return write


def read_ctranslate2_model(path):
    settings = NetworkSettings(source_end=True, start="<s>", start_id=2, epsilon=1e-5)
    config, tensors = network_of(read_model_bin(path), Vocabularies(range(40), 40, True, 0, 1), settings, str(path))
    for name, tensor in tensors.items():
        assert tensor.shape == checkpoint_tensors(config)[name] or name in ("positions", "target_positions")
        use(tensor.values if isinstance(tensor, StoredIntegers) else tensor)


def in_directory(make, name, read=None):
    """Returns a reader of the file `name` in the directory that `make(folder)` writes; `read(folder)` reads it all."""

    def write(path):
        folder = path.with_name("model")
        if not folder.exists():
            make(folder)
        path.write_bytes((folder / name).read_bytes())

    def read_or_refuse(path):
        folder = path.with_name("model")
        (folder / name).write_bytes(path.read_bytes())
        try:
            (read or read_whole)(folder)
        except ModelFileError as error:
            assert str(folder) in str(error)
            raise ModelFileError(f"{path}: {error}") from None

    return Reader(write, read_or_refuse, constant=4 << 20)


def read_whole(folder):
    """Reads a directory of any program, its languages, weights and vocabularies, as a Translator does."""
    read_any_metadata(folder)
    model = read_checkpoint(folder)
    for tensor in model.tensors.values():
        use(tensor.values if isinstance(tensor, StoredIntegers) else tensor)
    source, target = open_vocabularies(model)
    ids = source.encode(TEXT[1] + " \u00e9\0")
    assert all(0 <= id_ < source.size for id_ in ids)
    assert isinstance(target.decode([id_ for id_ in ids[::-1] if id_ < target.size]), str)


def of_many(name):
    """Returns a writer of a model of many languages, with all the files that it may have."""

    def make(folder):
        table = write_model(folder, name)
        generation = {"num_beams": 2, "max_length": 50, "forced_bos_token_id": table[SHAPES[name].languages[1]]}
        (folder / "generation_config.json").write_text(json.dumps(generation))
        added = json.loads((folder / "tokenizer_config.json").read_text())
        added["added_tokens_decoder"] = {str(max(table.values())): {"content": list(table)[-1], "special": True}}
        (folder / "tokenizer_config.json").write_text(json.dumps(added))
        (folder / "added_tokens.json").write_text(json.dumps({list(table)[-1]: max(table.values())}))

    return make


def sharded(name):
    def make(folder):
        huggingface(folder)
        write_shards(folder, name, random_tensors(FIELDS))
        (folder / "model.safetensors").unlink()

    return make


def older_ctranslate2(version):
    """Returns a writer of a directory whose settings are variables, and whose vocabulary is lines of text."""

    def make(folder):
        folder.mkdir()
        ctranslate2(folder / "new")
        pieces = json.loads((folder / "new" / "shared_vocabulary.json").read_text("utf-8"))
        found, aliases = random_variables(4, source=len(pieces), pre_norm=True)
        variables, revision = older(stored_as(found, "int8"), version)
        write_ctranslate2(folder, [pieces], variables, aliases, version, revision=revision)
        shutil.copyfile(folder / "new" / "sentencepiece.model", folder / "sentencepiece.model")
        shutil.rmtree(folder / "new")

    return make


def ctranslate2_of_many(folder):
    write_ctranslate2_model(folder.with_name("of many"), "nllb")
    folder.with_name("of many").joinpath("converted").rename(folder)


def write_argos_file(path):
    path.with_name("package").mkdir(exist_ok=True)
    folder = path.with_name("package") / "translate-en_de-1_9"
    path.write_bytes(archive_of(folder if folder.exists() else write_package(folder)))


def read_argos_file(path):
    """Unpacks an archive, anew each time."""
    file, models = path.with_name("x.argosmodel"), path.with_name("models")
    file.write_bytes(path.read_bytes())
    try:
        folder = unpacked(file, models)
        assert folder.resolve().is_relative_to(models.resolve())
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    finally:
        shutil.rmtree(models, ignore_errors=True)
        assert {one.name for one in path.parent.iterdir()} == {"file", "package", "x.argosmodel"}


def some_table():
    return {piece: i for i, piece in enumerate(small_vocabulary().pieces(range(128)))}


def write_yaml_table(path):
    lines = [f"{json.dumps(piece)}: {i}\n" if i % 2 else f"{piece}: {i}\n" for piece, i in some_table().items()]
    path.write_text("".join(lines))


def read_yaml_table(path):
    content = path.read_bytes()
    named = path.with_name(f"{path.name}.yml")  # the name says what it is
    named.write_bytes(content) if content else named.touch()
    table = read_table(named)
    assert all(type(piece) is str and 0 <= i < 2 * len(table) + 1000 for piece, i in table.items())


def read_json_table(path):
    named = path.with_name(f"{path.name}.json")
    named.write_bytes(path.read_bytes())
    if not path.stat().st_size:
        named.write_bytes(b" ")
    read_table(named)


def read_subword_codes(path):
    assert "".join(SubwordCodes(path).cut("the dogs")).replace("@@", "") == "the dogs"


def write_tokenizer_json(path):
    train_vocabulary(path.with_name("small.spm"))
    put_tokenizer_json(path.with_name("small.spm"), ["</s>", "<unk>"])
    path.with_name("tokenizer.json").rename(path)


def read_tokenizer_json(path):
    named = path.with_name(f"{path.name}.json")
    named.write_bytes(path.read_bytes())
    processor = load_processor(named)
    assert all(0 <= id_ < processor.get_piece_size() for id_ in processor.encode(TEXT[1]))


def packed(folder):
    config = ModelConfig.of(model_dim=32, ffn_dim=64, heads=2, encoder_layers=1, decoder_parameters=(0,), vocab_size=50)
    vocabulary = folder.with_name("some.spm")
    vocabulary.write_text("vocabulary")
    tensors = {"output.bias": np.zeros(50, np.float32)}
    write_directory(folder, config, tensors, vocabulary=vocabulary, metadata={"note": "größer"})


def read_metadata(folder):
    for function in (read_directory, verify):
        function(folder)


READERS = {
    "marian float32 .bin": Reader(write_bin("float32"), read_model),
    "marian int8 .bin with alphas": Reader(write_bin("int8"), read_model),
    "marian .bin.gz": Reader(write_bin("int8", zipped=True), read_model),
    "packed metadata": in_directory(packed, METADATA, read_metadata),
    "npz": Reader(write_npz, read_arrays, checksums=True),
    "nematus": Reader(write_nematus, read_nematus, checksums=True),
    "safetensors": Reader(write_tensors, read_tensors),
    "binary shortlist": Reader(write_shortlist, read_shortlist, checksums=True),
    "forged shortlist": Reader(write_shortlist, read_forged_shortlist),
    "clusters": Reader(write_clusters, read_all_clusters),
    "text shortlist": Reader(write_text(zipped=False), read_text),
    "text shortlist .gz": Reader(write_text(zipped=True), read_text),
    "vocabulary map": Reader(write_map, read_map, constant=1 << 20),
    "vocabulary": Reader(train_vocabulary, read_vocabulary),
    "Hugging Face float32": Reader(write_huggingface_weights("F32"), read_huggingface_weights),
    "Hugging Face float16": Reader(write_huggingface_weights("F16"), read_huggingface_weights),
    "Hugging Face bfloat16": Reader(write_huggingface_weights("BF16"), read_huggingface_weights),
    "Hugging Face torch": Reader(write_torch("zip"), read_torch),
    "Hugging Face legacy torch": Reader(write_torch("legacy"), read_torch),
    "T5 weights": Reader(
        lambda path: path.write_bytes(safetensors_bytes(t5_model.random_tensors(T5_FIELDS))), read_t5_weights
    ),
    "T5 config": Reader(lambda path: path.write_text(json.dumps(T5_FIELDS)), read_t5_fields, constant=1 << 20),
    "Hugging Face config": Reader(lambda path: path.write_text(json.dumps(FIELDS)), read_huggingface_fields),
    "CTranslate2 int8": Reader(write_ctranslate2_bin("int8", 6), read_ctranslate2_model, constant=4 << 20),
    "CTranslate2 float16": Reader(write_ctranslate2_bin("float16", 6), read_ctranslate2_model, constant=4 << 20),
    "CTranslate2 int16, version 2": Reader(write_ctranslate2_bin("int16", 2), read_ctranslate2_model, constant=4 << 20),
    "CTranslate2 relative positions": Reader(
        write_ctranslate2_bin("float32", 6, relative=5), read_ctranslate2_model, constant=4 << 20
    ),
    "CTranslate2 T5": Reader(
        write_ctranslate2_bin("float32", 6, buckets=8, rms=True, gated=True, biased=False, width=64),
        read_ctranslate2_model,
        constant=4 << 20,
    ),
    "CTranslate2 bfloat16": Reader(write_ctranslate2_bin("bfloat16", 6), read_ctranslate2_model, constant=4 << 20),
    **{
        f"CTranslate2 int8, version {version}": in_directory(older_ctranslate2(version), "model.bin")
        for version in (3, 4, 5)
    },
    "CTranslate2 config": in_directory(ctranslate2, "config.json"),
    "vocabulary of CTranslate2": in_directory(ctranslate2, "shared_vocabulary.json"),
    "vocabulary of CTranslate2 .txt": in_directory(older_ctranslate2(5), "shared_vocabulary.txt"),
    "SentencePiece model of CTranslate2": in_directory(ctranslate2, "sentencepiece.model"),
    "tokenizer_config of CTranslate2": in_directory(ctranslate2_of_many, "tokenizer_config.json"),
    "JSON table": Reader(lambda path: path.write_text(json.dumps(list(some_table()))), read_json_table),
    "index of safetensors": in_directory(sharded("model.safetensors"), "model.safetensors.index.json"),
    "index of torch": in_directory(sharded("pytorch_model.bin"), "pytorch_model.bin.index.json"),
    **{
        f"{family} {name}": in_directory(make, name)
        for family, make in {name: of_many(name) for name in ("m2m", "nllb", "mbart")}.items()
        for name in ("config.json", "generation_config.json", "tokenizer_config.json", "sentencepiece.bpe.model")
    },
    "m2m vocab.json": in_directory(of_many("m2m"), "vocab.json"),
    "nllb added_tokens.json": in_directory(of_many("nllb"), "added_tokens.json"),
    "nllb weights": in_directory(of_many("nllb"), "model.safetensors"),
    "Hugging Face tokenizer": in_directory(huggingface, "tokenizer_config.json"),
    "Hugging Face vocab.json": in_directory(huggingface, "vocab.json"),
    "Hugging Face source.spm": in_directory(huggingface, "source.spm"),
    "T5 spiece.model": in_directory(t5, "spiece.model"),
    "Argos metadata": in_directory(write_package, "metadata.json"),
    "Argos sentencepiece.model": in_directory(write_package, "sentencepiece.model"),
    "Argos file": Reader(write_argos_file, read_argos_file, constant=4 << 20),
    "vocab.yml": Reader(write_yaml_table, read_yaml_table),
    "vocab.json": Reader(lambda path: path.write_text(json.dumps(some_table())), read_yaml_table),
    "subword codes": Reader(
        lambda path: path.write_text(read_results()["codes"]), read_subword_codes, constant=4 << 20
    ),
    "tokenizer.json": Reader(write_tokenizer_json, read_tokenizer_json, constant=4 << 20),
    "decoder options": Reader(write_options, read_decoder_options),
    "model options": Reader(
        lambda path: path.write_text(yaml.safe_dump(marian_options())),
        lambda path: parse_options(path.read_bytes(), str(path)),
    ),
}
numbers = st.sampled_from([0, 1, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1])
places = st.tuples(st.sampled_from(["front", "back", "any"]), st.integers(0, 2**30))
steps = st.one_of(
    st.tuples(st.just("bit"), places, st.integers(0, 7)),
    st.tuples(st.just("bytes"), places, st.binary(min_size=1, max_size=9)),
    st.tuples(st.sampled_from(["number 2", "number 4", "number 8"]), places, numbers),
    st.tuples(st.sampled_from(["cut", "double"]), places, st.integers(1, 300)),
    st.tuples(st.just("end"), places, st.none()),
    st.tuples(st.just("append"), places, st.binary(min_size=1, max_size=50)),
)


def damaged(content: bytes, damage: list) -> bytes:
    """Returns `content` after the `steps` in `damage`."""
    changed = bytearray(content)
    for kind, (where, place), value in damage:
        size = len(changed)
        near = min(size, 2000)
        at = place % max(size if where == "any" else near, 1) + (size - near if where == "back" else 0)
        if kind == "bit" and size:
            changed[at] ^= 1 << value
        elif kind == "bytes":
            changed[at : at + len(value)] = value
        elif kind.startswith("number"):
            width = int(kind[-1])
            at -= at % width
            changed[at : at + width] = (value % 256**width).to_bytes(width, "little")
        elif kind == "cut":
            del changed[at : at + value]
        elif kind == "double":
            changed[at:at] = changed[at : at + value]
        elif kind == "end":
            del changed[at:]
        elif kind == "append":
            changed += value
    return bytes(changed)


def cost(reader, path, sound) -> tuple[float, int]:
    """Returns seconds and bytes of reading; checks that a refusal is one error that names the file."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        found = reader.read(path)
        assert not reader.checksums or found == sound
    except ModelFileError as error:
        assert str(path) in str(error) and len(str(error)) < 4000
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH
    return time.process_time() - began, peak


@pytest.mark.parametrize("examples", slow_after(1, [100, 5000]))
@pytest.mark.parametrize("name", slow_after(len(QUICK), dict.fromkeys([*QUICK, *READERS])))
def test_damaged_files_are_refused_or_read(name, tmp_path, examples):
    reader, path = READERS[name], tmp_path / "file"
    reader.write(path)
    content = path.read_bytes()
    sound = reader.read(path)  # and modules are loaded

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    @given(damage=st.lists(steps, min_size=1, max_size=4))
    def read_or_refuse(damage):
        changed = damaged(content, damage)
        path.write_bytes(changed)
        allowed = 3 * max(len(changed), len(content)) + reader.constant
        found = []
        for _ in range(3):  # both measures are of the whole process: what other threads do does not come three times
            found.append(cost(reader, path, sound))
            if found[-1][0] < SECONDS and found[-1][1] <= allowed:
                return
        raise AssertionError(f"{found} seconds and bytes, expected at most {SECONDS} and {allowed}")

    read_or_refuse()
