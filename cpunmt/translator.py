"""Text in, text out: `Translator`."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cpunmt.architecture import expected_tensors
from cpunmt.config import ModelConfig
from cpunmt.engine import Engine, Search
from cpunmt.errors import ModelFileError
from cpunmt.model import Model
from cpunmt.model_files.packed_directory import read_directory
from cpunmt.model_files.safetensors_file import check_finite, check_tensors
from cpunmt.options import Options, make_options
from cpunmt.shortlist import Shortlist
from cpunmt.splitting import joined, split_pieces
from cpunmt.vocabulary import Vocabulary

COMPUTE_TYPES = ("default", "int8", "float32")
WINDOW = 2048  # lines that `translate_iterable` sorts by length at a time


@dataclass(frozen=True, slots=True)
class Result:
    """One translation.

    text       the translation
    log_prob   sum of the log-probabilities of its pieces, </s> included
    score      log_prob divided by the number of pieces
    truncated  the length limit cut it off
    pieces     its pieces, </s> left out
    """

    text: str
    score: float
    log_prob: float
    truncated: bool
    pieces: tuple[str, ...]

    def __str__(self):
        return self.text


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """One translation of `translate_batch`, in CTranslate2's shape: one hypothesis and its score."""

    hypotheses: list[list[str]]
    scores: list[float]


_EMPTY = Result("", 0.0, 0.0, False, ())


class Translator:
    """Translates with one model, on the calling thread. One Translator may be shared by many threads.

    translator = Translator("models/ende-student")
    translator.translate("A man is riding a bicycle.").text
    """

    def __init__(self, model_path: str | os.PathLike, *, compute_type: str = "default"):
        """Load a packed model directory.

        `compute_type` says what the model must be packed as: "int8", "float32", or "default", whichever it is.

        Raises ModelFileError for a missing or broken directory, ValueError for another compute type.
        """
        if compute_type not in COMPUTE_TYPES:
            expected = ", ".join(map(repr, COMPUTE_TYPES))
            raise ValueError(f"compute_type is {compute_type!r}, expected one of {expected}")
        self.path = Path(model_path)
        packed = read_directory(self.path)
        self.config = packed.config
        if compute_type not in ("default", self.config.scheme):
            raise ModelFileError(_other_scheme(self.path, self.config.scheme, compute_type))
        weights = self.path / "weights.safetensors"
        check_tensors(packed.tensors, expected_tensors(self.config), weights)
        check_finite(packed.tensors, weights)
        self.metadata = packed.metadata
        self.source_vocabulary = Vocabulary(packed.source_vocabulary)
        same = packed.source_vocabulary == packed.target_vocabulary
        self.target_vocabulary = self.source_vocabulary if same else Vocabulary(packed.target_vocabulary)
        for vocabulary in (self.source_vocabulary, self.target_vocabulary):
            check_vocabulary(vocabulary, self.config)
        shortlist = None
        if packed.shortlist is not None:
            size = self.config.vocab_size
            shortlist = Shortlist.read(packed.shortlist, size, size, packed.shortlist_sha256)
            if shortlist.first <= self.config.eos_id:
                raise ModelFileError(
                    f"{packed.shortlist}: the first {shortlist.first} pieces are always candidates, but </s> is piece "
                    f"{self.config.eos_id}, so no translation could end; make the shortlist with a larger first"
                )
        self._engine = Engine(Model(self.config, packed.tensors), shortlist)

    @property
    def compute_type(self) -> str:
        """How the model is packed: "int8" or "float32"."""
        return self.config.scheme

    @property
    def has_shortlist(self) -> bool:
        return self._engine.shortlist is not None

    def translate(self, text: str | Iterable[str], **options) -> Result | list[Result]:
        """Translate one sentence, or a list of sentences: text gives a Result, a list gives a list of equal length.

        Blank text gives empty text. A sentence longer than the model takes is split at the best place, and the
        translations are joined. A Result does not depend on what is translated beside it.

        Options: see `cpunmt.options.Options`. Raises TypeError for an unknown option or another type than text,
        ValueError for a wrong value.
        """
        chosen = self._options(options)
        if isinstance(text, str):
            return self._translate([text], chosen)[0]
        return self._translate(_listed(text, "translate"), chosen)

    def translate_iterable(self, lines: Iterable[str], **options) -> Iterator[Result]:
        """Translate a stream: one Result for each line, in order, in constant memory.

        Lines are read in windows, sorted by length within each; the first window is one line, so that the first
        Result comes soon, and each is twice as long as the one before, up to `WINDOW`.
        """
        chosen = self._options(options)
        if isinstance(lines, str):
            raise TypeError("translate_iterable takes texts, not one text; use translate")
        return self._stream(iter(lines), chosen)

    def _stream(self, lines, options):
        size = 1
        while window := list(itertools.islice(lines, size)):
            yield from self._translate(window, options)
            size = min(2 * size, WINDOW)

    def translate_batch(self, source: list[list[str]], **options) -> list[TranslationResult]:
        """Translate sentences that are pieces already (no </s>); the results hold pieces. CTranslate2's call."""
        chosen = self._options(options)
        for pieces in source:
            if isinstance(pieces, str):
                raise TypeError("translate_batch takes lists of pieces; use translate for text")
        eos = self.config.eos_id
        ids = [[*self.source_vocabulary.ids(pieces), eos] if pieces else [eos] for pieces in source]
        results = self._translate_ids(ids, chosen)
        return [TranslationResult([list(result.pieces)], [result.score]) for result in results]

    def _options(self, given: dict) -> Options:
        options = make_options(given)
        if options.vocabulary == "shortlist" and not self.has_shortlist:
            raise ValueError(f"vocabulary is 'shortlist', but {self.path} has none; expected 'full'")
        return options

    def _translate(self, texts: list[str], options: Options) -> list[Result]:
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"translate takes text or a list of texts, not {type(text).__name__}")
        return self._translate_ids(self.source_vocabulary.encode_batch(texts), options)

    def _translate_ids(self, sentences: list[list[int]], options: Options) -> list[Result]:
        """Results of source ids, each with its </s>."""
        parts, owners = [], []  # what the engine translates, and the sentence each part belongs to
        for number, ids in enumerate(sentences):
            if len(ids) > 1:
                pieces = self._parts(ids)
                parts += pieces
                owners += [number] * len(pieces)
        found = [[] for _ in sentences]
        for batch in _batches(parts, options.max_batch_tokens):
            limits = [self._limit(len(parts[i]), options) for i in batch]
            search = Search(full=options.vocabulary == "full")
            translations = self._engine.translate([parts[i] for i in batch], limits, search)
            for i, hypotheses in zip(batch, translations, strict=True):
                found[owners[i]].append((i, hypotheses[0]))
        return [self._result(translations) for translations in found]

    def _parts(self, ids):
        """`ids` cut to what the model takes, each part with its </s>."""
        limit = self.config.max_source_length - 1
        if len(ids) - 1 <= limit:
            return [ids]
        eos = ids[-1]
        body = ids[:-1]
        cuts = [0, *split_pieces(self.source_vocabulary.pieces(body), limit), len(body)]
        return [[*body[begin:end], eos] for begin, end in itertools.pairwise(cuts)]

    def _limit(self, length, options):
        factor = options.max_length_factor or self.config.max_length_factor
        limit = max(1, math.ceil(factor * length))
        return min(limit, options.max_length) if options.max_length else limit

    def _result(self, translations) -> Result:
        if not translations:
            return _EMPTY
        translations.sort(key=lambda pair: pair[0])
        texts, pieces, count, log_prob, truncated = [], [], 0, 0.0, False
        for _, translation in translations:
            texts.append(self.target_vocabulary.decode(translation.ids))
            ids = translation.ids if translation.truncated else translation.ids[:-1]
            pieces += self.target_vocabulary.pieces(ids)
            count += len(translation.ids)
            log_prob += translation.log_prob
            truncated |= translation.truncated
        return Result(joined(texts), log_prob / count, log_prob, truncated, tuple(pieces))


