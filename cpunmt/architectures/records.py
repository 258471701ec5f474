"""The records of the contract between search and architectures: see `families`."""

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, TABLE, record

# What every model has.
MODEL = record(
    ("family", COUNT),  # index in families.FAMILIES
    ("network", ADDRESS),  # the family's own record
    ("model_dim", COUNT),  # of what the output layer reads
    ("vocab_size", COUNT),  # of the target
    ("eos_id", COUNT),
    ("unk_id", COUNT),
    ("output", TABLE),
    ("output_multiplier", np.float32),  # see LINEAR
)

# What a step decodes: the search fills rows in, architectures read them.
ROW = record(
    ("slot", COUNT),  # where its sentence has been encoded
    ("source_length", COUNT),  # of that sentence
    ("step", COUNT),  # pieces so far
    ("piece", COUNT),  # the last of them; -1 at the start
    ("item", COUNT),  # its place among those of its slot that the step before has left; 0 at the start
    ("parent_item", COUNT),  # the same of the row it came from, a step earlier
    ("parent", COUNT),  # that row among those of the step before; at the start, what `start` returns
    ("alignment", ADDRESS),  # room for float32 [source_length]: what the aligning head attends to; 0: not wanted
)
