"""Tables that compiled code reads; NumPy makes them when a model is loaded."""

import decimal
import math

import numpy as np

# Sigmoid by table: its value at every 1/128 of [-16, 16]; `activations.sigmoid` interpolates between two entries.
# The line is off by at most h^2 / 8 * max |sigmoid''| = (1/128)^2 / 8 * 0.0963 = 7.4e-7; beyond the ends the
# nearest entry is off by at most sigmoid(-16) = 1.2e-7; rounding to float32 adds less than 2e-7.
SIGMOID_STEPS = 128  # entries per unit
SIGMOID_RANGE = 16


def sigmoid_table() -> np.ndarray:
    """Returns sigmoid at the grid points, float32 [2 * range * steps + 1], from `math`, never a vectorized exp."""
    points = range(-SIGMOID_RANGE * SIGMOID_STEPS, SIGMOID_RANGE * SIGMOID_STEPS + 1)
    return np.array([1.0 / (1.0 + math.exp(-i / SIGMOID_STEPS)) for i in points], np.float32)


def position_signal(positions: int, model_dim: int, kind: str = "marian") -> np.ndarray:
    """Returns sinusoids, float32 [positions, model_dim].

        P[p, i] = sin(p * 10000^(-i / n)),  P[p, h + i] = cos(the same),   h = model_dim / 2, i < h

    Marian's n is h - 1; in "tensor2tensor", and in Hugging Face's port of Marian's models, it is h. "fairseq" has
    Marian's, and its first position is 2.

    Position p is turned into p + n with sin and cos of n alone, so the bits depend only on `math`'s values at one
    position and on IEEE products, never on a vectorized sine that depends on the processor.
    """
    if kind == "fairseq":
        return np.ascontiguousarray(position_signal(positions + 2, model_dim)[2:])
    half = model_dim // 2
    slowest = half - 1 if kind == "marian" else half
    rates = [math.exp(-i * math.log(10000.0) / max(slowest, 1)) for i in range(half)]
    sines, cosines = np.zeros((1, half)), np.ones((1, half))
    while len(sines) < positions:
        turn = len(sines)
        sine = np.array([math.sin(turn * rate) for rate in rates])
        cosine = np.array([math.cos(turn * rate) for rate in rates])
        sines, cosines = (
            np.concatenate([sines, sines * cosine + cosines * sine]),
            np.concatenate([cosines, cosines * cosine - sines * sine]),
        )
    return np.concatenate([sines[:positions], cosines[:positions]], axis=1).astype(np.float32)


def distance_buckets(buckets: int, furthest: int, both_ways: bool) -> np.ndarray:
    """Returns the bucket of each distance from -furthest to furthest, int64 [2 * furthest + 1].

    One way, only pieces at or before a piece count (distance -n), and later ones are in bucket 0. Both ways, each
    direction has half of the buckets, and later pieces have the second half. With b buckets of a direction, h = b // 2:

        n             for n < h
        h + floor(log(n / h) / log(furthest / h) * (b - h))    but b - 1 from n = furthest on

    Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section 2.1. The floor is exact, whatever the rounding of a
    logarithm: it is the largest k with (n / h)^(b - h) >= (furthest / h)^k, which integers decide.
    """
    own = buckets // 2 if both_ways else buckets
    half, found, above = own // 2, [], 0
    wide = own - half
    for distance in range(furthest + 1):
        while above < wide - 1 and distance >= half:
            if distance**wide * half ** (above + 1) < furthest ** (above + 1) * half**wide:
                break
            above += 1
        found.append(distance if distance < half else half + above)
    later = [own + bucket for bucket in found[1:]] if both_ways else [0] * furthest
    return np.array([*found[::-1], *later], np.int64)


def powers(most: int, exponent: float) -> np.ndarray:
    """Returns n ** exponent for n = 0, 1, ..., most, and 1 for n = 0, as float32 [most + 1].

    `decimal` computes the same digits everywhere; libm's pow does not.
    """
    if exponent == 1:
        return np.maximum(np.arange(most + 1, dtype=np.float32), 1)
    context, power = decimal.Context(prec=20), decimal.Decimal(exponent)
    return np.array([1.0] + [float(context.power(n, power)) for n in range(1, most + 1)], np.float32)
