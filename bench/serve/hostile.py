"""Hostile connections beside honest ones: are the honest clients answered, and does the memory stay flat?

    python -m bench.serve.hostile [--minutes 10] [--each 12]

Each kind of attack always has `--each` connections, on this machine only; a connection that the server ends is opened
again. Four honest clients with a key ask for a sentence every tenth of a second, and compare the answer with
`Translator`. The server asks for keys; some attackers have one.
"""

import asyncio
import json
import os
import random
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SHIPPED
from bench.harness.timing import pinned
from bench.serve.__main__ import Running, right_answers, sentences
from bench.serve.clients import Client, parts
from bench.serve.mixed import ENDLESS
from bench.serve.soak import memory_line

KEY = "sesame"
_ASK = 0.1  # seconds from one question of an honest client to the next
_HONEST = 4
_PAUSE = 0.2  # seconds of an attacker from one connection to the next


def head(path, length, *more, key=True):
    """Returns the first lines of a request with a body of `length` bytes."""
    keyed = (f"X-Api-Key: {KEY}",) if key else ()
    lines = (f"POST {path} HTTP/1.1", "Host: a", "Content-Type: application/json", f"Content-Length: {length}")
    return ("\r\n".join([*lines, *keyed, *more]) + "\r\n\r\n").encode()


def request(text, key=True, path="/translate", name="q"):
    """Returns a whole request."""
    body = json.dumps({name: text, "source": "en", "target": "de"}).encode()
    return head(path, len(body), key=key) + body


async def _empty_lines(reader, writer, chance):
    while True:
        writer.write(b"\r\n" * chance.randint(1, 1000))
        await writer.drain()
        await asyncio.sleep(1)


async def _nothing(reader, writer, chance):
    await reader.read()


async def _slow_head(reader, writer, chance):
    writer.write(b"POST /translate HTTP/1.1\r\nHost: a\r\n")
    while True:
        writer.write(b"x: a\r\n")
        await writer.drain()
        await asyncio.sleep(1)


async def _slow_body(reader, writer, chance):
    writer.write(head("/translate", 900_000) + b" " * 800_000)
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(1)


async def _never_reads(reader, writer, chance):
    """Requests large answers for ever, and reads none of them."""
    reader._transport.pause_reading()
    text = " ".join(f"{chance.random()}" for _ in range(2500))
    asked = request(text, path="/v1/translate", name="text")
    while True:
        writer.write(asked)
        await writer.drain()


async def _reads_slowly(reader, writer, chance):
    reader._transport.pause_reading()
    for _ in range(50):
        writer.write(request("One man. " * 5000))
    while True:
        reader._transport.resume_reading()
        await reader.read(100)
        reader._transport.pause_reading()
        await asyncio.sleep(1)


async def _no_key(reader, writer, chance):
    bodies = (b'{"q":[' + b"[]," * 330_000 + b"[]]}", b"[" * 999_999, b'{"q":"' + b"\\u00e4" * 150_000 + b'"}')
    while True:
        body = chance.choice(bodies)
        writer.write(head("/translate", len(body), key=False) + body)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)


async def _with_key(reader, writer, chance):
    bodies = (b'{"q":[' + b"[]," * 330_000 + b"[]]}", b'{"q":[' + b"9," * 490_000 + b"9]}")
    while True:
        body = chance.choice(bodies)
        writer.write(head("/translate", len(body)) + body)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)


async def _endless(reader, writer, chance):
    writer.write(request(chance.choice(ENDLESS)))
    await reader.readuntil(b"\r\n\r\n")


async def _leaves(reader, writer, chance):
    text = f"{chance.random()} " + "#a" * 20_000
    writer.write(request(text))
    await writer.drain()
    await asyncio.sleep(chance.random())


async def _garbage(reader, writer, chance):
    writer.write(chance.randbytes(chance.randint(1, 100_000)))
    await reader.read()


async def _long_head(reader, writer, chance):
    writer.write(b"GET /health HTTP/1.1\r\nHost: a\r\nx: " + b"a" * 1_000_000)
    await reader.read()


