"""Papers A and B, Faster Neural Machine Translation Inference and Fast Neural Machine Translation Implementation:
the output layer after its product, and the sentences of each step of a batch.
"""

import math

import numpy as np


def five_passes(products, bias):
    """Algorithm 1: adds the bias, normalizes in three passes, searches; returns the best column and its probability."""
    scores = products + bias
    largest = scores.max()
    total = np.exp(scores - largest).sum()
    probabilities = np.exp(scores - largest) / total
    return int(probabilities.argmax()), float(probabilities.max())


def one_pass(products, bias, best=1):
    """Algorithm 2: reads each column once; returns the `best` columns, best first, and their probabilities."""
    total, kept = 0.0, []
    for column, score in enumerate(products + bias):
        largest = kept[0][0] if kept else -math.inf
        if score > largest:
            total = math.exp(largest - score) * total + 1
        else:
            total += math.exp(score - largest)
        kept = sorted([*kept, (score, column)], key=lambda pair: -pair[0])[:best]  # of equal scores the first column
    return [(column, math.exp(score - kept[0][0]) / total) for score, column in kept]


def without_probabilities(products, bias):
    """Algorithm 3: returns the column of the largest score, without exponentials."""
    best, largest = -1, -math.inf
    for column, product in enumerate(products):
        if product + bias[column] > largest:
            best, largest = column, product + bias[column]
    return best


def rows_until_all_have_ended(lengths, slots):
    """B's baseline: a batch keeps its sentences until the last has ended; returns the number of rows of each step."""
    steps = []
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        steps += [len(batch)] * max(batch)
    return steps


def rows_with_removal(lengths, slots):
    """Algorithm 4, A's baseline: each sentence leaves when it has ended."""
    steps = []
    for first in range(0, len(lengths), slots):
        left = list(lengths[first : first + slots])
        while left:
            steps.append(len(left))
            left = [length - 1 for length in left if length > 1]
    return steps


def rows_with_top_up(lengths, slots):
    """Algorithms 5 and 6: one batch for ever, topped up from the queue when it is at least half empty."""
    queue, left, steps = list(lengths), [], []
    while queue or left:
        if 2 * len(left) <= slots:
            taken = slots - len(left)
            left, queue = left + queue[:taken], queue[taken:]
        steps.append(len(left))
        left = [length - 1 for length in left if length > 1]
    return steps


def maxi_batches(lengths, size=1280):
    """Sorts each `size` sentences by length; returns the order of their numbers, longest first."""
    order = []
    for first in range(0, len(lengths), size):
        order += sorted(range(first, min(first + size, len(lengths))), key=lambda number: -lengths[number])
    return order
