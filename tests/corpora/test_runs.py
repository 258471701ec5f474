"""Runs over a folder, ended anywhere and begun again: after a complete one the folder equals the definitions.

Parts are made in this process, so that a run can be ended at each point without waiting;
tests/corpora/test_batch_command and test_workers cover processes.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cpunmt.corpora import shard, sidecar
from cpunmt.corpora.batch import Batch, Totals
from cpunmt.corpora.inputs.formats import corpora_of
from cpunmt.corpora.job import Filters, Job
from cpunmt.corpora.shard import make_part
from cpunmt.corpora.translating import Translating
from cpunmt.files.output_files import write_durably
from tests.corpora import definitions
from tests.corpora.definitions import tiny, tiny_said
from tests.corpora.running import in_memory

LINES = st.lists(st.sampled_from(definitions.TEXTS), max_size=9)
INPUTS = ("a.txt", "b.jsonl", "a.b.txt")  # one stem begins as another
# Not of these inputs, or not made by a run: they stay.
FOREIGN = dict.fromkeys(["a.00000.txt.gz", "ab.00007.txt", "a.7.txt", "notes", "_notes.json"], b"{}")
FOREIGN |= {"_a.00009.txt.json": b'{"format": 1}', "_b.00009.jsonl.json": b'{"source": ""}'}
FILTERS = ({}, {"min_score": -0.2, "no_loops": True, "max_length_ratio": 1.5})


class EndedError(Exception):
    """The simulated end of a run."""


class OneWrite:
    """A `write_durably` that works once, and ends the run at the next call."""

    def __init__(self, patch):
        self.patch = patch

    def __call__(self, path, content):
        write_durably(path, content)

        def end(path, content):
            raise EndedError

        for module in (shard, sidecar):
            self.patch.setattr(module, "write_durably", end)


class Here:
    """A pool in this process; ends after `most` parts, unless that is None.

    how    "before" (a part is begun), "between" (one of its two files is written) or "after" (it is done)
    """

    def __init__(self, maker, job, wanted, most=None, how="after"):
        self.maker, self.job, self.identity, self.most, self.how = maker, job, wanted, most, how
        self.made = []

    def run(self, tasks):
        for task in tasks:
            if self.most == len(self.made):
                if self.how == "between":
                    with pytest.MonkeyPatch.context() as patch:
                        for module in (shard, sidecar):
                            patch.setattr(module, "write_durably", OneWrite(patch))
                        self._make(task, [])
                if self.how == "before":
                    Path(task.part.path).with_name(f".{Path(task.part.path).name}.01234567.part").write_bytes(b"half")
                raise EndedError
            shares = []
            told = self._make(task, shares)
            for share in shares:
                yield task, "progress", share
            self.made.append((os.path.basename(task.part.path), told))
            yield task, "done", told

    def _make(self, task, shares):
        def progress(*share):
            shares.append(share)

        return make_part(task.part, task.payload, self.job, self.maker, self.identity, progress)


class Runs(RuleBasedStateMachine):
    """Changing inputs, damaged parts, ended runs; `done`: part -> its origin."""

    @initialize(a=LINES, b=LINES, c=LINES)
    def begin(self, a, b, c):
        self.root = Path(tempfile.mkdtemp(dir=in_memory()))
        self.out = self.root / "out"
        self.lines, self.size, self.filters, self.done = {}, 3, 0, {}
        self.stray = set()  # files of parts with damaged sidecars, which look like foreign files
        self.out.mkdir()
        for name, content in FOREIGN.items():
            (self.out / name).write_bytes(content)
        for name, lines in zip(INPUTS, (a, b, c), strict=True):
            self.change(name, lines)

    def teardown(self):
        shutil.rmtree(self.root, ignore_errors=True)

    @rule(name=st.sampled_from(INPUTS), lines=LINES)
    def change(self, name, lines):
        if name.endswith(".jsonl"):
            lines = [json.dumps({"source": line}, ensure_ascii=False) for line in lines]
        self.lines[name] = lines
        (self.root / name).write_bytes("".join(f"{line}\n" for line in lines).encode())

    @rule(size=st.integers(1, 4))
    def cut_otherwise(self, size):
        self.size = size

    @rule(filters=st.sampled_from([0, 1]))
    def filter_otherwise(self, filters):
        self.filters = filters

    @precondition(lambda self: self.done)
    @rule(
        data=st.data(), how=st.sampled_from(["gone", "longer", "other", "no sidecar", "bad sidecar", "other sidecar"])
    )
    def damage(self, data, how):
        """Damages a part, so that it is not done any more."""
        name = data.draw(st.sampled_from(sorted(self.done)))
        part, beside = self.out / name, self.out / f"_{name}.json"
        content = part.read_bytes()
        if how == "gone":
            part.unlink()
        elif how == "longer":
            part.write_bytes(content + b"\n")
        elif how == "other":
            part.write_bytes(bytes(len(content)) or b"x")
        elif how == "no sidecar":
            beside.unlink()
        elif how == "bad sidecar":
            beside.write_bytes(beside.read_bytes()[:-3])
        else:
            told = json.loads(beside.read_bytes())
            missing = data.draw(st.sampled_from(["rows", "words", "distinct", "bytes", "output", "source", "model"]))
            del told[missing]
            beside.write_text(json.dumps(told))
        del self.done[name]
        if "sidecar" in how:
            self.stray |= {name, beside.name}

    def parts(self):
        """Yields (name, identity, lines) of each part of the current inputs, in order."""
        for name in INPUTS:
            stem, ending = os.path.splitext(name)
            for number, lines in enumerate(definitions.cut(self.lines[name], self.size)):
                yield f"{stem}.{number:05}{ending}", (self.filters, tuple(lines)), lines

    @rule(
        share=st.sampled_from([(0, 1), (0, 1), (0, 2), (1, 2), (2, 3)]),
        most=st.none() | st.integers(0, 3),
        data=st.data(),
    )
    def run(self, share, most, data):
        job = Job(filters=Filters(**FILTERS[self.filters]))
        wanted = sidecar.identity("model", {}, job.to_dict())
        how = data.draw(st.sampled_from(["before", "between", "after"]))
        pool = Here(Translating(tiny(), {}, job), job, wanted, most, how)
        batch = Batch(
            corpora_of([str(self.root / name) for name in INPUTS], str(self.out), False),
            str(self.out),
            self.size,
            share,
        )
        assert batch.count() == sum(map(len, self.lines.values())) // share[1]
        told = []
        mine = list(self.parts())[share[0] :: share[1]]
        missing = [name for name, identity, _ in mine if self.done.get(name) != identity]
        try:
            batch.run(pool, lambda *advance: told.append(advance))
        except EndedError:
            assert [name for name, _ in pool.made] == missing[:most] and len(missing) > most
            self.done.update((name, identity) for name, identity, _ in mine if name in missing[:most])
            for name, identity, _ in mine:
                if name == missing[most] and how == "between":
                    self.done.pop(name, None)
                    if self.is_complete(name):  # it had the same bytes before
                        self.done[name] = identity
            return self.forget()
        assert [name for name, _ in pool.made] == missing
        there = [lines for name, _, lines in mine if name not in missing]
        made = [one for _, one in pool.made]
        assert batch.totals == Totals(
            len(missing),
            *(sum(one[name] for one in made) for name in ("rows", "words", "distinct", "flagged")),
            len(there),
            sum(map(len, there)),
        )
        assert sum(rows for rows, _ in told) == sum(len(lines) for _, _, lines in mine)
        assert sum(words for _, words in told) == batch.totals.words
        assert all(rows >= 0 and words >= 0 for rows, words in told)
        self.done.update((name, identity) for name, identity, _ in mine)
        self.forget(beyond=True)
        if share == (0, 1):
            self.is_whole()

    def forget(self, beyond=False):
        """Forgets removed parts, whose inputs have fewer."""
        self.done = {name: identity for name, identity in self.done.items() if (self.out / name).exists()}
        if beyond:
            assert set(self.done) <= {name for name, _, _ in self.parts()}

    def is_complete(self, name):
        """Returns whether a part matches the file beside it."""
        part, beside = self.out / name, self.out / f"_{name}.json"
        if not part.exists() or not beside.exists():
            return False
        digest = hashlib.blake2b(part.read_bytes(), digest_size=32).hexdigest()
        return json.loads(beside.read_bytes())["output"] == digest

    def is_whole(self):
        filters = FILTERS[self.filters]
        names = {name for name, _, _ in self.parts()}
        there = names | {f"_{name}.json" for name in names} | set(FOREIGN)
        self.stray -= there
        assert there <= set(os.listdir(self.out)) <= there | self.stray
        for name, _, lines in self.parts():
            part = (self.out / name).read_bytes().decode()
            if name.endswith(".txt"):
                assert part == definitions.text_part(lines, tiny_said(), filters)
            else:
                assert [json.loads(line) for line in part.split("\n")[:-1]] == definitions.json_part(
                    lines, tiny_said(), filters
                )

    @invariant()
    def what_is_not_ours_stays(self):
        for name, content in FOREIGN.items():
            assert (self.out / name).read_bytes() == content


class Between:
    """A replacement of hypothesis's draws."""

    def draw(self, strategy):
        return "between"


def test_a_part_of_a_run_that_was_killed_goes_when_its_input_has_fewer():
    """It had no sidecar yet, so it was not recognized, and followed the last part for ever."""
    runs = Runs()
    runs.begin(a=[], b=["A man.", "A man."], c=[])
    try:
        runs.cut_otherwise(size=1)
        runs.run(share=(2, 3), most=0, data=Between())
        assert "b.00001.jsonl" in str(os.listdir(runs.out))
        runs.change("b.jsonl", [])
        runs.run(share=(0, 1), most=None, data=Between())
        runs.what_is_not_ours_stays()
    finally:
        runs.teardown()


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
