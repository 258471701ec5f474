"""The commands of each engine."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.harness.command import machine
from bench.harness.texts import ROOT
from bench.peers.drivers import (
    BERGAMOT,
    CTRANSLATE2,
    CTRANSLATE2_PIECES,
    ONNXRUNTIME_PIECES,
    OUR_PIECES,
    OURS,
    TRANSFORMERS_PIECES,
)
from bench.peers.models import Contest


class Peer(NamedTuple):
    """The place of another engine."""

    environment: str  # in the peers' home; "": cpunmt's own
    packages: tuple[str, ...]  # its own first


PEERS = {
    "bergamot": Peer("venv-bergamot", ("bergamot",)),
    "CTranslate2": Peer("venv-peers", ("ctranslate2",)),
    "transformers": Peer("venv-peers", ("transformers", "torch")),
    "onnxruntime": Peer("", ("onnxruntime", "onnx")),
}
BATCH = "32"  # sentences that transformers and onnxruntime translate at once


def installed(home: Path, wanted: Iterable[str] = PEERS) -> dict[str, str]:
    """Returns peer -> interpreter, for the wanted peers. Prints which of them are left out, being not installed."""
    found = {}
    for name in wanted:
        environment, packages = PEERS[name]
        python = home / environment / "bin" / "python" if environment else Path(sys.executable)
        missing = [package for package in packages if not _has_package(python, environment, package)]
        if missing:
            print(f"{name} is left out: {python} does not exist or lacks {', '.join(missing)}", flush=True)
        else:
            found[name] = str(python)
    return found


def _has_package(python: Path, environment: str, package: str) -> bool:
    if not environment:
        return importlib.util.find_spec(package) is not None
    return python.exists() and any(python.parents[1].glob(f"lib/python3*/site-packages/{package}"))


def engines(
    peers: Mapping[str, str], contest: Contest, mode: str, beam: int
) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Returns name -> (command in which LINES stands for the file of sentences, environment), of cpunmt and `peers`.

    Names begin with "cpunmt", or with the peer's name. `mode` is "single" or "bulk". onnxruntime only runs networks, so
    it has no beam of its own to measure.
    """
    found, what = {}, ["LINES", mode, str(beam)]
    length = [str(contest.pieces)] if contest.pieces else []
    for name, model in contest.ours.items():
        driver = OUR_PIECES if contest.pieces else OURS
        found[name] = ([sys.executable, "-c", driver, *what, str(model), *length], {"PYTHONPATH": str(ROOT)})
    if contest.marian and (python := peers.get("bergamot")):
        place = str(Path(python).parents[1])
        pieces = [str(contest.vocabulary), str(contest.shortlist)]
        for model, precision in contest.marian:
            for words in ("400", "1024") if mode == "bulk" else ("1024",):
                settings = [precision, words, str(contest.length_factor)]
                command = [python, "-c", BERGAMOT, place, *what, str(model), *pieces, *settings]
                found[f"bergamot {precision} {words}"] = (command, {})
    python = peers.get("CTranslate2")
    if python and contest.ctranslate2 and contest.ctranslate2.is_dir():
        batches = (("32", "examples"), ("1024", "tokens")) if mode == "bulk" else (("1", "examples"),)
        model = [str(contest.ctranslate2), *(length or [str(contest.vocabulary)])]
        driver = CTRANSLATE2_PIECES if contest.pieces else CTRANSLATE2
        for isa in ("AVX512", "AVX2") if machine()["isa"] in ("amx_int8", "avx512_vnni") else ("AVX2",):
            for batch in batches:
                command = [python, "-c", driver, *what, *model, *batch]
                environment = {"CT2_FORCE_CPU_ISA": isa, "CT2_USE_MKL": "0"}
                found[f"CTranslate2 {isa} {' '.join(batch)}"] = (command, environment)
    for peer, model in contest.float32.items():
        driver = TRANSFORMERS_PIECES if peer == "transformers" else ONNXRUNTIME_PIECES
        command = [peers[peer], "-c", driver, *what, str(model), *length, str(contest.vocabulary), BATCH]
        if beam == 1 or peer != "onnxruntime":
            found[f"{peer} float32"] = (command, {"PYTHONPATH": str(ROOT)} if peer == "onnxruntime" else {})
    return found


def run(command: list[str], environment: dict, lines: Path) -> dict:
    """Returns the printed figures of an engine: see `drivers`. Ends the benchmark if it fails."""
    command = [str(lines) if part == "LINES" else part for part in command]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])
