"""The records of the search: its call, the state of sentences and hypotheses, and its working memory."""

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, LINEAR, SHORTLIST, record

# For fused_output: logits of all rows in one block, but at least kernels.records.BLOCK of each, and the most rows that
# share one pass over the weights.
LOGITS, FUSED_ROWS = 16384, 128
# Costs for each column of the output table: of R rows with the whole table WHOLE_COST + R, and of a row with a column
# that is picked from it PICKED_COST (bench.papers.clusters2022 --only projection: 250,000 pieces, AVX512-VNNI).
PICKED_COST, WHOLE_COST = 18, 6
SENTENCES = 2  # a value of BATCH's `listed`

# The inputs of one call, and its outputs. N = num_hypotheses. All fields are int64: see engine.
BATCH = record(
    ("sentences", COUNT),
    ("slots", COUNT),  # sentences decoded in parallel
    ("refill", COUNT),  # free slots are filled again once at most this many are in use
    ("search", ADDRESS),  # a SEARCH record
    ("normalizers", ADDRESS),  # float32 [longest limit + 1]: the divisor of a score of n pieces
    ("ids", ADDRESS),  # int32 [tokens]: all sources, each with its </s>
    ("offsets", ADDRESS),  # int64 [sentences + 1]: the beginning of each in `ids`
    ("prefixes", ADDRESS),  # int32: the pieces that each translation must begin with
    ("prefix_offsets", ADDRESS),  # int64 [sentences + 1]: the beginning of each in `prefixes`; 0: no sentence has one
    ("limits", ADDRESS),  # int64 [sentences]: target pieces at most, </s> included
    ("output_offsets", ADDRESS),  # int64 [sentences + 1]: the place of each in `output`, int32 [N, limit]
    ("output", ADDRESS),  # int32 [output_offsets[-1]]
    ("token_log_probs", ADDRESS),  # float32 [output_offsets[-1]]: of each piece; 0: not wanted
    (
        "vocab_logits",
        ADDRESS,
    ),  # float32 [output_offsets[-1], vocab_size]: the row that chose each piece; 0: not wanted
    ("attention_offsets", ADDRESS),  # int64 [sentences + 1]: as above in `attention`, float32 [N, limit, source]
    ("attention", ADDRESS),  # float32 [attention_offsets[-1]]; 0: not wanted
    ("lengths", ADDRESS),  # int64 [sentences, N]: pieces written, </s> included; 0: no such hypothesis
    ("log_probs", ADDRESS),  # float32 [sentences, N]
    ("scores", ADDRESS),  # float32 [sentences, N]
    ("shortlist", SHORTLIST),
    ("listed", COUNT),  # 1: each sentence has candidates of its shortlist; SENTENCES: whose lists belong to sentences
    ("full_output", ADDRESS),  # LINEAR [models]: the output layers over all pieces; 0: a step never needs them
    ("halves", ADDRESS),  # HALVES: all pieces are candidates: see bounded_output; 0: not used
    ("clusters", ADDRESS),  # CLUSTERS [sets]; 0: candidates do not depend on the state
    ("cluster_sets", ADDRESS),  # int64 [sentences]: the number of each sentence's set
)

# Clusters of decoder states, and the pieces worth scoring in each: see output/candidates.
CLUSTERS = record(
    ("centroids", LINEAR),  # a state's products with them, minus half of their squared lengths
    ("offsets", ADDRESS),  # int64 [clusters + 1]: the beginning of the pieces of each
    ("ids", ADDRESS),  # int32 [offsets[-1]], ascending in each cluster; </s> is in all
)

