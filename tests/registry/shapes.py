"""Registries in their published forms, filled with small models, on a local server."""

import gzip
import hashlib
import io
import json
import uuid
import zipfile

from cpunmt.files.input_files import zstd_module
from tests.registry.http_server import Fault

COLLECTION = "/v1/buckets/main/collections/translations-models/records"
COLLECTION_V2 = "/v1/buckets/main/collections/translations-models-v2/records"
PLAN = {"model": "model.{}.intgemm.alphas.bin", "lex": "lex.50.50.{}.s2t.bin", "vocab": "vocab.{}.spm"}
SPLIT = {**PLAN, "srcvocab": "srcvocab.{}.spm", "trgvocab": "trgvocab.{}.spm"}
del SPLIT["vocab"]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def noise(seed: str, size: int) -> bytes:
    """Returns incompressible bytes, the same for the same seed."""
    return hashlib.shake_128(seed.encode()).digest(size)


def firefox_records(source, target, version="1.0", plan=PLAN, size=3000, expression="", **extra):
    """Returns (records, {location: content}) of one model in Remote Settings."""
    records, attachments = [], {}
    for kind, pattern in plan.items():
        name = pattern.format(source + target)
        content = noise(f"{name} {version} {expression}", size if kind == "model" else size // 10)
        location = (
            f"main-workspace/translations-models/{uuid.uuid5(uuid.NAMESPACE_URL, name + version + expression)}.bin"
        )
        attachments[location] = content
        records.append(
            {
                "name": name,
                "schema": 1716500000000,
                "fromLang": source,
                "toLang": target,
                "version": version,
                "fileType": kind,
                "filter_expression": expression,
                "attachment": {
                    "hash": sha256(content),
                    "size": len(content),
                    "filename": name,
                    "location": location,
                    "mimetype": "application/octet-stream",
                },
                "id": str(uuid.uuid5(uuid.NAMESPACE_OID, location)),
                "last_modified": 1716500000001,
                **extra,
            }
        )
    return records, attachments


def firefox_records_v2(source, target, version="3.0", architecture="base-memory", plan=PLAN, size=3000, expression=""):
    """Returns (records, {location: content}) of one model in the second collection: packed with zstd, two digests."""
    records, attachments = [], {}
    for kind, pattern in plan.items():
        name = pattern.format(source + target)
        content = noise(f"{name} {version} {architecture} {expression}", size if kind == "model" else size // 10)
        packed = zstd_module().compress(content)
        location = f"main-workspace/translations-models-v2/{uuid.uuid5(uuid.NAMESPACE_URL, sha256(packed))}.zst"
        attachments[location] = packed
        records.append(
            {
                "name": name,
                "sourceLanguage": source,
                "targetLanguage": target,
                "architecture": architecture,
                "version": version,
                "fileType": kind,
                "filter_expression": expression,
                "decompressedSize": len(content),
                "decompressedHash": sha256(content),
                "id": str(uuid.uuid5(uuid.NAMESPACE_OID, location)),
                "schema": 1749570042331,
                "attachment": {
                    "filename": f"{name}.zst",
                    "location": location,
                    "hash": sha256(packed),
                    "mimetype": "application/zstd",
                    "size": len(packed),
                },
                "last_modified": 1749570511392,
            }
        )
    return records, attachments


def serve_firefox(server, *models, collection=COLLECTION) -> str:
    """Serves results of `firefox_records`, or of `firefox_records_v2`; returns the registry's URL."""
    records = [record for found, _ in models for record in found]
    root = {"settings": {"readonly": True}, "capabilities": {"attachments": {"base_url": f"{server.url}/cdn/"}}}
    server.content["/v1/"] = json.dumps(root).encode()
    server.content[collection] = json.dumps({"data": records}).encode()
    for _, attachments in models:
        server.content |= {f"/cdn/{location}": content for location, content in attachments.items()}
    return server.url + collection


def serve_bucket(server, models: dict) -> str:
    """Serves {"en-de": {architecture: (release status, {file name: content}), ...}} as models.json of a bucket."""
    keys = {
        "lex": "lexicalShortlist",
        "model": "model",
        "srcvocab": "srcVocab",
        "trgvocab": "trgVocab",
        "vocab": "vocab",
    }
    listed = {}
    for pair, found in models.items():
        source, target = pair.split("-")
        for architecture, (status, files) in found.items():
            entry = {"architecture": architecture, "releaseStatus": status}
            entry |= {"sourceLanguage": source, "targetLanguage": target, "files": {}, "metrics": {}}
            for name, content in files.items():
                path = f"models/{pair}/{architecture}_run/exported/{name}.gz"
                server.content[f"/bucket/{path}"] = gzip.compress(content, mtime=0)
                key = keys[name.partition(".")[0]]
                entry["files"][key] = {"path": path}
                if key == "model":
                    entry["files"][key] |= {"uncompressedSize": len(content), "uncompressedHash": sha256(content)}
            listed.setdefault(pair, []).append(entry)
    document = {"generated": "2026-11-09T00:45:24Z", "baseUrl": f"{server.url}/bucket", "models": listed}
    server.content["/db/models.json"] = json.dumps(document).encode()
    return f"{server.url}/db/models.json"


def zipped(files: dict) -> bytes:
    """Returns a zip archive of {name: content}; the same bytes at any time of day (`writestr` of a name alone dates
    it).
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


OPUS_FILES = {
    "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz": noise("npz", 4000),
    "opus.spm32k-spm32k.vocab.yml": b'"</s>": 0\n"<unk>": 1\n',
    "decoder.yml": b"relative-paths: true\n",
    "source.spm": noise("source", 300),
    "target.spm": noise("target", 300),
    "preprocess.sh": b"#!/bin/sh\n",
    "README.md": b"# opus\n",
    "LICENSE": b"CC-BY 4.0\n",
}


def serve_opus(server, archives: dict) -> str:
    """Serves {path: archive} and their list; returns the registry's URL."""
    lines = []
    for path, content in archives.items():
        server.content[f"/OPUS-MT-models/{path}"] = content
        lines += [path.removesuffix(".zip") + ending for ending in (".eval.txt", ".test.txt", ".yml", ".zip")]
    server.content["/OPUS-MT-models/index.txt"] = "\n".join(["README.md", *lines, ""]).encode()
    return f"{server.url}/OPUS-MT-models/index.txt"


def argos_entry(source, target, version="1.0", **changed) -> dict:
    """Returns an entry of the index of Argos' packages; its link is relative to the server."""
    name = f"translate-{source}_{target}-{version.replace('.', '_')}"
    return {
        "package_version": version,
        "argos_version": version,
        "from_code": source,
        "from_name": "One",
        "to_code": target,
        "to_name": "Another",
        "code": name.rpartition("-")[0],
        "links": [f"/v1/{name}.argosmodel"],
        **changed,
    }


def argos_files(source="en", target="de", **changed) -> dict:
    """Returns {name: content} of a package's archive, which holds what Argos needs and cpunmt does not, too."""
    root = f"translate-{source}_{target}-1_0"
    files = {
        "metadata.json": json.dumps(
            {"from_code": source, "to_code": target, "package_version": "1.0", **changed}
        ).encode(),
        "README.md": b"# Credits\n",
        "sentencepiece.model": noise("sentencepiece", 300),
        "model/model.bin": noise("model", 4000),
        "model/shared_vocabulary.json": b"[]",
        "stanza/resources.json": b"{}",
        "stanza/en/tokenize/ewt.pt": noise("stanza", 100),
    }
    return {f"{root}/{name}": content for name, content in files.items()}


def serve_argos(server, *entries, archive: bytes | None = None) -> str:
    """Serves the index with entries of `argos_entry`, and an archive for each link; returns the registry's URL."""
    index = []
    for entry in entries:
        links = [f"{server.url}{link}" if link.startswith("/") else link for link in entry["links"]]
        for link in entry["links"]:
            server.content[link] = archive or zipped(argos_files(entry["from_code"], entry["to_code"]))
        index.append({**entry, "links": links})
    server.content["/argospm-index/index.json"] = json.dumps(index).encode()
    return f"{server.url}/argospm-index/index.json"


HUB_FILES = {
    ".gitattributes": b"*.bin filter=lfs\n",
    "config.json": b'{"model_type": "marian"}',
    "model.safetensors": noise("safetensors", 5000),
    "pytorch_model.bin": noise("pickle", 5000),
    "source.spm": noise("source", 300),
    "target.spm": noise("target", 300),
    "vocab.json": b'{"</s>": 0}',
    "onnx/model.onnx": noise("onnx", 500),
}
COMMIT = "6183067f769a302e3861815543b9f312c71b0ca4"


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def serve_hub(server, repository, files=HUB_FILES, revision="main", **extra) -> str:
    """Serves one repository of the Hugging Face hub; returns the hub's URL."""
    siblings = []
    for name, content in files.items():
        large = name.endswith((".safetensors", ".bin", ".spm", ".onnx"))
        sibling = {"rfilename": name, "size": len(content), "blobId": git_blob(content)}
        if large:
            pointer = b"version https://git-lfs.github.com/spec/v1 ..."
            sibling |= {"blobId": git_blob(pointer)}
            sibling["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 134}
        siblings.append(sibling)
        server.content[f"/cdn-lfs/{name}"] = content
        resolved = f"/{repository}/resolve/{COMMIT}/{name}"
        server.content[resolved] = content
        headers = {"X-Repo-Commit": COMMIT}
        server.faults[resolved] = [Fault(headers=headers)]
        if large:  # as the hub does, with a signed address elsewhere
            location = f"{server.url.replace('127.0.0.1', 'localhost')}/cdn-lfs/{name}?signature=1"
            server.content[f"/cdn-lfs/{name}?signature=1"] = content
            headers |= {
                "Location": location,
                "X-Linked-Size": str(len(content)),
                "X-Linked-Etag": f'"{sha256(content)}"',
            }
            server.faults[resolved] = [Fault(status=302, headers=headers)]
    document = {
        "id": repository,
        "sha": COMMIT,
        "gated": False,
        "cardData": {"license": "cc-by-4.0", "language": ["en", "de"]},
        "siblings": siblings,
        **extra,
    }
    quoted = revision.replace("/", "%2F")
    server.content[f"/api/models/{repository}/revision/{quoted}?blobs=true"] = json.dumps(document).encode()
    return server.url
