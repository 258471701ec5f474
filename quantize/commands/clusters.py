"""`quantize clusters`: makes clusters of decoder states from unlabelled text, and reports their coverage."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cpunmt import __version__
from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.files.console import tell
from cpunmt.files.output_files import check_directory, refuse_overwriting
from cpunmt.formats.any_directory import KINDS, kind_of, model_folder
from cpunmt.formats.packed.clusters_file import read_clusters, store_clusters
from cpunmt.formats.packed.packed_directory import CLUSTERS, NAMES
from cpunmt.model.config import MOST_BEAM
from cpunmt.text.shortlists.clusters import MOST_CLUSTERS, Clusters
from quantize.clusters.active_sets import clusters_of, coverage
from quantize.clusters.k_means import centroids, described, load_backend
from quantize.clusters.states import Sample, Step, decoder_states
from quantize.clusters.text import Directed, read_texts
from quantize.commands.shared_options import add_languages, add_options, languages_of, number, whole
from quantize.languages import NOT_OF_MANY, Tagged, direction
from quantize.progress import progress_bar

StatesOf = Callable[[Any, int, Any], Iterator[Step]]  # (sources, top, progress) -> their steps
_EVERY = 10  # one in ten sentences is held out
_PART = 4096  # sentences translated between two checks for enough states
_OPTIONS = """
model MODEL         a packed model's directory; the clusters are written into it
--text FILE...      sentences of the source language, one per line, plain or packed (.gz, .zst); may be given several
                    times
--count N           how many clusters (default: 300)
--active PERCENT    how much of the vocabulary is active in a step, in the mean over all of the text, at most
                    (default: 16)
--top N             how many of its best pieces each state brings into its cluster (default: 20)
--near N            a state counts in the N clusters that it is nearest to, in all but the first a tenth (default: 4)
--iterations N      of K-means (default: 20)
--seed N            of chance (default: 1)
--most-sentences N  at most N lines of each text, spread over all of it (default: 100000)
--most-states N     find centroids by at most N states, of sentences drawn by chance, which are held in memory; if there
                    are more, all of the text is translated then, for all of them bring their best pieces
                    (default: 200000)
--beam-size N       translate so, and look at the states of all hypotheses (default: 1, greedy)
--target-language PIECE
                    the piece that a source begins with, such as '>>de<<': clusters for this language alone, beside
                    those of others that the model has already
--held-out FILE     measure on the sentences of this text, and use all of --text
--out DIR           write into a copy of the model, DIR
--force             replace such clusters of the model, or the model in DIR
"""


def add_parser(commands: Any) -> Any:
    """Adds `clusters` to the commands of `quantize`."""
    made = commands.add_parser(
        "clusters",
        help="a packed model and text -> clusters of its decoder's states",
        description="Translate text, cluster the decoder's states (K-means), and write down which pieces are the most "
        "probable ones in each cluster: the only ones that have to be scored there. The text needs no translations. "
        f"Every {_EVERY}th sentence is held out to measure how often a state's best piece is among them.",
    )
    percentage = number(float, lambda value: 0 < value <= 100, "a percentage above 0, up to 100")
    counts = {"count": MOST_CLUSTERS, "top": 1000, "near": 1000, "iterations": 10_000, "beam_size": MOST_BEAM}
    counts |= {"most_sentences": 100_000_000, "most_states": 10_000_000}
    kinds = {name: whole(1, most) for name, most in counts.items()} | {"seed": whole(0, (1 << 31) - 1)}
    add_options(made, _OPTIONS, text={"required": True}, active=percentage, target_language={"default": ""}, **kinds)
    add_languages(made)
    return made


def run(given: argparse.Namespace) -> None:
    """Runs the command; prints the coverage of the clusters, and their sizes.

    Raises ModelFileError for a model or text that is missing or broken, CpunmtError for other obstacles, as early as
    possible.
    """
    backend = load_backend()
    folder = model_folder(given.model)
    kind = kind_of(folder)
    if kind != "packed":
        raise ModelFileError(f"{folder}: {KINDS[kind].title}, expected a packed model; run cpunmt convert first")
    if given.out is not None:
        refuse_overwriting([given.out], [folder, *given.text, given.held_out])
        check_directory(given.out, given.force, NAMES)
    model = load_model(folder)
    vocabulary, prompt = _directed(given, model)
    if given.top >= model.config.vocab_size:
        raise CpunmtError(f"--top is {given.top}, the model has {model.config.vocab_size} target pieces")
    kept = _kept(given, folder, model)
    sources, held_out = _sentences(given, model, vocabulary)

    def states_of(some: Any, top: int, progress: Any) -> Iterator[Step]:
        return decoder_states(model.engine, some, top, given.beam_size, progress, prompt)

    sample, complete = _sample(given, model, sources, states_of)
    texts = {
        "made_by": f"cpunmt {__version__}, {described(backend)}",
        **{name: str(getattr(given, name)) for name in ("top", "near", "iterations", "seed", "beam_size")},
        "sentences": str(len(sources)),
    }
    with progress_bar(given.iterations, "iterations", "clustering") as progress:
        found = centroids(sample.states, given.count, given.iterations, given.seed, backend, progress)
    clusters, states = _clusters(given, model, found, sample if complete else None, sources, states_of)
    with progress_bar(len(held_out), "sentences", "measuring") as progress:
        measured = coverage(clusters, states_of(held_out, 1, progress))
    clusters.texts.update(texts, coverage=f"{measured.covered:.6f}", active_share=f"{measured.active:.6f}")
    clusters.texts |= {"states": str(states), "active": f"{given.active:g}"}
    clusters.texts["sentences_covered"] = f"{measured.sentences:.6f}"
    store_clusters(folder, {**kept, given.target_language: clusters}, given.out, given.force)
    out = Path(given.out or folder) / CLUSTERS
    sizes, covered, active = clusters.sizes, 100 * measured.covered, 100 * measured.active
    tell(
        f"{len(sources)} sentences, {states} states, {len(sample.states)} clustered by {described(backend)}",
        f"{len(sizes)} clusters, of {sizes.min()} to {sizes.max()} active pieces",
        f"held out: {len(held_out)} sentences, {measured.states} states",
        f"  coverage {covered:.2f} %: share of the states whose best piece is active",
        f"  sentences {100 * measured.sentences:.2f} %: share with all states covered",
        f"  active {active:.2f} % of the pieces in the mean, {active / 100 * clusters.vocab_size:.0f}",
        f"{out}: {out.stat().st_size / 1e6:.2f} MB",
    )


def _kept(given: argparse.Namespace, folder: Path, model: LoadedModel) -> dict[str, Any]:
    """Returns the model's clusters of other target languages."""
    path = folder / CLUSTERS
    if not path.is_file():
        return {}
    sets = read_clusters(path, model.config)
    if given.target_language in sets and given.out is None and not given.force:
        whose = f" for {given.target_language!r}" if given.target_language else ""
        raise CpunmtError(f"{path}: exists, with clusters{whose}; pass --force to replace them, or --out DIR")
    return {piece: clusters for piece, clusters in sets.items() if piece != given.target_language}


