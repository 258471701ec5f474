"""How compiled code reads this folder's records: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.search import records
from cpunmt.simd.intrinsics import record_reader

batch_at = record_reader(records.BATCH)
ended_at = record_reader(records.ENDED)
hypothesis_at = record_reader(records.HYPOTHESIS)
item_at = record_reader(records.ITEM)
search_at = record_reader(records.SEARCH)
slot_at = record_reader(records.SLOT)
workspace_at = record_reader(records.WORKSPACE)
