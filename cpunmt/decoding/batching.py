"""Cuts sentences into parts that the model takes, and translates them in batches, one compiled call each."""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cpunmt.decoding.splitting import split_pieces
from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.engine.run import Step
from cpunmt.model.config import ModelConfig
from cpunmt.options.options import Options
from cpunmt.process.stopping import SharedWork
from cpunmt.results.alignments import Matrix
from cpunmt.search.settings import Search
from cpunmt.text.right_to_left import reversed_pieces
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.text.vocabularies.vocabulary import name_end

TellPart = Callable[[int, Step], object]  # (number of a part, its piece) -> whether the part ends there
MOST_WRITTEN = 1 << 24  # numbers that one call may write (64 MB): n-best lists and attention of many texts are large


class SourcePart(NamedTuple):
    """A sentence, or a part of a sentence that is too long for the model."""

    sentence: int  # its index in the call
    ids: list[int]  # source pieces, with </s>
    prefix: list[int]  # target pieces that the translation begins with
    limit: int  # the most target pieces, </s> included
    named: Search | None = None  # whose pieces of languages it has; None: the call's
    again: int = 0  # pieces at its beginning that repeat the name of a language; results leave them out,
    after: int = 1  # as those at its end: </s>, and a name that stands behind it and comes again,
    said: int = 0  # and those at the beginning of the prefix that repeat the target's

    @property
    def size(self) -> int:
        """Its pieces of the sentence."""
        return len(self.ids) - self.again - self.after


def cut_sentences(
    sentences: Sequence[list[int]],
    prefixes: Sequence[list[int]] | None,
    options: Options,
    config: ModelConfig,
    vocabulary: AnyVocabulary,
) -> list[SourcePart]:
    """Returns the parts of all sentences, in order; a sentence that holds only </s> yields none.

    Parameters
    ----------
    sentences : lists of source ids, each with its </s>
    prefixes : None, or a list of target ids for each sentence; it belongs to the sentence's first part
    vocabulary : of the source; its pieces show where to cut a long sentence
    """
    room = config.max_source_length - 1
    most = options.max_input_length
    parts = []
    for number, ids in enumerate(sentences):
        if most and len(ids) - 1 > most:
            ending = _ending_of(ids, vocabulary)
            ids = [*ids[: len(ids) - len(ending)][:most], *ending]
        if len(ids) == 1:
            continue
        prefix = prefixes[number] if prefixes else []
        if len(ids) - 1 <= room:
            parts.append(SourcePart(number, ids, prefix, target_limit(len(ids), len(prefix), options, config)))
            continue
        name, ending = _name_of(ids, vocabulary), _ending_of(ids, vocabulary)
        if 2 * (len(name) + len(ending) - 1) > room:  # a tiny model
            name, ending = [], ids[-1:]
        body, again = ids[len(name) : len(ids) - len(ending)], 0
        spoken = [id_ for id_ in prefix[:1] if id_ in vocabulary.tag_ids]
        size = room + 1 - len(name) - len(ending)
        cuts = [0, *split_pieces(vocabulary.pieces(body), size, vocabulary.mark), len(body)]
        for begin, end in itertools.pairwise(cuts):
            part = [*name, *body[begin:end], *ending]
            after = 1 if end == len(body) else len(ending)
            limit = target_limit(len(part) - again - after + 1, len(prefix), options, config)
            said = len(spoken) if begin else 0
            parts.append(SourcePart(number, part, prefix, limit, again=again, after=after, said=said))
            prefix, again = spoken, len(name)
    return parts


def _name_of(ids: list[int], vocabulary: AnyVocabulary) -> list[int]:
    """Returns the pieces at the beginning of a source that name a language, such as `>>deu<<`: each part needs them."""
    if ids[0] in vocabulary.tag_ids:
        return ids[:1]  # of many languages, given as pieces
    for size in (1, 2):  # a mark may stand before the name
        begin = "".join(vocabulary.pieces(ids[:size])).removeprefix(vocabulary.mark)
        if begin and name_end(begin) == len(begin):
            return ids[:size]
    return []


def _ending_of(ids: list[int], vocabulary: AnyVocabulary) -> list[int]:
    """Returns the end of a source: </s>, and the name of a language if one stands behind it."""
    is_named = ids[-1] in vocabulary.tag_ids and ids[-2:-1] == [vocabulary.eos_id]
    return ids[-2:] if is_named else ids[-1:]


