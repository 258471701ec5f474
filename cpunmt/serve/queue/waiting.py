"""What waits: sentences, the requests that wait for them, and groups of requests that are translated together."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence

from cpunmt.translation.calls import LETTERS, Settings
from cpunmt.translation.interface.whole_texts import Sentences
from cpunmt.translation.texts.aligned import Aligned


class Task:
    """A client's request, as the scheduler sees it: which sentences it waits for."""

    def __init__(self, cancel: Callable[[Task], None], tell: Callable[[], None] | None = None):
        """`cancel`: what the scheduler does when nobody waits any more. `tell`: called, in whatever thread it happens,
        when what it waits for is done or it is cancelled; None: a thread waits."""
        self._cancel, self._tell = cancel, tell
        self.cancelled = False
        self.attained = 0  # pieces of it that have been translated
        self.jobs: deque[Job] = deque()  # that no worker has taken for it
        self.wanted: list[Job] = []  # all that it waits for
        self.left = 0  # pieces of those that are not done
        self.missing = 0  # how many these are
        self.group: Group | None = None
        self._is_done = None if tell else threading.Event()

    def begin(self, jobs: list[Job], group: Group) -> None:
        """Wait for these, too."""
        self.wanted, self.group, self.jobs = jobs, group, deque(job for job in jobs if not job.taken)
        self.missing, self.left = len(jobs), sum(job.size for job in jobs)
        for job in jobs:
            job.tasks.add(self)
        if self._is_done:
            self._is_done.clear()

    def wait(self) -> None:
        """Until all is done, or it is cancelled."""
        assert self._is_done
        self._is_done.wait()

    def end(self) -> None:
        """All is done, or it is cancelled."""
        if self._is_done:
            self._is_done.set()
        elif self._tell:
            self._tell()

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self._cancel(self)

    def take(self, room: int, one: bool = False) -> list[Job]:
        """Jobs of it for a worker, as many as there is room for; `one`: the next, however large."""
        found: list[Job] = []
        while self.jobs and (room > 0 or self.jobs[0].taken):
            job = self.jobs[0]
            if not job.taken:
                if job.size > room and not one:
                    break
                job.taken = True
                found.append(job)
                room = 0 if one else room - job.size
                self.attained += job.size
            self.jobs.popleft()
        return found


class Job:
    """A sentence that is to be translated, for one request or more."""

    __slots__ = ("error", "forced", "key", "result", "size", "taken", "tasks", "text")

    def __init__(self, key: Hashable, text: str, forced: list[int]):
        self.key, self.text, self.forced = key, text, forced
        self.size = len(text) // LETTERS + 1
        self.tasks: set[Task] = set()
        self.taken = False
        self.result: Aligned | None = None
        self.error: Exception | None = None


class Group:
    """Requests whose sentences may be translated together."""

    def __init__(self, number: int, sentences: Sentences, settings: Settings):
        self.number, self._sentences, self._settings = number, sentences, settings
        self.tasks: OrderedDict[Task, None] = OrderedDict()
        self._was_large = False

    def translate(self, jobs: Sequence[Job]) -> list[Aligned]:
        """What the jobs ask for, in order."""
        return self._sentences([job.text for job in jobs], [job.forced for job in jobs], self._settings)

    def batch(self, room: int) -> list[Job]:
        """Jobs that no worker has, of about `room` pieces; a sentence that is longer comes alone, every second time."""
        found = [] if self._was_large else self._next()
        left = room - sum(job.size for job in found)
        for task in sorted(self.tasks, key=lambda task: (task.attained, task.left)):
            taken = task.take(left)
            found += taken
            left -= sum(job.size for job in taken)
        if not found:
            found = self._next()
            left = room - sum(job.size for job in found)
        self._was_large = left < 0
        for task in [task for task in self.tasks if not task.jobs]:
            del self.tasks[task]
        return found

    def _next(self) -> list[Job]:
        """A job of the request that waits longest, which is behind the others then."""
        oldest = next(iter(self.tasks))
        self.tasks.move_to_end(oldest)
        return oldest.take(1, True)