def _directed(given: argparse.Namespace, model: LoadedModel) -> tuple[Any, tuple[int, ...]]:
    """Returns the source vocabulary of the text's direction, and the pieces that begin its translations.

    Sets the target language of a model of many to the piece that names it.
    """
    config, vocabulary, languages = model.config, model.source_vocabulary, languages_of(given)
    if not config.languages:
        if languages != (None, None):
            raise CpunmtError(f"{NOT_OF_MANY}, or give --target-language")
        return Directed(vocabulary, given.target_language), config.prompt
    if given.target_language:
        raise CpunmtError("--target-language is of models whose texts name their language; give --from and --to")
    search = direction(config, vocabulary, *languages)
    (given.target_language,) = vocabulary.pieces((search.prompt or search.source_begin)[:1])
    return Tagged(vocabulary, search), search.prompt


def _sentences(
    given: argparse.Namespace, model: LoadedModel, vocabulary: Any
) -> tuple[list[list[int]], list[list[int]]]:
    """Returns sources to learn from, and held-out ones."""
    sources = read_texts(given.text, vocabulary, model.config, given.most_sentences)
    if given.held_out:
        return sources, read_texts([given.held_out], vocabulary, model.config, given.most_sentences)
    if len(sources) < _EVERY:
        raise CpunmtError(
            f"{given.text[0]}: {len(sources)} sentences, expected at least {_EVERY}, every {_EVERY}th of which is held "
            "out; give more text, or --held-out FILE"
        )
    held_out = sources[_EVERY - 1 :: _EVERY]
    del sources[_EVERY - 1 :: _EVERY]
    return sources, held_out


def _sample(given: argparse.Namespace, model: LoadedModel, sources: Any, states_of: StatesOf) -> tuple[Sample, bool]:
    """Returns the states to cluster, of sentences in random order, and whether these are all states."""
    sample = Sample(given.most_states, model.config.architecture.model_dim, given.top, given.seed)
    order, done = np.random.default_rng(given.seed).permutation(len(sources)), 0
    with progress_bar(len(sources), "sentences", "translating") as progress:
        while done < len(sources) and sample.seen < given.most_states:
            part = [sources[i] for i in order[done : done + _PART]]
            done += len(part)
            for step in states_of(part, given.top, progress):
                sample.add(step.states, step.best, step.logits)
    if len(sample.states) < given.count:
        raise CpunmtError(
            f"{given.text[0]}: {len(sample.states)} states, expected one for each of {given.count} clusters at least; "
            "give more text, or a smaller --count"
        )
    if not np.isfinite(sample.states).all():
        raise CpunmtError(f"{given.model}: states of its decoder are not numbers: its weights are broken")
    return sample, done == len(sources) and sample.seen == len(sample.states)


def _clusters(
    given: argparse.Namespace,
    model: LoadedModel,
    found: np.ndarray,
    sample: Sample | None,
    sources: Any,
    states_of: StatesOf,
) -> tuple[Clusters, int]:
    """Returns the clusters and the number of their states: the sample's, or all states if the sample lacks some."""
    if sample is not None:
        return clusters_of(model.config, found, [sample], given.active / 100, given.near), sample.seen
    states = 0

    def counted(steps: Any) -> Iterator[Any]:
        nonlocal states
        for step in steps:
            states += len(step.states)
            yield step

    with progress_bar(len(sources), "sentences", "collecting") as progress:
        steps = counted(states_of(sources, given.top, progress))
        return clusters_of(model.config, found, steps, given.active / 100, given.near), states
