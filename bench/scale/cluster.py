"""A simulated cluster: workers of different speeds take shards from a queue, read them, translate them, and fail.

Times are seconds. A worker is, at any moment, one of: down (preempted, without a successor yet), starting (loading the
model), transferring, translating, idle. Failures of a worker that is up come at exponential intervals. A shard's
transfer, its reading and writing together, comes first; all transfers share the storage equally, up to a network card's
speed each. With speculation an idle worker copies the shard that was begun the longest ago and has no copy yet; the
first to finish wins, and the other one stops.
"""

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field

import numpy as np

DOWN, STARTING, TRANSFERRING, TRANSLATING, IDLE = range(5)


@dataclass(frozen=True)
class Cluster:
    """A cluster of workers.

    workers         their number, of one core each
    speed_spread    standard deviation of the logarithm of a machine's speed, whose median is 1
    mean_failure    mean seconds of being up until a worker is preempted; infinite: never
    replacement     seconds until its successor is there
    startup         seconds of a start until the first shard, the model's loading
    storage         bytes per second of the storage, for all
    card            bytes per second of one worker
    speculation     whether idle workers make copies
    """

    workers: int = 1000
    speed_spread: float = 0.0
    mean_failure: float = float("inf")
    replacement: float = 0.0
    startup: float = 0.0
    storage: float = float("inf")
    card: float = float("inf")
    speculation: bool = False


@dataclass
class Outcome:
    """The result of a simulation, in seconds of workers except for the makespan.

    useful    transfers and translations of successful attempts
    lost      preempted attempts
    doubled   attempts slower than another one
    starting, down, idle   the rest of workers times makespan
    waiting   of `useful`: transfers
    attempts  their number; done: how often each shard counted
    """

    makespan: float = 0.0
    useful: float = 0.0
    lost: float = 0.0
    doubled: float = 0.0
    starting: float = 0.0
    down: float = 0.0
    idle: float = 0.0
    waiting: float = 0.0
    attempts: int = 0
    failures: int = 0
    done: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def total(self) -> float:
        """Returns workers times makespan, if all states were counted."""
        return self.useful + self.lost + self.doubled + self.starting + self.down + self.idle


class Storage:
    """Processor sharing: each of n transfers has the rate min(card, storage / n).

    All present transfers have received the same since the beginning: one number, `served`. A transfer ends when that
    has grown by its size, so a heap finds the next one.
    """

    def __init__(self, storage, card):
        self._storage, self._card, self._time, self.served = storage, card, 0.0, 0.0
        self._ends, self._active = [], {}

    def _rate(self):
        return min(self._card, self._storage / len(self._active))

    def advance(self, now):
        """Serves until then."""
        if self._active:
            self.served += (now - self._time) * self._rate()
        self._time = now

    def add(self, worker, size):
        """Begins a transfer, now."""
        self._active[worker] = self.served + size
        heapq.heappush(self._ends, (self.served + size, worker))

    def remove(self, worker):
        """Removes a transfer that has ended, or whose worker has."""
        self._active.pop(worker, None)

    def next(self):
        """Returns (time, worker) of the next transfer to end, if no other begins, or None."""
        while self._ends and self._active.get(self._ends[0][1]) != self._ends[0][0]:
            heapq.heappop(self._ends)
        if not self._ends:
            return None
        end, worker = self._ends[0]
        return self._time + max(0.0, end - self.served) / self._rate(), worker


def simulate(cluster: Cluster, seconds: np.ndarray, sizes: np.ndarray, seed: int = 1) -> Outcome:
    """Translates all shards.

    Parameters
    ----------
    seconds : float [shards], of translating each at speed 1
    sizes : float [shards], bytes read and written for each; transfers of 0 bytes, or with infinitely fast storage, take
        no time
    """
    return _Run(cluster, seconds, sizes, np.random.default_rng(seed)).outcome()


