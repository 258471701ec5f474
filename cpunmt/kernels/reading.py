"""How compiled code reads this folder's records: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.kernels import records
from cpunmt.simd.intrinsics import record_reader

embedding_at = record_reader(records.EMBEDDING)
linear_at = record_reader(records.LINEAR)
norm_at = record_reader(records.NORM)
scratch_at = record_reader(records.SCRATCH)
settings_at = record_reader(records.SETTINGS)
shortlist_at = record_reader(records.SHORTLIST)
table_at = record_reader(records.TABLE)
