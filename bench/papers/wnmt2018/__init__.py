"""Junczys-Dowmunt et al. 2018, "Marian: Cost-effective High-Quality Neural Machine Translation in C++", in kind.

https://arxiv.org/abs/1805.12096. Only its summary was available. It names students, products of low precision, tuning,
and average attention; Marian 1.5.0, released with it, adds integer products of 16 bits on CPUs and the memoization of
constant nodes. Each has a counterpart on one core:

    students       students with self-attention and with average attention, float32, 16 and 8 bits: speed, and BLEU of
                   trained ones
    memoization    the cost of quantizing weights and their layout for each mini-batch instead of once

Marian tunes its products at run time; here shapes of products are found beforehand (simd/tile_shapes).
"""