def target_limit(source: int, prefix: int, options: Options, config: ModelConfig) -> int:
    """Returns the limit of target pieces, </s> included, for `source` pieces with </s>; the prefix always fits."""
    factor = options.max_length_factor or config.max_length_factor
    limit = max(1, math.ceil(factor * source) + options.max_length_extra, options.min_length + 1)
    if options.max_length and limit > options.max_length:
        limit = options.max_length
    return max(limit, prefix)


def translate_parts(
    engine: Engine, parts: list[SourcePart], options: Options, search: Search, shared: SharedWork | None = None
) -> list[list[Hypothesis]]:
    """Returns the engine's hypotheses of each part, in order.

    A model trained on reversed sentences gets them reversed; everything else here reads from left to right.

    `shared` : knows which sentences were cancelled; their unfinished parts get no hypotheses.
    """
    if not engine.model.config.right_to_left:
        return search_parts(engine, parts, options, search, shared)
    search = search._replace(suppressed=tuple(sequence[::-1] for sequence in search.suppressed))
    parts = [part._replace(ids=reversed_pieces(part.ids), prefix=reversed_pieces(part.prefix)) for part in parts]
    found = search_parts(engine, parts, options, search, shared)
    return [[_reversed(hypothesis) for hypothesis in of_part] for of_part in found]


def search_parts(
    engine: Engine,
    parts: list[SourcePart],
    options: Options,
    search: Search,
    shared: SharedWork | None = None,
    tell: TellPart | None = None,
) -> list[list[Hypothesis]]:
    """Like `translate_parts`, for parts and translations in the model's own direction.

    `tell` : called with each piece of a greedy search as it is chosen.
    """
    if search.vocab_logits:
        return _with_logits(engine, parts, options, search, shared, tell)
    outputs = [search.num_hypotheses * part.limit * (len(part.ids) if search.attention else 1) for part in parts]
    return _translated(engine, parts, outputs, options, search, shared, tell)


def _translated(
    engine: Engine,
    parts: list[SourcePart],
    outputs: list[int],
    options: Options,
    search: Search,
    shared: SharedWork | None,
    tell: TellPart | None = None,
) -> list[list[Hypothesis]]:
    """Like `search_parts`. `outputs`: number of values that the translation of each part may write.

    Attention that only replaces unknown pieces is reduced as batches end: a word of many letters has many parts.
    """
    reduced = search.attention and not options.return_alignments and not engine.model.config.right_to_left
    sizes = [len(part.ids) for part in parts]
    found: list[list[Hypothesis]] = [[] for _ in parts]
    for batch in batches(sizes, outputs, options):
        sources, limits, prefixes = [], [], []
        for i in batch:
            sources.append(parts[i].ids)
            limits.append(parts[i].limit)
            prefixes.append(parts[i].prefix)
        forced = prefixes if any(prefixes) else None
        translated = engine.translate(sources, limits, search, forced, **_of_batch(batch, parts, shared, tell))
        for i, hypotheses in zip(batch, translated, strict=True):
            if parts[i].again or parts[i].after > 1 or parts[i].said:
                hypotheses = [_unnamed(one, parts[i], engine.model.config.right_to_left) for one in hypotheses]
            found[i] = list(map(_reduced, hypotheses)) if reduced else hypotheses
            if shared is not None and not hypotheses:
                shared.missing.add(parts[i].sentence)
    return found


def _of_batch(
    batch: list[int], parts: list[SourcePart], shared: SharedWork | None, tell: TellPart | None
) -> dict[str, Any]:
    """Returns the engine's further arguments for a batch: the searches that name its languages, and callbacks: one
    reports pieces, one returns which parts were cancelled.
    """
    asked: dict[str, Any] = {}
    if parts[batch[0]].named is not None:  # and so have all
        asked["named"] = [parts[i].named for i in batch]
    if tell is not None:
        asked["tell"] = lambda step: tell(batch[step.sentence], step)
    if shared is not None:

        def unwanted() -> Collection[int]:
            named = shared.unwanted()
            return [place for place, i in enumerate(batch) if parts[i].sentence in named] if named else ()

        asked["unwanted"] = unwanted
    return asked


