"""Junczys-Dowmunt et al. 2018, "Marian: Cost-effective High-Quality Neural Machine Translation in C++", in kind.

https://arxiv.org/abs/1805.12096. Its text was not at hand. Its summary names students, products of low precision,
tuning, and average attention; Marian 1.5.0, which came with it, adds integer products of 16 bits on CPUs and the
memoization of constant nodes. Each has a counterpart on one core:

    students       students with self-attention and with average attention, float32, 16 and 8 bits: speed, and BLEU of
                   trained ones
    memoization    what it costs if weights are not quantized and laid out once, but for each mini-batch

Marian tries its products while it runs; here shapes of products are found beforehand (simd/tile_shapes).
"""
