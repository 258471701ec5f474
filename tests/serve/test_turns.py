"""The order in which sentences are translated, against its definition: lists, and the rules of `waiting.turn`."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from cpunmt.serve.queue.waiting import pieces_before, turn
from tests.serve.scheduling import OTHERS, SETTINGS, capitals, driven, take

KINDS = {"greedy": (SETTINGS, 1), "beam": (OTHERS, 2)}  # settings, hypotheses side by side
ROOM = 32
TEXTS = [name * 4 * size for name, size in zip("abcdefgh", (0, 1, 3, 6, 12, 24, 31, 80), strict=True)]  # 1 to 81 pieces


class Request:
    """The definition's view: its sentences without a worker, its pending ones, and its turns."""

    def __init__(self, kind, texts, waits):
        self.kind, self.texts, self.waits, self.turns, self.credit = kind, texts, waits, 0, 0


class Definition:
    """Waiting sentences, as lists: [kind, requests in order, whether the last batch was a long sentence]."""

    def __init__(self):
        self.groups, self.taken = [], []  # taken: (kind, text)

    def size(self, kind, text):
        return KINDS[kind][1] * (len(text) // 4 + 1)

    def left(self, request):
        return [text for text in request.texts if (request.kind, text) not in self.taken]

    def next_batch(self):
        """Returns (kind, texts) of the next batch; None if nothing waits."""
        for group in list(self.groups):
            self.groups.remove(group)
            kind, requests, was_long = group
            texts = self.batch(kind, requests, not was_long) or self.batch(kind, requests, True)
            rest = [request for request in requests if self.left(request)]
            if rest:
                self.groups.append([kind, rest, any(self.size(kind, text) > ROOM for text in texts)])
            if texts:
                return kind, texts
        return None

    def batch(self, kind, requests, long):
        found, room, order = [], ROOM, list(requests)
        while order and room > 0:
            request = order.pop(0)
            if request.credit <= 0:
                request.credit += {0: 2, 1: 4, 2: 8, 3: 16, 4: 32}.get(request.turns, 8)
                request.turns += 1
            while request.credit > 0 and (left := self.left(request)):
                size = self.size(kind, left[0])
                if size > room and (found or not long or size <= ROOM):
                    break
                found.append(left[0])
                self.taken.append((kind, left[0]))
                room, request.credit = room - size, request.credit - size
            if request.credit <= 0 and self.left(request):
                requests.remove(request)
                requests.append(request)
                order.append(request)
        return found


class Turns(RuleBasedStateMachine):
    """Requests that come, leave and are served, by the scheduler and by the definition."""

    requests, batches = Bundle("requests"), Bundle("batches")

    def __init__(self):
        super().__init__()
        self.scheduler, self.watched = driven(batch=ROOM)
        self.definition, self.all, self.running = Definition(), [], 0
        self.told = set()

    @rule(target=requests, kind=st.sampled_from(sorted(KINDS)), texts=st.lists(st.sampled_from(TEXTS), max_size=9))
    def come(self, kind, texts):
        number = len(self.all)
        task = self.scheduler.task(lambda: self.told.add(number))
        asked = self.scheduler.ask(task, ("model", KINDS[kind][0]), capitals, texts, [[]] * len(texts))
        request = Request(kind, list(dict.fromkeys(texts)), set(texts))
        assert asked.waits == bool(texts)
        self.all.append((task, asked, texts, request))
        if self.definition.left(request):
            group = next((group for group in self.definition.groups if group[0] == kind), None)
            if group is None:
                self.definition.groups.append(group := [kind, [], False])
            group[1].append(request)
        return number

    @rule(target=batches)
    def take(self):
        if self.running == 2:
            assert take(self.scheduler) is None  # there is not a free place
            return multiple()
        expected, taken = self.definition.next_batch(), take(self.scheduler)
        assert (taken and [job.text for job in taken[1]]) == (expected and expected[1])
        if taken is None:
            return multiple()
        self.running += 1
        return [expected[0], *taken]

    @rule(batch=batches)
    def translate(self, batch):
        if batch:
            kind, group, jobs = batch
            self.scheduler._batch(group, jobs)
            self.running -= 1
            for job in jobs:
                self.definition.taken.remove((kind, job.text))
                for _, _, _, request in self.all:
                    if request.kind == kind:
                        request.waits.discard(job.text)
                        request.texts = [text for text in request.texts if text != job.text]
            batch.clear()

    @rule(number=requests)
    def leave(self, number):
        task, _, _, request = self.all[number]
        task.cancel()
        request.texts = []
        request.waits.clear()
        for group in list(self.definition.groups):
            if request in group[1]:
                group[1].remove(request)
            if not group[1]:
                self.definition.groups.remove(group)

    @invariant()
    def who_waits_for_nothing_is_told(self):
        for number, (task, asked, texts, request) in enumerate(self.all):
            assert (number in self.told) == (bool(texts) and not request.waits) or task.cancelled
            if task.cancelled:
                assert not texts or number in self.told
            elif not request.waits:
                assert [one.target for one in self.scheduler.answer(task, asked)] == [text.upper() for text in texts]

    @invariant()
    def what_waits_is_counted(self):
        waiting = {(r.kind, text) for _, _, _, r in self.all for text in r.waits if text in self.definition.left(r)}
        assert self.scheduler.queued == len(waiting)
        assert self.scheduler._queued_pieces == sum(self.definition.size(*one) for one in waiting)

    def teardown(self):
        self.scheduler.stop()
        assert self.scheduler.queued == self.scheduler._queued_pieces == 0 and not self.scheduler._groups


Turns.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
test_requests_are_served_in_turns = Turns.TestCase


def test_turns():
    assert [turn(number, 1024) for number in range(8)] == [64, 128, 256, 512, 1024, 256, 256, 256]
    assert pieces_before(4, [1, 1000], 64) == 1 + turn(5, 64)  # a document has quarters
    assert [turn(0, batch) for batch in (1, 15, 16, 31, 32)] == [1, 1, 1, 1, 2]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(1, 40), st.integers(1, 30))
