"""The models of the recipe: shapes by name, and their training settings."""

import dataclasses
import math
from dataclasses import dataclass

from cpunmt.model.config import ModelConfig


@dataclass(frozen=True)
class Settings:
    """Training settings. Lengths and batches are in pieces of the target, </s> included."""

    updates: int = 20_000
    batch_tokens: int = 4_000  # at once, padding counted: limited by memory
    update_tokens: int = 8_000  # in an update at least, from several batches if needed
    row_bits: int = 0  # significant bits of a batch's number of sentences, so that shapes recur; 0: any number
    longest: int = 128  # pieces; longer pairs are skipped
    peak_rate: float = 5e-4
    warmup: int = 1_000  # updates
    cooldown: float = 0.2  # the last share of the updates, in which the rate falls to 0
    clip_norm: float = 5.0
    dropout: float = 0.1
    label_smoothing: float = 0.1
    guided_alignment: float = 0.1  # weight of the alignment's loss; 0: off
    density_weight: float = 0.0  # weight of the loss that increases the zeros of ReLUs' outputs; 0: off
    target_density: float = 0.0  # share of nonzeros below which a layer has no such loss
    weight_limit: float = 0.0  # largest number of a matrix, as products of 16-bit integers require it; 0: no limit
    parameter_smoothing: float = 5e-4  # weight of the newest parameters in the exponential moving average
    validate_every: int = 500  # updates
    patience: int = 10  # validations without an improvement, after which training ends
    keep: int = 4  # the best checkpoints, for averaging
    seed: int = 1

    def __post_init__(self):
        """Raises ValueError for densities without effect, or that would make ReLUs denser."""
        if not 0 <= self.density_weight < math.inf:
            raise ValueError(f"density_weight is {self.density_weight}, expected 0 (none) or a positive number")
        if not 0 <= self.weight_limit < math.inf:
            raise ValueError(f"weight_limit is {self.weight_limit}, expected 0 (none) or a positive number")
        if not 0 <= self.target_density < 1:
            raise ValueError(f"target_density is {self.target_density}, expected a share: at least 0, less than 1")
        if self.target_density and not self.density_weight:
            raise ValueError("target_density is of density_weight: give that too")


