"""What is translated in one compiled call: sentences cut to parts that the model takes, parts sorted into batches."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.engine.search import Search
from cpunmt.model.config import ModelConfig
from cpunmt.text.piece_vocabulary import AnyVocabulary
from cpunmt.text.right_to_left import reversed_pieces
from cpunmt.translation.options import Options
from cpunmt.translation.splitting import split_pieces

MOST_WRITTEN = 1 << 24  # numbers that one call may write (64 MB): n-best lists and attention of many texts are large


class Part(NamedTuple):
    """A sentence, or as much of it as the model takes."""

    sentence: int  # its place among those that are translated together
    ids: list[int]  # source pieces, with </s>
    prefix: list[int]  # target pieces that its translation begins with
    limit: int  # target pieces at most, </s> included


def cut_sentences(
    sentences: Sequence[list[int]],
    prefixes: Sequence[list[int]] | None,
    options: Options,
    config: ModelConfig,
    vocabulary: AnyVocabulary,
) -> list[Part]:
    """The parts of all sentences, in order; a sentence of nothing but </s> has none.

    Parameters
    ----------
    sentences : lists of source ids, each with its </s>
    prefixes : None, or a list of target ids for each; it belongs to the sentence's first part
    vocabulary : the source's, whose pieces say where a long sentence is best cut
    """
    room = config.max_source_length - 1
    most = options.max_input_length
    parts = []
    for number, ids in enumerate(sentences):
        if most and len(ids) - 1 > most:
            ids = [*ids[:most], ids[-1]]
        if len(ids) == 1:
            continue
        prefix = prefixes[number] if prefixes else []
        if len(ids) - 1 <= room:
            parts.append(Part(number, ids, prefix, target_limit(len(ids), len(prefix), options, config)))
            continue
        body = ids[:-1]
        cuts = [0, *split_pieces(vocabulary.pieces(body), room, vocabulary.mark), len(body)]
        for begin, end in itertools.pairwise(cuts):
            limit = target_limit(end - begin + 1, len(prefix), options, config)
            parts.append(Part(number, [*body[begin:end], ids[-1]], prefix, limit))
            prefix = []
    return parts


def target_limit(source: int, prefix: int, options: Options, config: ModelConfig) -> int:
    """Target pieces at most, </s> included, for `source` pieces with </s>: room for the prefix there is always."""
    factor = options.max_length_factor or config.max_length_factor
    limit = max(1, math.ceil(factor * source), options.min_length + 1)
    if options.max_length and limit > options.max_length:
        limit = options.max_length
    return max(limit, prefix)


def translate_parts(engine: Engine, parts: list[Part], options: Options, search: Search) -> list[list[Hypothesis]]:
    """The engine's hypotheses of each part, in order.

    A model that was trained on reversed sentences gets them reversed; here everything else reads from the left.
    """
    if not engine.model.config.right_to_left:
        return search_parts(engine, parts, options, search)
    search = search._replace(suppressed=tuple(sequence[::-1] for sequence in search.suppressed))
    parts = [part._replace(ids=reversed_pieces(part.ids), prefix=reversed_pieces(part.prefix)) for part in parts]
    found = search_parts(engine, parts, options, search)
    return [[_reversed(hypothesis) for hypothesis in of_part] for of_part in found]


def search_parts(engine: Engine, parts: list[Part], options: Options, search: Search) -> list[list[Hypothesis]]:
    """The same, of parts as the model reads them, and translations as it says them."""
    sizes = [len(part.ids) for part in parts]
    outputs = [search.num_hypotheses * part.limit for part in parts]
    if search.attention:
        outputs = [size * output for size, output in zip(sizes, outputs, strict=True)]
    found: list[list[Hypothesis]] = [[] for _ in parts]
    for batch in batches(sizes, outputs, options):
        sources, limits, prefixes = [], [], []
        for i in batch:
            sources.append(parts[i].ids)
            limits.append(parts[i].limit)
            prefixes.append(parts[i].prefix)
        translated = engine.translate(sources, limits, search, prefixes if any(prefixes) else None)
        for i, hypotheses in zip(batch, translated, strict=True):
            found[i] = hypotheses
    return found


def _reversed(found: Hypothesis) -> Hypothesis:
    ended, terms, attention = not found.truncated, found.token_log_probs, found.attention
    if attention is not None:
        rows, columns = map(range, attention.shape)
        attention = attention[np.ix_(reversed_pieces(rows, ended), reversed_pieces(columns))]
    terms = terms and reversed_pieces(terms, ended)
    return found._replace(ids=reversed_pieces(found.ids, ended), token_log_probs=terms, attention=attention)


def batches(sizes: list[int], outputs: list[int], options: Options) -> Iterator[list[int]]:
    """Numbers of the parts in each batch, longest part first.

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
