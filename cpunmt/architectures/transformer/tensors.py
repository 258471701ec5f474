"""The tensors of a Transformer, from its config alone: linear layers and layer norms, by the fields of its records.

Products of one input are stored as one matrix, side by side: query, key and value; the gates of a cell.
"""

from collections.abc import Mapping, Sequence

from cpunmt.architectures.transformer.cells.kinds import cell_linears
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.layers.stored import Linear, feed_forward_linears, linear


def _residual(config: TransformerConfig, block: str) -> dict[str, Linear]:
    d = config.model_dim
    return {"residual.highway": linear(block, d, {"highway": d})} if "h" in config.postprocess else {}


def _fields(field: str, linears: Mapping[str, Linear]) -> dict[str, Linear]:
    return {f"{field}.{name}": layer for name, layer in linears.items()}


def _attention(config: TransformerConfig, block: str, *parts: str) -> dict[str, Linear]:
    """Returns the maps of one input side by side, and the projection after the heads."""
    d, width = config.model_dim, config.attention_width
    found = {"_".join(parts): linear(block, d, dict.fromkeys(parts, width))}
    if config.attention_projection:
        found["output"] = linear(block, width, {"output": d})
    return found | _residual(config, block)


def _feed_forward(config: TransformerConfig, block: str, width: int, depth: int) -> dict[str, Linear]:
    found = feed_forward_linears(block, config.model_dim, width, depth, config.activation, gated=config.gated_ffn)
    return found | _residual(config, block)


def encoder_linears(config: TransformerConfig, layer: int) -> dict[str, Linear]:
    """Returns one encoder layer: path of fields in records.ENCODER_LAYER -> Linear, in the order of use."""
    attention = _attention(config, f"encoder.{layer}.self_attention", "query", "key", "value")
    forward = _feed_forward(config, f"encoder.{layer}.feed_forward", config.ffn_dim, config.ffn_depth)
    return _fields("self_attention", attention) | _fields("feed_forward", forward)


def decoder_linears(config: TransformerConfig, parameters: int) -> dict[str, Linear]:
    """Returns one decoder parameter set: path of fields in records.DECODER_LAYER -> Linear, in the order of a step."""
    d, width = config.model_dim, config.attention_width
    cell, cross, forward = (f"decoder.{parameters}.{block}" for block in ("cell", "cross_attention", "feed_forward"))
    found = _fields("cell", cell_linears(config, cell) | _residual(config, cell))
    found |= _fields("cross_attention", _attention(config, cross, "query"))
    found |= _fields("feed_forward", _feed_forward(config, forward, config.decoder_width, config.decoder_ffn_depth))
    return found | {"cross_attention.key_value": linear(cross, d, {"key": width, "value": width})}


def linears(config: TransformerConfig) -> list[Linear]:
    """Returns all linear layers, in the order of use; the decoder's weights of one step lie side by side."""
    found = [layer for i in range(config.encoder_layers) for layer in encoder_linears(config, i).values()]
    for parameters in range(config.decoder_sets):
        found += decoder_linears(config, parameters).values()
    return found


def _norms(config: TransformerConfig, prefix: str, blocks: Sequence[str]) -> dict[str, str]:
    found = {}
    for block in blocks:
        if "n" in config.preprocess:
            found[f"{block}.residual.before"] = f"{prefix}.{block}.pre_norm"
        if "n" in config.postprocess:
            found[f"{block}.residual.after"] = f"{prefix}.{block}.norm"
    return found


def encoder_norms(config: TransformerConfig, layer: int) -> dict[str, str]:
    """Returns the norms of one encoder layer: path of fields in records.ENCODER_LAYER -> prefix of `.scale` and
    `.bias`."""
    return _norms(config, f"encoder.{layer}", ("self_attention", "feed_forward"))


def decoder_norms(config: TransformerConfig, parameters: int) -> dict[str, str]:
    """Returns the norms of a decoder parameter set in the same form."""
    return _norms(config, f"decoder.{parameters}", ("cell", "cross_attention", "feed_forward"))


def other_norms(config: TransformerConfig) -> dict[str, str]:
    """Returns the layer norms outside the layers: field of records.TRANSFORMER -> prefix."""
    found = {}
    for side in ("encoder", "decoder"):
        if config.embedding_norm:
            found[f"{side}_embedding_norm"] = f"{side}.embedding_norm"
        if config.top_norm:
            found[f"{side}_top_norm"] = f"{side}.top_norm"
    return found


def norms(config: TransformerConfig) -> list[str]:
    """Returns the prefixes of all layer norms (`.scale` and `.bias` of each)."""
    found = [name for i in range(config.encoder_layers) for name in encoder_norms(config, i).values()]
    found += [name for p in range(config.decoder_sets) for name in decoder_norms(config, p).values()]
    return found + list(other_norms(config).values())


def self_attentions(config: TransformerConfig, side: str) -> list[str]:
    """Returns the blocks of a side, "encoder" or "decoder", that attend to their own pieces, in order."""
    if side == "encoder":
        return [f"encoder.{i}.self_attention" for i in range(config.encoder_layers)]
    return [f"decoder.{p}.cell" for p in range(config.decoder_sets)] if config.cell == "self_attention" else []


def bias_table(config: TransformerConfig, block: str) -> str:
    """Returns the name of the table that biases the self-attention of a block: its own, or that of its side."""
    side = block.partition(".")[0]
    return f"{side if config.relative_shared else block}.relative_bias"


def others(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """Maps names to shapes of all other float32 tensors; 0 stands for any number of rows."""
    tables = ["positions"] if config.positions == "trained" else []
    tables += ["target_positions"] if tables and config.target_positions else []
    found: dict[str, tuple[int, ...]] = dict.fromkeys(tables, (0, config.model_dim))
    if config.start_vector:
        found["start"] = (config.model_dim,)
    for block in (*self_attentions(config, "encoder"), *self_attentions(config, "decoder")):
        if config.relative_buckets:
            found[bias_table(config, block)] = (config.relative_buckets, config.heads)
        if config.relative_positions:
            shape = 2 * config.relative_positions + 1, config.head_dim
            found[f"{block}.relative_keys"] = found[f"{block}.relative_values"] = shape
    return found
