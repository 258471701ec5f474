"""A server under mixed load, for any time: is every answer right, and does its memory stay flat?

    python -m bench.serve.soak [--minutes 30] [--clients 32] [--connections 0] [--kill SECONDS]

Clients ask in all dialects, for short and long texts, HTML, lists and streams, with options and without; some send
wrong requests, or leave in the middle. Every translation is compared with `Translator`. `--connections` opens this
number of further connections, which ask for /health now and then; `--kill` ends the server by SIGKILL from time to time
and starts it again.
"""

import asyncio
import json
import os
import random
import statistics
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SHIPPED
from bench.harness.timing import pinned
from bench.serve.__main__ import Running, sentences
from bench.serve.clients import parts, read_answer
from bench.serve.requests import WRONG, questions

_SETTLED = 0.2  # of the time, after which memory must be flat
_EVERY = 2.0  # seconds between measurements of the memory
_ALIVE = 20.0  # seconds within which each idle connection asks something
_WAIT = 120  # seconds for an answer


class Soak:
    """Clients of one server, and their findings."""

    def __init__(self, server, asked, seed, pause):
        self.server, self.asked, self.random, self.pause = server, asked, random.Random(seed), pause
        self.end, self.is_killing = 0.0, False
        self.seconds, self.memory, self.held = [], [], 0
        self.counts = dict.fromkeys(("right", "wrong", "refused", "left", "broken", "lost"), 0)

    async def run(self, seconds, clients, connections, kill):
        """Runs the clients for `seconds`."""
        began = time.monotonic()
        self.end = began + seconds
        held = [await asyncio.open_connection("127.0.0.1", self.server.port) for _ in range(connections)]
        others = [self._watch(began), self._hold(held)] + ([self._kill(kill)] if kill else [])
        await asyncio.gather(*others, *(self._client() for _ in range(clients)))
        for _, writer in held:
            writer.close()

    async def _hold(self, held):
        """Keeps connections alive by asking something, each in turn."""
        while held and time.monotonic() < self.end:
            began = time.monotonic()
            for number, streams in enumerate(held):
                await self._one(streams, b"GET", "/health", b"", "")
                self.held = max(self.held, number + 1)
                await asyncio.sleep(max(0.0, began + number * _ALIVE / len(held) - time.monotonic()))

    async def _client(self):
        streams = None
        while time.monotonic() < self.end:
            try:
                if streams is None or self.random.random() < 0.02:
                    if streams is not None:
                        streams[1].close()
                    streams = await asyncio.open_connection("127.0.0.1", self.server.port)
                streams = await self._some(streams)
                await asyncio.sleep(self.random.random() * 2 * self.pause)
            except (OSError, EOFError):
                streams = None
                self.counts["lost" if self.is_killing else "broken"] += 1
                await asyncio.sleep(0.05)
        if streams is not None:
            streams[1].close()

    async def _some(self, streams):
        """Makes one request of some kind; returns the streams if they can be reused."""
        kind = self.random.random()
        if kind < 0.08:
            path, content, form, statuses = self.random.choice(WRONG)
            status, _ = await self._one(streams, b"POST", path, content, form)
            self.counts["refused" if status in statuses else "wrong"] += 1
            return streams
        path, content, form, expected = self.random.choice(self.asked)
        if kind < 0.12:  # leaves in the middle of the request, or while it waits
            part = len(content) // 2 if kind < 0.1 else len(content)
            streams[1].write(_head(b"POST", path, len(content), form) + content[:part])
            await streams[1].drain()
            await asyncio.sleep(self.random.random() * 0.02)
            streams[1].close()
            self.counts["left"] += 1
            return None
        began = time.perf_counter()
        status, answer = await self._one(streams, b"POST", path, content, form)
        self.seconds.append(time.perf_counter() - began)
        is_right = status == 200 and expected(answer)
        self.counts["right" if is_right else "wrong"] += 1
        if not is_right:
            print("WRONG", status, path, content[:200], answer[:300], flush=True)
        return streams

    async def _one(self, streams, method, path, content, form):
        """Returns (status, body) of a request."""
        reader, writer = streams
        writer.write(_head(method, path, len(content), form) + content)
        lines, body = await asyncio.wait_for(read_answer(reader), _WAIT)
        if "connection: close" in lines:
            writer.close()
            raise EOFError
        return int(lines[0].split()[1]), body

    async def _watch(self, began):
        while time.monotonic() < self.end:
            await asyncio.sleep(_EVERY)
            if not self.is_killing:
                self.memory.append((time.monotonic() - began, self.server.memory()))

    async def _kill(self, every):
        while time.monotonic() + every < self.end:
            await asyncio.sleep(every * (0.5 + self.random.random()))
            self.is_killing = True
            self.server.process.kill()
            await asyncio.to_thread(self.server.start_again)
            self.is_killing = False


def _head(method, path, length, form):
    kind = f"Content-Type: {form}\r\n" if form else ""
    return b"%s %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n" % (method, path.encode(), kind.encode(), length)


def main(arguments=None):
    parser = command("bench.serve.soak", __doc__)
    parser.add_argument("--model", type=Path, default=SHIPPED, help="model directory, English to German")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=positive, default=32)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds of a client from an answer on, on average")
    parser.add_argument("--connections", type=positive, help="idle ones besides")
    parser.add_argument("--kill", type=float, default=0, help="seconds from one SIGKILL to the next, about; 0: none")
    parser.add_argument("--texts", type=positive, default=2000)
    parser.add_argument("--cache-mb", type=positive, default=1, help="of the server: less than all translations take")
    parser.add_argument("--seed", type=positive, default=1)
    chosen = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    asked = questions(chosen.model, sentences(chosen.texts), chosen.seed)
    print(machine(), f"{len(asked)} questions", flush=True)
    with Running(chosen.model, cores[-1], chosen.cache_mb) as server:
        with pinned(cores[0]):
            soak = Soak(server, asked, chosen.seed, chosen.pause)
            asyncio.run(soak.run(60 * chosen.minutes, chosen.clients, chosen.connections or 0, chosen.kill))
        report(soak, chosen)
    save(chosen.json, {"machine": machine(), "counts": soak.counts, "memory": soak.memory, "seconds": soak.seconds})
    return 1 if soak.counts["wrong"] else 0


def report(soak, chosen):
    """Prints the figures."""
    print(json.dumps(soak.counts), f"{len(soak.seconds) / (60 * chosen.minutes):.0f} answers/s")
    print(", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in parts(soak.seconds).items()))
    if chosen.connections:
        print(f"{soak.held} of {chosen.connections} idle connections were answered, each every {_ALIVE:.0f} s")
    if not chosen.kill:
        print(memory_line(soak.memory, 60 * chosen.minutes))


def memory_line(memory, seconds):
    """Returns a line on the memory of a server, from [(seconds since the beginning, bytes)]."""
    settled = [count / 1e6 for passed, count in memory if passed > _SETTLED * seconds] or [0.0]
    part = -(-len(settled) // 5)
    means = [statistics.mean(settled[begin : begin + part]) for begin in range(0, len(settled), part)]
    fifths = " ".join(f"{mean:.1f}" for mean in means)
    return f"memory {min(settled):.1f} to {max(settled):.1f} MB; means of fifths: {fifths}"


if __name__ == "__main__":
    raise SystemExit(main())
