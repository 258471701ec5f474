"""Hoang et al. 2018, "Fast Neural Machine Translation Implementation", https://arxiv.org/abs/1805.09863, in kind.

The paper is of the GPU track of a shared task; here its two changes, fused output and top-up batching, are measured on
one core. Its text was not at hand: what is quoted of it is what others say of it (see `ladder`).

    work       a random student with a large output layer, and sentences as long as news and subtitles
    shares     Figures 1 and 5: where the time goes, before and after
    ladder     Figures 9 and 10: what fused output and top-up bring, one upon the other

bench/top_up and bench/fused_output measure the two by themselves.
"""
