"""The records that Python fills in and compiled code reads: NumPy structured types, no code.

A field of type ADDRESS holds the address of the first byte of a C-contiguous array (0: there is none); the
comment beside it gives that array's type and shape. Whoever fills a record in keeps its arrays alive.
One set of types serves every model, so the compiled program depends on no model.
"""

import numpy as np

ADDRESS = np.int64
COUNT = np.int64

FLOAT32, INT8, INT16 = 0, 1, 2  # LINEAR.scheme: what is multiplied
MULTIPLIED = {"float32": FLOAT32, "int8": INT8, "int16": INT16}  # by what config.SCHEMES says
WEIGHT_BYTES = (4, 1, 2)  # of one weight of each

# Candidates of a sentence are filled up to a multiple of this, as Marian's are: its argmax is over the filled set.
CANDIDATES_MULTIPLE = 8


def _record(*fields):
    return np.dtype(list(fields), align=True)


# Which cell the decoder has, and which function follows an affine map: MODEL.cell, MODEL.activation.
CELLS = ("ssru", "sru", "self_attention", "average_attention")
ACTIVATIONS = ("relu", "swish", "gelu", "gelu_sigmoid")
# What is done to a block's output, in this order, as the digits of a number to the base 4: see ModelConfig.
POSTPROCESS = {"a": 1, "n": 2, "h": 3}

# y = x W + b. Layouts of `weights`: kernels/packing.
LINEAR = _record(
    ("scheme", COUNT),  # FLOAT32, INT8 or INT16
    ("depth", COUNT),
    ("panels", COUNT),  # columns / 16, rounded up; y has 16 * panels columns; 0: there is no such layer
    # int8 [panels, depth / 4, 16, 4], int16 [panels, depth / 2, 16, 2] or float32 [panels, depth, 16]
    ("weights", ADDRESS),
    ("codes", ADDRESS),  # bytes [panels, depth / 8, 16, 4]: the int8 weights as numbers of `levels`; 0: there are none
    ("levels", ADDRESS),  # int8 [16]
    ("scales", ADDRESS),  # float32 [16 * panels]: real weight = scale * integer; integers only
    ("start", ADDRESS),  # int32 [16 * panels]: what the integer sums begin with; INT8 only
    ("totals", ADDRESS),  # float32 [16 * panels]: sum of each column's real weights, for x that have a shift; INT8 only
    ("bias", ADDRESS),  # float32 [16 * panels]
    ("multiplier", np.float32),  # INT8: that x is quantized with; 0: each row has its own; INT16: x's largest integer
)

NORM = _record(
    ("scale", ADDRESS),  # float32 [model_dim]; 0: there is no such layer
    ("bias", ADDRESS),  # float32 [model_dim]
    ("scheme", COUNT),  # of the product that reads what comes of it, as above
    ("multiplier", np.float32),
)

# What stands around a block: see layers/residual.
RESIDUAL = _record(("before", NORM), ("after", NORM), ("highway", LINEAR))

FEED_FORWARD = _record(
    ("inner", LINEAR),
    ("middles", COUNT),  # affine maps between the first and the last
    ("middle", ADDRESS),  # LINEAR [middles]
    ("outer", LINEAR),
    ("residual", RESIDUAL),
)

SELF_ATTENTION = _record(
    ("query_key_value", LINEAR),  # three products of one input in one: columns q, k, v
    ("output", LINEAR),
    ("residual", RESIDUAL),
)

CROSS_ATTENTION = _record(
    ("query", LINEAR),
    ("key_value", LINEAR),  # columns: keys, then values
    ("output", LINEAR),
    ("residual", RESIDUAL),
)

CELL = _record(
    ("input", LINEAR),  # columns: see architecture.GATES
    ("output", LINEAR),
    ("average", FEED_FORWARD),  # average attention: its network
    ("forget", LINEAR),  # average attention: the gate of what the network says
    ("residual", RESIDUAL),
)

ENCODER_LAYER = _record(("self_attention", SELF_ATTENTION), ("feed_forward", FEED_FORWARD))
DECODER_LAYER = _record(("cell", CELL), ("cross_attention", CROSS_ATTENTION), ("feed_forward", FEED_FORWARD))

# One row per piece. Source lookup, target lookup and output layer may share one.
TABLE = _record(
    ("scheme", COUNT),
    ("rows", ADDRESS),  # int8, int16 or float32 [pieces, model_dim]
    ("scales", ADDRESS),  # float32 [pieces]; integers only
    ("start", ADDRESS),  # int32 [pieces]: see LINEAR; of the output layer, INT8 only
    ("totals", ADDRESS),  # float32 [pieces]: see LINEAR; of the output layer, INT8 only
    ("bias", ADDRESS),  # float32 [pieces]: of the output layer
)

