"""This Python: the installed package is tested, every module can be imported, and the commands start."""

import json
import os
import subprocess
import sys
import urllib.request
from importlib import metadata
from pathlib import Path

import pytest

import cpunmt

SENTENCE = "A man is riding a bicycle."
IMPORT_ALL = """
import importlib, pkgutil, sys
import cpunmt.documents.translate  # first, as its folders know each other
for module in pkgutil.walk_packages(cpunmt.__path__, "cpunmt."):
    if module.name.startswith("cpunmt.") and not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # a library that is not always there
            if error.name.split(".")[0] not in sys.argv[1:]:
                raise
print(len([name for name in sys.modules if name.startswith("cpunmt")]))
"""
NOT_ALWAYS = ("pyarrow", "ray", "pypdf", "huggingface_hub", "py3langid", "sacremoses", "numba", "llvmlite")
WITHOUT_LOCK = """
import sys
from cpunmt import Translator
print(Translator(sys.argv[1]).translate(sys.argv[2]).text)
import cpunmt.serve.app, cpunmt.serve.server, cpunmt.documents.translate, cpunmt.registry.connection
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


def run(*command, **settings) -> str:
    """Returns the standard output of a command that must succeed, without a warning."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *map(str, command)], capture_output=True, encoding="utf-8", **settings
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_tested_is_what_is_installed():
    """`tools.pythons` names its folder; in the checkout it is the checkout."""
    where = os.environ.get("CPUNMT_INSTALLED_IN") or Path(__file__).parents[2]
    assert Path(cpunmt.__file__).resolve().is_relative_to(Path(where).resolve())
    assert sys.version_info >= (3, 10)


def test_every_module_can_be_imported_without_a_warning():
    assert int(run("-c", IMPORT_ALL, *NOT_ALWAYS)) > 200


def test_the_command_translates(cases, shipped, tmp_path):
    shown = run("-m", "cpunmt", "translate", "-m", cases.MODEL, input=f"{SENTENCE}\n")
    assert shown == shipped.translate(SENTENCE).text + "\n"
    assert metadata.version("cpunmt") in run("-m", "cpunmt", "--version")
    page, notes = tmp_path / "page.html", tmp_path / "notes.md"
    page.write_text(f"<html><body><p>{SENTENCE}</p></body></html>", "utf-8")
    notes.write_text(f"# {SENTENCE}\n", "utf-8")
    for document in (page, notes):
        made = document.with_name(f"german{document.suffix}")
        run("-m", "cpunmt", "translate-file", document, "-o", made, "-m", cases.MODEL)
        assert shipped.translate(SENTENCE).text in made.read_text("utf-8")


def test_packed_files_are_read(cases, shipped, tmp_path):
    """Python's own zstd, or before 3.14 that of a package; and gzip."""
    import gzip

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    from cpunmt.text.vocabularies.vocabulary import Vocabulary

    content = (cases.MODEL / "vocabulary.spm").read_bytes()
    for name, pack in (("vocab.spm.zst", zstd.compress), ("vocab.spm.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(content))
        assert Vocabulary(tmp_path / name).encode(SENTENCE) == shipped.source_vocabulary.encode(SENTENCE)


def test_the_server_answers(cases, shipped):
    pytest.importorskip("starlette")  # an extra
    command = [sys.executable, "-W", "error", "-m", "cpunmt", "serve", str(cases.MODEL), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8")
    try:
        address = next(word for line in process.stderr for word in line.split() if word.startswith("http://127."))
        body = json.dumps({"q": SENTENCE, "source": "en", "target": "de"}).encode()
        request = urllib.request.Request(
            f"{address.rstrip('/.,')}/translate", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.load(answer)["translatedText"] == shipped.translate(SENTENCE).text
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_nothing_that_translates_takes_the_lock_back(cases, shipped, is_free_threaded):
    """On a Python without the lock, importing an incompatible library would bring it back."""
    pytest.importorskip("starlette")
    free = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    text, has_lock = run("-c", WITHOUT_LOCK, cases.MODEL, SENTENCE, env=free).splitlines()
    assert text == shipped.translate(SENTENCE).text
    assert has_lock == str(not is_free_threaded)
