"""Corpora: files of any size, cut to shards, translated by several processes; what is done is not done again.

A shard is some rows of an input, as many as is asked for: where inputs are cut depends on nothing else but their bytes.
Its part, the output, depends on its rows, the model and the options only: as many rows, in order, the same bytes
from any number of processes, on any machine (packed by equal versions of zlib, zstd and pyarrow). The parts of an
input, one after the other, are its translation.
A part is there as a whole or not at all; its sidecar, written before it, tells what it was made of. A part whose
sidecar fits what is asked for, and whose bytes it describes, is left as it is; anything else is made (again). So a run
may end at any moment, be repeated, or run twice at once: nothing is lost, and nothing is there twice.
Memory does not grow with files: one shard for each worker, and one more. What is wrong with a row is one error, which
names the file and the line; parts that are done stay.
"""
