"""One model of the Hugging Face hub, by its name: hf:Helsinki-NLP/opus-mt-en-de, or hf:OWNER/NAME@REVISION.

Of MarianMT, of many languages (M2M-100, NLLB-200, mBART-50), of T5 and its kin, or in CTranslate2's format.

    GET /api/models/OWNER/NAME/revision/REVISION?blobs=true
        {"sha": the commit, "gated", "cardData": {"license", "language"}, "config": {"model_type"}, which may lack,
         "siblings": [{"rfilename", "size", "blobId", "lfs": {"sha256", "size"}}]}
    GET /OWNER/NAME/resolve/COMMIT/FILE, which redirects large files elsewhere

`blobId` is git's SHA-1 of a file's content; of a large file it names a pointer, and "lfs" has the SHA-256.

    huggingface.co/docs/hub/api; github.com/huggingface/huggingface_hub, hf_api.py (fields, RepoSibling)
"""

import re
import urllib.parse
from collections.abc import Callable, Collection, Set
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.registry.connection import HttpStatusError
from cpunmt.registry.documents import is_language, is_sha256, is_size, join_url, parse_document
from cpunmt.registry.entries import ModelEntry, RemoteFile
from cpunmt.values.checks import inner

REGISTRIES = ("https://huggingface.co",)
VARIABLE = "CPUNMT_HF_REGISTRY"
# Forms of the weights, the best first: one file, or an index and the shards that it lists. Only one form is fetched.
_WEIGHTS = (
    re.compile(r"model\.safetensors"),
    re.compile(r"model\.safetensors\.index\.json|model-\d+-of-\d+\.safetensors"),
    re.compile(r"pytorch_model\.bin"),
    re.compile(r"pytorch_model\.bin\.index\.json|pytorch_model-\d+-of-\d+\.bin"),
)
_WELCOME = ("generation_config.json", "tokenizer_config.json", "README.md", "LICENSE")


class _Kind(NamedTuple):
    """A kind of models on the hub.

    types    model_type in config.json; empty: it has none
    needed   its files beside the weights: groups of files, any of which may stand for a need
    welcome  files that are fetched if they are there
    """

    title: str
    types: tuple[str, ...]
    needed: tuple[tuple[tuple[str, ...], ...], ...]
    welcome: tuple[str, ...] = ()


_CONFIG = (("config.json",),)
_TOKENIZER = "tokenizer.json"
_MARIAN = _Kind(
    "marian",
    ("marian",),
    (_CONFIG, (("source.spm", "target.spm"),), (("vocab.json",),)),
    ("target_vocab.json", *_WELCOME),
)
_SINGLES = (  # one model of both languages
    *("sentencepiece.model", "sentencepiece.bpe.model", "spm.model", "spiece.model", "vocabulary.spm", "vocab.spm"),
    *("flores200_sacrebleu_tokenizer_spm.model", _TOKENIZER),
)
_TABLES: tuple[tuple[str, ...], ...] = tuple((f"shared_vocabulary{ending}",) for ending in (".json", ".txt"))
_TABLES += tuple((f"source_vocabulary{ending}", f"target_vocabulary{ending}") for ending in (".json", ".txt"))
_PIECES = (("source.spm", "target.spm"), ("source.model", "target.model"), *((name,) for name in _SINGLES))
_CTRANSLATE2 = _Kind(
    "CTranslate2", (), ((("model.bin",),), _TABLES, _PIECES), ("config.json", "vmap.txt", "vocab.json", *_WELCOME)
)
_KINDS = (  # the first that has all its files is the model's
    _MARIAN,
    _Kind(
        "many languages",
        ("m2m_100", "mbart"),
        (_CONFIG, (("sentencepiece.bpe.model",), (_TOKENIZER,))),
        ("vocab.json", "added_tokens.json", *_WELCOME),
    ),
    _Kind(
        "t5",
        ("t5", "mt5", "umt5"),
        (_CONFIG, (("spiece.model",), (_TOKENIZER,))),
        ("added_tokens.json", *_WELCOME),
    ),
)
_EXPECTED = "expected a MarianMT model, or one of M2M-100, NLLB-200, mBART-50, T5 or CTranslate2"


