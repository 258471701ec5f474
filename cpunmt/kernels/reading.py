"""How compiled code reads the records of `kernels.records`: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.kernels import records
from cpunmt.simd.intrinsics import record_reader

batch_at = record_reader(records.BATCH)
cell_at = record_reader(records.CELL)
cross_attention_at = record_reader(records.CROSS_ATTENTION)
decoder_layer_at = record_reader(records.DECODER_LAYER)
encoder_layer_at = record_reader(records.ENCODER_LAYER)
ended_at = record_reader(records.ENDED)
feed_forward_at = record_reader(records.FEED_FORWARD)
hypothesis_at = record_reader(records.HYPOTHESIS)
item_at = record_reader(records.ITEM)
linear_at = record_reader(records.LINEAR)
model_at = record_reader(records.MODEL)
norm_at = record_reader(records.NORM)
residual_at = record_reader(records.RESIDUAL)
search_at = record_reader(records.SEARCH)
self_attention_at = record_reader(records.SELF_ATTENTION)
shortlist_at = record_reader(records.SHORTLIST)
slot_at = record_reader(records.SLOT)
table_at = record_reader(records.TABLE)
workspace_at = record_reader(records.WORKSPACE)
