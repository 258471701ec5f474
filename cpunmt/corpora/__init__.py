"""Corpora: files of any size, cut into shards, translated by several processes; finished parts are not made again.

A shard is a number of rows of an input; only the input's bytes and that number determine where it is cut. Its part, the
output, depends only on its rows, the model and the options. It has as many rows in the same order, and the same bytes
from any number of processes on any machine (with equal versions of zlib, zstd and pyarrow). The parts of an input in
sequence are its translation.
A part exists completely or not at all. Its sidecar, written before it, records its origin. A part stays if its sidecar
matches the request and its bytes; any other is made again. So a run may end at any moment, be repeated, or run twice at
once: nothing is lost or duplicated.
Memory does not grow with files: one shard for each worker, and one more. A wrong row is one error with the file and the
line; finished parts stay.
"""
