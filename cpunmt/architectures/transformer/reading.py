"""How compiled code reads this folder's records: `NAME_at(address, index)` is record `index` of an array."""

from cpunmt.architectures.transformer import records
from cpunmt.simd.intrinsics import record_reader

cell_at = record_reader(records.CELL)
cross_attention_at = record_reader(records.CROSS_ATTENTION)
decoder_layer_at = record_reader(records.DECODER_LAYER)
encoder_layer_at = record_reader(records.ENCODER_LAYER)
memory_at = record_reader(records.MEMORY)
transformer_at = record_reader(records.TRANSFORMER)
