"""Models of the Hugging Face hub."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import CpunmtError
from cpunmt.formats.ctranslate2 import ctranslate2_directory
from cpunmt.formats.huggingface import many_languages, t5
from cpunmt.registry import huggingface
from cpunmt.registry.connection import HttpStatusError
from tests.registry.broken_json import ANYTHING, paths_of, replaced
from tests.registry.shapes import COMMIT, HUB_FILES, git_blob, serve_hub, sha256

NAME = "Helsinki-NLP/opus-mt-en-de"


def model(server, name=NAME):
    return huggingface.find_model(name, server.url, lambda url: server.content[url.removeprefix(server.url)])


def test_a_model(server):
    serve_hub(server, NAME)
    entry = model(server)
    assert (entry.name, entry.source, entry.target) == (f"hf:{NAME}", "en", "de")
    assert (entry.version, entry.licence, entry.packed) == (COMMIT[:12], "cc-by-4.0", False)
    files = {file.path: file for file in entry.files}
    assert list(files) == ["config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"]
    for name, file in files.items():
        assert file.size == len(HUB_FILES[name])
        assert file.url == f"{server.url}/{NAME}/resolve/{COMMIT}/{name}"
        if name.endswith(".json"):
            assert (file.git_blob, file.sha256) == (git_blob(HUB_FILES[name]), None)
        else:
            assert (file.git_blob, file.sha256) == (None, sha256(HUB_FILES[name]))


def test_files_that_some_models_have(server):
    more = {"target_vocab.json": b"{}", "generation_config.json": b"{}", "LICENSE": b"MIT", "README.md": b"#"}
    serve_hub(server, NAME, {**HUB_FILES, **more, "tf_model.h5": b"", "rust_model.ot": b""})
    assert {file.path for file in model(server).files} == {
        *("config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"),
        *more,
    }


def test_a_model_of_many_languages(server):
    files = {"config.json": b"{}", "pytorch_model.bin": b"1", "sentencepiece.bpe.model": b"2", "tokenizer.json": b"{}"}
    more = {"vocab.json": b"{}", "tokenizer_config.json": b"{}", "generation_config.json": b"{}"}
    serve_hub(server, "facebook/m2m100_418M", {**files, **more})
    entry = model(server, "facebook/m2m100_418M")
    assert {file.path for file in entry.files} == {*files, *more} - {"tokenizer.json"}
    assert entry.architecture == "many languages"


TOKENIZER = {"config.json": b"{}", "model.safetensors": b"1", "tokenizer.json": b"{}"}
CTRANSLATE2 = {"config.json": b"{}", "model.bin": b"1", "tokenizer_config.json": b"{}"}
PAIR = {"source_vocabulary.json": b"[]", "target_vocabulary.json": b"[]", "source.spm": b"2", "target.spm": b"3"}


@pytest.mark.parametrize(
    ("files", "model_type", "kind", "left_out"),
    [
        (TOKENIZER, "m2m_100", "many languages", set()),
        ({**TOKENIZER, "sentencepiece.bpe.model": b"2"}, "mbart", "many languages", {"tokenizer.json"}),
        (TOKENIZER, "umt5", "t5", set()),
        ({"model.bin": b"1", "shared_vocabulary.txt": b"", "vocabulary.spm": b"2"}, None, "CTranslate2", set()),
        ({**TOKENIZER, "spiece.model": b"2"}, None, "t5", {"tokenizer.json"}),
        ({**CTRANSLATE2, "shared_vocabulary.txt": b"", "tokenizer.json": b"{}"}, None, "CTranslate2", set()),
        (
            {**CTRANSLATE2, **PAIR, "vmap.txt": b"", "pytorch_model.bin": b"2"},
            "marian",
            "CTranslate2",
            {"pytorch_model.bin"},
        ),
    ],
)
def test_kinds(server, files, model_type, kind, left_out):
    """By the type in config.json, which the hub repeats, or by files that only one kind has."""
    serve_hub(server, "a/model", files, config={"model_type": model_type} if model_type else {})
    entry = model(server, "a/model")
    assert entry.architecture == kind
    assert {file.path for file in entry.files} == set(files) - left_out


def test_types_and_files_are_those_that_can_be_read():
    singles = tuple(
        (source,) if source == target else (source, target) for source, target in ctranslate2_directory.PIECES
    )
    assert (*singles, ("tokenizer.json",)) == huggingface._PIECES
    types = {kind.title: kind.types for kind in huggingface._KINDS if kind.types}
    assert types == {"marian": ("marian",), "many languages": many_languages.MODEL_TYPES, "t5": t5.MODEL_TYPES}


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"model.bin": b"1", "shared_vocabulary.json": b"[]"}, "source.spm, target.spm"),
        (
            {"model.bin": b"1", "source_vocabulary.json": b"[]", "source.spm": b"2"},
            "config.json, target.spm, vocab.json",
        ),
    ],
)
def test_what_a_ctranslate2_repository_lacks(server, files, missing):
    """CTranslate2 leaves the SentencePiece model to its callers."""
    serve_hub(server, "a/model", files)
    with pytest.raises(CpunmtError, match=f"has no {missing}"):
        model(server, "a/model")


@pytest.mark.parametrize("model_type", ["bert", "whisper"])
def test_a_type_that_cannot_be_read(server, model_type):
    serve_hub(server, "a/model", TOKENIZER, config={"model_type": model_type})
    with pytest.raises(CpunmtError, match=f"hf:a/model is a model of the type '{model_type}'; expected a MarianMT"):
        model(server, "a/model")


def test_a_tokenizer_alone_tells_no_kind(server):
    serve_hub(server, "a/model", TOKENIZER)
    with pytest.raises(CpunmtError, match=r"has no source.spm, target.spm, vocab.json; expected a MarianMT"):
        model(server, "a/model")


def test_a_revision(server):
    serve_hub(server, NAME, revision="refs/pr/3")
    entry = model(server, f"{NAME}@refs/pr/3")
    assert entry.name == f"hf:{NAME}@refs/pr/3" and entry.registry.endswith("/revision/refs%2Fpr%2F3?blobs=true")


FORMS = [
    ["model.safetensors"],
    ["model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
    ["pytorch_model.bin"],
    ["pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"],
]


@pytest.mark.parametrize("best", range(4))
def test_one_form_of_the_weights_is_fetched(server, best):
    """The first of those that are there."""
    others = {name: content for name, content in HUB_FILES.items() if name not in FORMS[0] + FORMS[2]}
    serve_hub(server, NAME, others | {name: name.encode() for form in FORMS[best:] for name in form})
    files = [file.path for file in model(server).files]
    assert files == ["config.json", *FORMS[best], "source.spm", "target.spm", "vocab.json"]


def test_another_kind_of_model(server):
    serve_hub(server, "google/t5", {"config.json": b"{}", "model.safetensors": b""})
    with pytest.raises(CpunmtError, match="has no source.spm, target.spm, vocab.json; expected a MarianMT model"):
        model(server, "google/t5")


@pytest.mark.parametrize("gated", ["auto", "manual", True])
def test_a_model_behind_an_account(server, gated):
    serve_hub(server, NAME, gated=gated)
    with pytest.raises(CpunmtError, match="needs an account"):
        model(server)


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("opus-mt-en-de", ("en", "de")),
        ("opus-mt-tc-big-en-zle", ("en", "zle")),
        ("opus-mt-tc-bible-big-mul-en", ("mul", "en")),
        ("opus-mt-en_GB-de", ("en_GB", "de")),
        ("my-model", ("en+de", "en+de")),
    ],
)
def test_languages(server, name, languages):
    serve_hub(server, f"a/{name}")
    entry = model(server, f"a/{name}")
    assert (entry.source, entry.target) == languages


@pytest.mark.parametrize("through_library", [True, False])
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405])
def test_answers_that_may_mean_a_missing_account(status, through_library):
    def refuse(url):
        raise HttpStatusError(status, "refused")

    expected = "needs an account" if status in ((401, 403, 404) if through_library else (401, 403)) else "^refused$"
    with pytest.raises(HttpStatusError, match=expected):
        huggingface.find_model(NAME, "https://hub", refuse, through_library)


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        (
            ["model.safetensors", "vocab.json"],
            "has no vocab.json; expected a MarianMT model, or one of M2M-100",
        ),
        (["vocab.json"], "has no vocab.json; expected a MarianMT model, or one of M2M-100"),
        (
            ["model.safetensors", "pytorch_model.bin"],
            "has no model.safetensors or pytorch_model.bin; expected a MarianMT model, or one of M2M-100",
        ),
    ],
)
def test_advice_for_missing_files(server, missing, advice):
    serve_hub(server, NAME, {name: content for name, content in HUB_FILES.items() if name not in missing})
    with pytest.raises(CpunmtError, match=advice):
        model(server)


def test_a_file_without_a_size_is_not_offered(server):
    serve_hub(server, NAME)
    path = f"/api/models/{NAME}/revision/main?blobs=true"
    document = json.loads(server.content[path])
    del document["siblings"][1]["size"]
    server.content[path] = json.dumps(document).encode()
    with pytest.raises(CpunmtError, match="has no config.json; expected a MarianMT model"):
        model(server)


def test_files_without_digests_are_refused(server):
    serve_hub(server, NAME)
    path = f"/api/models/{NAME}/revision/main?blobs=true"
    for key in ("blobId", "lfs"):
        document = json.loads(server.content[path])
        for sibling in document["siblings"]:
            sibling[key] = {} if key == "lfs" and "lfs" in sibling else None
        with pytest.raises(CpunmtError, match="comes without a digest"):
            huggingface.find_model(NAME, server.url, lambda url, document=document: json.dumps(document).encode())


def test_other_documents(server):
    for content in (b"[]", b"{}", b'{"sha": "main", "siblings": []}', b"<html>"):
        with pytest.raises(CpunmtError, match="expected"):
            huggingface.find_model(NAME, server.url, lambda url, content=content: content)


@given(data=st.data(), value=ANYTHING)
def test_any_value_anywhere_is_one_error_or_a_whole_model(data, value):
    siblings = [
        {"rfilename": name, "size": len(content), "blobId": git_blob(content)}
        | ({} if name.endswith(".json") else {"lfs": {"sha256": sha256(content), "size": len(content)}})
        for name, content in HUB_FILES.items()
    ]
    document = {"sha": COMMIT, "gated": False, "cardData": {"license": "mit", "language": ["en"]}, "siblings": siblings}
    document = replaced(document, data.draw(st.sampled_from(list(paths_of(document)))), value)
    try:
        entry = huggingface.find_model("a/b", "https://hub", lambda url: json.dumps(document).encode())
    except CpunmtError:
        return
    assert len(entry.files) == 5 and all(file.sha256 or file.git_blob for file in entry.files)
