"""cpunmt beside bergamot (Marian) and CTranslate2: the same sentences, interleaved, each in a process of its own.

    taskset -c 1 python -m bench.peers --home DIR [--rounds 5] [--sentences 500] [--beam 4]
    taskset -c 1 python -m bench.peers --home DIR --trained models/ende-tiny --text newstest2014.en [--lengths 1-3 5-9]
    taskset -c 1 python -m bench.peers --home DIR --recurrent 1024 [--beam 4]
    taskset -c 1 python -m bench.peers --home DIR --size opus|nllb [--beam 4]

DIR holds the engines' files, made once (none of it comes with cpunmt):

    data/              wmt14.en (the sentences), vocab.deen.spm, lex.50.50.ende.s2t.bin: all that --recurrent needs
    models/copy/       a tiny11-size SSRU student: model.npz, model.intgemm.alphas.bin
    venv-bergamot/     Python 3.10 with bergamot==0.4.5; without it bergamot is left out
    venv-peers/        Python with ctranslate2, sentencepiece; without it CTranslate2 is left out
    models/ct2/int8/   a Transformer of equal dimensions in CTranslate2's format, with a vocabulary map
    gen_model.py, calib.py, marian_io.py, ref.py
                       for --trained: they make CTranslate2's Transformer of equal dimensions

cpunmt runs bergamot's own int8 file ("cpunmt, bergamot's file"), and the same weights quantized by column. With
--trained it runs a packed model whose weights before rounding are in its directory float16. That model's file for
bergamot is made here, with activation scales from --calibration lines of the text that are not translated.

--recurrent is Marian's `s2s` of random weights, with states of this width: cpunmt and bergamot run the same file, in
float32 and in int8 (`recurrent`). CTranslate2 does not have such networks. The number of equal texts is printed: in
float32, one at a time, all but near-ties.

--size is a Transformer of the size of an OPUS-MT or NLLB-200 600M model, without a shortlist (`sizes`): cpunmt and
CTranslate2 run the same integers, and cpunmt also runs 4 bits. It needs only venv-peers.

Bergamot and CTranslate2 run with the better of their settings in `engines`. Words per second of wall time on one core,
tokenization included, loading and a warm-up excluded. All engines take and return text, a line at a time: sentences are
not split. With --lengths the lines are segments of these numbers of words.
"""

import itertools
import statistics
import tempfile
from pathlib import Path

from bench.harness.command import command, hypotheses, machine, positive, save
from bench.harness.texts import count_words, evenly, length_range, read_lines, segments
from bench.harness.timing import median_ratio
from bench.peers.engines import PEERS, engines, python_of, run
from bench.peers.models import HOME_SHORTLIST, HOME_VOCABULARY, INTEGERS, Contest, synthetic, trained
from bench.peers.recurrent import WIDTHS, recurrent
from bench.peers.sizes import PIECES, SHAPES, sized
from bench.peers.sizes import lines as lines_of
from cpunmt.files.tables import aligned
from quantize.commands.shared_options import number, parsed

TEXT = "data/wmt14.en"
NEEDED = (HOME_VOCABULARY, HOME_SHORTLIST)
STUDENT = ("models/copy/model.npz", f"models/copy/{INTEGERS}")
MODES = ("single", "bulk")
WHOLE = "whole lines"


def measure(home: Path, contest: Contest, lines: Path, mode: str, beam: int, rounds: int) -> dict:
    """Returns seconds of each round, target pieces, and number of texts equal to cpunmt's, by engine, interleaved."""
    seconds, pieces, texts = {}, {}, {}
    found = engines(home, contest, mode, beam)
    for _ in range(rounds):
        for name, (started, environment) in found.items():
            measured = run(started, environment, lines)
            seconds.setdefault(name, []).append(measured["seconds"])
            pieces[name] = measured["pieces"]
            texts[name] = measured.get("texts", [])
    if contest.cut:
        for name, rounds_of_it in seconds.items():
            seconds[name] = [value * pieces["cpunmt"] / pieces[name] for value in rounds_of_it]
    same = {name: sum(map(str.__eq__, told, texts["cpunmt"])) for name, told in texts.items() if told}
    return {"seconds": seconds, "pieces": pieces, "same": same}


def ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Returns peer -> cpunmt's speed over its better setting: the median over rounds."""
    found = {}
    for peer in PEERS:
        settings = [times for name, times in seconds.items() if name.startswith(peer)]
        if settings:
            better = min(settings, key=statistics.median)
            found[peer] = median_ratio(better, seconds["cpunmt"])
    return found


def summary(results: dict[str, dict]) -> list[str]:
    """Returns lines of a table: a workload each, cpunmt's words/s, and its speed over each peer, by mode."""
    heading, rows = ["cpunmt"], []
    for mode in MODES:
        heading += [f"{mode}: words/s", *(f"x {peer}" for peer in PEERS)]
    for name, workload in results.items():
        row = [name]
        for mode in MODES:
            if mode not in workload:
                row += ["-"] * (1 + len(PEERS))
                continue
            seconds = workload[mode]["seconds"]
            faster = ratios(seconds)
            row.append(f"{workload['words'] / statistics.median(seconds['cpunmt']):,.0f}")
            row += [f"{faster[peer]:.2f}" if peer in faster else "-" for peer in PEERS]
        rows.append(row)
    return aligned(heading, rows)


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
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    chosen = parser.parse_args(arguments)
    needed = () if chosen.trained else NEEDED if chosen.recurrent else (*NEEDED, *STUDENT)
    needed = () if chosen.size else needed if chosen.text else (TEXT, *needed)
    missing = [name for name in needed if not (chosen.home / name).is_file()]
    if missing:
        parser.error(f"--home {chosen.home}: lacks {', '.join(missing)}; bench/peers lists the needed files")
    home = chosen.home.resolve()
    text = [] if chosen.size else read_lines(chosen.text or home / TEXT)
    workloads = {WHOLE: evenly(text, chosen.sentences)}
    if chosen.size:
        workloads = {f"{chosen.size}, {PIECES} pieces": lines_of(SHAPES[chosen.size], chosen.sentences)}
    elif chosen.lengths:
        workloads = {f"{low}-{high} words": segments(text, low, high, chosen.sentences) for low, high in chosen.lengths}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        if chosen.recurrent:
            contests = recurrent(home, Path(folder), chosen.recurrent)
        elif chosen.size:
            contests = {"": sized(Path(folder), SHAPES[chosen.size])}
        elif chosen.trained:
            used = set(workloads.get(WHOLE, ()))
            spare = evenly([line for line in text if line not in used] or text, chosen.calibration)
            contests = {"": trained(home, Path(folder), chosen.trained, spare, python_of(home, "CTranslate2"))}
        else:
            contests = {"": synthetic(home, Path(folder))}
        for peer in PEERS:
            if not python_of(home, peer):
                print(f"{peer} is left out: {home}/venv-{PEERS[peer]}/bin/python does not exist", flush=True)
        for (workload, sample), (precision, contest) in itertools.product(workloads.items(), contests.items()):
            name, words = f"{workload} {precision}".rstrip(), count_words(sample)
            print(machine(), f"{name}: {len(sample)} lines, {words} words, beam {chosen.beam}", flush=True)
            lines = Path(folder) / "lines"
            lines.write_text("".join(line + "\n" for line in sample), encoding="utf8")
            results[name] = {"words": words, "lines": len(sample)}
            for mode in chosen.modes:
                found = results[name][mode] = measure(home, contest, lines, mode, chosen.beam, chosen.rounds)
                tell(mode, found, words, len(sample))
    print("", *summary(results), sep="\n")
    save(chosen.json, {"machine": machine(), "beam": chosen.beam, "workloads": results})


def tell(mode: str, found: dict, words: int, lines: int):
    """Prints a line for each engine."""
    for name, seconds in found["seconds"].items():
        ratio = median_ratio(seconds, found["seconds"]["cpunmt"])
        median = statistics.median(seconds)
        same = f", {found['same'][name]} of {lines} texts as cpunmt's" if name in found["same"] else ""
        print(
            f"{mode:7s} {name:34s} {words / median:7.0f} words/s  {1e3 * median / lines:7.2f} ms/line"
            f"  {found['pieces'][name]:6d} pieces  cpunmt is {ratio:.2f} x as fast{same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
