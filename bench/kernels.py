"""Every kernel at the shapes of real models. On one core: taskset -c 1 python -m bench.kernels

Figures are medians of interleaved rounds. Beside each int8 product is its share of the core's peak (the instructions of
its tile on registers alone; matrix registers have their own peak). Beside each one-row product is its share of the
bandwidth of reading the same number of bytes. Both are measured in the same rounds. NumPy's and onnxruntime's products
are timed too.
"""

import numpy as np

from bench.harness.command import command, machine, positive, save
from bench.harness.timing import Timed, interleave, median_ratio
from bench.operands import SCHEMES, Arena, product, quantize, weight_bytes
from cpunmt.simd.matrix_tile import DEPTHS
from cpunmt.simd.tile_shapes import MATRIX_ROWS

# (depth, columns) of tiny11 and base: query-key-value, output, cell, feed-forward in and out
SHAPES = (
    (256, 256),
    (256, 512),
    (256, 768),
    (256, 1536),
    (1536, 256),
    (512, 512),
    (512, 1536),
    (512, 2048),
    (2048, 512),
)
ROWS = (1, 2, 4, 8, 24, 28, 29, 32, 37, 48, 53, 64)
FOOTPRINTS = (64, 200, 400, 800, 2200, 4400, 7000)  # KB that one-row products stream through
# products of one step of tiny11's decoder, one row at a time: two layers of cell, cross-attention, feed-forward
DECODER = ((256, 512), (256, 256), (256, 256), (256, 256), (256, 1536), (1536, 256)) * 2
SOURCES = 256  # sentences whose keys and values of OPUS-MT's size no cache holds
PEAKS = {"int8": "int8 peak", "int16": "int16 peak", "float32": "float32 peak"}
MATRIX_PEAK = "matrix peak"


def peak_of(scheme: str, rows: int, depth: int) -> str:
    """Returns the name of the peak of a product's instructions."""
    matrices = scheme == "int8" and 0 < MATRIX_ROWS <= rows and depth % DEPTHS == 0
    return MATRIX_PEAK if matrices else PEAKS[scheme]


def limits(program, arena):
    """Returns the core's peaks and read bandwidths, as Timed items by name."""
    from bench import limits

    data, out = arena.zeros(128, np.uint8), arena.zeros(4096)
    peaks = [
        ("int8 peak", program.int8_peak, limits.PRODUCTS8),
        ("int16 peak", program.int16_peak, limits.PRODUCTS16),
        ("float32 peak", program.float_peak, limits.FLOAT_PRODUCTS),
    ]
    if MATRIX_ROWS:
        peaks.append((MATRIX_PEAK, program.matrix_peak, limits.MATRIX_PRODUCTS))
    items = {
        name: Timed(name, lambda n, peak=peak: peak(data, 1000 * n, out), 2000 * products)
        for name, peak, products in peaks
    }
    memory = arena.zeros(8 << 20, np.uint8)
    for kilobytes in FOOTPRINTS:
        name = f"read {kilobytes} KB"
        size = kilobytes << 10
        items[name] = Timed(name, lambda n, size=size: program.read_memory(memory, size, n, out), data=size)
    return items


def products(program, arena, shapes, rows, schemes) -> list[tuple[Timed, str]]:
    """Returns products (item, name of its limit): bare, and int8 with epilogue and the next quantization."""
    items = []
    for scheme in PEAKS:
        for depth, columns in shapes if scheme in schemes else ():
            for count in rows:
                run, work = product(program, arena, scheme, count, depth, columns)
                label = f"{scheme} {count:3d} x {depth:4d} x {columns:4d}"
                items.append((Timed(label, run, work), peak_of(scheme, count, depth)))
                if scheme == "int8":
                    whole = _with_the_rest(program, arena, count, depth, columns)
                    items.append((Timed(f"{label} + bias, ReLU, quantize", whole, work), peak_of(scheme, count, depth)))
    return items


def _with_the_rest(program, arena, rows, depth, columns):
    linear, out = arena.linears("int8", [(depth, columns)]), arena.zeros(rows * columns)
    x, q, scales = arena.normal(rows * depth), arena.zeros(rows * 2 * depth, np.uint8), arena.zeros(2 * rows)
    next_q, next_scales = arena.zeros(rows * 2 * columns, np.uint8), arena.zeros(2 * rows)
    quantize(program, "int8", x, rows, depth, q, scales)
    return lambda n: program.repeat_linear_relu_quantize(n, linear, q, scales, rows, out, next_q, next_scales)


