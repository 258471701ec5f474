"""The records of the contract between search and architectures: see `families`."""

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, TABLE, record

# The part that every model has.
MODEL = record(
    ("family", COUNT),  # index in families.FAMILIES
    ("network", ADDRESS),  # the family's own record
    ("model_dim", COUNT),  # of the output layer's input
    ("vocab_size", COUNT),  # of the target
    ("eos_id", COUNT),
    ("unk_id", COUNT),
    ("output", TABLE),
    ("output_multiplier", np.float32),  # see LINEAR
)

# A row that a step decodes: the search fills it in, architectures read it.
ROW = record(
    ("slot", COUNT),  # where its sentence has been encoded
    ("source_length", COUNT),  # of that sentence
    ("step", COUNT),  # pieces so far
    ("piece", COUNT),  # the last of them; -1 at the start
    ("item", COUNT),  # its index among the items of its slot in the last step; 0 at the start
    ("parent_item", COUNT),  # the same index of its parent row, a step earlier
    ("parent", COUNT),  # the parent's index among the rows of the last step; at the start, the value of `start`
    (
        "alignment",
        ADDRESS,
    ),  # room for float32 [source_length], rounded up to 16: attention of the aligning heads; 0: not wanted
)