# A sentence that is being decoded. It owns a slot: the encoded source, candidates and a history.
SLOT = record(
    ("sentence", COUNT),
    ("source_length", COUNT),
    ("step", COUNT),  # pieces that each of its hypotheses has
    ("live", COUNT),  # hypotheses that go on: neighbours among the rows
    ("ended", COUNT),  # hypotheses that do not
    ("candidates", COUNT),  # pieces it chooses from
    ("first_panel", COUNT),  # the place of its output layer, and
    ("panels", COUNT),  # how many panels that may have; only with `together`
    ("unk_column", COUNT),  # the place of <unk> among them, or -1
    ("outside", COUNT),  # 1: its prefix has a piece that is not a candidate
    ("clusters", ADDRESS),  # CLUSTERS: its set; only with clusters
    ("paused", COUNT),  # steps until bounds of its logits are used again: see bounded_output
    ("pause", COUNT),  # the number after the next failure
    ("key", COUNT),  # 64 bits of its source, on which draws depend; only if pieces are drawn
)

# A hypothesis that goes on: the part of a row that only the search reads. See also architectures.records.ROW.
HYPOTHESIS = record(
    ("log_prob", np.float32),  # sum over its pieces
    ("normalizer", np.float32),  # log-sum-exp of the logits of its next piece
    ("pieces", ADDRESS),  # int32 [candidates] that it chooses from, ascending; 0: all
    ("candidates", COUNT),
    ("unk_column", COUNT),  # the place of <unk> among them, or -1
    ("eos_column", COUNT),  # the place of </s>
    ("found", COUNT),  # number of continuations found
    ("taken", COUNT),  # number of them that are items of the next step
    ("number", COUNT),  # its number if hypotheses go on by themselves, or its group; -1: the common beginning
    ("penalty", np.float32),  # sum of its pieces' penalties; only with groups
)

# The result of a step: the pieces that hypotheses went on with. [slots, steps, beam] of them are a history.
ITEM = record(
    ("piece", np.int32),
    ("parent", np.int32),  # back-pointer: item of the step before
    ("log_prob", np.float32),  # of the piece alone
    ("sum", np.float32),  # over all pieces up to this one
)

# A hypothesis that has ended.
ENDED = record(
    ("step", COUNT),  # of its last piece
    ("item", COUNT),
    ("group", COUNT),  # like the fields after it, only with groups
    ("penalty", np.float32),
    ("score", np.float32),  # normalized
    ("log_prob", np.float32),
)

# One of the models of a search, and its own part of a call's memory.
MEMBER = record(
    ("model", ADDRESS),  # a MODEL record
    ("weight", np.float32),  # of its log-probabilities
    ("memory", ADDRESS),  # the architecture's record
    ("hidden", ADDRESS),  # float32 [rows, model_dim]: its step writes the input of the output layer here,
    ("quantized", ADDRESS),  # the same as integers, [rows, layers.linear.row_bytes],
    ("row_scales", ADDRESS),  # and their float32 [rows, 2]
    ("room", ADDRESS),  # see SCRATCH
    ("outputs", ADDRESS),  # LINEAR [slots]: its output layer over each slot's candidates; [slots + 2]: see `together`
)

