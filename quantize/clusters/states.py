"""The decoder's states during translation, and the best pieces of each.

The engine runs the packed model, over its whole vocabulary, one step at a time: between two steps the workspace holds
the output layer's last input. It is multiplied with the output layer once more, by the engine's kernel, so the best
pieces are those of the search to the last bit.
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from cpunmt.architectures.records import ROW
from cpunmt.engine import program
from cpunmt.engine.engine import Engine, tagged
from cpunmt.engine.run import ONE_STEP
from cpunmt.kernels.matmul.packing import room_bytes
from cpunmt.kernels.records import LINEAR
from cpunmt.process.native_calls import native
from cpunmt.search.records import BATCH, MEMBER, SLOT
from cpunmt.search.settings import Search

AFFINE, LOWEST = 1, np.float32(-3.0e38)  # of simd.tile and kernels.softmax; importing them would load a compiler
_SENTENCES = 1024  # in one batch of the engine
_ROWS = 32  # multiplied with the output layer at once


class Step(NamedTuple):
    """The result of one decoder step, with a row for each hypothesis that continues."""

    sentences: np.ndarray  # int64 [rows]: number of the source of each
    states: np.ndarray  # float32 [rows, model_dim]: the output layer's input
    best: np.ndarray  # int32 [rows, top]: the pieces with the largest logits, the best first, of equals the lower id
    logits: np.ndarray  # float32 [rows, top]: their logits; -infinity if a row has fewer numbers than that


def decoder_states(
    engine: Engine,
    sources: Sequence[list[int]],
    top: int,
    beam_size: int = 1,
    done: Callable[[int], object] = lambda count: None,
    prompt: tuple[int, ...] = (),
) -> Iterator[Step]:
    """Yields every step of the translations of `sources`, of one model.

    <unk> is never among the best pieces, unless the model may emit it. The model's config limits lengths.

    Parameters
    ----------
    sources : ids, each with its </s>, in the model's order
    top : number of pieces of each state, less than the vocabulary's
    beam_size : 1 is greedy search; with more there is a state for each hypothesis that continues
    done : called with the number of sentences begun since the last call
    prompt : pieces of a language that begin each translation; their own steps are left out
    """
    config = engine.model.config
    search = Search(beam_size=beam_size, length_penalty=config.length_penalty, full=True, scored=beam_size > 1)
    search = search._replace(word_penalty=config.word_penalty, prompt=prompt)
    for begin in range(0, len(sources), _SENTENCES):
        chosen = range(begin, min(begin + _SENTENCES, len(sources)))
        order = np.array(sorted(chosen, key=lambda i: -len(sources[i])))  # similar ones together
        for step in _batch(engine, [sources[i] for i in order], top, search, done):
            yield step._replace(sentences=order[step.sentences])


def _batch(engine: Any, sources: Any, top: Any, search: Any, done: Any) -> Iterator[Any]:
    limits: Any = [math.ceil(engine.model.config.max_length_factor * len(source)) for source in sources]
    given, limits, prefixes = tagged(sources, limits, search, None)
    record, workspace, *kept = engine._prepared(given, limits, search, prefixes, None)
    compiled: Any = program.load()
    batch = np.frombuffer(record, BATCH)[0]
    fields, output = workspace.record[0], _Output(engine, int(batch["full_output"]), top)
    member = _seen(fields["members"], MEMBER, 1)[0]
    rows, waiting, begin, more = 0, 0, 1, True
    while more:
        with native:
            more = compiled.translate(record.buffer_info()[0], workspace.address, begin, ONE_STEP)
        begin = 0
        begun = int(fields["waiting"]) - waiting
        stepped = rows + begun  # each sentence begins with one hypothesis
        rows, waiting = int(fields["row_count"]), waiting + begun
        done(begun)
        if fields["filling"]:  # sentences were encoded, and no step decoded yet
            continue
        slots = _seen(fields["next_rows"], ROW, stepped)["slot"]  # rows and next rows are swapped
        places = _seen(fields["sentences"], SLOT, int(fields["slots"]))[slots]
        states = _seen(member["hidden"], np.float32, stepped, output.depth).copy()
        found = Step(places["sentence"], states, *output.best(states, member["quantized"], member["row_scales"]))
        free = places["step"] > len(search.prompt)  # not those that chose the pieces of the prompt
        if free.any():
            yield found if free.all() else Step(*(part[free] for part in found))
    del kept  # the record points to it


class Sample:
    """A fair sample of all states, in bounded memory: reservoir sampling (Vitter 1985, algorithm R).

    It keeps at most `most` of the added rows, each with the same probability. The same rows in the same order and the
    same seed give the same sample.
    """

    def __init__(self, most: int, depth: int, top: int, seed: int) -> None:
        """Rows are a state, float32 [depth], its best pieces, int32 [top], and their logits, float32 [top]."""
        self.seen = 0
        self._most, self._generator = most, np.random.default_rng(seed)
        self._states = np.empty((most, depth), np.float32)  # memory is used only when written
        self._best = np.empty((most, top), np.int32)
        self._logits = np.empty((most, top), np.float32)

    def add(self, states: np.ndarray, best: np.ndarray, logits: np.ndarray) -> None:
        """Offers rows to the sample."""
        numbers = np.arange(self.seen, self.seen + len(states))
        self.seen += len(states)
        places = numbers.copy()
        late = numbers >= self._most
        places[late] = self._generator.integers(0, numbers[late] + 1)
        kept = places < self._most  # the later row gets a contested place
        self._states[places[kept]] = states[kept]
        self._best[places[kept]] = best[kept]
        self._logits[places[kept]] = logits[kept]

    @property
    def states(self) -> np.ndarray:
        """Returns float32 [kept, depth]."""
        return self._states[: self.seen]

    @property
    def best(self) -> np.ndarray:
        """Returns int32 [kept, top]."""
        return self._best[: self.seen]

    @property
    def logits(self) -> np.ndarray:
        """Returns float32 [kept, top]."""
        return self._logits[: self.seen]


class _Output:
    """The output layer over the whole vocabulary."""

    def __init__(self, engine: Any, address: Any, top: Any) -> None:
        self._program = cast(Any, program.load())
        self._layer, self._top = address, top
        layer = _seen(address, LINEAR, 1)[0]
        self.depth = int(layer["depth"])
        self._room = np.empty(room_bytes(self.depth), np.uint8)
        self._row_bytes = self._program.row_bytes(int(layer["scheme"]), self.depth)
        self._logits = np.empty((_ROWS, 16 * int(layer["panels"])), np.float32)
        self._barred = int(engine.model.record["unk_id"][0])  # or -1

    def best(self, states: Any, quantized: Any, scales: Any) -> Any:
        """Returns the best pieces of each row of `states`, and their logits.

        `quantized` and `scales`: their addresses as integers.
        """
        found = np.zeros((len(states), self._top), np.int64)
        values = np.zeros((len(states), self._top), np.float32)
        columns = self._logits.shape[1]
        for first in range(0, len(states), _ROWS):
            part = states[first : first + _ROWS]
            places = int(quantized) + first * self._row_bytes, int(scales) + 8 * first
            with native:
                self._program.linear(self._layer, part, *places, len(part), self._logits, AFFINE, self._room)
            if self._barred >= 0:
                self._logits[:, self._barred] = LOWEST
            for row in range(len(part)):
                best, logits = found[first + row], values[first + row]
                count = self._program.top_k(self._logits[row], columns, self._top, best, logits)
                best[count:], logits[count:] = best[0], -np.inf  # the others are not numbers
        return found.astype(np.int32), values


def _seen(address: Any, dtype: Any, *shape: Any) -> Any:
    """Returns the array of that type and shape at an address that compiled code writes to."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype).reshape(shape)
