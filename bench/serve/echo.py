"""The minimum of a request: bytes that come back after a process has worked for a translation's time.

    python -m bench.serve.echo SECONDS CORE

prints its port, and serves one connection on that core. A client's waiting time beyond SECONDS is the system's: two
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
    """Returns received bytes after `seconds` of work."""
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
    """Returns the median seconds that a client on another core waits beyond these."""
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
