"""Noisy back-translation: new sources by sampling, new targets by translating them.

An inverse teacher samples the source of a target: Gumbel noise on its logits draws from its distribution (Edunov et al.
2018, https://aclanthology.org/D18-1045; Kim et al. 2019, https://aclanthology.org/D19-5632, section 2). The teacher
translates the noisy source; the best translation nearest to the real target is taken.
"""

import math

import numpy as np
import torch

from cpunmt import Translator
from models.train.distillation.distillation import nearest
from models.train.network.network import Network
from models.train.text.batches import Padded, texts_of_ids


@torch.no_grad()
def sample(
    network: Network, sources: list[list[int]], generator: torch.Generator, temperature: float = 1.0
) -> list[list[int]]:
    """Samples one translation of each source by the probabilities of its pieces; returns ids without the final </s>.

    `sources` end with </s>. <unk> is never sampled. A lower temperature prefers likely pieces: a model that has learnt
    little, or with smoothed labels, overestimates unlikely ones. The length is at most max_length_factor times the
    source's.
    """
    config = network.config
    device = next(iter(network.tensors.values())).device
    ids, lengths = Padded(texts_of_ids(sources), config.eos_id, device).rows(np.arange(len(sources)))
    limits = torch.ceil(config.max_length_factor * lengths.float()).long()
    memory = network.remember(network.encode(ids, lengths), lengths)
    state = network.start(memory)
    previous = torch.zeros(len(sources), 1, dtype=torch.long, device=device)
    live, drawn = torch.ones(len(sources), dtype=torch.bool, device=device), []
    for step in range(math.ceil(config.max_length_factor * int(lengths.max()))):
        decoded = network.decode(memory, state, previous)
        logits, state = network.logits(decoded.output[:, -1]).float() / temperature, decoded.state
        logits[:, config.unk_id] = -torch.inf
        uniform = torch.rand(logits.shape, generator=generator).to(device)
        previous = (logits - torch.log(-torch.log(uniform.clamp(1e-20, 1 - 1e-7)))).argmax(1, keepdim=True)
        drawn.append(torch.where(live, previous[:, 0], config.eos_id))
        live &= (previous[:, 0] != config.eos_id) & (step + 1 < limits)
        if not live.any():
            break
    rows = torch.stack(drawn, 1).tolist()
    return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]


def noisy_pairs(
    inverse: Network,
    teacher: Translator,
    vocabulary,
    targets: list[str],
    seed: int,
    beam_size: int,
    temperature: float = 1.0,
) -> list[list[str]]:
    """Returns rows (noisy source, its translation, the real target) of targets; skips blank ones."""
    generator = torch.Generator().manual_seed(seed)
    drawn = sample(inverse, vocabulary.encode_batch(targets), generator, temperature)
    found = [(vocabulary.decode(ids).strip(), target) for ids, target in zip(drawn, targets, strict=True)]
    found = [(source, target) for source, target in found if source]
    best = nearest(teacher, [source for source, _ in found], [(target,) for _, target in found], beam_size)
    return [[source, text or target, target] for (source, target), text in zip(found, best, strict=True)]