def find_model(name: str, hub: str, fetch: Callable[[str], bytes], through_library: bool = False) -> ModelEntry:
    """Returns the model "OWNER/NAME" or "OWNER/NAME@REVISION"; `fetch` returns the content at a URL.

    With `through_library` the library huggingface_hub fetches the files, and has the account, if there is one.

    Raises
    ------
    CpunmtError
        It is of another kind, lacks a file that its kind needs, or needs an account.
    """
    repository, _, revision = name.partition("@")
    quoted = urllib.parse.quote(revision or "main", safe="")
    url = join_url(hub, f"api/models/{repository}") + f"/revision/{quoted}?blobs=true"
    document = _fetched(url, name, fetch, through_library)
    commit, siblings = inner(document, "sha", kind=str) or "", inner(document, "siblings", kind=list)
    if not re.fullmatch(r"[0-9a-f]{40}", commit) or siblings is None:
        raise CpunmtError(f'{url}: "sha" or "siblings" is missing; expected the hub\'s description of a model')
    found = {file["rfilename"]: file for file in siblings if _is_file(file)}
    weights = next(filter(None, ([file for file in found if form.fullmatch(file)] for form in _WEIGHTS)), [])
    kind = _kind_of(found.keys(), inner(document, "config", "model_type", kind=str), name)
    weights = weights if kind.types else []
    needed = [file for groups in kind.needed for file in _chosen(groups, found)]
    missing = [file for file in needed if file not in found]
    missing += [] if weights or not kind.types else ["model.safetensors or pytorch_model.bin"]
    if missing:
        raise CpunmtError(f"hf:{name} has no {', '.join(missing)}; {_EXPECTED}")
    source, target = _languages(inner(document, "cardData", "language", kind=list) or [], repository)
    return ModelEntry(
        name=f"hf:{name}",
        source=source,
        target=target,
        architecture=kind.title,
        version=commit[:12],
        registry=url,
        files=tuple(
            _file(found[file], repository, commit, hub)
            for file in (needed[0], *weights, *needed[1:], *kind.welcome)
            if file in found
        ),
        licence=inner(document, "cardData", "license", kind=str),
        through_library=through_library,
    )


def _chosen(groups: tuple[tuple[str, ...], ...], found: Collection[str]) -> tuple[str, ...]:
    """Returns the first group of which all files are there, else the first."""
    return next((group for group in groups if all(file in found for file in group)), groups[0])


def _kind_of(found: Set[str], model_type: str | None, name: str) -> _Kind:
    """Returns the kind of a model that has these files. Raises CpunmtError if its type belongs to none."""

    def has(*needed: tuple[tuple[str, ...], ...]) -> bool:
        return all(found >= set(_chosen(groups, found)) for groups in needed)

    if has(*_CTRANSLATE2.needed[:2]):
        return _CTRANSLATE2
    if model_type:
        kind = next((kind for kind in _KINDS if model_type in kind.types), None)
        if kind is None:
            raise CpunmtError(f"hf:{name} is a model of the type {model_type[:80]!r}; {_EXPECTED}")
        return kind
    found = found - {_TOKENIZER}  # many kinds have it
    return next((kind for kind in _KINDS if has(*kind.needed)), _MARIAN)


def _fetched(url: str, name: str, fetch: Callable[[str], bytes], through_library: bool) -> dict[str, Any]:
    account = "; to read it with one: pip install 'cpunmt[hf]', then set HF_TOKEN or run: hf auth login"
    if through_library:
        account = "; if name and revision are right, ask for access there, and set HF_TOKEN or run: hf auth login"
    try:
        document = parse_document(fetch(url), url)
    except HttpStatusError as error:
        if error.status not in ((401, 403, 404) if through_library else (401, 403)):
            raise
        message = f"hf:{name} is not there, or needs an account (the server answers {error.status})"
        raise HttpStatusError(error.status, message + account) from None
    if document.get("gated") and not through_library:
        raise CpunmtError(f"hf:{name} needs an account" + account)
    return document


def _is_file(file: Any) -> bool:
    return inner(file, "rfilename", kind=str) is not None and is_size(file.get("size"))


def _file(file: Any, repository: str, commit: str, hub: str) -> RemoteFile:
    is_large, blob = file.get("lfs") is not None, inner(file, "blobId", kind=str)
    digest = inner(file, "lfs", "sha256", kind=str)
    if not (is_sha256(digest) if is_large else re.fullmatch(r"[0-9a-f]{40}", blob or "")):
        raise CpunmtError(f"{hub}: of {repository}, {file['rfilename']} comes without a digest; expected one")
    return RemoteFile(
        url=join_url(hub, f"{repository}/resolve/{commit}/{file['rfilename']}"),
        path=file["rfilename"],
        size=file["size"],
        sha256=digest if is_large else None,
        git_blob=None if is_large else blob,
    )


def _languages(named: list[Any], repository: str) -> tuple[str, str]:
    """Returns the languages in the name, opus-mt-en-de, or opus-mt-tc-big-en-de; else all `named` in its card, on both
    sides.
    """
    found = re.fullmatch(r".*/opus-mt-(?:tc-(?:bible-)?(?:big|base)-)?([A-Za-z_]+)-([A-Za-z_]+)", repository)
    if found:
        return found[1], found[2]
    known = "+".join(language for language in named if is_language(language))
    return known, known