# Memory of one call; an architecture's is another record.
WORKSPACE = record(
    ("models", COUNT),  # models of the search, mostly one
    ("members", ADDRESS),  # MEMBER [models]
    ("slots", COUNT),  # sentences that are decoded in parallel
    ("beam", COUNT),  # hypotheses that each may have
    ("steps", COUNT),  # pieces that each may have
    ("tokens", COUNT),  # source pieces that are encoded in parallel
    ("source_stride", COUNT),  # longest source, rounded up to 16
    ("candidate_panels", COUNT),  # room for this many panels of candidates in each slot
    ("logit_rows", COUNT),  # rows of logits at once
    ("pointers", ADDRESS),  # int64 [16]
    ("logit_columns", COUNT),
    ("logits", ADDRESS),  # float32 [models, logit_rows, logit_columns], or a block of all rows: see fused_output
    ("wanted", ADDRESS),  # WANTED [slots * beam]: the search in the logits of each row
    # of bounded_output; 0: it is not used
    ("possible", ADDRESS),  # POSSIBLE [slots]: of each row of a step
    ("ended_wanted", ADDRESS),  # WANTED [FUSED_ROWS]: the search in the logits of an ended sentence's steps,
    ("output_rows", ADDRESS),  # bytes [slots, steps, layers.linear.row_bytes]: the quantized inputs of the output layer
    ("output_scales", ADDRESS),  # float32 [slots, steps, 2]: and their scales
    ("weights", ADDRESS),  # float32 [logit_columns]: those of a row, when pieces are drawn
    ("marks", ADDRESS),  # int64 [vocab_size / 64 + 1]: one bit per piece
    ("candidate_ids", ADDRESS),  # int32 [slots, 16 * candidate_panels]
    (
        "row_pieces",
        ADDRESS,
    ),  # int32 [slots * beam, 16 * candidate_panels]: of rows with more than their sentence's candidates
    # 1: slots share an output layer of common candidates, outputs[slots], beside those of their other candidates; all
    # are parts of outputs[slots + 1]: see output/layer
    ("together", COUNT),
    ("common_share", np.float32),  # see simd.tile_shapes
    ("room_panels", COUNT),  # panels of that last layer,
    ("room_taken", COUNT),  # and how many of them are taken
    ("sharing", COUNT),  # sentences whose lists chose the common candidates; 0: they must be chosen
    ("later", COUNT),  # sentences that began after them
    ("common_ids", ADDRESS),  # int32 [pieces]: common candidates, ascending
    ("common", COUNT),  # their number
    ("places", ADDRESS),  # int32 [vocab_size]: the place of a piece among them; -1: it is not common
    ("other_ids", ADDRESS),  # int32 [16 * candidate_panels]: a slot's other candidates
    ("columns", ADDRESS),  # int32 [slots, 16 * candidate_panels]: places of a slot's candidates in a row of both logits
    ("other_logits", ADDRESS),  # float32 [models, logit_rows, 16 * candidate_panels]: of other candidates
    ("other_rows", ADDRESS),  # int64 [slots * beam]: the address of each row among those of the first model
    ("both", ADDRESS),  # float32: a row of logits of common and other candidates
    ("picked", ADDRESS),  # float32 [2, 16 * candidate_panels]: logits of one slot's candidates
    ("own_counts", ADDRESS),  # int64 [slots * beam]: number of a row's own candidates that were taken,
    ("own_logits", ADDRESS),  # float32 [slots * beam, BLOCK]: and the logits of the last of them
    ("waiting", COUNT),  # the first sentence of the batch that has not begun
    ("active_count", COUNT),  # slots in use
    ("row_count", COUNT),  # hypotheses that go on, over all slots
    ("filling", COUNT),  # 1: free slots are being filled
    ("free_slots", ADDRESS),  # int64 [slots]: a stack
    ("free_count", COUNT),  # its height
    ("begun", ADDRESS),  # int64 [slots]: the slots of sentences that have just begun
    ("active", ADDRESS),  # int64 [slots]: the slots in use, in the order of their rows
    ("sentences", ADDRESS),  # SLOT [slots]
    ("rows", ADDRESS),  # ROW [slots * beam]: the architecture's part of the hypotheses,
    ("hypotheses", ADDRESS),  # HYPOTHESIS [slots * beam]: and the search's part
    ("next_rows", ADDRESS),  # the same of the next step; they take turns
    ("next_hypotheses", ADDRESS),
    ("best_columns", ADDRESS),  # int64 [slots * beam, beam]: each row's best continuations
    ("best_logits", ADDRESS),  # float32 [slots * beam, beam]
    ("history", ADDRESS),  # ITEM [slots, steps, beam]
    ("ended", ADDRESS),  # ENDED [slots, beam]
    ("attention", ADDRESS),  # float32 [slots, steps, beam, source_stride]: by item of the step before; 0: not kept
    ("own_attention", ADDRESS),  # float32 [slots * beam, source_stride]: of one of several models, by row
    ("coverage", ADDRESS),  # float32 [source_stride]
    ("totals", ADDRESS),  # float32 [beam, beam]: the continuations of each hypothesis of one group, see diverse_beams
    ("others", ADDRESS),  # int32 [beam]: pieces with which earlier groups go on
    ("said", ADDRESS),  # int32 [steps]: the pieces of a hypothesis,
    ("said_logits", ADDRESS),  # float32 [steps]: and their logits
)
