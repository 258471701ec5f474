"""Fused output, removal, top-up: two papers in kind. On one core: taskset -c 1 python -m bench.papers.gpu2018

    --only FIGURE ...      of shares (A, Figures 1 and 5), sizes (2 and 8), ladder (3 to 10, and B) (default: all)
    --size NAME            of the random student (default: tiny11)
    --vocabulary N         of it (default: 32000)
    --trained DIR          a packed Transformer too, over its whole vocabulary, on text
    --input FILE           that text (default: tests/golden/sentences.en.txt)
    --beams, --batches     hypotheses, sentences of a mini-batch (default: 1 5, and 8 32 128)

A is "Faster Neural Machine Translation Inference", B "Fast Neural Machine Translation Implementation": see
`bench/papers/gpu2018/`. Maxi-batches have 1,280 sentences, so --sentences should be a multiple.
"""

from pathlib import Path

from bench.harness.command import command, hypotheses, machine, one_line_errors, positive, save
from bench.harness.texts import SENTENCES
from quantize.commands.shared_options import whole

FIGURES = ("shares", "sizes", "ladder")


def parse(arguments):
    parser = command("bench.papers.gpu2018", __doc__, rounds=3, sentences=1280)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--size", choices=("tiny11", "base"), default="tiny11")
    parser.add_argument("--vocabulary", type=whole(100, 1_000_000), default=32_000)
    parser.add_argument("--trained", metavar="DIR")
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--beams", type=hypotheses, nargs="+", default=[1, 5])
    parser.add_argument("--batches", type=positive, nargs="+", default=[8, 32, 128])
    return parser.parse_args(arguments)


def main(arguments=None):
    """Runs the command."""
    chosen = parse(arguments)
    from bench.papers.gpu2018 import ladder, shares, sizes, work

    results = {"machine": machine()}
    print(results["machine"])
    with one_line_errors("bench.papers.gpu2018"):
        tasks = [work.random_task(chosen.size, chosen.vocabulary, chosen.sentences)]
        if chosen.trained:
            tasks.append(work.trained_task(chosen.trained, chosen.input, chosen.sentences))
    if "shares" in chosen.only:
        profiled = shares.Profiled(shares.ENTERED)
        for task in tasks:
            found = shares.measure(task, chosen.beams, max(chosen.batches), profiled)
            results.setdefault("shares", []).append({"of": task.name, "rows": found})
            shares.show(f"{task.name}, batches of {max(chosen.batches)}", found)
    if "sizes" in chosen.only:
        for task in tasks:
            found = sizes.measure(task, max(chosen.batches))
            results.setdefault("sizes", []).append({"of": task.name, "rows": found})
            sizes.show(task.name, max(chosen.batches), found)
    if "ladder" in chosen.only:
        for task in tasks:
            found = ladder.measure(task, chosen.beams, chosen.batches, chosen.rounds)
            results.setdefault("ladder", []).append({"of": task.name, "rows": found})
            ladder.show(task.name, found)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
