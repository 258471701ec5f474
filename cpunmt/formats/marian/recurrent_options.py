"""What Marian's training options say of a recurrent network: `type` s2s, amun or nematus.

All else is refused by option name: other cells (mlstm, mgru, ...), several sources, language models, factors.

Sources: Marian's `src/models/s2s.h`, `amun.h`, `nematus.h` and `src/common/config_parser.cpp`
(https://github.com/marian-nmt/marian-dev).
"""

from collections.abc import Mapping

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.marian_options import unsupported, vocabularies
from cpunmt.formats.marian.recurrent_widths import Padding, wider
from cpunmt.model.config import ModelConfig

TYPES = ("amun", "s2s", "nematus")  # Marian's default first
_ENCODERS = {"bidirectional": "bidirectional", "alternating": "alternating", "bi-unidirectional": "unidirectional"}
_CELLS = {"gru": "gru", "lstm": "lstm", "gru-nematus": "gru"}
_SUPPORTED = {  # option -> (Marian's default, for files older than the option; the values we support)
    "type": (TYPES[0], TYPES),
    "enc-type": ("bidirectional", tuple(_ENCODERS)),
    "enc-cell": ("gru", tuple(_CELLS)),
    "dec-cell": ("gru", tuple(_CELLS)),
    "layer-normalization": (False, (False, True)),
    "skip": (False, (False, True)),
    "dec-attention-hops": (1, (1,)),
    "dec-attention-heads": (1, (1,)),
    "input-types": ([], ([],)),
    "lemma-dim-emb": (0, (0,)),
    "ulr": (False, (False,)),
    "factors-combine": ("sum", ("sum",)),
}


def read_recurrent_config(options: Mapping, where: str) -> tuple[ModelConfig, Padding]:
    """The architecture, its widths multiples of 16, and how the file's tensors become its own.

    Raises ModelFileError that lists every option that is not supported.
    """

    def value(name, default):
        found = options.get(name)
        return default if found is None else found  # an empty YAML value is None

    problems = unsupported(options, _SUPPORTED)
    sizes = vocabularies(options, problems)
    base = value("dec-cell-base-depth", 2)
    if type(base) is not int or base < 2:
        problems.append(f"dec-cell-base-depth is {base!r}, supported is 2 or more: the second cell reads the context")
    cells = {name: value(name, "gru") for name in ("enc-cell", "dec-cell")}
    norm = ""
    if value("layer-normalization", False):
        norm = "nematus" if value("type", TYPES[0]) == "nematus" else "marian"
        expected = ("gru-nematus",) if norm == "nematus" else ("gru", "lstm")
        problems += [
            f"{name} is {cell!r} with layer-normalization, supported is {' or '.join(map(repr, expected))}"
            for name, cell in cells.items()
            if cell in _CELLS and cell not in expected
        ]
    if problems:
        raise ModelFileError(f"{where}: not a supported architecture: {'; '.join(problems)}")
    widths, high = (value("dim-emb", 512), value("dim-rnn", 1024)), value("dec-cell-high-depth", 1)
    pieces, dim = widths if norm else map(wider, widths)
    try:
        config = ModelConfig.of(
            where,
            "recurrent",
            model_dim=pieces,
            encoder_dim=dim,
            decoder_dim=dim,
            encoder=_ENCODERS[value("enc-type", "bidirectional")],
            encoder_layers=value("enc-depth", 1),
            encoder_transitions=value("enc-cell-depth", 1),
            encoder_cell=_CELLS[cells["enc-cell"]],
            decoder_cell=_CELLS[cells["dec-cell"]],
            decoder_transitions=base - 2,
            decoder_layers=value("dec-depth", 1),
            high_transitions=high - 1 if type(high) is int else high,
            skip=value("skip", False),
            layer_norm=norm,
            layer_norm_epsilon=1e-5 if norm == "nematus" else 1e-9,
            **sizes,
        )
        return config, Padding(config, widths)
    except (ModelFileError, TypeError) as error:
        raise ModelFileError(f"{where}: {error}") from None
