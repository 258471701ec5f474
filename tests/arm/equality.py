"""Law 3 between machines: an emulated aarch64 makes the same bits as this one. `make test-arm` runs it.

    python -m tests.arm.equality [FOLDER] [--paths i8mm ...] [--quick]

For each path the emulator is a processor whose best one it is (but for the generic one). In it are run: what
`tests/simd/isa_outputs` digests, which must equal this machine's JSON; translations of three models, by
`tools.same_bits`; and, unless --quick, the tests of kernels, instructions and laws, and the golden translations.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.sample_models.real_model import ROOT, SENTENCES
from tools.arm_machine import MODELS, environment

PATHS = {**{path: cpu for cpu, path in MODELS.items()}, "generic": "max"}
TRANSLATED = [*(f"models/{name}" for name in ("ende-student", "ende-gru", "ende-tiny")), "--sentences", str(SENTENCES)]
FEW = ["--limit", "100", "--words", "8"]
TESTS = ("tests/simd/test_isa.py", "tests/simd/test_intrinsics.py", "tests/kernels", "tests/test_laws.py")
GOLDEN = ("tests/search/test_options_of_peers.py",)


def output(python, variables, *module) -> str:
    """Returns the output of `python -m MODULE ...`, empty if it fails; shows its stderr."""
    done = subprocess.run([python, "-m", *module], env=variables, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return "" if done.returncode else done.stdout


def differing(ours: dict, theirs: dict, name: str = "") -> list[str]:
    """Returns the differences between two JSON objects, apart from "isa"."""
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return [] if ours == theirs else [name]
    keys = [key for key in {**ours, **theirs} if key != "isa"]
    return [place for key in keys for place in differing(ours.get(key), theirs.get(key), f"{name}/{key}")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.arm.equality", description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "arm")
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--quick", action="store_true", help="outputs only, no tests")
    given = parser.parse_args()
    here = sys.executable, dict(os.environ)
    expected = json.loads(output(*here, "tests.simd.isa_outputs"))
    translated, failed = output(*here, "tools.same_bits", *TRANSLATED, *FEW), []
    for path in given.paths:
        variables = {**environment(given.folder, PATHS[path]), "CPUNMT_ISA": path}
        python = str(given.folder.absolute() / "root" / "usr" / "bin" / "python")
        made = json.loads(output(python, variables, "tests.simd.isa_outputs") or "{}")
        different = differing(expected, made)
        if output(python, variables, "tools.same_bits", *TRANSLATED, *FEW) != translated:
            different.append("/translations of models")
        print(f"{path}: {'the same bits' if not different else 'DIFFERENT: ' + ', '.join(different)}", flush=True)
        if not given.quick:
            words = ["-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *TESTS, *GOLDEN]
            if subprocess.run([python, *words], env=variables, cwd=ROOT).returncode:
                different.append("tests")
        failed += [f"{path} {place}" for place in different]
    if failed:
        sys.exit(f"equality: {', '.join(failed)}")


if __name__ == "__main__":
    main()