def _student(model_dim, ffn_dim, encoder_layers, decoder, **options):
    sizes = {
        "model_dim": model_dim,
        "ffn_dim": ffn_dim,
        "encoder_layers": encoder_layers,
        "decoder_parameters": decoder,
    }
    return {"heads": model_dim // 32 if model_dim < 512 else model_dim // 64, "cell": "ssru", **sizes, **options}


def _students(name, model_dim, ffn_dim, encoder_layers):
    """Returns students of one size: with two tied SSRU layers, and the decoders of Kim et al. 2019, Figure 1."""
    average = {"cell": "average_attention", "average_dim": ffn_dim, "average_activation": "relu"}
    decoders = {
        "": ((0, 0), {}),
        "-untied": ((0, 1), {}),
        "-sru": ((0, 1), {"cell": "sru"}),
        "-gru": ((0, 1), {"cell": "gru"}),
        "-lstm": ((0, 1), {"cell": "lstm"}),
        "-aan": ((0, 1), average),
        "-attention": ((0, 1), _ATTENTION),
    }
    return {
        name + suffix: _student(model_dim, ffn_dim, encoder_layers, decoder, **options)
        for suffix, (decoder, options) in decoders.items()
    }


def _recurrent(**options):
    """Returns shapes after Devlin 2017, https://arxiv.org/abs/1705.01991, Table 2, for one core: about half as wide,
    with two encoder layers instead of three, and attention inside a conditional GRU unless `attention` is given.
    """
    sizes = {"model_dim": 256, "encoder_dim": 320, "decoder_dim": 512, "attention_dim": 256, "encoder_layers": 2}
    return {**sizes, "skip": True, **options}


def _quarter(**options):
    """Returns Devlin's systems as in his Table 2, with a quarter of their widths; all pieces' vectors are as wide."""
    widths = {"model_dim": 256, "encoder_dim": 128, "decoder_dim": 256, "attention_dim": 256, "encoder_layers": 3}
    return {**widths, "attention": "input", "top": "tanh", **options}


_LSTMS = {"encoder_cell": "lstm", "decoder_cell": "lstm", "encoder_layers": 8, "decoder_layers": 8, "skip": True}
_ATTENTION = {"cell": "self_attention"}

# name -> fields of ModelConfig, without the vocabulary's size
SHAPES = {
    **_students("micro", 64, 256, 2),
    **_students("pilot", 256, 1024, 3),
    **_students("tiny", 256, 1536, 6),
    **_students("base", 512, 2048, 6),
    "mini": _student(128, 512, 2, (0, 0)),
    "smoke": _student(32, 64, 1, (0, 0), heads=2),
    "smoke-teacher": _student(64, 128, 1, (0,), heads=2, **_ATTENTION),
    "tied6": _student(512, 2048, 6, (0,) * 6),
    # after Kim et al. 2019, https://aclanthology.org/D19-5632, section 6.1 and Table 3
    "paper-tiny": _student(256, 1536, 6, (0,)),
    "paper-small": _student(256, 2048, 6, (0, 0, 0)),
    "paper-large": _student(1024, 3072, 6, (0,) * 6),
    # teachers
    "teacher-mini": _student(128, 512, 2, (0, 1), **_ATTENTION),
    "teacher-small": _student(256, 1024, 4, (0, 1, 2, 3), **_ATTENTION),
    "teacher": _student(512, 2048, 6, tuple(range(6)), **_ATTENTION),
    "teacher-big": _student(1024, 4096, 6, tuple(range(6)), **_ATTENTION),
    "teacher-fast": _student(512, 2048, 6, (0, 1), preprocess="n", postprocess="a", top_norm=True),
}
RECURRENT = {  # name -> fields of ModelConfig, of the other family
    "devlin-s1": _recurrent(),
    "devlin-s2": _recurrent(decoder_layers=2),
    "devlin-s4": _recurrent(attention="input", stack=(384,) * 7, relu_limit=10.0, top="tanh"),
    "devlin-quarter-s1": _quarter(),
    "devlin-quarter-s2": _quarter(decoder_layers=2),
    "devlin-quarter-s4": _quarter(stack=(192,) * 7, relu_limit=10.0),
    "devlin-quarter-s7": _quarter(encoder="unidirectional", encoder_dim=256, **_LSTMS),
    "smoke-recurrent": {"model_dim": 64, "encoder_dim": 64, "decoder_dim": 64, "stack": (64, 64), "relu_limit": 10.0},
    "smoke-marian": {"model_dim": 32, "encoder_dim": 32, "decoder_dim": 32},
}
_TEACHER = Settings(dropout=0.3, updates=30_000, guided_alignment=0.0)
_SMOKE = Settings(
    updates=220,
    batch_tokens=500,
    update_tokens=350,
    longest=40,
    peak_rate=1e-2,
    warmup=30,
    dropout=0.0,
    parameter_smoothing=0.05,
    keep=2,
)
SETTINGS = {name: _TEACHER for name in SHAPES if name.startswith("teacher")}
SETTINGS |= dict.fromkeys([name for name in (*SHAPES, *RECURRENT) if name.startswith("smoke")], _SMOKE)
_CLIPPED = Settings(weight_limit=1.0, dropout=0.05, row_bits=4)
SETTINGS |= {name: _CLIPPED for name in RECURRENT if name.startswith("devlin")}
# continued training of a student: lower rates, a short warm-up
CONTINUED = {"peak_rate": 3e-4, "warmup": 200}
# 4 bits after calibrated rounding: many small updates, and no dropout, for which rounding would have to compensate
LOG4 = {
    "peak_rate": 6e-4,
    "warmup": 150,
    "updates": 2_000,
    "cooldown": 0.6,
    "update_tokens": 2_250,
    "batch_tokens": 2_800,
    "dropout": 0.0,
    "guided_alignment": 0.0,
    "parameter_smoothing": 1e-3,
}


def model_config(shape: str, vocab_size: int) -> ModelConfig:
    """Returns the architecture called `shape`, with one vocabulary of both languages."""
    if shape in RECURRENT:
        return ModelConfig.of("config", "recurrent", vocab_size=vocab_size, **RECURRENT[shape])
    return ModelConfig.of(vocab_size=vocab_size, **SHAPES[shape])


def settings_of(shape: str, **changes) -> Settings:
    """Returns the training settings of the model called `shape`."""
    return dataclasses.replace(SETTINGS.get(shape, Settings()), **changes)
