"""Figures of Amer et al. 2022 in kind. On one core: taskset -c 1 python -m bench.papers.clusters2022

    --only FIGURE ...        of projection, end_to_end, sweep, languages (default: the first two, others if they can)
    --vocabularies N ...     of random models with planted clusters (default: 32000 128000 250000)
    --size NAME              of them (default: base, model_dim 512)
    --scheme NAME            of their weights (default: int8)
    --learned N              sentences for making their clusters (default: 2000)
    --sentences N            that they translate (default: 40)
    --shares X ...           their sets filled up by chance, to these shares of the vocabulary (default: .01 .04 .16)
    --zipf-shares X ...      the same where frequent pieces are drawn more often (default: .16)
    --count N, --top N       clusters, and best pieces of each state in its set (default: 500, 10)
    --trained DIR            a packed model for sweep and languages
    --text FILE              of its source language, for making clusters, for sweep
    --test FILE              lines of source TAB reference to judge them by
    --counts, --tops N ...   of sweep (default: 100 400 1300 2000, and 1 3 5, as in the paper)
    --direction PIECE TEXT TEST    for languages: the piece of a target language and its files; given for each

"Fast Vocabulary Projection Method via Clustering for Multilingual Machine Translation on GPU",
https://arxiv.org/abs/2208.06874: see `bench/papers/clusters2022/`. Weights are random, with planted clusters, unless a
model is given: their translations mean nothing.
"""

from pathlib import Path

from bench.harness.command import command, hypotheses, machine, one_line_errors, positive, save
from quantize.clusters import k_means
from quantize.commands.shared_options import number, whole
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

FIGURES = ("projection", "end_to_end", "sweep", "languages")
share = number(float, lambda value: 0 < value <= 1, "a share of the vocabulary, above 0 to 1")


def parse(arguments):
    parser = command("bench.papers.clusters2022", __doc__, rounds=5, sentences=40)
    parser.add_argument("--only", nargs="+", choices=FIGURES)
    parser.add_argument("--vocabularies", type=whole(100, 1_000_000), nargs="+", default=[32_000, 128_000, 250_000])
    parser.add_argument("--size", choices=("tiny11", "base"), default="base")
    parser.add_argument("--scheme", choices=("int8", "float32"), default="int8")
    parser.add_argument("--learned", type=positive, default=2000)
    parser.add_argument("--shares", type=share, nargs="*", default=[0.01, 0.04, 0.16])
    parser.add_argument("--zipf-shares", type=share, nargs="*", default=[0.16])
    parser.add_argument("--count", type=positive, default=500)
    parser.add_argument("--top", type=whole(1, 99), default=10)
    parser.add_argument("--trained", metavar="DIR")
    parser.add_argument("--text", metavar="FILE")
    parser.add_argument("--test", type=named_set, metavar="FILE")
    parser.add_argument("--counts", type=positive, nargs="+", default=[100, 400, 1300, 2000])
    parser.add_argument("--tops", type=whole(1, 99), nargs="+", default=[1, 3, 5])
    parser.add_argument("--direction", nargs=3, action="append", default=[], metavar=("PIECE", "TEXT", "TEST"))
    parser.add_argument("--most-lines", type=positive, default=10_000, help="of a text, spread over it")
    parser.add_argument("--beam", type=hypotheses, default=1, help="of trained models (default: 1)")
    chosen = parser.parse_args(arguments)
    if chosen.only is None:
        has = {
            "sweep": chosen.trained and chosen.text and chosen.test,
            "languages": chosen.trained and chosen.direction,
        }
        chosen.only = [figure for figure in FIGURES if has.get(figure, True)]
    if "sweep" in chosen.only and not (chosen.trained and chosen.text and chosen.test):
        parser.error("sweep needs --trained, --text and --test")
    if "languages" in chosen.only and not (chosen.trained and chosen.direction):
        parser.error("languages needs --trained and --direction")
    return chosen