SHORTLIST = _record(
    ("offsets", ADDRESS),  # int64 [source pieces + 1]; 0: no shortlist
    ("ids", ADDRESS),  # int32 [offsets[-1]]
    ("first", COUNT),  # pieces 0 .. first - 1 are always candidates
    ("words", COUNT),  # source pieces that have a list
    ("shared", COUNT),  # 1: a sentence's own pieces are candidates too
)

MODEL = _record(
    ("model_dim", COUNT),
    ("heads", COUNT),
    ("vocab_size", COUNT),  # of the target
    ("encoder_layers", COUNT),
    ("decoder_layers", COUNT),
    ("decoder_sets", COUNT),  # distinct parameter sets among the decoder layers
    ("eos_id", COUNT),
    ("unk_id", COUNT),
    ("alignment_layer", COUNT),  # decoder layer whose first head's attention is an alignment
    ("epsilon", np.float32),  # of layer norm
    ("embedding_scale", np.float32),  # sqrt(model_dim), mostly
    ("attention_scale", np.float32),  # 1 / sqrt(head_dim)
    ("cell", COUNT),  # index in CELLS
    ("activation", COUNT),  # index in ACTIVATIONS
    ("average_activation", COUNT),
    ("preprocess", COUNT),  # 1: a block's input is normalized
    ("postprocess", COUNT),
    ("sigmoid_table", ADDRESS),  # see kernels/activations
    ("positions", ADDRESS),  # float32 [positions, model_dim]
    ("source", TABLE),
    ("target", TABLE),
    ("output", TABLE),
    ("output_multiplier", np.float32),  # see LINEAR
    ("encoder_embedding_norm", NORM),
    ("decoder_embedding_norm", NORM),
    ("encoder_top_norm", NORM),
    ("decoder_top_norm", NORM),
    ("encoder", ADDRESS),  # ENCODER_LAYER [encoder_layers]
    ("decoder", ADDRESS),  # DECODER_LAYER [decoder_sets]
    ("decoder_parameters", ADDRESS),  # int64 [decoder_layers]: which set each layer uses
)

# How to search: see engine.Search.
SEARCH = _record(
    ("beam_size", COUNT),
    ("num_hypotheses", COUNT),
    ("min_length", COUNT),  # </s> is barred until a translation has this many pieces
    ("word_penalty", np.float32),
    ("coverage_penalty", np.float32),
)

# What one call translates, and where it writes. N = num_hypotheses. All fields are int64: see engine.
BATCH = _record(
    ("sentences", COUNT),
    ("slots", COUNT),  # of them are decoded side by side
    ("search", ADDRESS),  # a SEARCH record
    ("normalizers", ADDRESS),  # float32 [longest limit + 1]: what a score of n pieces is divided by
    ("ids", ADDRESS),  # int32 [tokens]: all sources, each with its </s>
    ("offsets", ADDRESS),  # int64 [sentences + 1]: where each begins in `ids`
    ("prefixes", ADDRESS),  # int32: the pieces that each translation must begin with
    ("prefix_offsets", ADDRESS),  # int64 [sentences + 1]: where each begins in `prefixes`; 0: no sentence has one
    ("limits", ADDRESS),  # int64 [sentences]: target pieces at most, </s> included
    ("output_offsets", ADDRESS),  # int64 [sentences + 1]: where each may write in `output`, int32 [N, limit]
    ("output", ADDRESS),  # int32 [output_offsets[-1]]
    ("token_log_probs", ADDRESS),  # float32 [output_offsets[-1]]: of each piece; 0: not wanted
    ("attention_offsets", ADDRESS),  # int64 [sentences + 1]: as above in `attention`, float32 [N, limit, source]
    ("attention", ADDRESS),  # float32 [attention_offsets[-1]]; 0: not wanted
    ("lengths", ADDRESS),  # int64 [sentences, N]: pieces written, </s> included; 0: there is no such hypothesis
    ("log_probs", ADDRESS),  # float32 [sentences, N]
    ("scores", ADDRESS),  # float32 [sentences, N]
    ("shortlist", SHORTLIST),
    ("full_output", ADDRESS),  # a LINEAR record: the output layer over all pieces; 0: each sentence has a shortlist
)

# A sentence that is being decoded. It owns a slot: keys, values, candidates and a history of its own.
SLOT = _record(
    ("sentence", COUNT),
    ("source_length", COUNT),
    ("step", COUNT),  # pieces that each of its hypotheses has
    ("live", COUNT),  # hypotheses that go on: neighbours in the workspace's `hypotheses`
    ("ended", COUNT),  # hypotheses that do not
    ("candidates", COUNT),  # pieces it chooses from
    ("unk_column", COUNT),  # where <unk> is among them, or -1
    ("outside", COUNT),  # 1: its prefix has a piece that is no candidate
)

# A hypothesis that goes on: one row of the decoder's products.
HYPOTHESIS = _record(
    ("slot", COUNT),
    ("step", COUNT),  # pieces so far
    ("piece", COUNT),  # the last of them; -1 at the start
    ("item", COUNT),  # its place among the items of that step; 0 at the start
    ("parent", COUNT),  # the row it came from: where its state is read
    ("log_prob", np.float32),  # sum over its pieces
    ("normalizer", np.float32),  # of the logits of its next piece
    ("found", COUNT),  # how many continuations were found
    ("taken", COUNT),  # how many of them are items of the next step
)

