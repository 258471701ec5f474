"""Table 2: words per second of its systems, one sentence at a time."""

from bench.harness.timing import Timed, interleave, repeated
from bench.papers.devlin2017 import systems
from bench.papers.devlin2017.ladder import SLICE
from bench.papers.devlin2017.work import random_work
from cpunmt.engine.engine import Engine
from cpunmt.engine.workspace import Member
from cpunmt.search.settings import Search

# words/s
PAPER = {"S1": 418, "S2": 242, "S3": 271, "S4": 229, "S5": 157, "S6": 163, "S7": 28, "E1": 102, "E2": 65}


def engine_of(name: str, scheme: str, sizes: systems.Sizes, shortlist) -> Engine:
    """Returns an engine of one of SYSTEMS or ENSEMBLES, of random weights."""
    one, count = systems.ENSEMBLES.get(name, (name, 1))
    models = [systems.random_model(one, scheme, sizes, seed) for seed in range(1, count + 1)]
    return Engine([Member(model, 1 / count) for model in models], shortlist)


def measure(lines: list[str], sizes: systems.Sizes, rounds: int, schemes=("int16", "int8")) -> list[dict]:
    """Returns rows of words/s by scheme. One system is in memory at a time; its schemes take turns."""
    work, search, rows = random_work("S1", lines, sizes), Search(beam_size=systems.BEAM), []
    for name in (*systems.SYSTEMS, *systems.ENSEMBLES):
        items = []
        for scheme in schemes:
            engine = engine_of(name, scheme, sizes, work.shortlist)
            run = repeated(lambda engine=engine: work.run(engine, search, {}))
            items.append(Timed(scheme, run, work.words))
        interleave(items, rounds, SLICE)
        speeds = {item.name: work.words / item.median for item in items}
        rows.append({"name": name, "about": systems.ABOUT[name], "paper": PAPER[name], "words_per_second": speeds})
    return rows


def show(rows: list[dict]):
    columns = [PAPER, *({row["name"]: row["words_per_second"][scheme] for row in rows} for scheme in _schemes(rows))]
    print(f"\nTable 2: words/s (over S1's), random weights, beam {systems.BEAM}, one sentence at a time")
    print(f"{'':46}" + "".join(f"{head:>15}" for head in ("paper", *_schemes(rows))))
    for row in rows:
        speeds = "".join(f"{column[row['name']]:8.0f} ({column[row['name']] / column['S1']:.2f})" for column in columns)
        print(f"{row['name']:4}{row['about']:42}{speeds}")


def _schemes(rows):
    return list(rows[0]["words_per_second"])