def planted_figures(chosen, vocabulary: int, backend: str) -> dict:
    """Measures the requested FIGURES of one random model."""
    from bench.papers.clusters2022 import end_to_end, nearest, planted, projection, recorded, steps
    from quantize.clusters.states import decoder_states

    task = planted.task(chosen.size, vocabulary, chosen.scheme, chosen.learned, chosen.sentences)
    engine, config = task.engine, task.engine.model.config
    text, greedy = recorded.record(engine, task.text, chosen.top), list(decoder_states(engine, task.held_out, 1))
    held_out = recorded.joined(greedy)
    made = recorded.made_clusters(config, text, chosen.count, chosen.top, backend)
    worth, title = recorded.covered(made, held_out), f"{vocabulary:,} pieces, {chosen.scheme}"
    found: dict = {
        "vocabulary": vocabulary,
        "clusters": len(made.centroids),
        "states": len(text.states),
        "coverage": float(worth.covered),
        "active": float(worth.active),
    }
    print(
        f"\n{title}, a random model of size {chosen.size} with planted clusters (quality figures mean nothing): "
        f"{len(made.centroids)} clusters of {len(text.states)} states; {100 * worth.covered:.2f} % of {worth.states} "
        f"others find their best piece, with {100 * worth.active:.3f} % of the pieces active",
        flush=True,
    )
    sets = {"made": made}
    for shares, name, zipf in ((chosen.shares, "", False), (chosen.zipf_shares, " Zipf", True)):
        for one in shares:
            if one > worth.active:
                sets[f"{100 * one:g} %{name}"] = recorded.widened(made, one, config.eos_id, zipf)
    if "projection" in chosen.only:
        program, settings = _program(), {steps.Setting(1, 1): greedy}
        settings[steps.Setting(20, 2)] = decoder_states(engine, task.held_out, 1, beam_size=2)
        of_projection, of_nearest = [], []
        for setting, of_search in settings.items():
            given = steps.step_rows(of_search, setting)
            of_projection += projection.measure(program, engine, given, setting, sets, chosen.rounds)
            of_nearest.append(nearest.measure(program, engine, given, setting, made, held_out, chosen.rounds))
        projection.show(title, of_projection)
        nearest.show(title, of_nearest)
        found |= {"projection": of_projection, "nearest": of_nearest}
    if "end_to_end" in chosen.only:
        rows, sizes = end_to_end.measure(task, sets, chosen.rounds), end_to_end.memory(task, sets)
        end_to_end.show(title, rows, sizes)
        found |= {"end_to_end": rows, "memory": sizes}
    return found


def trained_figures(chosen, backend: str) -> dict:
    """Measures the requested FIGURES of the trained model."""
    from bench.papers.clusters2022 import languages, sweep, trained
    from cpunmt.decoding.loading import load_model

    model, found = load_model(Path(chosen.trained)), {}
    if "sweep" in chosen.only:
        print(f"\nFigures 3 and 4 in kind: {chosen.trained}, {model.config.vocab_size:,} pieces")
        test = trained.judged(model, read_evaluation_set(*chosen.test), "", chosen.beam)
        text = trained.learned(model, chosen.text, "", chosen.most_lines, max(chosen.tops))
        found["sweep"] = sweep.measure(test, text, chosen.counts, chosen.tops, chosen.rounds, backend)
    if "languages" in chosen.only:
        print(f"\nFigure 2 in kind: {chosen.trained}, {model.config.vocab_size:,} pieces")
        tests, texts = {}, {}
        for piece, text, test in chosen.direction:
            tests[piece] = trained.judged(model, read_evaluation_set(piece, test), piece, chosen.beam)
            texts[piece] = trained.learned(model, text, piece, chosen.most_lines, chosen.top)
        found["languages"] = languages.measure(tests, texts, chosen.count, chosen.top, chosen.rounds, backend)
    return found


def _program():
    """Returns the engine's kernels and those of `ways`."""
    import bench.papers.clusters2022.ways  # noqa: F401  defines kernels
    from bench.programs import compiled

    return compiled.load()


def main(arguments=None):
    """Runs the command."""
    chosen = parse(arguments)
    results: dict = {"machine": machine()}
    print(results["machine"])
    with one_line_errors("bench.papers.clusters2022"):
        backend = k_means.load_backend()
        if "projection" in chosen.only or "end_to_end" in chosen.only:
            results["planted"] = [planted_figures(chosen, size, backend) for size in chosen.vocabularies]
        if chosen.trained:
            results |= trained_figures(chosen, backend)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