# What became of a step: the pieces that hypotheses went on with. [slots, steps, beam] of them are a history.
ITEM = _record(
    ("piece", np.int32),
    ("parent", np.int32),  # item of the step before
    ("log_prob", np.float32),  # of the piece alone
    ("sum", np.float32),  # over all pieces up to this one
)

# A hypothesis that has ended.
ENDED = _record(
    ("step", COUNT),  # of its last piece
    ("item", COUNT),
    ("score", np.float32),  # normalized
    ("log_prob", np.float32),
)

# Memory of one call. `rows` is the largest number of rows that any product has at once, `beam` the largest beam.
WORKSPACE = _record(
    ("slots", COUNT),  # sentences that are decoded side by side
    ("beam", COUNT),  # hypotheses that each may have
    ("steps", COUNT),  # pieces that each may have
    ("tokens", COUNT),  # source pieces that are encoded side by side
    ("source_stride", COUNT),  # longest source, rounded up to 16
    ("candidate_panels", COUNT),  # room for this many panels of candidates in each slot
    ("logit_rows", COUNT),  # rows of logits at once
    ("x", ADDRESS),  # float32 [rows, model_dim]: the residual stream
    ("input", ADDRESS),  # float32 [rows, model_dim]: what a block reads; x itself, where blocks do not normalize it
    ("wide", ADDRESS),  # float32 [rows, widest]: widest of 3 * model_dim and the feed-forward networks
    ("wider", ADDRESS),  # the same, where a network has more than two affine maps
    ("y", ADDRESS),  # float32 [rows, model_dim]: what a sub-layer adds to x
    ("context", ADDRESS),  # float32 [rows, model_dim]: what attention read
    ("gate", ADDRESS),  # float32 [rows, model_dim]
    ("quantized", ADDRESS),  # bytes [rows, max(2, planes) * widest]
    ("row_scales", ADDRESS),  # float32 [rows, 2]: scale and shift of each row: see kernels/quantize_rows
    ("scores", ADDRESS),  # float32 [max(source_stride, heads), max(source_stride, steps)]
    ("sums", ADDRESS),  # float32 [heads]
    ("packed", ADDRESS),  # float32 [source_stride / 16, head_dim, 16]: packed queries of one head
    ("pointers", ADDRESS),  # int64 [16]
    ("logits", ADDRESS),  # float32 [logit_rows, columns]
    ("marks", ADDRESS),  # int64 [vocab_size / 64 + 1]: one bit per piece
    ("keys", ADDRESS),  # float32 [slots, decoder_sets, source_stride / 16, model_dim, 16]
    ("values", ADDRESS),  # float32 [slots, decoder_sets, source_stride, model_dim]
    ("candidate_ids", ADDRESS),  # int32 [slots, 16 * candidate_panels]
    ("outputs", ADDRESS),  # LINEAR [slots]: the output layer over each slot's candidates
    ("waiting", COUNT),  # the first sentence of the batch that has not begun
    ("active_count", COUNT),  # slots in use
    ("rows", COUNT),  # hypotheses that go on, over all slots
    ("filling", COUNT),  # 1: free slots are being filled
    ("free_slots", ADDRESS),  # int64 [slots]: a stack
    ("free_count", COUNT),  # its height
    ("active", ADDRESS),  # int64 [slots]: the slots in use, in the order of their rows
    ("sentences", ADDRESS),  # SLOT [slots]
    ("hypotheses", ADDRESS),  # HYPOTHESIS [slots * beam]
    ("next_hypotheses", ADDRESS),  # the same; the two take turns
    ("cells", ADDRESS),  # float32 [decoder_layers, slots * beam + 1, model_dim]: states by row; the last row is 0
    ("next_cells", ADDRESS),  # the same; the two take turns
    # The next four are for the decoder's self-attention.
    ("own_rows", ADDRESS),  # float32 [decoder_layers, slots, steps, beam, 3 * model_dim]: queries, keys, values
    ("own_keys", ADDRESS),  # float32 [steps / 16, model_dim, 16]: of one hypothesis
    ("own_values", ADDRESS),  # float32 [steps, model_dim]
    ("own_places", ADDRESS),  # int64 [steps]: addresses of its keys
    ("best_columns", ADDRESS),  # int64 [slots * beam, beam]: each row's best continuations
    ("best_logits", ADDRESS),  # float32 [slots * beam, beam]
    ("history", ADDRESS),  # ITEM [slots, steps, beam]
    ("ended", ADDRESS),  # ENDED [slots, beam]
    ("attention", ADDRESS),  # float32 [slots, steps, beam, source_stride]: by item of the step before; 0: not kept
    ("coverage", ADDRESS),  # float32 [source_stride]
)
