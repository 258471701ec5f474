"""A, Figures 2 and 8: the number of sentences in the steps of a greedy search. A step costs nearly the same with few.

The paper: with at most 128 sentences 42 % of the steps of news are full. Fewer than 8 are in 20 % of the steps of news
in maxi-batches, and in 50 % of those of unsorted subtitles.
"""

from bench.papers.gpu2018.work import ORDERS, Task
from bench.top_up.ways import HALF, REMOVAL, WAYS, Decoders
from cpunmt.search.settings import Search

FEW = 8


def measure(task: Task, slots: int) -> list[dict]:
    """Returns rows by workload, order and way: steps, and the shares of full steps and of those with under FEW."""
    decoders, rows = Decoders(task.engine), []
    for workload, work in task.works.items():
        for order, ordered in ORDERS.items():
            for way in (REMOVAL, HALF):
                found = decoders.rows(WAYS[way], ordered(work), Search(full=True, scored=False), slots)
                full, few = (sum(map(test, found)) / len(found) for test in (lambda n: n >= slots, lambda n: n < FEW))
                about = {"workload": workload, "order": order, "way": way, "steps": len(found)}
                rows.append({**about, "full": full, "few": few})
    return rows


def show(title: str, slots: int, rows: list[dict]):
    """Prints the table."""
    print(f"\nA, Figures 2 and 8 in kind: {title}\n{'':44}{'steps':>8}{f'{slots} sentences':>16}{f'under {FEW}':>12}")
    for row in rows:
        about = f"{row['workload']}, {row['order']}, {row['way']}"
        print(f"{about:44}{row['steps']:8}{100 * row['full']:14.1f} %{100 * row['few']:10.1f} %", flush=True)