def test_a_list_goes_on_whatever_comes(sentences, others, pieces):
    """Short requests come without an end: a list has its turns between theirs, by its length."""
    scheduler, _ = driven(batch=1024)
    kind = ("model", SETTINGS)

    def ask(name, count):
        task = scheduler.task(lambda: done.add(name))
        scheduler.ask(task, kind, capitals, [f"{name} {n}".ljust(4 * pieces, "x") for n in range(count)], [[]] * count)

    done, number, batches = set(), others, 0
    for first in range(others):
        ask(first, 1)
    ask("list", sentences)
    while "list" not in done:
        assert batches < 10 + others * pieces // 100
        scheduler._batch(*take(scheduler))
        batches += 1
        for _ in range(others - (scheduler.queued > others + sentences)):
            number += 1
            ask(number, 1)
    # Five turns at most, and in each round others have what they have asked for.
    rounds = sum(sentences * (pieces + 3) > before for before in (0, 64, 192, 448, 960))
    assert batches <= 1 + rounds * (1 + (others + 1) * (pieces + 3) // 512)
    scheduler.stop()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(1, 300))
def test_no_more_pieces_of_others_come_before_than_is_reckoned(others, pieces):
    """Sentences are short, so that turns are kept."""
    scheduler, _ = driven(batch=64)
    done = set()

    def ask(name, pieces):
        texts = [f"{name}.{n}".ljust(11, "x") for n in range(-(-pieces // 3))]  # of three pieces
        scheduler.ask(scheduler.task(lambda: done.add(name)), ("m", SETTINGS), capitals, texts, [[]] * len(texts))
        return 3 * len(texts)

    sizes = [ask(number, count) for number, count in enumerate(others)]
    own = ask("own", pieces)
    before = 0
    while "own" not in done:
        group, jobs = take(scheduler)
        scheduler._batch(group, jobs)
        before += sum(job.size for job in jobs if not job.text.startswith("own"))
    assert before <= pieces_before(own, sizes, 64) + 64 + 3 * 8 * len(others)  # a batch, and what turns overdraw
    scheduler.stop()