def _with_logits(
    engine: Engine,
    parts: list[SourcePart],
    options: Options,
    search: Search,
    shared: SharedWork | None,
    tell: TellPart | None,
) -> list[list[Hypothesis]]:
    """Like `_translated`, with logits: forces each hypothesis once more, which reproduces the bits of its search.

    So a search stores no logits, most of which would belong to dropped hypotheses.
    """
    whole = [part._replace(said=0) for part in parts]  # results leave names out in the end
    found = search_parts(engine, whole, options, search._replace(vocab_logits=False), shared, tell)
    pairs = list(zip(whole, found, strict=True))
    again = [part._replace(prefix=h.ids, limit=len(h.ids)) for part, hypotheses in pairs for h in hypotheses]
    outputs = [part.limit * engine.model.config.vocab_size for part in again]
    forced = iter(_translated(engine, again, outputs, options, search.forcing._replace(vocab_logits=True), shared))
    return [
        [_unsaid(h._replace(logits=made[0].logits) if (made := next(forced)) else h, part) for h in hypotheses]
        for part, hypotheses in zip(parts, found, strict=True)
    ]


def best_places(attention: Matrix) -> np.ndarray:
    """Returns for each piece the source piece that got most of its attention, </s> excluded: of a row for each, or of
    these numbers, to which a batch may have reduced them.
    """
    return attention if attention.ndim == 1 else attention[:, :-1].argmax(1).astype(np.int32)


def _reduced(found: Hypothesis) -> Hypothesis:
    return found if found.attention is None else found._replace(attention=best_places(found.attention))


def _unnamed(found: Hypothesis, part: SourcePart, is_reversed: bool) -> Hypothesis:
    """Returns a hypothesis without repeated names, and without attention to them; its log-probability keeps theirs.

    Reversed sentences have the source's name at the end.
    """
    if found.attention is not None:
        begin = len(part.ids) - 1 - part.again if is_reversed else 0
        columns = [*range(begin, begin + part.again), *range(len(part.ids) - part.after, len(part.ids) - 1)]
        found = found._replace(attention=np.delete(found.attention, columns, 1))
    return _unsaid(found, part)


def _unsaid(found: Hypothesis, part: SourcePart) -> Hypothesis:
    """Returns a hypothesis without the repeated name of its language, which a biased search need not say."""
    ids, terms, attention, logits = found.ids, found.token_log_probs, found.attention, found.logits
    if not part.said or ids[: part.said] != part.prefix[: part.said]:
        return found
    attention = attention if attention is None else attention[part.said :]
    logits = logits if logits is None else logits[part.said :]
    terms = terms and terms[part.said :]
    return found._replace(ids=ids[part.said :], token_log_probs=terms, attention=attention, logits=logits)


def _reversed(found: Hypothesis) -> Hypothesis:
    ended, terms, attention = not found.truncated, found.token_log_probs, found.attention
    if attention is not None:
        rows, columns = map(range, attention.shape)
        attention = attention[np.ix_(reversed_pieces(rows, ended), reversed_pieces(columns))]
    terms = terms and reversed_pieces(terms, ended)
    logits = found.logits
    if logits is not None:
        logits = logits[reversed_pieces(range(len(logits)), ended)]
    ids = reversed_pieces(found.ids, ended)
    return found._replace(ids=ids, token_log_probs=terms, attention=attention, logits=logits)


def batches(sizes: list[int], outputs: list[int], options: Options) -> Iterator[list[int]]:
    """Returns the numbers of the parts in each batch, longest part first.

    A batch has at most `options.max_batch_tokens` pieces, `options.max_batch_size` parts and `MOST_WRITTEN` numbers
    to write, or one part. `sizes`: pieces of each part; `outputs`: numbers that its translation may write.
    """
    most_parts = options.max_batch_size or len(sizes)
    batch: list[int] = []
    tokens = written = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        full = tokens + sizes[i] > options.max_batch_tokens or len(batch) == most_parts
        if batch and (full or written + outputs[i] > MOST_WRITTEN):
            yield batch
            batch, tokens, written = [], 0, 0
        batch.append(i)
        tokens += sizes[i]
        written += outputs[i]
    if batch:
        yield batch
