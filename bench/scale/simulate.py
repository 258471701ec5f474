"""The best size of a shard: a thousand simulated workers with preemption, with shards of many sizes.

    python -m bench.scale.simulate [--words 1e12] [--speed 10477] [--workers 1000] [--minutes 1 5 10 30 120]

Workers and failures are drawn with a fixed seed: the same figures everywhere. See `bench/scale/cluster.py`.
"""

import time

import numpy as np

from bench.harness.command import command, machine, positive, save
from bench.scale.cluster import Cluster, simulate
from quantize.commands.shared_options import number

HOUR = 3600.0


def real(low, high):
    """Returns the type of an argument: a number in this range."""
    return number(float, lambda value: low <= value <= high, f"a number from {low:g} to {high:g}")


def parser():
    found = command("bench.scale.simulate", __doc__)
    found.add_argument("--words", type=real(1, 1e14), default=1e12, help="of the source (default: 1e12)")
    found.add_argument("--speed", type=real(1, 1e6), default=10477, help="words per second of a core (default: 10477)")
    found.add_argument("--workers", type=positive, default=1000, help="of one core each (default: 1000)")
    found.add_argument("--minutes", type=real(0.1, 1e4), nargs="+", default=[1, 5, 10, 30, 120], help="of a shard")
    found.add_argument("--failure-hours", type=real(0.01, 1e9), default=5, help="of a worker, on average (default: 5)")
    found.add_argument("--replacement", type=real(0, 1e6), default=180, help="seconds (default: 180)")
    found.add_argument("--startup", type=real(0, 1e6), default=20, help="seconds to the first shard (default: 20)")
    found.add_argument("--spread", type=real(0, 1), default=0.15, help="of the machines' speeds (default: 0.15)")
    found.add_argument("--bytes-per-word", type=real(0, 1000), default=14, help="read and written (default: 14)")
    found.add_argument("--storage", type=real(0.001, 1e6), default=1, help="GB/s, of all (default: 1)")
    found.add_argument("--price", type=real(0, 100), default=0.02, help="dollars per core-hour (default: 0.02)")
    found.add_argument("--seed", type=positive, default=1)
    return found


def shards_of(given, minutes, random):
    """Returns seconds and bytes of each: shards of equal words, whose sentences differ in speed."""
    words = given.speed * minutes * 60
    count = max(1, round(given.words / words))
    words = given.words / count
    seconds = words / given.speed * random.lognormal(-0.005, 0.1, count)  # of mean 1
    return seconds, np.full(count, words * given.bytes_per_word)


def main(arguments=None):
    given = parser().parse_args(arguments)
    hours = given.words / given.speed / HOUR
    print(
        f"{given.words:.3g} words at {given.speed:,.0f}/s: {hours:,.1f} core-hours, {hours / given.workers:.1f} h on "
        f"{given.workers:,} cores; {hours * given.price:,.0f} dollars at {given.price:g} per core-hour"
    )
    print(
        f"preempted every {given.failure_hours:g} h, back after {given.replacement:g} s; {given.startup:g} s to start; "
        f"speeds spread by {100 * given.spread:g} %; storage {given.storage:g} GB/s"
    )
    print(
        "minutes    shards  copies       h  useful %  lost %  doubled %  starting, down %  idle %  reading %  dollars"
    )
    rows = []
    for minutes in given.minutes:
        for speculation in (False, True):
            seconds, sizes = shards_of(given, minutes, np.random.default_rng(given.seed))
            cluster = Cluster(
                workers=given.workers,
                speed_spread=given.spread,
                mean_failure=given.failure_hours * HOUR,
                replacement=given.replacement,
                startup=given.startup,
                storage=given.storage * 1e9,
                card=1.25e9,
                speculation=speculation,
            )
            began = time.perf_counter()
            found = simulate(cluster, seconds, sizes, given.seed)
            assert (found.done == 1).all()
            share = {
                "useful": found.useful,
                "lost": found.lost,
                "doubled": found.doubled,
                "starting, down": found.starting + found.down,
                "idle": found.idle,
                "transfers": found.waiting,
            }
            share = {name: 100 * value / found.total for name, value in share.items()}
            # a missing machine costs nothing
            dollars = (found.total - found.down) / HOUR * given.price
            row = {"minutes": minutes, "shards": len(seconds), "speculation": speculation, **share}
            rows.append(row | {"makespan": found.makespan / HOUR, "failures": found.failures, "dollars": dollars})
            rows[-1]["simulated in"] = time.perf_counter() - began
            print(
                f"{minutes:7g} {len(seconds):9,}  {'yes' if speculation else 'no':>6}  {found.makespan / HOUR:6.2f}"
                f"  {share['useful']:8.2f}  {share['lost']:6.2f}  {share['doubled']:9.2f}"
                f"  {share['starting, down']:16.2f}  {share['idle']:6.2f}  {share['transfers']:9.2f}  {dollars:7,.0f}"
            )
    save(given.json, {"machine": machine(), "core-hours": hours, "rows": rows})


if __name__ == "__main__":
    main()
