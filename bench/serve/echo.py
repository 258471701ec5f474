"""The least that a request can take: bytes that come back when a process has worked as long as a translation takes.

    python -m bench.serve.echo SECONDS CORE

prints its port, and serves one connection on that core. What a client waits for beyond that time is the system's: two
ways through the loopback, and two processors that wake up.
"""

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import time


def answer(seconds, core):
    """Send back what comes, after so long."""
    os.sched_setaffinity(0, {core})
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            while content := connection.recv(1 << 16):
                end = time.perf_counter() + seconds
                while time.perf_counter() < end:
                    pass
                connection.sendall(content)


def floor(seconds, core, count=300) -> float:
    """Seconds, median, that a client on another core waits longer than these."""
    command = [sys.executable, "-m", "bench.serve.echo", str(seconds), str(core)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    passed = []
    with contextlib.closing(socket.create_connection(("127.0.0.1", int(process.stdout.readline())))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            began = time.perf_counter()
            connection.sendall(bytes(200))
            connection.recv(1 << 16)
            passed.append(time.perf_counter() - began)
    process.communicate()
    return statistics.median(passed) - seconds


if __name__ == "__main__":
    answer(float(sys.argv[1]), int(sys.argv[2]))
