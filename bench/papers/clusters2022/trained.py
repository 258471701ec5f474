"""A trained model on text: its translations over the whole vocabulary, and over clusters."""

import statistics
import time
from typing import NamedTuple

import numpy as np

from bench.harness.quality import bleu
from bench.papers.clusters2022.recorded import Recorded, bytes_of, covered, record
from cpunmt.decoding.batching import cut_sentences, translate_parts
from cpunmt.decoding.call_settings import settings_of
from cpunmt.decoding.loading import LoadedModel
from cpunmt.decoding.splitting import joined
from cpunmt.engine.engine import Engine
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.options.options import Options
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.text import Directed, read_texts
from quantize.evaluation.evaluation_set import EvaluationSet


class Judged(NamedTuple):
    """A test set in one direction, and a model's translations over its whole vocabulary."""

    model: LoadedModel
    sources: list[str]  # each begins with the piece of its direction, if there is one
    references: list[list[str]]  # empty if there are none
    beam: int
    recorded: Recorded  # greedy states
    texts: list[str]

    def figures(self, clusters: Clusters, rounds: int) -> dict:
        """Returns coverage, active share, share of unchanged translations, BLEU of both ways, and the speed ratio.

        The active share is the mean of the states; `active_of_clusters` has the quartiles of the clusters.

        The speed is that of whole translations, text in and text out, in bulk: the median of rounds in turn, CPU time.
        """
        found, ratios, texts = covered(clusters, self.recorded), [], []
        clustered = self.model._replace(engine=Engine(self.model.engine.model, clusters={OTHERS: clusters}))
        for _ in range(rounds):
            _, slow = translate(self.model, self.sources, "full", self.beam)
            texts, fast = translate(clustered, self.sources, "clusters", self.beam)
            ratios.append(slow / fast)
        same = sum(a == b for a, b in zip(texts, self.texts, strict=True)) / len(texts)
        return {
            "clusters": len(clusters.centroids),
            "coverage": float(found.covered),
            "active": float(found.active),
            "active_of_clusters": np.quantile(clusters.sizes / clusters.vocab_size, (0, 0.25, 0.5, 0.75, 1)).tolist(),
            "stays": self.recorded.cluster_stays(clusters),
            "bytes": bytes_of(clusters),
            "same": same,
            "bleu": {"whole": self._bleu(self.texts), "clusters": self._bleu(texts)},
            "speedup": statistics.median(ratios),
        }

    def _bleu(self, texts):
        return bleu(texts, self.references) if self.references else None


def judged(model: LoadedModel, test: EvaluationSet, piece: str, beam: int) -> Judged:
    """Translates a test set. `piece` names the target language, such as ">>de<<", or is empty."""
    sources = [f"{piece} {source}" if piece and not source.startswith(piece) else source for source in test.sources]
    ids = [ids for ids in model.source_vocabulary.encode_batch(sources) if len(ids) <= model.config.max_source_length]
    texts, _ = translate(model, sources, "full", beam)
    return Judged(model, sources, test.references, beam, record(model.engine, [list(one) for one in ids]), texts)


def learned(model: LoadedModel, path: str, piece: str, most: int, top: int) -> Recorded:
    """Records states of the translations of at most `most` lines of a text."""
    return record(model.engine, read_texts([path], Directed(model.source_vocabulary, piece), model.config, most), top)


def translate(model: LoadedModel, texts: list[str], vocabulary: str, beam: int) -> tuple[list[str], float]:
    """Returns translations of texts, without splitting sentences, and their CPU seconds."""
    began = time.process_time()
    options, search, *_ = settings_of(Options(vocabulary=vocabulary, beam_size=beam, split="none"))
    sentences = model.source_vocabulary.encode_batch(texts)
    parts = cut_sentences(sentences, None, options, model.config, model.source_vocabulary)
    found: list[list[str]] = [[] for _ in texts]
    hypotheses = translate_parts(model.engine, parts, options, search._replace(scored=beam > 1))
    for part, (best, *_) in zip(parts, hypotheses, strict=True):
        found[part.sentence].append(model.target_vocabulary.decode(best.ids))
    return [joined(of_text) for of_text in found], time.process_time() - began


def told(row: dict) -> str:
    """Formats the figures of one row."""
    whole, clustered = row["bleu"]["whole"], row["bleu"]["clusters"]
    scores = f", BLEU {clustered:.2f} ({clustered - whole:+.2f})" if whole is not None else ""
    return (
        f"coverage {100 * row['coverage']:.2f} %, active {100 * row['active']:.2f} % (largest "
        f"{100 * row['active_of_clusters'][-1]:.2f} %), same {100 * row['same']:.1f} %"
        f"{scores}, {row['speedup']:.2f} x, {row['bytes'] / 1e6:.2f} MB, stays {100 * row['stays']:.1f} %"
    )
