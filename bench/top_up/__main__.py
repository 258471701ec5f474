"""The gain of removal and top-up. On one core: taskset -c 1 python -m bench.top_up

    --model DIR         a packed Transformer (default: the shipped one)
    --input FILE        lines, or lines with tabs whose first column is taken; may be packed. Sentences as long as news
                        and as subtitles are cut out of them (default: tests/golden/sentences.en.txt)
    --beam N ...        hypotheses (default: 1 and 5)
    --slots N           sentences side by side, and of a mini-batch (default: the engine's own number)
    --picture FILE      draw the rows of each step of a greedy search, unsorted, as SVG

Ids in, ids out, at most 1.5 times the source's. Medians of interleaved rounds, CPU time. All ways must agree to the
bit.
"""

from pathlib import Path

from bench.harness.command import command, hypotheses, machine, one_line_errors, positive, save
from bench.harness.texts import SENTENCES, SHIPPED, read_lines
from cpunmt import Translator
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import replacing_file
from cpunmt.search.settings import Search

LIMIT = 1.5  # target pieces for each source piece: with the usual limit, a weak model's loop would be the one
# sentence that all others of a mini-batch wait for
DRAWN = 128  # sentences of a picture


def parse(arguments):
    parser = command("bench.top_up", __doc__, rounds=5)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--input", type=Path, default=SENTENCES)
    parser.add_argument("--sentences", type=positive, default=320, help="of each workload")
    parser.add_argument("--beam", type=hypotheses, nargs="+", default=(1, 5))
    parser.add_argument("--slots", type=positive, help="sentences side by side")
    parser.add_argument("--picture", help="draw the rows of each step there, as SVG")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Runs the command."""
    chosen = parse(arguments)
    with one_line_errors("bench.top_up"):
        results = _measured(chosen)
    save(chosen.json, results)


def _measured(chosen) -> dict:
    from bench.top_up import ways, workload

    lines = [line for line in read_lines(chosen.input) if line.strip()]
    translator = Translator(chosen.model)
    if not isinstance(translator.config.architecture, TransformerConfig):
        raise CpunmtError(
            f"--model {chosen.model}: is not a Transformer; padding changes only a Transformer's attention"
        )
    engine = translator.loaded.engine
    decoders, results, drawn = ways.Decoders(engine), {"machine": machine(), "workloads": []}, {}
    print(results["machine"])
    for name, lengths in workload.LENGTHS.items():
        work = ways.Work.limited(
            workload.sources(translator.source_vocabulary, lines, lengths, chosen.sentences), LIMIT
        )
        for beam in chosen.beam:
            search = Search(beam_size=beam)
            slots = min(chosen.slots or engine.usual_slots(search, max(map(len, work.sources))), len(work.sources))
            for order, ordered in (("sorted", work.sorted()), ("unsorted", work)):
                rows = ways.measure(decoders, ordered, search, slots, chosen.rounds)
                about = {"workload": name, "beam": beam, "order": order, "slots": slots}
                results["workloads"].append({**about, "rows": rows})
                show(f"{name}, {order}, beam {beam}, {slots} sentences side by side", rows)
        few, search = ways.Work(work.sources[:DRAWN], work.limits[:DRAWN], 0), Search()
        slots = min(chosen.slots or engine.usual_slots(search, max(map(len, few.sources))), len(few.sources))
        drawn[name] = {
            way: decoders.rows(ways.WAYS[way], few, search, slots)
            for way in (ways.MINI_BATCHES, ways.REMOVAL, ways.HALF, ways.AT_ONCE)
        }
    results["rows of steps"] = drawn
    if chosen.picture:
        from bench.top_up.picture import picture

        with replacing_file(chosen.picture) as file:
            file.write(picture(drawn))
    return results


def show(title: str, rows: list[dict]):
    """Prints a table."""
    print(f"\n{title}\n{'':22}{'pieces/s':>9}{'x padded':>10}{'x removal':>11}{'steps':>8}{'rows each':>11}")
    for row in rows:
        print(
            f"{row['name']:22}{row['pieces_per_second']:9.0f}{row['over_padded']:10.2f}{row['over_removal']:11.3f}"
            f"{row['steps']:8d}{row['rows_per_step']:11.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
