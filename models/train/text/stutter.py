"""Stutter: targets that repeat a group of pieces, after which the model learns to go on.

A small model sometimes writes a few pieces again and again, because its texts never show what comes after a repetition.
Here they do. Of "a b c d" with b repeated twice the decoder reads "a b b b c d"; after each b it learns to write c.
Within a repeated group of several pieces it learns nothing.
"""

import numpy as np
import torch

from models.train.text.batches import Batch

LONGEST_GROUP = 8  # pieces; short ones are more frequent
MOST_TIMES = 3  # a group is repeated


def stuttered(batch: Batch, share: float, random: np.random.Generator) -> Batch:
    """Returns a batch in which about this share of the targets repeat a group of pieces, at a random place.

    A group is left as it is if the text itself repeats its first piece after it.
    """
    targets, wanted = [], []
    for row, length in zip(batch.targets.tolist(), batch.target_lengths.tolist(), strict=True):
        read = learned = row[:length]
        if length > 1 and random.random() < share:
            size = 1 + int(min(LONGEST_GROUP, length - 1) * random.random() ** 2)
            times, end = int(random.integers(1, MOST_TIMES + 1)), int(random.integers(size, length))
            group, following = read[end - size : end], read[end]
            if following != group[0]:
                learned = read[:end] + [following, *[-1] * (size - 1)] * times + read[end:]
                read = read[:end] + group * times + read[end:]
        targets.append(read)
        wanted.append(learned)
    lengths = torch.tensor([len(read) for read in targets])
    eos_id = int(batch.targets[0, batch.target_lengths[0] - 1])
    return batch._replace(targets=_padded(targets, eos_id), target_lengths=lengths, wanted=_padded(wanted, -1))


def _padded(rows, padding):
    longest = max(map(len, rows))
    return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])