class _Run:
    def __init__(self, cluster, seconds, sizes, random):
        self.cluster, self.seconds, self.sizes, self.random = cluster, seconds.tolist(), sizes.tolist(), random
        self.speeds = np.exp(random.normal(0, cluster.speed_spread, cluster.workers)).tolist()
        self.events, self.numbers, self.now = [], itertools.count(), 0.0
        self.epoch = [0] * cluster.workers  # events of an earlier one are void
        self.state, self.since = [STARTING] * cluster.workers, [0.0] * cluster.workers
        self.shard, self.spent = [-1] * cluster.workers, [0.0] * cluster.workers
        self.queue, self.at = deque(range(len(seconds))), [[] for _ in seconds]  # workers at each shard
        self.begun = {}  # shard -> the beginning of its first living attempt, in that order
        self.idle, self.storage = set(), Storage(cluster.storage, cluster.card)
        self.instant = cluster.storage == cluster.card == float("inf")
        self.found = Outcome(done=np.zeros(len(seconds), np.int64))
        self.left = len(seconds)

    def outcome(self):
        for worker in range(self.cluster.workers):
            self._up(worker)
        while self.left:
            self._next()
        for worker, state in enumerate(self.state):
            self._leave(worker)
            assert state in (DOWN, STARTING, IDLE)
        self.found.makespan = self.now
        return self.found

    def _next(self):
        transfer = self.storage.next()
        if transfer and (not self.events or transfer[0] <= self.events[0][0]):
            self._to(transfer[0])
            self._translate(transfer[1])
            return
        time, _, worker, epoch, what = heapq.heappop(self.events)
        if what == self._failed or epoch == self.epoch[worker]:
            self._to(time)
            what(worker)

    def _to(self, time):
        self.storage.advance(time)
        self.now = time

    def _after(self, seconds, worker, what):
        heapq.heappush(self.events, (self.now + seconds, next(self.numbers), worker, self.epoch[worker], what))

    def _enter(self, worker, state):
        """Counts the time in the old state, and begins a new one."""
        self._leave(worker)
        self.epoch[worker] += 1
        self.state[worker] = state

    def _leave(self, worker):
        passed, state = self.now - self.since[worker], self.state[worker]
        self.since[worker] = self.now
        if state in (TRANSFERRING, TRANSLATING):
            self.spent[worker] += passed
        elif state == STARTING:
            self.found.starting += passed
        elif state == DOWN:
            self.found.down += passed
        else:
            self.found.idle += passed

    def _up(self, worker):
        self._enter(worker, STARTING)
        if self.cluster.mean_failure < float("inf"):
            self._after(self.random.exponential(self.cluster.mean_failure), worker, self._failed)
        self._after(self.cluster.startup, worker, self._free)

    def _failed(self, worker):
        shard = self.shard[worker]
        self._enter(worker, DOWN)
        self.idle.discard(worker)
        self.found.failures += 1
        if shard >= 0:
            self._drop(worker, "lost")
            if not self.at[shard]:
                del self.begun[shard]
                self.queue.appendleft(shard)
                if self.idle:
                    self._take(min(self.idle))
        self._after(self.cluster.replacement, worker, self._up)

    def _drop(self, worker, what):
        """Ends an attempt without a result."""
        shard, self.shard[worker] = self.shard[worker], -1
        self.at[shard].remove(worker)
        self.storage.remove(worker)
        setattr(self.found, what, getattr(self.found, what) + self.spent[worker])

    def _free(self, worker):
        self._enter(worker, IDLE)
        self.idle.add(worker)
        self._take(worker)

    def _take(self, worker):
        if self.queue:
            shard = self.queue.popleft()
        elif self.cluster.speculation:
            shard = next((one for one in self.begun if len(self.at[one]) == 1), -1)
        else:
            shard = -1
        if shard < 0:
            return
        self.begun.setdefault(shard, self.now)
        self.idle.discard(worker)
        self.shard[worker] = shard
        self.at[shard].append(worker)
        self.found.attempts += 1
        self._enter(worker, TRANSFERRING)
        self.spent[worker] = 0.0
        if self.instant or not self.sizes[shard]:
            self._translate(worker)
        else:
            self.storage.add(worker, self.sizes[shard])

    def _translate(self, worker):
        self.storage.remove(worker)
        self._enter(worker, TRANSLATING)
        self.found.waiting += self.spent[worker]
        self._after(self.seconds[self.shard[worker]] / self.speeds[worker], worker, self._finished)

    def _finished(self, worker):
        shard = self.shard[worker]
        self._enter(worker, IDLE)
        self.found.useful += self.spent[worker]
        self.found.done[shard] += 1
        self.left -= 1
        self.shard[worker] = -1
        self.at[shard].remove(worker)
        del self.begun[shard]
        for other in tuple(self.at[shard]):
            self._enter(other, IDLE)
            self._drop(other, "doubled")
            self.idle.add(other)
            if self.left:
                self._take(other)
        self.idle.add(worker)
        if self.left:
            self._take(worker)