async def _pipeline(reader, writer, chance):
    writer.write(b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n" * 2000)
    await reader.readexactly(10_000)


async def _two_lengths(reader, writer, chance):
    writer.write(head("/translate", 5, "Transfer-Encoding: chunked") + b"0\r\n\r\n")
    await reader.read()


_ALL = (_empty_lines, _nothing, _slow_head, _slow_body, _never_reads, _reads_slowly, _no_key, _with_key, _endless)
_ALL += (_leaves, _garbage, _long_head, _pipeline, _two_lengths)
ATTACKS = {attack.__name__[1:]: attack for attack in _ALL}


class Siege:
    """A server, its attackers and its honest clients."""

    def __init__(self, server, right, each, names):
        self.server, self.right, self.each = server, right, each
        self.end, self.seconds, self.memory = 0.0, [], []
        self.counts = {"right": 0, "wrong": 0, "refused": 0, "lost": 0}
        self.attacks = dict.fromkeys(names, 0)

    async def run(self, seconds):
        """Attacks and asks for `seconds`."""
        began = time.monotonic()
        self.end = began + seconds
        tasks = [
            asyncio.create_task(self._attack(name, number)) for name in self.attacks for number in range(self.each)
        ]
        await asyncio.gather(self._watch(began), *map(self._honest, range(_HONEST)))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _attack(self, name, number):
        chance = random.Random(f"{name} {number}")
        while time.monotonic() < self.end:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
                await ATTACKS[name](reader, writer, chance)
            except (OSError, EOFError, asyncio.LimitOverrunError):
                pass
            finally:
                self.attacks[name] += 1
                if writer is not None:
                    writer.transport.abort()
            await asyncio.sleep(_PAUSE)

    async def _honest(self, number):
        chance, client, lines = random.Random(number), Client(self.server.port, key=KEY), list(self.right)
        while time.monotonic() < self.end:
            line = chance.choice(lines)
            began = time.perf_counter()
            try:
                end = "right" if await client.translate(line) == self.right[line] else "wrong"
            except RuntimeError as error:
                end = "refused" if " 503 " in str(error) else "wrong"
            except (OSError, EOFError):
                end = "lost"
                client.close()
            self.counts[end] += 1
            if end != "lost":
                self.seconds.append(time.perf_counter() - began)
                await asyncio.sleep(_ASK)
        client.close()

    async def _watch(self, began):
        while time.monotonic() < self.end:
            await asyncio.sleep(2)
            self.memory.append((time.monotonic() - began, self.server.memory()))


def main(arguments=None):
    parser = command("bench.serve.hostile", __doc__)
    parser.add_argument("--model", type=Path, default=SHIPPED, help="model directory, English to German")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--each", type=positive, default=12, help="connections of each kind of attack")
    parser.add_argument("--attacks", choices=ATTACKS, nargs="+", default=list(ATTACKS), help="kinds of attacks")
    chosen = parser.parse_args(arguments)
    lines = sentences(2000)
    right = right_answers(chosen.model, lines)
    cores = sorted(os.sched_getaffinity(0))
    with Running(chosen.model, cores[-1], cache_mb=1, keys=[KEY]) as server, pinned(cores[0]):
        siege = Siege(server, right, chosen.each, chosen.attacks)
        asyncio.run(siege.run(60 * chosen.minutes))
        began = time.monotonic()
        server.process.terminate()
        server.process.wait()
        ended = time.monotonic() - began
    print(machine(), f"{chosen.minutes:g} minutes, {chosen.each} connections of each kind")
    print(json.dumps(siege.counts), "seconds:", ", ".join(f"{k} {v:.3f}" for k, v in parts(siege.seconds).items()))
    print(json.dumps(siege.attacks))
    print(memory_line(siege.memory, 60 * chosen.minutes))
    print(f"SIGTERM ended it after {ended:.1f} s, status {server.process.returncode}")
    save(chosen.json, {"machine": machine(), "counts": siege.counts, "memory": siege.memory, "seconds": siege.seconds})
    return 1 if siege.counts["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
