"""Counts translations equal to Marian's: cpunmt in float32 beside bergamot 0.4.5, on one checkpoint.

    python -m bench.marian_equality model.npz --vocab vocab.spm --python VENV/bin/python --input FILE ... [--beam 4]

VENV is Python 3.10 with bergamot==0.4.5. A FILE has a sentence a line, or lines of source TAB reference. Both choose
from all pieces, one sentence at a time; differing texts are shown.
"""

import tempfile
from pathlib import Path

from bench.harness.command import command, hypotheses, machine, positive, save
from bench.packing import pack_quietly
from cpunmt import Translator
from quantize.evaluation.evaluation_set import read_evaluation_set
from tests.golden.bergamot_process import MAX_LENGTH_FACTOR, bergamot


def main(arguments=None):
    parser = command("bench.marian_equality", __doc__)
    parser.add_argument("checkpoint", type=Path, help="Marian's model.npz")
    parser.add_argument("--vocab", type=Path, required=True, help="its SentencePiece model")
    parser.add_argument("--python", required=True, help="an interpreter that has bergamot")
    parser.add_argument("--input", type=Path, nargs="+", required=True, help="sentences")
    parser.add_argument(
        "--sentences", type=positive, default=500, help="how many, evenly spread over all (default: 500)"
    )
    parser.add_argument("--beam", type=hypotheses, nargs="+", default=[1, 4], help="hypotheses (default: 1 and 4)")
    chosen = parser.parse_args(arguments)
    lines = [line for path in chosen.input for line in read_evaluation_set("lines", path).sources]
    lines = [lines[i * len(lines) // chosen.sentences] for i in range(min(chosen.sentences, len(lines)))]
    results = {"machine": machine(), "sentences": len(lines), "same": {}}
    with tempfile.TemporaryDirectory() as folder:
        model, copy = Path(folder) / "float32", Path(folder) / "model.npz"
        copy.write_bytes(chosen.checkpoint.read_bytes())  # bergamot's driver writes the sentences beside it
        pack_quietly(copy, model, "--scheme", "float32", "--vocab", str(chosen.vocab))
        translator = Translator(model)
        for beam in chosen.beam:
            theirs = bergamot(chosen.python, copy, chosen.vocab, None, beam, "float32", lines)
            options = {"beam_size": beam, "max_length_factor": MAX_LENGTH_FACTOR, "vocabulary": "full", "split": "none"}
            ours = [result.text for result in translator.translate(lines, **options)]
            different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b.text]
            for i in different:
                print(f"  {lines[i]}\n    cpunmt  {ours[i]}\n    Marian  {theirs[i].text}")
            same = results["same"][beam] = len(lines) - len(different)
            share = 100 * same / len(lines)
            print(f"beam {beam}: {same} of {len(lines)} texts are the same, {share:.2f} %", flush=True)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
