"""How compiled code reads this folder's records: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.layers import records
from cpunmt.simd.intrinsics import record_reader

feed_forward_at = record_reader(records.FEED_FORWARD)
residual_at = record_reader(records.RESIDUAL)
self_attention_at = record_reader(records.SELF_ATTENTION)
