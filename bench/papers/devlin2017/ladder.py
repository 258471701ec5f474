"""Table 1: the gain of each change, cumulatively, one sentence at a time.

The paper's baseline has a candidate list and early stopping, so all rungs have them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from bench.harness.timing import Timed, interleave, median_ratio, repeated
from bench.papers.devlin2017 import baseline
from bench.papers.devlin2017.systems import BEAM
from bench.papers.devlin2017.work import Work
from bench.programs.replaced import program_with
from cpunmt.architectures.recurrent.network import MOST_KNOWN
from cpunmt.engine.engine import Engine
from cpunmt.search.settings import Search


class Rung(NamedTuple):
    """One row: the enabled changes."""

    name: str
    scheme: str
    numbers: bool = False  # elementwise functions one number at a time
    known: int = 0
    projected: bool = False
    merged: bool = False
    full: bool = False
    early: bool = True
    paper: int | None = None  # words/s


SLICE = 0.4  # seconds: the caches must be filled again after the rung before
_ALL = {"known": MOST_KNOWN, "projected": True, "merged": True}
FIRST = Rung("float32", "float32", True, paper=95)
RUNGS = (
    Rung("+ 16-bit products", "int16", True, paper=248),
    Rung("+ precomputed embeddings", "int16", True, MOST_KNOWN, paper=311),
    Rung("+ precomputed attention", "int16", True, MOST_KNOWN, True, paper=342),
    Rung("+ vectors, tables", "int16", False, MOST_KNOWN, True, paper=386),
    Rung("+ merged states", "int16", **_ALL, paper=418),
    Rung("+ 8-bit products", "int8", **_ALL),
    Rung("+ 4-bit weights", "log4", **_ALL),
)
BESIDE = (
    Rung("float32, no candidate list", "float32", True, full=True),
    Rung("8-bit products alone", "int8"),
    Rung("merged states, to the end", "int16", **_ALL, early=False),
)


class _Contestants:
    """Engines with their own memory; programs and models are shared where possible."""

    def __init__(self, work: Work, libraries: Mapping[str, dict]):
        self._work, self._models, self._engines = work, {}, {}
        numbers = baseline.NUMBER_BY_NUMBER
        self._programs = {("", True): program_with(numbers)}  # by library, and whether numbers come one at a time
        for name, products in libraries.items():
            self._programs[name, True] = program_with({**numbers, **products})
            self._programs[name, False] = program_with(products)

    def engine(self, rung: Rung, library: str = "") -> Engine:
        """Returns an engine. `library`: the name of its products; "" our own."""
        kind = rung.scheme, rung.known, library, rung.numbers
        if kind not in self._engines:
            layout = rung.scheme, bool(library), rung.known
            if layout not in self._models:
                self._models[layout] = self._work.model(rung.scheme)
                self._models[layout].network.switch(known=rung.known)
                if library:
                    baseline.lay_by_rows(self._models[layout])
            self._engines[kind] = Engine(self._models[layout], self._work.shortlist)
            if kind[2:] in self._programs:
                self._engines[kind]._program = self._programs[kind[2:]]
        return self._engines[kind]

    def run(self, rung: Rung, beam: int, library: str = ""):
        """Returns a function that translates all sentences."""
        engine, search = self.engine(rung, library), Search(beam_size=beam, full=rung.full, to_the_end=not rung.early)
        switches = {"merged": rung.merged, "projected": rung.projected}
        return lambda: self._work.run(engine, search, switches)

    def unique_states(self, rung: Rung, beam: int) -> float:
        """Returns the share of rows whose products of the state were computed, in one more run, whose memory exists."""
        memories = [workspace.memories[0] for workspace in self.engine(rung)._workspaces.values()]
        for memory in memories:  # other rungs have counted there, too
            memory["rows_multiplied"] = memory["rows_seen"] = 0
        self.run(rung, beam)()
        multiplied, seen = (sum(int(m[name][0]) for m in memories) for name in ("rows_multiplied", "rows_seen"))
        return multiplied / seen


def measure(work: Work, libraries: Mapping[str, dict], rounds: int, beam: int = BEAM) -> dict:
    """Returns Table 1. `libraries`: name -> its products; the fastest of them is the baseline, without any ours is."""
    contestants = _Contestants(work, libraries)
    full, *ours = BESIDE
    runs = {full.name: contestants.run(full, beam, next(iter(libraries), ""))}
    names = [f"float32, {library}" for library in libraries]
    runs |= {name: contestants.run(FIRST, beam, library) for name, library in zip(names, libraries, strict=True)}
    vectors = FIRST._replace(numbers=False)
    runs |= {f"float32, {library}, vectors": contestants.run(vectors, beam, library) for library in libraries}
    runs["float32, our products"] = contestants.run(FIRST, beam)
    runs |= {rung.name: contestants.run(rung, beam) for rung in (*RUNGS, *ours)}
    said = {name: run() for name, run in runs.items()}
    items = {name: Timed(name, repeated(run), work.words) for name, run in runs.items()}
    interleave(list(items.values()), rounds, SLICE)
    first = min(names or ["float32, our products"], key=lambda name: items[name].median)
    chain = [first, *(rung.name for rung in RUNGS)]
    before = dict(zip(chain[1:], chain, strict=False))
    paper = {first: FIRST.paper, **{rung.name: rung.paper for rung in RUNGS}}
    steps = {name: paper[name] / paper[below] for name, below in before.items() if paper[name]}
    exact = _without_rounding(contestants, beam, said["float32, our products"])
    rows = [
        {
            "name": name + (" (baseline)" if name == first else ""),
            "words_per_second": work.words / item.median,
            "speedup": median_ratio(items[first].seconds, item.seconds),
            "step": median_ratio(items[before[name]].seconds, item.seconds) if name in before else None,
            "paper": paper.get(name),
            "paper_step": steps.get(name),
            "same": _share(said["float32, our products"], said[name]),
            "same_in_float32": exact.get(name),
        }
        for name, item in items.items()
    ]
    merged = next(rung for rung in RUNGS if rung.merged)
    return {"rows": rows, "unique_states": contestants.unique_states(merged, beam), "beam": beam}


def _without_rounding(contestants, beam, expected) -> dict[str, float]:
    """Returns name of a rung -> share of unchanged pieces when it, too, is enabled in float32."""
    found = {}
    for rung in RUNGS:
        if rung.scheme == "int16" and rung[2:6] != FIRST[2:6]:
            found[rung.name] = _share(expected, contestants.run(rung._replace(scheme="float32"), beam)())
    return found


def _share(expected, found) -> float:
    """Returns the share of equal pieces at their places."""
    same = sum(a == b for one, other in zip(expected, found, strict=True) for a, b in zip(one, other, strict=False))
    return same / max(sum(max(len(a), len(b)) for a, b in zip(expected, found, strict=True)), 1)


def show(title: str, found: dict):
    print(f"\nTable 1: {title}, beam {found['beam']}, one sentence at a time")
    print(
        f"{'':34}{'words/s':>9}{'paper':>7}{'speed-up':>10}{'step':>7}{'paper':>7}{'same pieces':>13}{'in float32':>12}"
    )
    for row in found["rows"]:
        step, theirs = (f"{row[key]:.2f}" if row[key] else "" for key in ("step", "paper_step"))
        exact = f"{100 * row['same_in_float32']:.2f} %" if row["same_in_float32"] is not None else ""
        print(
            f"{row['name']:34}{row['words_per_second']:9.0f}{row['paper'] or '':>7}{row['speedup']:10.2f}"
            f"{step:>7}{theirs:>7}{100 * row['same']:11.2f} %{exact:>12}"
        )
    print(f"states of which products were computed: {100 * found['unique_states']:.0f} % (paper: about 70 %)")
