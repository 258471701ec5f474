"""The most that precomputed embeddings could save. On one core: taskset -c 1 python -m bench.first_products

    --model DIR     a packed Transformer (default: models/ende-tiny)
    --input FILE    lines, or lines with tabs whose first column is taken (default: tests/golden/sentences.en.txt)

The first product after an embedding multiplies sqrt(d) * E[word] + P[position]. So it could be the sum of two rows of
tables, one of all words and one of all positions (Devlin 2017, section 4.2). That saves at most the product itself (in
the encoder queries, keys and values, in the decoder the first cell's input) and the quantization before it. Here both
are done twice, and three times: translations stay the same, and the added time is the most that could be saved. Least
CPU time of interleaved rounds, greedy search.
"""

from pathlib import Path

from bench.harness.command import command, machine, one_line_errors, save
from bench.harness.texts import SENTENCES, SHIPPED, sentences_of
from bench.programs.in_turn import seconds_in_turn
from cpunmt import Translator
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.errors import CpunmtError

TIMES = (1, 2, 3)
SIDES = ("encoder", "decoder")


def repeating(side: str, times: int):
    """Returns a program that makes the first product of a side `times` times."""
    from bench.programs.replaced import program_with
    from cpunmt.architectures.transformer.records import DECODER_LAYER, ENCODER_LAYER, TRANSFORMER
    from cpunmt.kernels.matmul.int8_matmul import AFFINE
    from cpunmt.kernels.matmul.quantize_rows import quantize_as
    from cpunmt.kernels.records import NORM, SCRATCH, SETTINGS
    from cpunmt.layers.linear import linear
    from cpunmt.simd.intrinsics import address_of, at, load_i64
    from cpunmt.simd.jit import address, count, kernel

    settings_place, norm_place = (TRANSFORMER.fields[name][1] for name in ("settings", f"{side}_embedding_norm"))
    is_encoder = side == SIDES[0]

    def finish(norm: address, settings: address, scratch: address, rows: count):
        s, w, n = at(SETTINGS, settings, 0), at(SCRATCH, scratch, 0), at(NORM, norm, 0)
        quantize_as(n.scheme, n.multiplier, w.x, rows, s.model_dim, w.quantized, w.row_scales)
        network = settings - settings_place
        if norm == network + norm_place:
            t = at(TRANSFORMER, network, 0)
            layer = at(DECODER_LAYER, t.decoder, load_i64(t.decoder_parameters, 0))
            reader = address_of(layer.cell.input)
            if is_encoder:
                reader = address_of(at(ENCODER_LAYER, t.encoder, 0).self_attention.query_key_value)
            for _ in range(times - 1):
                linear(reader, w.x, w.quantized, w.row_scales, rows, w.wide, AFFINE, w.room)
                quantize_as(n.scheme, n.multiplier, w.x, rows, s.model_dim, w.quantized, w.row_scales)

    finish.__name__ = f"finish_{side}_{times}"
    return program_with({"finish": kernel(finish)})


def measure(translator: Translator, lines: list[str], rounds: int) -> dict:
    """Returns for each mode and side the added time of the second repetition, and of the third."""
    made, found = {(side, times): repeating(side, times) for side in SIDES for times in TIMES}, {}
    for mode, taken in seconds_in_turn(translator, made, lines, rounds).items():
        best = {key: min(seconds) for key, seconds in taken.items()}
        found[mode] = {side: [best[side, times] / best[side, times - 1] - 1 for times in TIMES[1:]] for side in SIDES}
    return found


def main(arguments=None):
    """Runs the command."""
    parser = command("bench.first_products", __doc__, rounds=7, sentences=200)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--input", type=Path, default=SENTENCES)
    chosen = parser.parse_args(arguments)
    with one_line_errors("bench.first_products"):
        lines = sentences_of(chosen.input, chosen.sentences)
        translator = Translator(chosen.model)
        architecture = translator.config.architecture
        if not isinstance(architecture, TransformerConfig) or architecture.preprocess or architecture.embedding_norm:
            raise CpunmtError(f"--model {chosen.model}: expected a Transformer whose first product reads the embedding")
    print(machine())
    found = measure(translator, lines, chosen.rounds)
    for mode, sides in found.items():
        told = [f"{side} {100 * second:.2f} % ({100 * third:.2f} %)" for side, (second, third) in sides.items()]
        print(f"{mode:14} the first products once more (and once more): {', '.join(told)}")
    save(chosen.json, {"machine": machine(), "shares": found})


if __name__ == "__main__":
    main()
