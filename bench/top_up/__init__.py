"""Sentences that end leave the batch, and others take their places: what that brings, and when it is best done.

    workload     sentences as long as news and as subtitles are
    mini_batches decoding without either: sentences that have ended stay until all of their mini-batch have, with their
                 sources padded or not
    ways         the ways to decode a workload, timed in turn; rows per step of each
    picture      these rows, drawn

Hoang et al. 2018, "Fast Neural Machine Translation Implementation", https://arxiv.org/abs/1805.09863, Algorithms 5
and 6.
"""
