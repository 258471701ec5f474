"""Cheap clients of the server: HTTP/1.1 with one connection each, on asyncio's streams; and their times."""

import asyncio
import json
import time

_PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Client:
    """A client with one request after the other, on one connection or, without `keep`, on a new one for each."""

    def __init__(self, port, keep=True, key=""):
        self._port, self._keep, self._streams = port, keep, None
        self._head = "POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        self._head += f"X-Api-Key: {key}\r\n" if key else ""

    async def translate(self, text) -> str:
        """Translates a text from English to German. Raises RuntimeError for any answer but 200."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
        writer.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        (status, *_), content = await read_answer(reader)
        if not self._keep:
            self.close()
        if " 200 " not in status:
            raise RuntimeError(f"{status}: {content[:200]!r}")
        return json.loads(content)["translatedText"]

    def close(self):
        """Closes the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def read_answer(reader) -> tuple[list[str], bytes]:
    """Returns the status line and the headers of an answer, in small letters, and its body."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    if not any(line.startswith("transfer-encoding: chunked") for line in lines):
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        return lines, await reader.readexactly(length)
    body = b""
    while size := int(await reader.readuntil(b"\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return lines, body


async def one_by_one(port, texts, keep=True):
    """Returns (translations, seconds of each)."""
    client, made, seconds = Client(port, keep), [], []
    for text in texts:
        began = time.perf_counter()
        made.append(await client.translate(text))
        seconds.append(time.perf_counter() - began)
    client.close()
    return made, seconds


async def side_by_side(port, texts, count, keep=True):
    """Returns (translations, seconds of all) of `count` clients, each of which sends a text after each answer."""
    made, numbers = [None] * len(texts), iter(range(len(texts)))

    async def work():
        client = Client(port, keep)
        for number in numbers:
            made[number] = await client.translate(texts[number])
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(count)))
    return made, time.perf_counter() - began


async def at_a_rate(port, texts, rate, keep=True):
    """Returns (translations, seconds of each) of `rate` requests per second, answered or not."""
    free, began = [], time.perf_counter()

    async def work(number):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        client = free.pop() if free else Client(port, keep)
        started = time.perf_counter()
        made = await client.translate(texts[number])
        passed = time.perf_counter() - started
        free.append(client)
        return made, passed

    found = await asyncio.gather(*(work(number) for number in range(len(texts))))
    for client in free:
        client.close()
    return [made for made, _ in found], [passed for _, passed in found]


def parts(seconds) -> dict[str, float]:
    """Returns the seconds within which a half, 95 %, 99 % and all of the answers came."""
    ordered = sorted(seconds) or [0.0]
    return {name: ordered[min(len(ordered) - 1, int(part * len(ordered)))] for name, part in _PARTS.items()}
