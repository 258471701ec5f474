"""The records of a Transformer: its weights, and its working memory."""

from cpunmt.kernels.records import ADDRESS, COUNT, EMBEDDING, LINEAR, NORM, SCRATCH, SETTINGS, record
from cpunmt.layers.records import FEED_FORWARD, RESIDUAL, SELF_ATTENTION

CROSS_ATTENTION = record(
    ("query", LINEAR),
    ("key_value", LINEAR),  # columns: keys, then values
    ("output", LINEAR),
    ("residual", RESIDUAL),
)

CELL = record(
    ("input", LINEAR),  # columns: the cell's gates, see cells.kinds
    ("state", LINEAR),  # columns: its state_gates
    ("output", LINEAR),
    ("average", FEED_FORWARD),  # average attention: its network
    ("relative", ADDRESS),  # self-attention: RELATIVE; 0: absent
    ("forget", LINEAR),  # average attention: the gate of the network's output
    ("residual", RESIDUAL),
)

ENCODER_LAYER = record(("self_attention", SELF_ATTENTION), ("feed_forward", FEED_FORWARD))
DECODER_LAYER = record(("cell", CELL), ("cross_attention", CROSS_ATTENTION), ("feed_forward", FEED_FORWARD))

TRANSFORMER = record(
    ("settings", SETTINGS),
    ("source", EMBEDDING),
    ("target", EMBEDDING),
    ("encoder_layers", COUNT),
    ("decoder_layers", COUNT),
    ("decoder_sets", COUNT),  # distinct parameter sets among the decoder layers
    ("alignment_layer", COUNT),  # decoder layer whose first heads' attention is an alignment
    ("alignment_heads", COUNT),  # the number of these heads
    ("cell", COUNT),  # index in cells.kinds.CELLS
    ("average_activation", COUNT),  # index in ACTIVATIONS
    ("encoder_embedding_norm", NORM),
    ("decoder_embedding_norm", NORM),
    ("encoder_top_norm", NORM),
    ("decoder_top_norm", NORM),
    ("encoder", ADDRESS),  # ENCODER_LAYER [encoder_layers]
    ("decoder", ADDRESS),  # DECODER_LAYER [decoder_sets]
    ("decoder_parameters", ADDRESS),  # int64 [decoder_layers]: which set each layer uses
)

MEMORY = record(
    ("scratch", SCRATCH),
    ("slots", COUNT),  # sentences that are decoded side by side
    ("beam", COUNT),  # rows that each may have
    ("steps", COUNT),  # pieces that each row may have
    ("source_stride", COUNT),  # longest source, rounded up to 16
    ("keys", ADDRESS),  # float32 [slots, decoder_sets, source_stride * attention_dim]: see `pack_source`
    ("values", ADDRESS),  # the same
    ("state_bytes", COUNT),  # of a row in one layer: see cells.kinds.Cell.state
    ("states", ADDRESS),  # float32 [decoder_layers, slots * beam + 1, state]: by row; the last row is 0
    ("next_states", ADDRESS),  # the same; the two take turns
    # The others are for the decoder's self-attention.
    ("own_panels", COUNT),  # of the keys of a slot: steps * beam / 16, rounded up
    ("own_keys", ADDRESS),  # float32 [decoder_layers, slots, own_panels, heads, head_dim, 16]: see kernels/attention
    ("own_values", ADDRESS),  # float32 [decoder_layers, slots, own_panels, heads, 16, head_dim]
    ("own_parents", ADDRESS),  # int32 [slots, steps, beam]: each one's item of the step before
    ("paths", ADDRESS),  # PATH [slots * beam]: of each row of a step
)
