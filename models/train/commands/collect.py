"""`collect`: parallel texts from public repositories, aligned, filtered and split."""

from pathlib import Path

from models.train.collection.collecting import Collection, sift, table, write
from models.train.collection.sources import read_sources

SOURCES = Path(__file__).parents[1] / "collection" / "sources.yaml"


def add_parser(commands):
    """Adds `collect`."""
    parser = commands.add_parser("collect", help="parallel texts from clones of repositories", allow_abbrev=False)
    parser.add_argument(
        "--clones", metavar="DIR", type=Path, required=True, help="has clones, each named owner+name, and archives"
    )
    parser.add_argument(
        "--sources", metavar="FILE", type=Path, default=SOURCES, help="their description (default: sources.yaml)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="gets the files of pairs")
    parser.set_defaults(run=run)


def run(given):
    """Collects, and reports a table of the sources."""
    collection, found = Collection(), []
    for source in read_sources(given.sources, given.clones):
        found.append(collection.add(source))
        counted = ", ".join(f"{count} {fault}" for fault, count in sorted(found[-1].faults.items())) or "none"
        print(f"{source.name}: {len(found[-1].pairs)} pairs; left out: {counted}", flush=True)
    found = sift(found)
    write(found, given.out)
    print(table(found))
