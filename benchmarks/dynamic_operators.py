"""Operators of ONNX with dynamic sizes, beside the same with fixed ones: python -m benchmarks.dynamic_operators [TEXT]

Each is a model of one node, compiled twice: all sizes of its inputs but channels and the terms of products are dynamic,
or all are fixed. Results are compared, and calls timed in turns, on one thread. The table has the time of a call with
dynamic sizes as a share of the time with fixed ones, both times, and the processor time of each compilation; with
TEXT, only operators with this in their names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, cast

import numpy as np

from benchmarks.contenders import limit_threads

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

RNG = np.random.default_rng(0)
IMAGE, ROWS, SEQUENCE = (1, 32, 56, 56), (64, 256), (2, 64, 256)
KNOWN = {"LayerNormalization": -1, "RMSNormalization": -1, "MatMul": -1, "Gemm": -1, "LSTM": 2, "GRU": 2}
"""The dimension of the first input that a weight decides, besides the channels of images."""


@dataclass(frozen=True)
class Case:
    """A node: the shapes of its inputs, and constants for other inputs by their numbers."""

    operator: str
    inputs: Sequence[Shape]
    constants: Mapping[int, Array] = field(default_factory=dict[int, Array])
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1


def weight(*shape: int) -> Array:
    """Return a small random weight."""
    return (RNG.standard_normal(shape) / 10).astype(np.float32)


def integers(*numbers: int) -> Array:
    """Return integers of 64 bits."""
    return np.array(numbers, np.int64)


def doubled(mode: str, **attributes: str) -> Case:
    """Return an image that is made twice as large."""
    nothing, scales = np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)
    return Case("Resize", [IMAGE], {1: nothing, 2: scales}, {"mode": mode, **attributes})


def recurrent(operator: str, gates: int) -> Case:
    """Return a recurrent layer."""
    weights = {1: weight(1, gates * 64, 64), 2: weight(1, gates * 64, 64), 3: weight(1, 2 * gates * 64)}
    return Case(operator, [(20, 4, 64)], weights, {"hidden_size": 64}, 3 if operator == "LSTM" else 2)


EDGES = integers(0, 0, 1, 1, 0, 0, 1, 1)
ELEMENTWISE = "Relu Sigmoid Tanh Exp Log Erf Softplus HardSwish Elu LeakyRelu Floor Sin".split()
REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceL2 ReduceLogSumExp".split()

CASES = {
    **{name: Case(name, [IMAGE]) for name in ELEMENTWISE},
    **{name: Case(name, [IMAGE, IMAGE]) for name in ("Add", "Mul", "Div", "Greater")},
    "Add, bias": Case("Add", [IMAGE, (32, 1, 1)]),
    **{f"{name}, rows": Case(name, [SEQUENCE], {1: integers(2)}, {"keepdims": 0}) for name in REDUCTIONS},
    **{f"{name}, columns": Case(name, [SEQUENCE], {1: integers(1)}, {"keepdims": 0}) for name in REDUCTIONS},
    **{f"{name}, images": Case(name, [IMAGE], {1: integers(2, 3)}, {"keepdims": 0}) for name in REDUCTIONS},
    "ArgMax": Case("ArgMax", [SEQUENCE], {}, {"axis": 2}),
    "Softmax": Case("Softmax", [SEQUENCE]),
    "Softmax, columns": Case("Softmax", [SEQUENCE], {}, {"axis": 1}),
    "Conv, 3x3": Case("Conv", [IMAGE], {1: weight(32, 32, 3, 3), 2: weight(32)}, {"pads": [1] * 4}),
    "Conv, 1x1": Case("Conv", [IMAGE], {1: weight(64, 32, 1, 1)}),
    "Conv, depthwise": Case("Conv", [IMAGE], {1: weight(32, 1, 3, 3)}, {"pads": [1] * 4, "group": 32}),
    "Conv, strides": Case("Conv", [IMAGE], {1: weight(64, 32, 3, 3)}, {"pads": [1] * 4, "strides": [2, 2]}),
    "Conv, 1-D": Case("Conv", [(1, 32, 200)], {1: weight(64, 32, 5)}, {"pads": [2, 2]}),
    "ConvTranspose": Case("ConvTranspose", [(1, 32, 28, 28)], {1: weight(32, 16, 2, 2)}, {"strides": [2, 2]}),
    "MaxPool": Case("MaxPool", [IMAGE], {}, {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]}),
    "AveragePool": Case("AveragePool", [IMAGE], {}, {"kernel_shape": [3, 3], "pads": [1] * 4}),
    "GlobalAveragePool": Case("GlobalAveragePool", [IMAGE]),
    "GlobalMaxPool": Case("GlobalMaxPool", [IMAGE]),
    "BatchNormalization": Case("BatchNormalization", [IMAGE], {n: abs(weight(32)) + 1 for n in (1, 2, 3, 4)}),
    "InstanceNormalization": Case("InstanceNormalization", [IMAGE], {1: weight(32), 2: weight(32)}),
    "GroupNormalization": Case("GroupNormalization", [IMAGE], {1: weight(32), 2: weight(32)}, {"num_groups": 8}),
    "LayerNormalization": Case("LayerNormalization", [SEQUENCE], {1: weight(256), 2: weight(256)}),
    "LRN": Case("LRN", [IMAGE], {}, {"size": 5}),
    "MatMul": Case("MatMul", [ROWS], {1: weight(256, 128)}),
    "MatMul, one row": Case("MatMul", [(1, 256)], {1: weight(256, 512)}),
    "Gemm": Case("Gemm", [ROWS], {1: weight(128, 256), 2: weight(128)}, {"transB": 1}),
    "Transpose, channels last": Case("Transpose", [IMAGE], {}, {"perm": [0, 2, 3, 1]}),
    "Transpose, heads": Case("Transpose", [(2, 64, 8, 32)], {}, {"perm": [0, 2, 1, 3]}),
    "Concat": Case("Concat", [SEQUENCE, SEQUENCE], {}, {"axis": 2}),
    "Slice": Case("Slice", [IMAGE], {1: integers(0, 1), 2: integers(50, 40), 3: integers(2, 3)}),
    **{f"Pad, {mode}": Case("Pad", [IMAGE], {1: EDGES}, {"mode": mode}) for mode in ("constant", "reflect", "edge")},
    "Resize, nearest": doubled("nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "Resize, linear": doubled("linear"),
    "Resize, cubic": doubled("cubic"),
    "DepthToSpace": Case("DepthToSpace", [IMAGE], {}, {"blocksize": 2}),
    "SpaceToDepth": Case("SpaceToDepth", [IMAGE], {}, {"blocksize": 2}),
    "Flatten": Case("Flatten", [IMAGE]),
    "Reshape": Case("Reshape", [IMAGE], {1: integers(0, 32, -1)}),
    "Tile": Case("Tile", [ROWS], {1: integers(2, 3)}),
    "Expand": Case("Expand", [(1, 256)], {1: integers(64, 256)}),
    "Gather": Case("Gather", [ROWS], {1: RNG.integers(0, 64, 32)}),
    "Gather, columns": Case("Gather", [ROWS], {1: RNG.integers(0, 256, 128)}, {"axis": 1}),
    "CumSum": Case("CumSum", [SEQUENCE], {1: np.array(2)}),
    "TopK": Case("TopK", [ROWS], {1: integers(5)}, {}, 2),
    "Clip": Case("Clip", [IMAGE], {1: np.array(-0.5, np.float32), 2: np.array(0.5, np.float32)}),
    "LSTM": recurrent("LSTM", 4),
    "GRU": recurrent("GRU", 3),
}


def dimensions(case: Case, number: int) -> list[int | str]:
    """Return the shape of an input in which most sizes are names; inputs share them."""
    shape = case.inputs[number]
    known = {1} if len(shape) == 4 or case.operator.startswith("Conv") else set[int]()
    if case.operator in KNOWN:
        known.add(KNOWN[case.operator] % len(shape))
    # Dimensions are counted from the last one, as in broadcasting.
    return [size if size == 1 or d in known else f"size_{len(shape) - d}" for d, size in enumerate(shape)]


def model(case: Case, *, dynamic: bool) -> Any:
    """Return the model of a case."""
    onnx: Any = import_module("onnx")
    helper, numbers = onnx.helper, import_module("onnx.numpy_helper")
    names = [f"i{n}" for n in range(len(case.inputs) + len(case.constants))]
    free = [name for n, name in enumerate(names) if n not in case.constants]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dimensions(case, n) if dynamic else case.inputs[n])
        for n, name in enumerate(free)
    ]
    constants = [numbers.from_array(array, names[n]) for n, array in case.constants.items()]
    results = [f"o{n}" for n in range(case.outputs)]
    node = helper.make_node(case.operator, names, results, **case.attributes)
    made = helper.make_model(
        helper.make_graph([node], "g", inputs, [], constants),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )
    made.graph.output.extend(onnx.shape_inference.infer_shapes(made, data_prop=True).graph.value_info)
    found = {info.name for info in made.graph.output}
    made.graph.output.extend(
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results if name not in found
    )
    return made


def measure(case: Case, folder: Path) -> str:
    """Return the cells of a case: the ratio of the times of calls, both, and the seconds of both compilations."""
    onnx: Any = import_module("onnx")
    from relex.runtime import build

    functions: list[Any] = []
    seconds: list[float] = []
    for dynamic in (True, False):
        onnx.save(model(case, dynamic=dynamic), path := folder / "model.onnx")
        begin = process_time()
        functions.append(build(str(path), cache=False)["main"])
        seconds.append(process_time() - begin)
    arrays = [abs(RNG.standard_normal(shape)).astype(np.float32) for shape in case.inputs]
    for found, wanted in zip(*(_several(function(*arrays)) for function in functions), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
    times = [float("inf")] * 2
    begin = perf_counter()
    functions[0](*arrays)
    calls = max(1, int(2e-3 / (perf_counter() - begin)))
    for _ in range(15):  # In turns, since other programs can only make a round slower.
        for i, function in enumerate(functions):
            begin = perf_counter()
            for _ in range(calls):
                function(*arrays)
            times[i] = min(times[i], (perf_counter() - begin) / calls)
    dynamic, fixed = (time * 1e6 for time in times)
    return f"{dynamic / fixed:.2f} | {dynamic:.1f} µs | {fixed:.1f} µs | {seconds[0]:.2f} s | {seconds[1]:.2f} s"


def _several(results: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    limit_threads(1)
    print("| operator | relative | dynamic | fixed | compiled, dynamic | fixed |")
    print("|---|---:|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        for name, case in CASES.items():
            if not arguments or any(text in name for text in arguments):
                print(f"| {name} | {measure(case, Path(folder))} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