def streams(program, arena, schemes) -> list[tuple[Timed, str]]:
    """Returns one-row products that stream through weights of several footprints, and their bandwidths."""
    items = []
    x, out = arena.normal(2048), arena.zeros(1 << 16)
    for scheme in schemes:
        q, scales = arena.zeros(2 * 2048, np.uint8), arena.zeros(2)
        quantize(program, scheme, x, 1, 1536, q, scales)

        def linears(name, shapes, scheme=scheme, q=q, scales=scales):
            records, size = arena.linears(scheme, shapes), weight_bytes(scheme, shapes)

            def run(n):
                program.repeat_linears(n, records, len(records), q, scales, x, 1, out)

            nearest = min(FOOTPRINTS, key=lambda kb, size=size: abs(1024 * kb - size))
            work = 2.0 * sum(depth * columns for depth, columns in shapes)
            items.append((Timed(f"{scheme}, one row, {name}", run, work, size), f"read {nearest} KB"))

        for kilobytes in FOOTPRINTS:
            columns = int((kilobytes << 10) / weight_bytes(scheme, [(256, 1)])) // 16 * 16
            linears(f"{kilobytes} KB of weights", [(256, columns)])
        linears("a decoder of tiny11", DECODER)
    return items


def others(program, arena) -> list[Timed]:
    """Returns every other kernel at tiny11's sizes: 28 tokens, or one row."""
    from cpunmt.kernels import records
    from cpunmt.kernels.tables import sigmoid_table

    x, y, out = arena.normal(64 * 2048), arena.normal(64 * 2048), arena.zeros(64 * 2048)
    quantized, scales = arena.zeros(2 * 64 * 2048, np.uint8), arena.zeros(2 * 64)
    gamma, beta = arena.zeros(256), arena.zeros(256)
    norms = {}
    for bits, scheme, multiplier in ((8, records.INT8, 0.0), (16, records.INT16, 2047.0)):
        norms[bits] = np.zeros(1, records.NORM)
        norms[bits][0] = gamma.ctypes.data, beta.ctypes.data, scheme, multiplier
    settings, scratch = np.zeros(1, records.SETTINGS), np.zeros(1, records.SCRATCH)
    settings["model_dim"], settings["heads"], settings["attention_scale"] = 256, 8, 0.17
    settings["attention_dim"], settings["epsilon"] = 256, 1e-6
    wide, sources = settings.copy(), arena.normal((SOURCES + 1) * 2 * 32 * 512)  # of OPUS-MT's size
    wide["model_dim"], wide["attention_dim"] = 512, 512
    packed, scores, sums, pointers = (
        arena.zeros(256 * 64),
        arena.zeros(64 * 64),
        arena.zeros(64),
        arena.zeros(16, np.int64),
    )
    for name, array in (("packed", packed), ("scores", scores), ("sums", sums), ("pointers", pointers)):
        scratch[name] = array.ctypes.data
    table, logits = sigmoid_table(), arena.normal(448)
    gates, cells = arena.normal(512), arena.zeros(256)
    items = [
        Timed(
            "self-attention, 28 tokens",
            lambda n: program.repeat_self_attention(n, settings, scratch, 0, x, 28, out),
            4.0 * 28 * 28 * 256,
        ),
        Timed(
            "cross-attention, 1 row, 28 tokens",
            lambda n: program.repeat_cross_attention_row(n, settings, scratch, x, packed, y, 28, out, 0),
            4.0 * 28 * 256,
        ),
        Timed(
            f"cross-attention over {SOURCES} sentences, 512 wide",
            lambda n: program.attend_sources(n, wide, scratch, x, sources, SOURCES, 28, out),
            4.0 * 28 * 512 * SOURCES,
            data=SOURCES * 2 * 28 * 512 * 4,
        ),
        Timed(
            "pack rows, 28 x 32",
            lambda n: program.repeat_pack_rows(n, x, 3072, 28, 32, pointers, packed),
            data=28 * 32 * 8,
        ),
        Timed(
            "softmax of columns, 28 x 32",
            lambda n: program.repeat_softmax_columns(n, scores, 28, 2, 0.17),
            data=28 * 32 * 8,
        ),
        Timed(
            "softmax of rows, 28 x 28",
            lambda n: program.repeat_softmax_rows(n, scores, 28, 32, 28, 0.17, sums),
            data=28 * 28 * 8,
        ),
        Timed("log-sum-exp, 448", lambda n: program.repeat_log_sum_exp(n, logits, 448), data=448 * 4),
        Timed("top 1 of 448", lambda n: program.repeat_top_k(n, logits, 448, 1, pointers, sums), data=448 * 4),
        Timed("top 4 of 448", lambda n: program.repeat_top_k(n, logits, 448, 4, pointers, sums), data=448 * 4),
        Timed(
            "ssru, 1 row",
            lambda n: program.repeat_ssru_row(n, gates, 0, 0, cells, 256, table, cells, out),
            data=256 * 16,
        ),
    ]
    for rows in (1, 28):
        items += [
            Timed(
                f"quantize {rows} x 1536",
                lambda n, rows=rows: program.repeat_quantize_rows(n, x, rows, 1536, 0.0, quantized, scales),
                data=rows * 1536 * 5,
            ),
            Timed(
                f"quantize {rows} x 1536 to 16 bits",
                lambda n, rows=rows: program.repeat_quantize_rows16(n, x, rows, 1536, 2047.0, quantized, scales),
                data=rows * 1536 * 6,
            ),
        ]
        items += [
            Timed(
                f"residual + norm + quantize {rows} x 256 to {bits} bits",
                lambda n, rows=rows, norm=norm: program.repeat_residual_layer_norm(
                    n, settings, norm, x, y, rows, x, quantized, scales
                ),
                data=rows * 256 * (12 + bits // 8),
            )
            for bits, norm in norms.items()
        ]
    return items


def peers(arena, shapes, rows) -> list[Timed]:
    """Returns the same products in NumPy (float32) and, if it is installed, onnxruntime's MatMulInteger."""
    items = []
    for depth, columns in shapes:
        for count in rows:
            a, b = (
                arena.normal(count * depth).reshape(count, depth),
                arena.normal(depth * columns).reshape(depth, columns),
            )
            out = np.empty((count, columns), np.float32)
            label = f"{count:3d} x {depth:4d} x {columns:4d}"
            work = 2.0 * count * depth * columns

            def multiply(n, a=a, b=b, out=out):
                for _ in range(n):
                    np.matmul(a, b, out=out)

            items.append(Timed(f"NumPy float32 {label}", multiply, work))
            session = _onnx_product(depth, columns, arena)
            if session:
                q = np.clip(a * 40 + 128, 0, 255).astype(np.uint8)

                def integer(n, session=session, q=q):
                    for _ in range(n):
                        session.run(None, {"a": q})

                items.append(Timed(f"onnxruntime int8 {label}", integer, work))
    return items


def _onnx_product(depth, columns, arena):
    """Returns a session of one MatMulInteger with constant weights, on one thread; None without onnxruntime."""
    try:
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        return None
    weights = arena.random.integers(-127, 128, (depth, columns)).astype(np.int8)
    node = helper.make_node("MatMulInteger", ["a", "w", "zero"], ["y"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [None, depth])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [None, columns])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.uint8(128), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def line_of(item: Timed, by_data: bool) -> str:
    """Returns the time of an item, and its bytes or operations per second."""
    amount, unit = (item.data, "GB/s") if by_data else (item.work, "GOP/s")
    return f"{item.name:52s} {1e6 * item.median:10.2f} us {amount / item.median / 1e9:8.1f} {unit}"


def main(arguments=None):
    from bench.programs import compiled

    parser = command("bench.kernels", __doc__, rounds=15)
    parser.add_argument("--rows", type=positive, nargs="+", default=ROWS, help="numbers of rows of the products")
    parser.add_argument("--schemes", nargs="+", default=SCHEMES, choices=SCHEMES, help="of the products")
    parser.add_argument("--products-only", action="store_true", help="leave the other kernels and programs out")
    chosen = parser.parse_args(arguments)
    program, arena = compiled.load(), Arena()
    bounds = limits(program, arena)
    bounded = products(program, arena, SHAPES, chosen.rows, chosen.schemes) + streams(program, arena, chosen.schemes)
    plain = []
    if not chosen.products_only:
        plain += others(program, arena)
        plain += peers(arena, SHAPES[:5], [rows for rows in (1, 28, 64) if rows in chosen.rows])
    # a limit is measured right beside its items: the machine's speed changes within seconds
    results = {}
    print(machine())
    for item, name in bounded:
        bound = bounds[name]
        bound.seconds.clear()
        interleave([bound, item], chosen.rounds)
        amounts = (bound.data, item.data) if item.data else (bound.work, item.work)
        share = median_ratio([s / amounts[0] for s in bound.seconds], [s / amounts[1] for s in item.seconds])
        results[item.name] = {"median_s": item.median, "best_s": item.best, "share": share, "of": name}
        print(line_of(item, by_data=bool(item.data)), f" {100 * share:5.1f} % of {name}", flush=True)
    interleave([*bounds.values(), *plain], chosen.rounds)
    for item in [*bounds.values(), *plain]:
        results[item.name] = {"median_s": item.median, "best_s": item.best}
        print(line_of(item, by_data=not item.work), flush=True)
    save(chosen.json, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