def _listed(texts, caller):
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{caller} takes text or a list of texts, not {type(texts).__name__}")
    return list(texts)


def _batches(parts, tokens) -> Iterator[list[int]]:
    """Indices of `parts`, longest first, in batches of at most `tokens` ids (or one part)."""
    order = sorted(range(len(parts)), key=lambda i: -len(parts[i]))
    batch, size = [], 0
    for i in order:
        if batch and size + len(parts[i]) > tokens:
            yield batch
            batch, size = [], 0
        batch.append(i)
        size += len(parts[i])
    if batch:
        yield batch


def check_vocabulary(vocabulary: Vocabulary, config: ModelConfig):
    """Raise ModelFileError, saying how they differ, unless `vocabulary` can be that of the model."""
    wrong = [
        f"{name} {getattr(vocabulary, ours)}, the model has {getattr(config, theirs)}"
        for name, ours, theirs in (
            ("size", "size", "vocab_size"),
            ("</s>", "eos_id", "eos_id"),
            ("<unk>", "unk_id", "unk_id"),
        )
        if getattr(vocabulary, ours) != getattr(config, theirs)
    ]
    if wrong:
        raise ModelFileError(
            f"{vocabulary.path}: not the vocabulary of this model ({'; '.join(wrong)}); use the one it was trained with"
        )


def _other_scheme(path, scheme, wanted):
    beside = path / wanted
    advice = f"load {beside}" if beside.is_dir() else f"pack the model again with --scheme {wanted}"
    return f"{path}: packed as {scheme}, cannot be loaded with compute_type={wanted!r}; {advice}"
