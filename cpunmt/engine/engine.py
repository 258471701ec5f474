"""Ids in, ids out: one batch through compiled code, and the memory it needs."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.architectures.families import family_of
from cpunmt.engine import full_output, program
from cpunmt.engine.run import ONE_STEP, Made, Tell, Unwanted, run
from cpunmt.engine.state_clusters import StateClusters
from cpunmt.engine.workspace import Member, Size, Workspace, multiplied
from cpunmt.kernels import records
from cpunmt.kernels.tables import powers
from cpunmt.layers.schemes import SCHEMES
from cpunmt.model.tensors import LARGE, Model, decoder_weights
from cpunmt.process import stopping
from cpunmt.process.first_use import LOCK
from cpunmt.process.native_calls import native
from cpunmt.search.records import BATCH, FUSED_ROWS, PICKED_COST, SENTENCES, WHOLE_COST
from cpunmt.search.settings import GREEDY, Search, search_record

SHORT = 64  # pieces of sentences of which more are decoded in parallel by a large decoder; the memory grows with both
REFILL = 0.5  # share of the slots that must be free before they are filled; from bench/top_up
KEPT = 16  # the most workspaces kept for later calls,
USUAL = 32 << 20  # each of at most this many bytes, or four times the weights: larger ones are freed


def _names(record: Any) -> list[str]:
    """Returns all fields of a record in order of their addresses, those of inner records as "outer.inner"."""
    found: list[str] = []
    for name in record.names:
        inner = record[name].names
        found += [f"{name}.{field}" for field in inner] if inner else [name]
    return found


# A BATCH record as a dict, which costs Python a tenth of a NumPy record. All its fields are int64.
_EMPTY_BATCH = dict.fromkeys(_names(BATCH), 0)


class Hypothesis(NamedTuple):
    """One translation of a sentence."""

    ids: list[int]  # target pieces, with the final </s>, or other end, unless the length limit cut it off
    log_prob: float  # sum over the pieces, </s> included; like the score NaN, if the search is not scored
    score: float
    truncated: bool  # the length limit was reached
    token_log_probs: list[float] | None  # of each piece
    attention: np.ndarray | None  # float32 [pieces, source pieces]: the alignment head's
    logits: np.ndarray | None = None  # float32 [pieces, vocabulary]: each piece was chosen by a row; -inf: no candidate


class Engine:
    """Runs a Model, or several as an ensemble (see search.ensemble), with or without a Shortlist.

    Threads may share it: each call has its own memory. `model` is the first one.
    """

    def __init__(
        self, model: Model | Sequence[Member], shortlist: Any = None, clusters: Mapping[int, Any] | None = None
    ) -> None:
        """Several models must have the same pieces and ids, source and target, and weights that add up to 1.

        `shortlist` has `first`, `offsets` (int64 [words + 1]) and `ids` (int32); or no offsets, and lists the
        `candidates` of each sentence. All models share it. `clusters` are those of one model's states, by target
        language: see StateClusters.
        """
        self._members = [Member(model)] if isinstance(model, Model) else list(model)
        self.model = self._members[0].model
        self.shortlist, self.clusters = shortlist, clusters
        self._state_clusters: StateClusters | None = None
        self._program = program.load()
        with LOCK:  # it depends on CPUNMT_ISA, which may be wrong: an import must not fail
            from cpunmt.simd.tile_shapes import CODED_ROWS, INT8_SLOTS, LARGE_SLOTS, SLOTS, TOGETHER
        self._few_rows = CODED_ROWS  # whose products with 4 bits are as fast as their reading
        # An output layer for common candidates of all slots is a product of many rows: where those are fast.
        kinds = {multiplied(member.model.config) for member in self._members}
        self._together = TOGETHER if kinds == {"int8"} else 0
        self._slots = INT8_SLOTS if SCHEMES[self.model.config.scheme] == "int8" else SLOTS
        self._most_slots = self._slots
        if max(decoder_weights(member.model.config) for member in self._members) >= LARGE:
            self._most_slots = max(self._slots, LARGE_SLOTS)
        # of finished calls, by their address. Each change is one operation of a dict, which is atomic without Python's
        # lock, too; and a fork finds nothing locked
        self._workspaces: dict[int, Workspace] = {}
        self._usual = USUAL + 4 * sum(member.model.bytes for member in self._members)
        self._full_output: full_output.Form | None = None
        self._halves: tuple[full_output.Form | None] | None = None
        # suits all models of an ensemble
        self._tokens = min(family_of(member.model.config.architecture).tokens for member in self._members)
        self._searches: dict[Search, tuple[int, object]] = {}  # address of its SEARCH record, and the record
        self._powers: dict[float, np.ndarray] = {}  # length penalty -> float32 array that is long enough so far
        self._lists_sentences = shortlist is not None and not hasattr(shortlist, "offsets")
        if shortlist is not None and not self._lists_sentences:
            shared = int(self.model.config.shared_vocabulary)
            words = len(shortlist.offsets) - 1
            self._shortlist_fields = {
                "shortlist.offsets": _address(shortlist.offsets),
                "shortlist.ids": _address(shortlist.ids),
                "shortlist.first": shortlist.first,
                "shortlist.words": words,
                "shortlist.shared": shared,
            }
            self._longest_list = int(np.diff(shortlist.offsets).max())

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        search: Search = GREEDY,
        prefixes: Sequence[Sequence[int]] | None = None,
        slots: int | None = None,
        tell: Tell | None = None,
        unwanted: Unwanted | None = None,
        refill: float = REFILL,
        named: Sequence[Search] | None = None,
    ) -> list[list[Hypothesis]]:
        """Translates sentences; returns for each at least one hypothesis, the best first, all different.

        Parameters
        ----------
        sources : one sequence of source ids per sentence, each with its final </s>, which a model that was not trained
            with it does not read
        limits : the most target ids of each, </s> included; not less than its prefix has
        prefixes : None, or for each sentence the ids that its translations begin with. A piece outside
            the sentence's candidates has log-probability minus infinity, and so have its translations.
        slots : sentences decoded in parallel; changes speed only
        tell : called with each piece of a greedy search; returns True to end the sentence with it
        refill : share of the slots, 0 to 1, that must be free before the next sentences take their places: 0 as soon
            as one is, 1 when all are; changes speed only
        unwanted : called several times a second; returns sentences to drop, which have no hypothesis unless they are
            done
        named : None, or for each sentence a search that adds as many pieces as `search`, perhaps of other languages

        Raises CancelledError or TimeLimitError if `process.stopping` does.
        """
        if not sources:
            return []
        begin, prompt = len(search.source_begin), len(search.prompt)
        if search.tagged:
            given, sources, limits, prefixes = sources, *tagged(sources, limits, search, prefixes, named)
        else:
            given = sources
        record, workspace, made, _kept = self._prepared(
            sources, limits, search, prefixes, slots, refill, bounded=tell is None or not search.normalized
        )
        dropped = run(self._program, record, workspace, made, tell, unwanted, prompt)
        self._keep(workspace)
        places, _, output, written, log_probs, scores, token_log_probs, attention, areas, logits = made
        eos, wanted = self.model.config.eos_id, search.num_hypotheses
        results: list[list[Hypothesis]] = []
        forced = prefixes if search.end_pieces and not search.prefix_bias_beta else None
        for sentence, (source, limit) in enumerate(zip(given, limits, strict=True)):
            found: list[Hypothesis] = []
            for rank in range(0 if sentence in dropped else wanted):
                place = sentence * wanted + rank
                length = written[place]
                if length == 0:
                    break
                end = places[sentence] + rank * limit + length
                own = slice(end - length + prompt, end)
                pieces = output[own].tolist()
                parts = token_log_probs[own].tolist() if token_log_probs else None
                rows = None
                if attention is not None and areas is not None:
                    width = len(self._read(sources[sentence]))
                    first = areas[sentence] + rank * limit * width
                    read = attention[first : first + length * width].reshape(length, -1)[prompt:, begin:]
                    rows = np.zeros((length - prompt, len(source)), np.float32)  # none on a </s> that is not read
                    width = min(len(source), read.shape[1])
                    rows[:, :width] = read[:, :width]
                chosen_by = None if logits is None else logits[own].copy()
                truncated = pieces[-1] != eos
                if truncated and pieces[-1] in search.end_pieces:
                    truncated = forced is not None and length <= len(forced[sentence])
                log_prob, score = (log_probs[place], scores[place]) if search.scored else (math.nan, math.nan)
                found.append(Hypothesis(pieces, log_prob, score, truncated, parts, rows, chosen_by))
            results.append(found)
        return results

    def usual_slots(self, search: Search, longest: int) -> int:
        """Returns the default number of parallel sentences of at most `longest` pieces: with more than one hypothesis
        each, there are twice as many hypotheses."""
        slots = self._most_slots if longest <= SHORT else self._slots
        return min(slots, max(1, 2 * slots // search.beam_size))

    def pieces(
        self, source: Sequence[int], limit: int, search: Search, prefix: Sequence[int] | None = None
    ) -> Iterator[tuple[int, float]]:
        """Yields (piece, its log-probability) as they are chosen, for a greedily searched sentence.

        They equal those of `translate`; the arguments are the same, each for one sentence.
        """
        sources, limits, prefixes = tagged([source], [limit], search, [prefix] if prefix else None)
        record, workspace, _made, _kept = self._prepared(
            sources, limits, search, prefixes, 1, bounded=not search.normalized
        )
        found = workspace.history[0, len(search.prompt) :, 0]  # the first slot that is taken is 0
        unsaid = len(search.prompt)
        begin, step, more = 1, 0, True
        while more:
            stopping.check()
            with native:
                more = self._program.translate(_at(record), workspace.address, begin, ONE_STEP)
            begin = 0
            if unsaid:
                unsaid -= 1
                continue
            yield int(found[step]["piece"]), float(found[step]["log_prob"])
            step += 1
        self._keep(workspace)

    def _prepared(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        search: Search,
        prefixes: Sequence[Sequence[int]] | None,
        slots: int | None,
        refill: float = REFILL,
        bounded: bool = False,
    ) -> tuple[array[int], Workspace, Made, object]:
        """Makes the arrays that compiled code reads and writes for a call; the arguments are those of `translate`.

        `bounded`: the search may be that of search.bounded_output, which knows no log-probability before a sentence has
        ended.

        Returns a BATCH record, the memory, and the objects that the record points to, which must outlive the compiled
        call.
        """
        count, sources = len(sources), [self._read(source) for source in sources]
        listed, clustered = not search.full and self.shortlist is not None, search.clusters
        full = not listed and not clustered
        lengths = [len(source) for source in sources]
        longest, steps = max(lengths), max(limits)
        for member in self._members:
            member.model.reserve_positions(max(longest, steps))
        # Python talks to one sentence at a time for some 30 us. Its own arrays are made, and asked for their address,
        # in a third of the time of NumPy's.
        wanted = search.num_hypotheses
        slots = min(count, slots or self.usual_slots(search, longest))
        ids = array("i", itertools.chain.from_iterable(sources))
        offsets = array("q", [0, *itertools.accumulate(lengths)])
        places = array("q", [0, *itertools.accumulate(limits if wanted == 1 else [wanted * n for n in limits])])
        longest_outputs = array("q", limits)
        output = array("i", bytes(4 * places[-1]))
        written = array("q", bytes(8 * count * wanted))
        log_probs, scores = array("f", bytes(4 * count * wanted)), array("f", bytes(4 * count * wanted))
        (search_at, search_record), normalizers = self._search(search, steps)
        batch = {
            **_EMPTY_BATCH,
            "sentences": count,
            "slots": slots,
            "refill": max(0, min(slots - math.ceil(refill * slots), slots - 1)),
            "search": search_at,
            "normalizers": _address(normalizers),
            "ids": _at(ids),
            "offsets": _at(offsets),
            "limits": _at(longest_outputs),
            "output_offsets": _at(places),
            "output": _at(output),
            "lengths": _at(written),
            "log_probs": _at(log_probs),
            "scores": _at(scores),
        }
        cluster_sets, most_active = None, 0
        if clustered:
            clusters = self._clustered()
            cluster_sets, most_active = clusters.chosen(
                [prefix[: len(search.prompt)] for prefix in prefixes or ()] if search.prompt else sources
            )
            batch |= {"clusters": clusters.address, "cluster_sets": _at(cluster_sets)}
            rows, pieces = min(slots * search.room, FUSED_ROWS), self.model.config.vocab_size
            if (
                PICKED_COST * rows * most_active > (WHOLE_COST + rows) * pieces
                and not search.whole_logits
                and self.model.output_weights.stored.nbytes >= full_output.LEAST_WHOLE_BYTES
            ):
                batch["full_output"] = self._output()
        elif full:
            bounded = bounded and search.room == 1 and not search.whole_logits and slots <= self._few_rows
            batch["halves"] = self._halves_at() if bounded else 0
            if search.normalized or not batch["halves"]:
                batch["full_output"] = self._output()
        candidates, sentence_lists = 0, None
        if listed and self._lists_sentences:
            lists = list(map(self.shortlist.candidates, sources))
            candidates = max(map(len, lists))
            sentence_lists = np.cumsum([0, *map(len, lists)], dtype=np.int64), np.concatenate(lists)
            batch["shortlist.offsets"], batch["shortlist.ids"] = map(_address, sentence_lists)
            batch["listed"] = SENTENCES
        elif listed:
            candidates = self._most_candidates(longest)
            batch |= self._shortlist_fields
            batch["listed"] = 1
        forced = prefix_offsets = None
        if prefixes is not None:
            forced = array("i", itertools.chain.from_iterable(prefixes))
            prefix_offsets = array("q", [0, *itertools.accumulate(map(len, prefixes))])
            batch |= {"prefixes": _at(forced), "prefix_offsets": _at(prefix_offsets)}
        token_log_probs, attention, areas = None, None, None
        if search.token_log_probs:
            token_log_probs = array("f", bytes(4 * places[-1]))
            batch["token_log_probs"] = _at(token_log_probs)
        if search.attention:
            sizes = [wanted * limit * length for limit, length in zip(limits, lengths, strict=True)]
            areas = array("q", [0, *itertools.accumulate(sizes)])
            attention = np.empty(areas[-1], np.float32)  # large: only what is written becomes memory
            batch |= {"attention_offsets": _at(areas), "attention": _address(attention)}
        logits = None
        if search.vocab_logits:
            logits = np.full((places[-1], self.model.config.vocab_size), -np.inf, np.float32)
            batch["vocab_logits"] = _address(logits)
        keep_attention = attention is not None or search.coverage_penalty != 0
        if clustered:
            candidates = min(candidates + most_active, self.model.config.vocab_size)
        tokens, by_row = max(longest, min(self._tokens, sum(lengths))), clustered + (clustered and listed)
        size = Size(
            slots,
            search.room,
            steps,
            tokens,
            longest,
            candidates,
            int(keep_attention),
            by_row,
            int(batch["halves"] != 0),
            int(listed and not clustered and slots > 1 and search.room <= self._together),
        )
        workspace = self._workspace(size)
        record = array("q", batch.values())  # a BATCH record: its fields, in their order
        written_to = places, longest_outputs, output, written, log_probs, scores
        made = Made(*written_to, token_log_probs, attention, areas, logits)
        kept = search_record, normalizers, ids, offsets, forced, prefix_offsets, cluster_sets, sentence_lists
        return record, workspace, made, kept

    def _read(self, source: Sequence[int]) -> Sequence[int]:
        """Returns the ids of a source that the model reads: not a final </s> if it was trained without it.

        A </s> that is alone stays, because there is no empty source.
        """
        config = self.model.config
        ended = config.source_end or len(source) < 2 or source[-1] != config.eos_id
        return source if ended else source[:-1]

    def _keep(self, workspace: Workspace) -> None:
        """Stores a workspace for a later call, and drops the oldest if there are many, so that other sizes get a
        place."""
        if workspace.bytes <= self._usual:
            self._workspaces[workspace.address] = workspace
            for address in list(self._workspaces)[:-KEPT]:
                self._workspaces.pop(address, None)

    def _search(self, search: Search, steps: int) -> tuple[tuple[int, object], np.ndarray]:
        """Returns the address of the SEARCH record, and the divisors of scores of 0 to `steps` pieces."""
        found = self._searches.get(search)
        if found is None:
            record, kept = search_record(search)
            if len(self._searches) > 100:
                self._searches.clear()
            found = record.ctypes.data, (record, kept)
            if not search.suppressed:  # sequences may be long, and different in each call
                self._searches[search] = found
        normalizers = self._powers.get(search.length_penalty)
        if normalizers is None or len(normalizers) <= steps:
            if len(self._powers) > 100:
                self._powers.clear()
            normalizers = powers(2 * steps, search.length_penalty)
            self._powers[search.length_penalty] = normalizers
        return found, normalizers

    def _most_candidates(self, longest: int) -> int:
        """Returns the most candidates that a sentence of `longest` pieces can have."""
        most = self.shortlist.first + (self._longest_list + 1) * longest + records.CANDIDATES_MULTIPLE
        return int(min(most, self.model.config.vocab_size + records.CANDIDATES_MULTIPLE))

    def _workspace(self, wanted: Size) -> Workspace:
        """Returns an unused workspace that is at least as large as `wanted`."""
        for workspace in reversed(list(self._workspaces.values())):
            have = workspace.size
            if (have.candidates == 0, have[-4:]) != (wanted.candidates == 0, wanted[-4:]):
                continue  # it stays for calls of its kind: making one takes as long as a short sentence
            if self._workspaces.pop(workspace.address, None) is None:  # another thread was faster
                continue
            if all(h >= w for h, w in zip(have, wanted, strict=True)):
                return workspace
            made = self._rounded(Size(*[max(h, w) for h, w in zip(have, wanted, strict=True)]))
            if made.bytes <= self._usual:
                return made
            self._keep(workspace)  # the new one will not stay in its place
            break
        return self._rounded(wanted)

    def _rounded(self, wanted: Size) -> Workspace:
        """Makes a new workspace, with some spare room for slightly larger calls."""
        source, candidates = -(-wanted.source // 32) * 32, -(-wanted.candidates // 256) * 256
        steps, tokens = -(-wanted.steps // 64) * 64, -(-wanted.tokens // 32) * 32
        return Workspace(
            self._members, wanted._replace(source=source, candidates=candidates, steps=steps, tokens=tokens)
        )

    def _clustered(self) -> StateClusters:
        """Makes the clusters on first use. Raises ValueError if the model lacks clusters."""
        if self.clusters is None:
            raise ValueError("the search is over clusters, but there are none")
        with native, LOCK:
            if self._state_clusters is None:
                self._state_clusters = StateClusters(self.clusters, self.model)
        return self._state_clusters

    def _output(self) -> int:
        """Returns the address of the LINEAR records of the output layers over the whole vocabulary; packs them on first
        use."""
        with native, LOCK:
            if self._full_output is None:
                forms = [full_output.packed(member.model, self._program) for member in self._members]
                self._full_output = full_output.Form(np.concatenate([form.record for form in forms]), forms)
        return _address(self._full_output.record)

    def _halves_at(self) -> int:
        """Returns the address of the HALVES of the output layer, made on first use; 0 if the model has none."""
        if len(self._members) > 1:
            return 0
        with native, LOCK:
            if self._halves is None:
                self._halves = (full_output.halves(self.model, self._program),)
        (form,) = self._halves
        return _address(form.record) if form else 0


def tagged(
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    search: Search,
    prefixes: Sequence[Sequence[int]] | None,
    named: Sequence[Search] | None = None,
) -> tuple[Sequence[Sequence[int]], Sequence[int], Sequence[Sequence[int]] | None]:
    """Returns sources, limits and prefixes with the pieces that a search, or that of each in `named`, adds to each."""
    named = named or [search] * len(sources)
    if search.source_begin or search.source_finish:
        pairs = zip(sources, named, strict=True)
        sources = [[*own.source_begin, *source, *own.source_finish] for source, own in pairs]
    if search.prompt:
        limits = [limit + len(search.prompt) for limit in limits]
        starts = zip(prefixes or [()] * len(sources), named, strict=True)
        prefixes = [[*own.prompt, *prefix] for prefix, own in starts]
    return sources, limits, prefixes


def _at(numbers: array[Any]) -> int:
    return numbers.buffer_info()[0]


def _address(numbers: np.ndarray) -> int:
    return int(numbers.__array_interface__["data"][0])  # a third of the time of numbers.ctypes.data
