"""A run: updates with validation, checkpoints and a curve; it can be resumed."""

import dataclasses
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm

from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import tables
from models.train.network.log4 import Rounding
from models.train.network.network import Network
from models.train.recurrent.network import RecurrentNetwork
from models.train.text.batches import Batches, Examples, endless
from models.train.updates import checkpoint, curve
from models.train.updates.configs import Settings
from models.train.updates.export import write_checkpoint, write_float32, write_marian
from models.train.updates.guided_alignment import Alignments, aligner_of
from models.train.updates.updates import Updates
from models.train.updates.validation import Score

BEST, MODEL = "best", "model.npz"


class Lessons(NamedTuple):
    """The data of a run, and its validation."""

    examples: Examples
    vocabulary: Path
    validator: Callable[[Path], dict[str, Score]]  # of the directory of a packed model


class Trainer:
    """Trains one model in a folder of its own.

    Results: `checkpoint.safetensors` (to resume from), `best/` (the best model by validation, packed in float32),
    `model.npz` (the same for Marian, if it has such models), `checkpoints/NUMBER.npz` (the best ones; otherwise
    directories like `best`), `curve.jsonl` and `.png`. With `log4` all models are rounded, to levels that `quantize
    pack --scheme log4` finds again.
    """

    def __init__(
        self,
        folder: Path,
        network: Network | RecurrentNetwork,
        settings: Settings,
        lessons: Lessons,
        device: str = "cpu",
        log4: bool = False,
        teacher: Network | RecurrentNetwork | None = None,
    ):
        """`network` has the initial parameters. A `teacher` has the same vocabulary: see `Updates`."""
        self.folder, self.config, self.settings = folder, network.config, settings
        self._examples, self._vocabulary, self._validator = lessons
        self._best, self._stale, self._place, self._seconds = -1.0, 0, (0, 0), 0.0
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(settings.seed)
        rounding = Rounding(set(tables(self.config).values())) if log4 else None
        self.updates = Updates(network, settings, torch.device(device), rounding, teacher)
        self._stopped = False
        self._resume()
        self._batches = Batches(self._examples, self.config.eos_id, self.updates.device)
        self._alignments = None
        if settings.guided_alignment:
            aligner = aligner_of(self._examples, self.config.source_size, self.config.vocab_size, settings.seed)
            self._alignments = Alignments(aligner, self.updates.device)

    def run(self) -> bool:
        """Trains to the end; returns False if a signal (Ctrl-C, SIGTERM) ended it, with its progress on the disk."""
        settings, updates = self.settings, self.updates
        sizes = settings.longest, settings.batch_tokens
        stream = endless(self._examples, settings.seed, *sizes, *self._place, row_bits=settings.row_bits)
        sums, tokens, began = [], 0, time.monotonic()
        handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        bar = tqdm(total=settings.updates, initial=updates.done, unit="update", mininterval=5, dynamic_ncols=True)
        try:
            while updates.done < settings.updates and self._stale < settings.patience and not self._stopped:
                batches = self._next(stream)
                _, entropy = updates.update(batches)
                made = sum(batch.tokens for batch, _ in batches)
                sums.append(entropy * made)
                tokens += made
                bar.update()
                bar.set_postfix(nats=f"{sum(sums) / tokens:.3f}", epoch=self._place[0], refresh=False)
                if updates.done % settings.validate_every == 0 or updates.done == settings.updates:
                    spent = time.monotonic() - began
                    self._seconds += spent
                    self._validate(sum(sums) / tokens, tokens / spent)
                    self._save()
                    sums, tokens, began = [], 0, time.monotonic()
        finally:
            bar.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if self._stopped:
            self._seconds += time.monotonic() - began
            self._save()
        return not self._stopped

    def _next(self, stream):
        """Returns batches for one update, with their alignment points."""
        found, tokens = [], 0
        while tokens < self.settings.update_tokens:
            self._place, pairs = next(stream)
            batch = self._batches.of(pairs)
            tokens += batch.tokens
            found.append((batch, self._alignments.points(batch) if self._alignments else None))
        return found

    def _validate(self, entropy, speed):
        """Translates the held-out texts with the averaged parameters; keeps them if they are among the best."""
        rounding = self.updates.rounding
        means = {name: rounding(name, mean) if rounding else mean for name, mean in self.updates.means.items()}
        candidate = self.folder / "candidate"
        write_float32(candidate, self.config, means, self._vocabulary)
        scores = self._validator(candidate)
        mean = sum(score.bleu for score in scores.values()) / len(scores)
        line = {
            "update": self.updates.done, "epoch": self._place[0], "seconds": round(self._seconds),
            "tokens_per_second": round(speed), "rate": self.updates.rate(), "cross_entropy": round(entropy, 4),
            "mean_bleu": round(mean, 3), "bleu": {name: round(score.bleu, 2) for name, score in scores.items()},
            "chrf": {name: round(score.chrf, 2) for name, score in scores.items()},
        }  # fmt: skip
        told = ""
        if self.updates.densities:
            line["density"] = {name: round(share, 4) for name, share in self.updates.densities.items()}
            told = f", nonzeros {' '.join(f'{share:.1%}' for share in self.updates.densities.values())}"
        curve.add_line(self.folder, line)
        curve.draw(self.folder)
        tqdm.write(f"update {self.updates.done}: {entropy:.3f} nats, {speed:.0f} pieces/s, BLEU {line['bleu']}{told}")
        self._keep(means)
        self._stale = 0 if mean > self._best else self._stale + 1
        if mean > self._best:
            self._best = mean
            write_float32(self.folder / BEST, self.config, means, self._vocabulary)
            write_marian(self.folder / MODEL, self.config, means)

    def _keep(self, means):
        """Adds a checkpoint, and removes others than the best."""
        folder = self.folder / "checkpoints"
        folder.mkdir(exist_ok=True)
        write_checkpoint(folder, str(self.updates.done), self.config, means, self._vocabulary)
        ranked = sorted(curve.lines(self.folder), key=lambda line: -line["mean_bleu"])
        kept = {str(line["update"]) for line in ranked[: self.settings.keep]}
        for path in folder.iterdir():
            if path.stem not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _save(self):
        tensors = {"parameters": self.updates.parameters, "means": self.updates.means, **self.updates.moments()}
        if self.updates.rounding is not None:
            tensors["scales"] = self.updates.rounding.scales
        state = {
            "update": self.updates.done, "place": self._place, "best": self._best, "stale": self._stale,
            "seconds": self._seconds, "config": self.config.to_json(), "settings": dataclasses.asdict(self.settings),
        }  # fmt: skip
        checkpoint.save(self.folder, checkpoint.Checkpoint(tensors, self._random()[0](), state))

    def _resume(self):
        found = checkpoint.load(self.folder)
        if found is None:
            curve.cut(self.folder, 0)
            return
        state = found.state
        if ModelConfig.from_json(state["config"]) != self.config:
            raise ValueError(f"{self.folder}: holds a run of another architecture; choose another folder")
        self.updates.restore(found.tensors, state["update"])
        self._place, self._best = tuple(state["place"]), state["best"]
        self._stale, self._seconds = state["stale"], state["seconds"]
        self._random()[1](found.random)
        curve.cut(self.folder, state["update"])

    def _random(self):
        """Returns functions that get and set the state of dropout's generator."""
        source = torch.cuda if self.updates.device.type == "cuda" else torch
        return source.get_rng_state, source.set_rng_state

    def _stop(self, number, frame):
        self._stopped = True
