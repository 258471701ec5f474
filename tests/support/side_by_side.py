"""Runs work in several threads at once."""

import threading


def in_threads(count: int, work) -> list:
    """Returns the results of `work(number)` in `count` threads that begin it together; None where it raised."""
    found, start = [None] * count, threading.Barrier(count)

    def run(number):
        start.wait()
        found[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
