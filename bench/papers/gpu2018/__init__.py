"""Two documents with two baselines, in kind, on one core. Their numbers and ours: docs/papers.md.

    A   "Faster Neural Machine Translation Inference", an anonymous submission: fused output and top-up. Its baseline
        (Algorithm 4) removes ended sentences from the batch at once
    B   Hoang et al. 2018, "Fast Neural Machine Translation Implementation", https://arxiv.org/abs/1805.09863, as a
        poster: fused output and removal. In its baseline ended sentences stay until the whole batch has ended

    work       a random student with a large output layer, and sentences of the lengths of A's test sets
    shares     A, Figures 1 and 5: shares of the time, before and after
    sizes      A, Figures 2 and 8: numbers of sentences in the steps
    ladder     A, Figures 3, 4, 6, 7, 9 and 10: fused output, top-up, both; B: removal, then fused output

bench/fused_output measures Tables 2 and 3 of A and the table of B; bench/top_up other rules of filling up.
"""
