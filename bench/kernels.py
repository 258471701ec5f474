"""Every kernel at the shapes of real models. On one core: taskset -c 1 python -m bench.kernels

Figures are medians of interleaved rounds. Beside each int8 product stands its share of the core's peak (the
instructions of the tile on registers alone), beside each one-row product its share of the bandwidth of reading
as many bytes, both measured in the same rounds; NumPy's and onnxruntime's products are timed too.
"""

import argparse
import statistics

import numpy as np

from bench.timing import Timed, interleave, machine, save

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
FOOTPRINTS = (64, 200, 400, 800, 2200, 4400, 7000)  # KB of weights that one-row products stream through


class Arena:
    """Aligned arrays that live as long as this object."""

    def __init__(self):
        self._kept = []
        self.random = np.random.default_rng(0)

    def zeros(self, size, dtype=np.float32):
        memory = np.zeros(size * np.dtype(dtype).itemsize + 128, np.uint8)
        begin = -memory.ctypes.data % 64
        self._kept.append(memory)
        return memory[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)

    def normal(self, size):
        array = self.zeros(size)
        array[:] = self.random.standard_normal(size)
        return array

    def linear(self, depth, columns):
        """A LINEAR record of random int8 weights."""
        from cpunmt import records

        weights = self.zeros(depth * columns, np.int8)
        weights[:] = self.random.integers(-127, 128, depth * columns)
        scales, start, bias = self.zeros(columns), self.zeros(columns, np.int32), self.zeros(columns)
        scales[:] = 0.001
        record = np.zeros(1, records.LINEAR)
        addresses = [array.ctypes.data for array in (weights, scales, start, bias)]
        record[0] = (records.INT8, depth, columns // 16, *addresses, 0.0)
        self._kept.append(record)
        return record


def limits(program, arena):
    """The core's peaks and read bandwidths, as Timed items by name."""
    from bench import limits

    data, out = arena.zeros(64, np.uint8), arena.zeros(4096)
    floats = arena.normal(64)
    items = {
        "int8 peak": Timed("int8 peak", lambda n: program.int8_peak(data, 1000 * n, out, 1), 2000 * limits.PRODUCTS),
        "int8 peak, no sign": Timed(
            "int8 peak, no sign", lambda n: program.int8_peak(data, 1000 * n, out, 0), 2000 * limits.PRODUCTS
        ),
        "float32 peak": Timed(
            "float32 peak", lambda n: program.float_peak(floats, 1000 * n, out), 2000 * limits.FLOAT_PRODUCTS
        ),
    }
    memory = arena.zeros(8 << 20, np.uint8)
    for kilobytes in FOOTPRINTS:
        name = f"read {kilobytes} KB"
        size = kilobytes << 10
        items[name] = Timed(name, lambda n, size=size: program.read_memory(memory, size, n, out), data=size)
    return items


def products(program, arena, shapes, rows) -> list[tuple[Timed, str]]:
    """int8 products (item, name of its limit): bare, and with the epilogue and the next layer's quantization."""
    items = []
    widest = max(depth for depth, _ in shapes)
    most = max(rows)
    x, scales = arena.normal(most * widest), arena.zeros(most)
    quantized = arena.zeros(most * 2 * widest, np.uint8)
    # the quantized rows of the widest product, two planes each, and their scales
    out, requantized = arena.zeros(most * 2048), arena.zeros(most * (2 * 2048 + 4), np.uint8)
    for depth, columns in shapes:
        record = arena.linear(depth, columns)
        for count in rows:

            def bare(n, record=record, count=count):
                program.repeat_int8_linear(n, record, quantized, scales, count, out, 0, 1)

            def whole(n, record=record, count=count, columns=columns):
                program.repeat_linear_relu_quantize(n, record, quantized, scales, count, columns, out, requantized)

            program.quantize_rows(x, count, depth, 0.0, quantized, scales)
            work = 2.0 * count * depth * columns
            label = f"{count:3d} x {depth:4d} x {columns:4d}"
            items.append((Timed(f"int8 {label}", bare, work), "int8 peak"))
            items.append((Timed(f"int8 {label} + bias, ReLU, quantize", whole, work), "int8 peak"))
    return items


def streams(program, arena) -> list[tuple[Timed, str]]:
    """One-row products that stream through weights of several footprints, and the bandwidth they are held to."""
    items = []
    x, scales, out = arena.normal(2048), arena.zeros(1), arena.zeros(1 << 16)
    quantized = arena.zeros(2 * 2048, np.uint8)
    program.quantize_rows(x, 1, 256, 0.0, quantized, scales)
    for kilobytes in FOOTPRINTS:
        columns = (kilobytes << 10) // 256 // 16 * 16
        record = arena.linear(256, columns)

        def run(n, record=record):
            program.repeat_int8_linear(n, record, quantized, scales, 1, out, 0, 1)

        item = Timed(f"one row, {kilobytes} KB of weights", run, 2.0 * 256 * columns, 256.0 * columns)
        items.append((item, f"read {kilobytes} KB"))
    return items


def others(program, arena) -> list[Timed]:
    """Every other kernel at tiny11's sizes: 28 tokens, or one row."""
    from cpunmt import records
    from cpunmt.kernels.tables import sigmoid_table

    x, y, out = arena.normal(64 * 2048), arena.normal(64 * 2048), arena.zeros(64 * 2048)
    quantized, scales = arena.zeros(2 * 64 * 2048, np.uint8), arena.zeros(64)
    gamma, beta = arena.zeros(256), arena.zeros(256)
    norm = np.zeros(1, records.NORM)
    norm[0] = gamma.ctypes.data, beta.ctypes.data, 0.0
    packed, scores, sums, pointers = (
        arena.zeros(256 * 64),
        arena.zeros(64 * 64),
        arena.zeros(64),
        arena.zeros(16, np.int64),
    )
    table, logits = sigmoid_table(), arena.normal(448)
    gates, cells = arena.normal(512), arena.zeros(256)
    items = [
        Timed(
            "self-attention, 28 tokens",
            lambda n: program.repeat_self_attention(n, x, 28, 256, 8, 0.17, packed, scores, pointers, out),
            4.0 * 28 * 28 * 256,
        ),
        Timed(
            "cross-attention, 1 row, 28 tokens",
            lambda n: program.repeat_cross_attention_row(n, x, packed, y, 28, 256, 8, 0.17, scores, sums, out),
            4.0 * 28 * 256,
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
        Timed("log-normalizer, 448", lambda n: program.repeat_log_normalizer(n, logits, 448), data=448 * 4),
        Timed("best of 448", lambda n: program.repeat_best_k(n, logits, 448, 1, pointers, sums), data=448 * 4),
        Timed("best 4 of 448", lambda n: program.repeat_best_k(n, logits, 448, 4, pointers, sums), data=448 * 4),
        Timed("ssru, 1 row", lambda n: program.repeat_ssru_row(n, gates, cells, 256, table, cells, out), data=256 * 16),
    ]
    for rows in (1, 28):
        items += [
            Timed(
                f"quantize {rows} x 1536",
                lambda n, rows=rows: program.repeat_quantize_rows(n, x, rows, 1536, 0.0, quantized, scales),
                data=rows * 1536 * 5,
            ),
            Timed(
                f"residual + norm + quantize {rows} x 256",
                lambda n, rows=rows: program.repeat_residual_layer_norm(
                    n, x, y, norm, 1e-6, rows, 256, x, quantized, scales
                ),
                data=rows * 256 * 13,
            ),
        ]
    return items


def peers(arena, shapes, rows) -> list[Timed]:
    """The same products in NumPy (float32) and, where it is installed, onnxruntime's MatMulInteger."""
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
    """A session of one MatMulInteger with constant weights, on one thread; None without onnx and onnxruntime."""
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


def main(arguments=None):
    from bench import compiled

    parser = argparse.ArgumentParser(prog="python -m bench.kernels", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of rows of the products")
    parser.add_argument("--json", help="write the figures there")
    chosen = parser.parse_args(arguments)
    program, arena = compiled.load(), Arena()
    bounds = limits(program, arena)
    bounded = products(program, arena, SHAPES, chosen.rows) + streams(program, arena)
    plain = others(program, arena) + peers(arena, SHAPES[:5], [rows for rows in (1, 28, 64) if rows in chosen.rows])
    # a limit is measured right beside what is held to it: the machine's speed changes within seconds
    results = {}
    print(machine())
    for item, name in bounded:
        bound = bounds[name]
        bound.seconds.clear()
        interleave([bound, item], chosen.rounds)
        if item.data:
            ratios = [(b / bound.data) / (s / item.data) for b, s in zip(bound.seconds, item.seconds, strict=True)]
            figure = f"{item.data / item.median / 1e9:8.1f} GB/s"
        else:
            ratios = [(b / bound.work) / (s / item.work) for b, s in zip(bound.seconds, item.seconds, strict=True)]
            figure = f"{item.work / item.median / 1e9:8.1f} GOP/s"
        share = statistics.median(ratios)
        results[item.name] = {"median_s": item.median, "best_s": item.best, "share": share, "of": name}
        print(f"{item.name:52s} {1e6 * item.median:10.2f} us {figure}  {100 * share:5.1f} % of {name}", flush=True)
    interleave([*bounds.values(), *plain], chosen.rounds)
    for item in [*bounds.values(), *plain]:
        figure = (
            f"{item.work / item.median / 1e9:8.1f} GOP/s" if item.work else f"{item.data / item.median / 1e9:8.1f} GB/s"
        )
        results[item.name] = {"median_s": item.median, "best_s": item.best}
        print(f"{item.name:52s} {1e6 * item.median:10.2f} us {figure}", flush=True)
    save(chosen.json, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
