"""The tensors of a recurrent network, from its config alone.

Products of one input are stored as one matrix, side by side:

    encoder.input      of a source piece's vector: the first cells of both directions
    CELL.gates..., CELL.state_gates...    of a cell's input, of its state
    attention.key      of the encoder's output
    start              of its mean: the decoder's first state
    decoder.input      of the last piece's vector: the first cell, and the top if it reads that
    decoder.query      of the state behind the query: the query, and the cell that continues from that state
    decoder.context    of the context: the cell that reads it, and the top
    relu.0, ...        the fully connected layers
    top                of the decoder; of a recurrent top those of its cell

Layer norms have the width of their input, so they are among the other tensors, `.scale` and `.bias` of each. Marian's:
CELL.input_norm, CELL.state_norm, of all maps of one input together; no product has a bias. Nematus': MAP.norm of each
map, behind its bias. Both have attention.query.norm, attention.key.norm, start.norm and the norms of a deep top.
"""

from cpunmt.architectures.recurrent.cells import (
    Cell,
    cells,
    context_linear,
    decoder_layers,
    encoder_stacks,
    input_linear,
    state_linear,
    top_cell,
)
from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.layers.stored import Linear


def _together(name: str, *linears: Linear) -> Linear:
    """Joins products of one input to one."""
    parts = tuple(part for one in linears for part in one.parts)
    return Linear(name, parts, linears[0].depth, tuple(width for one in linears for width in one.widths))


def _dense(config: RecurrentConfig, block: str, depth: int, width: int, normed: bool = True) -> Linear:
    """Makes one map with a bias, unless Marian's norm has it."""
    bias = None if normed and config.layer_norm == "marian" else f"{block}.bias"
    return Linear(block, ((f"{block}.weight", bias),), depth, (width,))


def _without_bias(block: str, depth: int, width: int) -> Linear:
    return Linear(block, ((f"{block}.weight", None),), depth, (width,))


def encoder_input(config: RecurrentConfig) -> Linear:
    """Returns the maps of a source piece's vector: forward, then backward."""
    return _together("encoder.input", *(input_linear(config, stack[0][0]) for stack in encoder_stacks(config).values()))


def attention_key(config: RecurrentConfig) -> Linear:
    """Returns the map of the encoder's words to the keys of attention."""
    return _dense(config, "attention.key", config.context_dim, config.attention_width)


def start(config: RecurrentConfig) -> Linear:
    """Returns the map of their mean."""
    return _dense(config, "start", config.context_dim, config.decoder_dim)


def decoder_input(config: RecurrentConfig) -> Linear:
    """Returns the maps of the last piece's vector."""
    first = input_linear(config, decoder_layers(config)[0][0])
    top = [_dense(config, "top.embedding", config.model_dim, config.model_dim)] if config.top == "deep" else []
    return _together("decoder.input", first, *top)


def decoder_query(config: RecurrentConfig) -> Linear:
    """Returns the maps of the state that attention compares: the query, then the cell's gates."""
    cell = decoder_layers(config)[0][1 if config.attention == "conditional" else 0]
    query = _without_bias("attention.query", config.decoder_dim, config.attention_width)
    return _together("decoder.query", query, state_linear(config, cell))


def decoder_context(config: RecurrentConfig) -> Linear:
    """Returns the maps of the context."""
    first = decoder_layers(config)[0]
    reads = input_linear(config, first[1]) if config.attention == "conditional" else context_linear(config, first[0])
    top = [_dense(config, "top.context", config.context_dim, config.model_dim)] if config.top == "deep" else []
    return _together("decoder.context", reads, *top)


def stack_linears(config: RecurrentConfig) -> list[Linear]:
    depths = [config.decoder_dim, *config.stack]
    return [
        _dense(config, f"relu.{i}", depths[i], width, normed=False)._replace(rectified=i > 0)
        for i, width in enumerate(config.stack)
    ]


def top_linears(config: RecurrentConfig) -> list[Linear]:
    rectified = bool(config.stack)
    if config.top == "recurrent":
        cell = top_cell(config)
        return [input_linear(config, cell)._replace(rectified=rectified), state_linear(config, cell)]
    block = "top.state" if config.top == "deep" else "top"
    found = _dense(config, block, config.top_dim, config.model_dim, normed=config.top == "deep")
    return [found._replace(rectified=rectified)]


def linears(config: RecurrentConfig) -> list[Linear]:
    """Returns all linear layers, in the order of use; the decoder's weights of one step lie side by side."""
    found = [encoder_input(config)]
    for stack in encoder_stacks(config).values():
        for i, layer in enumerate(stack):
            found += _cells(config, layer, first=i == 0)
    found += [attention_key(config), start(config), decoder_input(config)]
    first, *higher = decoder_layers(config)
    if config.attention == "conditional":
        found.append(state_linear(config, first[0]))
    found += [decoder_query(config), decoder_context(config)]
    found += [state_linear(config, cell) for cell in first if not cell.inputs]
    for layer in higher:
        found += _cells(config, layer)
    return found + stack_linears(config) + top_linears(config)


def _cells(config: RecurrentConfig, layer: list[Cell], first: bool = False) -> list[Linear]:
    """Returns the maps of a layer's cells; another product computes the first input of a stack."""
    found = []
    for cell in layer:
        if cell.inputs and not first:
            found.append(input_linear(config, cell))
        found.append(state_linear(config, cell))
    return found


def norms(config: RecurrentConfig) -> list[str]:
    """Returns the prefixes of layer norms that are model_dim wide by contract: none, see `others`."""
    return []


def norm_widths(config: RecurrentConfig) -> dict[str, int]:
    if not config.layer_norm:
        return {}
    found = {"attention.key.norm": config.attention_width, "attention.query.norm": config.attention_width}
    found["start.norm"] = config.decoder_dim
    if config.top == "deep":
        found |= {f"top.{part}.norm": config.model_dim for part in ("embedding", "state", "context")}
    for cell in cells(config):
        if config.layer_norm == "marian":
            found |= {f"{cell.name}.input_norm": cell.width} if cell.inputs else {}
            found[f"{cell.name}.state_norm"] = cell.width
        else:
            maps = (cell.gates if cell.inputs else {}) | cell.state_gates
            found |= {f"{cell.name}.{name}.norm": width for name, width in maps.items()}
    return found


def others(config: RecurrentConfig) -> dict[str, tuple[int, ...]]:
    """Maps names to shapes of float32 tensors outside the linear layers."""
    found: dict[str, tuple[int, ...]] = {"attention.score": (config.attention_width,)}
    found |= {f"{cell.name}.candidate.bias": (cell.dim,) for cell in cells(config) if cell.late_bias}
    for prefix, width in norm_widths(config).items():
        found[f"{prefix}.scale"] = found[f"{prefix}.bias"] = (width,)
    return found
