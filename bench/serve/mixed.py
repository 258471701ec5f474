"""Clients of all sizes at once: measures waiting times of lists beside single sentences, and of both beside endless
ones.

    python -m bench.serve.mixed [--clients 200] [--seconds 60] [--model DIR]

Half of the clients ask for a sentence at a time, the others for lists of 2 to 30. Each asks again after its answer.
`--endless N` adds N clients whose sentences have 50,000 characters. Every answer to a list or a single sentence is
compared with `Translator`.
"""

import asyncio
import os
import random
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SHIPPED
from bench.harness.timing import pinned
from bench.serve.__main__ import Running, right_answers, sentences
from bench.serve.clients import Client, parts

ENDLESS = ("a" * 50_000, "#a" * 25_000)


def main(arguments=None):
    parser = command("bench.serve.mixed", __doc__)
    parser.add_argument("--model", type=Path, default=SHIPPED, help="model directory, English to German")
    parser.add_argument("--clients", type=positive, default=200)
    parser.add_argument("--endless", type=positive, default=0, help="clients that send sentences of 50,000 characters")
    parser.add_argument("--seconds", type=positive, default=60)
    parser.add_argument("--seed", type=positive, default=1)
    chosen = parser.parse_args(arguments)
    lines = sentences()
    right = right_answers(chosen.model, lines)
    cores = sorted(os.sched_getaffinity(0))
    with Running(chosen.model, cores[-1]) as server, pinned(cores[0]):
        found = asyncio.run(measured(server.port, right, chosen))
    print(machine(), f"{chosen.clients} clients, {chosen.endless} with endless sentences")
    made = {kind: parts(seconds) for kind, seconds in found.items()}
    for kind, seconds in found.items():
        told = ", ".join(f"{name} {value:.3f}" for name, value in made[kind].items())
        print(f"{kind:10} {len(seconds)} answers, seconds: {told}")
    print(f"p99 of lists / p99 of sentences: {made['lists']['p99'] / made['sentences']['p99']:.2f}")
    save(chosen.json, {"machine": machine(), **made})


async def measured(port, right, chosen) -> dict:
    """Returns the seconds of answers, by kind of client."""
    lines, found = list(right), {"sentences": [], "lists": [], "endless": []}
    end = time.monotonic() + chosen.seconds

    async def work(number):
        chance, client = random.Random(f"{chosen.seed} {number}"), Client(port)
        kind = "sentences" if number % 2 else "lists"
        while time.monotonic() < end:
            some = chance.sample(lines, 1 if kind == "sentences" else chance.randint(2, 30))
            began = time.perf_counter()
            made = await client.translate(some if kind == "lists" else some[0])
            found[kind].append(time.perf_counter() - began)
            expected = [right[line] for line in some]
            assert made == (expected if kind == "lists" else expected[0]), "an answer is wrong"
        client.close()

    async def endless(number):
        client = Client(port)
        while time.monotonic() < end:
            began = time.perf_counter()
            try:
                await client.translate(ENDLESS[number % len(ENDLESS)])
            except RuntimeError:  # refused, as there is too much to do
                await asyncio.sleep(1)
            found["endless"].append(time.perf_counter() - began)
        client.close()

    await asyncio.gather(*map(work, range(chosen.clients)), *map(endless, range(chosen.endless)))
    return found


if __name__ == "__main__":
    main()
