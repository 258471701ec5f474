"""The commands of each engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.harness.command import machine
from bench.harness.texts import ROOT
from bench.peers.drivers import BERGAMOT, CTRANSLATE2, CTRANSLATE2_PIECES, OUR_PIECES, OURS
from bench.peers.models import Contest

PEERS = {"bergamot": "bergamot", "CTranslate2": "peers"}  # -> the end of its environment's name


def python_of(home: Path, peer: str) -> str | None:
    """Returns the interpreter of a peer's environment, or None."""
    python = home / f"venv-{PEERS[peer]}" / "bin" / "python"
    return str(python) if python.exists() else None


def engines(home: Path, contest: Contest, mode: str, beam: int) -> dict[str, tuple[list[str], dict]]:
    """Returns name -> (command in which LINES stands for the file of sentences, environment), of the existing engines.

    Names begin with "cpunmt", or with the peer's name. `mode` is "single" or "bulk".
    """
    found, what = {}, ["LINES", mode, str(beam)]
    length = [str(contest.pieces)] if contest.pieces else []
    for name, model in contest.ours.items():
        driver = OUR_PIECES if contest.pieces else OURS
        found[name] = ([sys.executable, "-c", driver, *what, str(model), *length], {"PYTHONPATH": str(ROOT)})
    if contest.marian and (python := python_of(home, "bergamot")):
        place = str(Path(python).parents[1])
        pieces = [str(contest.vocabulary), str(contest.shortlist)]
        for model, precision in contest.marian:
            for words in ("400", "1024") if mode == "bulk" else ("1024",):
                settings = [precision, words, str(contest.length_factor)]
                command = [python, "-c", BERGAMOT, place, *what, str(model), *pieces, *settings]
                found[f"bergamot {precision} {words}"] = (command, {})
    python = python_of(home, "CTranslate2")
    if python and contest.ctranslate2 and contest.ctranslate2.is_dir():
        batches = (("32", "examples"), ("1024", "tokens")) if mode == "bulk" else (("1", "examples"),)
        model = [str(contest.ctranslate2), *(length or [str(contest.vocabulary)])]
        driver = CTRANSLATE2_PIECES if contest.pieces else CTRANSLATE2
        for isa in ("AVX512", "AVX2") if machine()["isa"] in ("amx_int8", "avx512_vnni") else ("AVX2",):
            for batch in batches:
                command = [python, "-c", driver, *what, *model, *batch]
                environment = {"CT2_FORCE_CPU_ISA": isa, "CT2_USE_MKL": "0"}
                found[f"CTranslate2 {isa} {' '.join(batch)}"] = (command, environment)
    return found


def run(command: list[str], environment: dict, lines: Path) -> dict:
    """Returns the printed figures of an engine: see `drivers`. Ends the benchmark if it fails."""
    command = [str(lines) if part == "LINES" else part for part in command]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])
