"""cpunmt beside other engines: the same sentences, interleaved, each engine in a process of its own.

The other engines are bergamot (Marian) and CTranslate2, and for --size transformers (PyTorch) and onnxruntime.

    taskset -c 1 python -m bench.peers --home DIR [--rounds 5] [--sentences 500] [--beam 4]
    taskset -c 1 python -m bench.peers --home DIR --trained models/ende-tiny --text newstest2014.en [--lengths 1-3 5-9]
    taskset -c 1 python -m bench.peers --home DIR --recurrent 1024 [--beam 4]
    taskset -c 1 python -m bench.peers --home DIR --size opus|nllb [--beam 4] [--peers CTranslate2 transformers]

DIR holds the engines' files, made once (none of it comes with cpunmt):

    data/              wmt14.en (the sentences), vocab.deen.spm, lex.50.50.ende.s2t.bin: all that --recurrent needs
    models/copy/       a tiny11-size SSRU student: model.npz, model.intgemm.alphas.bin
    venv-bergamot/     Python 3.10 with bergamot==0.4.5
    venv-peers/        Python with ctranslate2, sentencepiece; for --size with transformers, torch
    models/ct2/int8/   a Transformer of equal dimensions in CTranslate2's format, with a vocabulary map
    gen_model.py, calib.py, marian_io.py, ref.py
                       for --trained: they make CTranslate2's Transformer of equal dimensions

onnxruntime is that of cpunmt's own environment, with the package onnx. Engines that are not installed are left out, and
so are those that --peers does not name.

cpunmt runs bergamot's own int8 file ("cpunmt, bergamot's file"), and the same weights quantized by column. With
--trained it runs a packed model whose weights before rounding are in its directory float16. That model's file for
bergamot is made here, with activation scales from --calibration lines of the text that are not translated.

--recurrent is Marian's `s2s` of random weights, with states of this width: cpunmt and bergamot run the same file, in
float32 and in int8 (`recurrent`). CTranslate2 does not have such networks. The number of equal texts is printed: in
float32, one at a time, all but near-ties.

--size is a Transformer of the size of an OPUS-MT or NLLB-200 600M model, without a shortlist (`sizes`): cpunmt and
CTranslate2 run the same integers, and cpunmt also runs 4 bits. transformers and onnxruntime run their values in float32
(`float32`), on one thread, in bulk in batches of 32. onnxruntime runs the graphs of `quantize export-onnx` by
`bench.onnx.engine`, greedy only, for a beam would measure our NumPy. The number of texts equal to cpunmt's is printed.
--size needs only venv-peers. NLLB's size takes up to 4 GB of memory in float32, and 13 GB while its 4 bits are packed.

Bergamot and CTranslate2 run with the better of their settings in `engines`. Words per second of wall time on one core,
tokenization included, loading and a warm-up excluded. All engines take and return text, a line at a time: sentences are
not split. With --lengths the lines are segments of these numbers of words.
"""

import tempfile
from pathlib import Path

from bench.harness.command import command, hypotheses, machine, positive, save
from bench.harness.texts import evenly, length_range, read_lines, segments
from bench.peers.contests import MODES, compete, summary
from bench.peers.engines import PEERS, installed
from bench.peers.models import HOME_SHORTLIST, HOME_VOCABULARY, INTEGERS, synthetic, trained
from bench.peers.recurrent import WIDTHS, recurrent
from bench.peers.sizes import PIECES, SHAPES, sized
from bench.peers.sizes import lines as lines_of
from quantize.commands.shared_options import number, parsed

TEXT = "data/wmt14.en"
NEEDED = (HOME_VOCABULARY, HOME_SHORTLIST)
STUDENT = ("models/copy/model.npz", f"models/copy/{INTEGERS}")
WHOLE = "whole lines"


def main(arguments=None):
    parser = command("bench.peers", __doc__, rounds=5)
    parser.add_argument("--home", type=Path, required=True)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--trained", type=Path, metavar="DIR", help="a packed model, instead of random weights")
    width = number(int, WIDTHS.__contains__, f"a multiple of 16 up to {WIDTHS[-1]}")
    what.add_argument("--recurrent", type=width, metavar="WIDTH", help="a recurrent network of random weights")
    what.add_argument("--size", choices=SHAPES, help="a Transformer of that size, of random weights")
    parser.add_argument("--text", type=Path, metavar="FILE", help=f"lines of a source, TAB, ... (default: {TEXT})")
    parser.add_argument("--sentences", type=positive, default=500, help="how many lines, or segments of each length")
    parser.add_argument("--lengths", type=parsed(length_range), nargs="+", metavar="LOW-HIGH", help="words of segments")
    parser.add_argument("--calibration", type=positive, default=100, metavar="N", help="lines for activation scales")
    parser.add_argument("--beam", type=hypotheses, default=1, help="hypotheses (default: 1)")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="other engines (default: all)")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    chosen = parser.parse_args(arguments)
    needed = () if chosen.trained else NEEDED if chosen.recurrent else (*NEEDED, *STUDENT)
    needed = () if chosen.size else needed if chosen.text else (TEXT, *needed)
    missing = [name for name in needed if not (chosen.home / name).is_file()]
    if missing:
        parser.error(f"--home {chosen.home}: lacks {', '.join(missing)}; bench/peers lists the needed files")
    home = chosen.home.resolve()
    peers = installed(home, chosen.peers)
    text = [] if chosen.size else read_lines(chosen.text or home / TEXT)
    workloads = {WHOLE: evenly(text, chosen.sentences)}
    if chosen.size:
        workloads = {f"{chosen.size}, {PIECES} pieces": lines_of(SHAPES[chosen.size], chosen.sentences)}
    elif chosen.lengths:
        workloads = {f"{low}-{high} words": segments(text, low, high, chosen.sentences) for low, high in chosen.lengths}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if chosen.recurrent:
            contests = recurrent(home, folder, chosen.recurrent)
        elif chosen.size:
            contests = {"": sized(folder, SHAPES[chosen.size], peers)}
        elif chosen.trained:
            used = set(workloads.get(WHOLE, ()))
            spare = evenly([line for line in text if line not in used] or text, chosen.calibration)
            contests = {"": trained(home, folder, chosen.trained, spare, peers.get("CTranslate2"))}
        else:
            contests = {"": synthetic(home, folder)}
        options = {"modes": chosen.modes, "beam": chosen.beam, "rounds": chosen.rounds}
        results = compete(peers, folder, contests, workloads, **options)
    print("", *summary(results), sep="\n")
    save(chosen.json, {"machine": machine(), "beam": chosen.beam, "workloads": results})


if __name__ == "__main__":
    main()
