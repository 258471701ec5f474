"""Hoang et al. 2018, "Fast Neural Machine Translation Implementation", https://arxiv.org/abs/1805.09863, in kind.

The paper is of the GPU track of a shared task; here its two changes, fused output and top-up batching, are measured on
one core. Its text was not available: figures are quoted from other papers (see `ladder`).

    work       a random student with a large output layer, and sentences of the lengths of news and subtitles
    shares     Figures 1 and 5: shares of the time, before and after
    ladder     Figures 9 and 10: the gains of fused output and top-up, cumulatively

bench/top_up and bench/fused_output measure the two by themselves.
"""
