"""Removal and top-up: ended sentences leave the batch, and others take their places; their gain, and the best settings.

    workload     sentences of the lengths of news and of subtitles
    mini_batches decoding without either: ended sentences stay until their whole mini-batch has ended, with their
                 sources padded or not
    ways         the ways to decode a workload, timed in turn; rows per step of each
    picture      these rows, drawn

"Faster Neural Machine Translation Inference", an anonymous submission, Algorithms 4 to 6 (docs/papers.md).
"""
