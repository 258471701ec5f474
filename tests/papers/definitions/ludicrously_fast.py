"""Paper E, From Research to Production and Back: decoder cells, numbers of few bits, candidates, data of teachers."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(x, scale, bias, epsilon=1e-6):
    centred = x - x.mean()
    return scale * centred / np.sqrt((centred**2).mean() + epsilon) + bias


def ssru(p, x, cell):
    """f = sigmoid(Wf x + bf), c = f c' + (1 - f) W x, out = layer norm(ReLU(c) + x); returns out and c."""
    f = sigmoid(x @ p["Wf"] + p["bf"])
    cell = f * cell + (1 - f) * (x @ p["W"])
    return layer_norm(np.maximum(cell, 0) + x, p["scale"], p["bias"]), cell


def sru(p, x, cell):
    """An SSRU with a second gate r = sigmoid(Wr x + br): h = r tanh(c) + (1 - r) x.

    The sum and the norm above h are those of an SSRU: the document does not give them. Returns out and c.
    """
    f = sigmoid(x @ p["Wf"] + p["bf"])
    r = sigmoid(x @ p["Wr"] + p["br"])
    cell = f * cell + (1 - f) * (x @ p["W"])
    h = r * np.tanh(cell) + (1 - r) * x
    return layer_norm(h + x, p["scale"], p["bias"]), cell


def average_attention(p, x, total, steps):
    """An average attention network without its gates: two layers over the mean of all inputs so far.

    The document only names it (Zhang et al. 2018). Returns the output and the sum, for `steps` inputs with this one.
    """
    total = total + x
    hidden = np.maximum(total / steps @ p["inner"] + p["inner_bias"], 0)
    return layer_norm(hidden @ p["outer"] + p["outer_bias"] + x, p["scale"], p["bias"]), total


def eight_bits(column, sigmas=7.0):
    """The quantizer of a column: its own scale and offset, saturating at mean +- `sigmas` deviations.

    Returns what the bytes stand for.
    """
    low, high = column.mean() - sigmas * column.std(), column.mean() + sigmas * column.std()
    scale = (high - low) / 255
    stored = np.clip(np.round((column - low) / scale), 0, 255)
    return low + scale * stored


def four_bits(weights, scale):
    """Signs and powers of two: of the eight magnitudes s, s/2, ... s/128 the one nearest by value."""
    magnitudes = scale * 2.0 ** -np.arange(8)
    nearest = np.abs(np.abs(weights)[..., None] - magnitudes).argmin(-1)
    return np.where(weights < 0, -1, 1) * magnitudes[nearest]


def shortlist(batch, by_frequency, translations, first=75, best=75):
    """The most common target words, and up to `best` translations of each word of the batch."""
    chosen = set(by_frequency[:first])
    for sentence in batch:
        for word in sentence:
            chosen |= set(translations.get(word, [])[:best])
    return sorted(chosen)


def interpolated(candidates, reference, bleu):
    """Interpolated distillation: of the 8 best of the ensemble the one with the highest sentence BLEU."""
    return max(candidates[:8], key=lambda text: bleu(text, reference))


def dual_sets(pairs, forward, inverse):
    """The three joined sets of multi-agent dual learning; `forward` and `inverse` return the chosen translation.

    Pairs are (source, target) of the training data; a chosen translation is the best of 8 against the other side.
    """
    original = list(pairs)
    synthetic_targets = [(source, forward(source, target)) for source, target in pairs]
    synthetic_sources = [(inverse(target, source), target) for source, target in pairs]
    return original + synthetic_targets + synthetic_sources


def noisy_set(pairs, inverse_samples, forward):
    """NBFT: each inverse teacher samples one noisy source of each target, and the forward ensemble translates it.

    With the original pairs this is (1 + number of inverse teachers) times the data; the best of 8 is taken by the
    original target.
    """
    noisy = [(sample(target), target) for sample in inverse_samples for _, target in pairs]
    return list(pairs) + [(source, forward(source, target)) for source, target in noisy]


def million_words_a_dollar(words_per_second, dollars_an_hour):
    """Figure 3."""
    return words_per_second * 3600 / dollars_an_hour / 1e6
