"""The environment of the pages' code blocks: a folder with their files, and a registry on this machine."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from tests.golden.bergamot_int8 import alphas_of, write_intgemm
from tests.golden.bergamot_models import STUDENT, checkpoint
from tests.registry.http_server import serving
from tests.registry.shapes import argos_entry, firefox_records, serve_argos, serve_firefox, serve_opus, sha256
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary


def firefox_model(folder):
    """Makes the files that `serve_firefox` serves: a shipped model's weights in Firefox's format."""
    config, tensors = checkpoint(STUDENT)
    vocabulary, shortlist = (DIRECTORIES["int8"] / name for name in ("vocabulary.spm", "shortlist.bin"))
    source = Vocabulary(vocabulary).encode("A man is riding a bicycle.")
    write_intgemm(folder / "model", config, tensors, alphas_of(config, tensors, [source], [None]))
    records, attachments = firefox_records("en", "de", "2.0", architecture="tiny")
    for record, path in zip(records, (folder / "model", shortlist, vocabulary), strict=True):
        content, attachment = path.read_bytes(), record["attachment"]
        attachment |= {"size": len(content), "hash": sha256(content)}
        attachments[attachment["location"]] = content
    return records, attachments


@pytest.fixture(scope="session")
def registries(tmp_path_factory):
    """Returns environment variables for registries on this machine."""
    with serving() as server:
        yield {
            "CPUNMT_FIREFOX_REGISTRY": serve_firefox(server, firefox_model(tmp_path_factory.mktemp("firefox"))),
            "CPUNMT_OPUS_REGISTRY": serve_opus(server, {"en-fr/opus-2020-02-26.zip": b""}),
            "CPUNMT_ARGOS_REGISTRY": serve_argos(server, argos_entry("en", "az")),
            "CPUNMT_HF_REGISTRY": server.url,
            "CPUNMT_OFFLINE": "",
            "no_proxy": "*",
        }


@pytest.fixture
def readers_folder(tmp_path, registries, monkeypatch) -> Path:
    """Makes a reader's current folder: models, a checkpoint, texts; commands are on the path."""
    for name in ("models", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    train_vocabulary(tmp_path / "vocab.spm")
    vocabulary = Vocabulary(tmp_path / "vocab.spm")
    write_marian_npz(tmp_path / "model.npz", seed=1, vocab=vocabulary.size)
    piece = vocabulary.pieces([5])[0]
    (tmp_path / "lex.s2t.gz").write_bytes(gzip.compress(f"{piece} {piece} 0.5\n".encode()))
    (tmp_path / "input.txt").write_text("One man.\n\nTwo men.\n", "utf-8")
    (tmp_path / "english.txt").write_text("".join(f"{line}\n" for line in TEXT[::2] * 30), "utf-8")
    (tmp_path / "test.tsv").write_text("a b c\ta c\nd\td\n" * 10, "utf-8")
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress(b"a b c\ta c\nd\td\n" * 50))
    monkeypatch.chdir(tmp_path)
    variables = {**registries, "CPUNMT_MODELS_DIR": str(tmp_path / "fetched"), "PYTHONPATH": str(ROOT)}
    variables["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return tmp_path
