"""The records of a recurrent network: its weights, and its working memory."""

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, EMBEDDING, LINEAR, SCRATCH, SETTINGS, record

# A layer norm of some columns of a product.
SPAN = record(
    ("first", COUNT),
    ("width", COUNT),
    ("scale", ADDRESS),  # float32 [width]
    ("bias", ADDRESS),  # float32 [width]
)

# An affine map whose columns may be normed.
MAP = record(
    ("linear", LINEAR),  # 0 panels: another map computes it
    ("columns", COUNT),
    ("spans", COUNT),
    ("span", ADDRESS),  # SPAN [spans]
)

# The map of pieces' vectors, and its stored results: see `first_maps`.
FIRST_MAP = record(
    ("map", MAP),
    ("embedding", EMBEDDING),
    ("known", COUNT),  # entries; 0: the map stores none
    ("rows", ADDRESS),  # float32 [known, columns]: of no piece, then of the first pieces
    ("made", ADDRESS),  # int32 [known]: 1 if the row is stored
)

CELL = record(
    ("kind", COUNT),  # index in CELLS
    ("dim", COUNT),
    ("width", COUNT),  # columns of its gates
    ("input", MAP),  # of its input
    ("state", MAP),  # of its state
    ("constant", ADDRESS),  # float32 [width]: replaces the input's gates in a transition
)

LAYER = record(("cells", COUNT), ("cell", ADDRESS))  # CELL [cells]

CELLS = ("gru", "lstm")
ENCODERS = ("bidirectional", "alternating", "unidirectional")
TOPS = ("deep", "tanh", "recurrent")

RECURRENT = record(
    ("settings", SETTINGS),
    ("encoder", COUNT),  # index in ENCODERS
    ("encoder_layers", COUNT),
    ("encoder_dim", COUNT),
    ("context_dim", COUNT),
    ("forward", ADDRESS),  # LAYER [encoder_layers]
    ("backward", ADDRESS),  # LAYER: as many, of a unidirectional encoder one
    ("encoder_input", FIRST_MAP),  # columns: the gates of the first forward, then of the first backward cell
    ("decoder_input", FIRST_MAP),  # columns: the gates of the first decoder cell, then the input of a deep top
    ("skip", COUNT),
    ("start", MAP),
    ("attention_dim", COUNT),
    ("key", MAP),
    ("query", MAP),  # columns: the query, then the state gates of the cell that goes on from that state
    ("weight", ADDRESS),  # float32 [attention_dim]: see kernels/additive_attention
    ("context", MAP),  # columns: gates of the cell that reads the context, then the input of a deep top
    ("conditional", COUNT),  # 1: a cell precedes attention; 0: attention reads the parent's state
    ("decoder_dim", COUNT),
    ("decoder_layers", COUNT),
    ("decoder", ADDRESS),  # LAYER [decoder_layers]
    ("stack_layers", COUNT),
    ("stack", ADDRESS),  # LINEAR [stack_layers]
    ("relu_limit", np.float32),  # 0: none
    ("top", COUNT),  # index in TOPS
    ("top_map", MAP),  # of the decoder's output
    ("top_cell", CELL),
    ("output_scheme", COUNT),  # the scheme of the output layer's input, see LINEAR
    ("output_multiplier", np.float32),
    # Results that are stored and shared. They have the same bits, except projected contexts, whose sums are rounded
    # differently.
    ("merged", COUNT),  # 1: rows that have one parent share the products of its state
    ("projected", COUNT),  # 1: the context's map is applied to encoded words, once; 0: to each step's context
)

MEMORY = record(
    ("scratch", SCRATCH),  # its x is the input of the output layer
    ("slots", COUNT),  # sentences that are decoded side by side
    ("beam", COUNT),  # rows that each may have
    ("rows", COUNT),  # of any product at once
    ("source_stride", COUNT),  # longest source, rounded up to 16
    # results for some rows of pieces' vectors
    ("pieces", ADDRESS),  # int64 [rows]
    ("places", ADDRESS),  # int64 [2, rows]: addresses of each row's gates; of the encoder forward, then backward
    ("missed", ADDRESS),  # int64 [rows]: rows that were multiplied
    ("first", ADDRESS),  # float32 [rows, columns of a FIRST_MAP]
    # the encoder
    ("order", ADDRESS),  # int64 [slots]: sentences, the longest first
    ("said", ADDRESS),  # float32 [2, rows, 2 * encoder_dim]: of a layer, forward and backward; dense rows of each
    ("below", ADDRESS),  # the same of the layer below; the two take turns
    ("cell_states", ADDRESS),  # float32 [2, slots, state]: of the sentences in that order
    ("wide", ADDRESS),  # float32 [rows, widest]: products
    # sentences that are decoded
    ("keys", ADDRESS),  # float32 [slots, source_stride, attention_dim]: exponentials
    ("value_width", COUNT),  # of `values`: room for either
    ("values", ADDRESS),  # float32 [slots, source_stride, value_width]: encoded words, or their projections; dense rows
    # hypotheses: [slots * beam] rows, `live` of them
    ("state_bytes", COUNT),  # of a row in one layer
    ("states", ADDRESS),  # float32 [layers, live + slots, state]: by row, then each slot's start; the top's cell last
    ("next_states", ADDRESS),  # the same; the two take turns
    ("parents", ADDRESS),  # int64 [live]: parents whose states the products of a step read,
    ("askers", ADDRESS),  # int64 [live]: a row that has each as its parent,
    ("shared", ADDRESS),  # int64 [live]: and the number of each row's parent among them
    ("marks", ADDRESS),  # int64 [live + slots]: by parent, its place among them, or -1
    ("gathered", ADDRESS),  # float32 [live, widest state]
    ("state_gates", ADDRESS),  # float32 [live, widest gates]
    ("asked", ADDRESS),  # float32 [live, columns of query]
    ("attended", ADDRESS),  # float32 [live, source_stride]: attention to each word
    ("summed", ADDRESS),  # float32 [live, value_width]
    ("contexts", ADDRESS),  # float32 [live, columns of context]: `summed` itself where words are projected
    ("made", ADDRESS),  # the same, if words are not projected
    ("level_bytes", COUNT),
    ("levels", ADDRESS),  # float32 [3, live, widest layer]
    ("product", ADDRESS),  # float32 [live, widest of the decoder's other products]
    # numbers of saved products since the memory was made
    ("rows_seen", COUNT),
    ("rows_multiplied", COUNT),
    ("pieces_seen", COUNT),
    ("pieces_multiplied", COUNT),
)
