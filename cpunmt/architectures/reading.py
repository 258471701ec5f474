"""How compiled code reads this folder's records: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.architectures import records
from cpunmt.simd.intrinsics import record_reader

model_at = record_reader(records.MODEL)
row_at = record_reader(records.ROW)
