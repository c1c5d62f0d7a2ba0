"""Networks in bf16, on one thread: python -m benchmarks.narrow_floats

Networks with random weights. A row of the table is the time of a call of relex with `precision="bf16"`, and beside it
the times of OpenVINO with its default precision, which is bf16 on processors with AMX, and of relex and OpenVINO in
f32, all relative to it: above 1, relex in bf16 is ahead. The last columns are the lengths of the differences of both
from the result of relex in f32, relative to its length. All take turns, and the least time of each counts, in time of
the process, so that others disturb little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.contenders import limit_threads
from benchmarks.quantized import Array, Network, bert_layer
from relex.runtime import build

Call = Callable[[], Any]


def resnet_50() -> Any:
    """ResNet-50, with batch normalization folded into its convolutions."""
    net = Network("resnet50", (1, 3, 224, 224))
    x = net.convolution("x", 3, 64, 7, 2)
    x, channels = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(count):
            stride = 2 if block == 0 and width > 64 else 1
            y = net.convolution(x, channels, width, 1)
            y = net.convolution(y, width, width, 3, stride)
            y = net.convolution(y, width, 4 * width, 1, limit=None)
            if block == 0:
                x = net.convolution(x, channels, 4 * width, 1, stride, limit=None)
            x, channels = net.add("Relu", net.add("Add", x, y)), 4 * width
    return net.classify(x, channels)


def llama_block(rows: int, before: int = 0) -> Any:
    """A block of a Llama of 1.2 billion weights, with 32 heads: attention to all rows and to others before them, whose
    keys and values are known, without masks and positions, and a gated product."""
    width, inner, heads = 2048, 8192, 32
    net = Network("llama", (1, rows, width))
    size = width // heads

    def dense(x: str, inputs: int, outputs: int) -> str:
        return net.add("MatMul", x, net.weight(inputs, outputs, terms=2 * inputs))

    def normalized(x: str) -> str:
        small = net.constant(np.asarray(1e-5, np.float32))
        mean = net.add("ReduceMean", net.add("Mul", x, x), axes=[-1])
        scaled = net.add("Div", x, net.add("Sqrt", net.add("Add", mean, small)))
        return net.add("Mul", scaled, net.constant(np.ones(width, np.float32)))

    def by_head(x: str, *axes: int) -> str:
        shape = net.constant(np.array([1, rows, heads, size], np.int64))
        return net.add("Transpose", net.add("Reshape", x, shape), perm=axes)

    def known(x: str, *shape: int) -> str:
        return (
            net.add("Concat", net.weight(1, heads, *shape, terms=2), x, axis=shape.index(before) + 2) if before else x
        )

    data = normalized("x")
    q, k, v = (dense(data, width, width) for _ in range(3))
    keys, values = known(by_head(k, 0, 2, 3, 1), size, before), known(by_head(v, 0, 2, 1, 3), before, size)
    scale = net.constant(np.asarray(size**-0.5, np.float32))
    shares = net.add("Softmax", net.add("Mul", net.add("MatMul", by_head(q, 0, 2, 1, 3), keys), scale), axis=-1)
    mixed = net.add("Transpose", net.add("MatMul", shares, values), perm=[0, 2, 1, 3])
    flat = net.add("Reshape", mixed, net.constant(np.array([1, rows, width], np.int64)))
    x = net.add("Add", "x", dense(flat, width, width))
    data = normalized(x)
    gate = dense(data, width, inner)
    gated = net.add("Mul", net.add("Mul", gate, net.add("Sigmoid", gate)), dense(data, width, inner))
    return net.finish(net.add("Add", x, dense(gated, inner, width)))


NETWORKS: Mapping[str, Callable[[], Any]] = {
    "ResNet-50": resnet_50,
    "BERT layer, 128 rows": bert_layer,
    "Llama block, 512 rows": partial(llama_block, 512),
    "Llama block, 1 row after 1000": partial(llama_block, 1, 1000),
}


def openvino(path: Path, x: Array, precision: str | None = None) -> Call:
    """Return a call of a model in OpenVINO on one thread."""
    core: Any = import_module("openvino").Core()
    settings: dict[str, object] = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    if precision is not None:
        settings["INFERENCE_PRECISION_HINT"] = precision
    request = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()
    return lambda: request.infer({0: x})[0]


def ours(path: Path, x: Array, precision: str) -> Call:
    """Return a call of a model in relex."""
    main: Any = build(str(path), precision=precision, cache=False)["main"]
    return lambda: main(x)


def least_times(calls: Sequence[Call], seconds: float) -> list[float]:
    """Return the least time of the process for each call; they take turns for some seconds."""
    least = [float("inf")] * len(calls)
    end = perf_counter() + seconds
    while perf_counter() < end:
        for i, call in enumerate(calls):
            start = process_time()
            call()
            least[i] = min(least[i], process_time() - start)
    return least


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.narrow_floats", description=__doc__)
    parser.add_argument("--networks", nargs="+", default=[*NETWORKS], choices=[*NETWORKS])
    parser.add_argument("--seconds", type=float, default=20, help="the time for a row of the table (20)")
    options = parser.parse_args(arguments)
    limit_threads(1)
    print("| network | relex, bf16 | OpenVINO | relex, f32 | OpenVINO, f32 | error | error of OpenVINO |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in options.networks:
        model = NETWORKS[name]()
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            calls = [ours(path, x, "bf16"), openvino(path, x), ours(path, x, "f32"), openvino(path, x, "f32")]
        found, other, wide, _ = (call() for call in calls)
        errors = (np.linalg.norm(array - wide) / np.linalg.norm(wide) for array in (found, other))
        own, *rest = least_times(calls, options.seconds)
        print(
            f"| {name} | {own * 1e3:.2f} ms | "
            + " | ".join(f"{time / own:.2f}" for time in rest)
            + "".join(f" | {error:.2%}" for error in errors)
            + " |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
