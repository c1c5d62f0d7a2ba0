"""The nine networks of the package onnx, with random weights: what relex computes against another implementation.

    python tests/onnx/networks.py                   # all of them
    python tests/onnx/networks.py squeezenet        # one

The files have the number 0.02 in place of weights, so that results would be right by accident: here weights are random,
from a seed, and results are compared before a final softmax. ONNX Runtime computes them if it is installed, else
`onnx.reference`. Each network is compiled, saved, loaded, and run by `relex-run`.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from relex.runtime import build, load
from relex.tools.relex_run import main as relex_run

NAMES = (
    "squeezenet",
    "shufflenet",
    "resnet50",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "bvlc_alexnet",
    "zfnet512",
    "vgg19",
)
TOLERANCE = 1e-4
"""The largest difference, relative to the largest element of the result."""


def network(name: str, pixels: int | None = None, seed: int = 0) -> ModelProto:
    """Return a network with random weights and without a final softmax, for images of a height and width of `pixels`
    where the network allows other ones than its own."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model = ModelProto()
    model.ParseFromString((folder / f"light_{name}.onnx").read_bytes())
    graph = model.graph
    random = np.random.default_rng(seed)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    variances = {node.input[4] for node in graph.node if node.op_type == "BatchNormalization"}
    made: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            made[node.output[0]] = _weights(shapes.pop(node.input[0]), node.output[0] in variances, random)
    for key, array in shapes.items():
        is_float = array.dtype == np.float32
        made[key] = _weights(array.shape, key in variances, random) if is_float else array
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    if nodes[-1].op_type == "Softmax":
        graph.output[0].name = nodes.pop().input[0]
    inputs = [i for i in graph.input if i.name not in made and not i.name.endswith("__SHAPE")]
    inputs = [i for i in inputs if any(i.name in node.input for node in nodes)]
    if pixels is not None:
        for dimension in inputs[0].type.tensor_type.shape.dim[2:]:
            dimension.dim_value = pixels
        graph.output[0].type.tensor_type.ClearField("shape")
    tensors = [numpy_helper.from_array(array, key) for key, array in made.items()]
    output = [helper.make_tensor_value_info(graph.output[0].name, onnx.TensorProto.FLOAT, None)]
    return helper.make_model(
        helper.make_graph(nodes, name, inputs, output, tensors), opset_imports=model.opset_import, ir_version=8
    )


def _weights(shape: Any, positive: bool, random: np.random.Generator) -> Any:
    """Return weights that keep the scale of what they are applied to: those of kernels, else numbers around 1 or 0."""
    sizes = [int(size) for size in shape]
    if len(sizes) > 1:
        array = random.normal(0, np.sqrt(2 / prod(sizes[1:])), sizes)
    else:
        array = random.uniform(0.5, 1.5, sizes) if positive else random.normal(0.5, 0.2, sizes)
    return array.astype(np.float32)


def image(model: ModelProto, seed: int = 1) -> Any:
    """Return a random input for a network."""
    sizes = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(seed).normal(size=sizes).astype(np.float32)


def expected(model: ModelProto, x: Any) -> Any:
    """Return what another implementation computes."""
    name = model.graph.input[0].name
    if find_spec("onnxruntime") is not None:
        runtime: Any = import_module("onnxruntime")
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    else:
        session = import_module("onnx.reference").ReferenceEvaluator(model)
    return session.run(None, {name: x})[0]


def difference(found: Any, wanted: Any) -> float:
    """Return the largest difference, relative to the largest element."""
    assert found.shape == wanted.shape, f"expected {wanted.shape}, found {found.shape}"
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def check(name: str, pixels: int | None = None) -> dict[str, float]:
    """Return the differences of a network that is compiled, saved and loaded, and run by `relex-run`."""
    model = network(name, pixels)
    x = image(model)
    wanted = expected(model, x)
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.onnx")
        path.write_bytes(model.SerializeToString())
        executable = build(path, cache=False)
        found = {"build": difference(executable["main"](x), wanted)}
        executable.save(Path(folder, "saved.relex"))
        found["load"] = difference(load(Path(folder, "saved.relex"))["main"](x), wanted)
        np.save(Path(folder, "x.npy"), x)
        arguments = ["--input", str(Path(folder, "x.npy")), "--output", str(Path(folder, "y.npy"))]
        assert relex_run([str(path), *arguments]) == 0
        found["relex-run"] = difference(np.load(Path(folder, "y.npy")), wanted)
    return found


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME", help=", ".join(NAMES))
    worst = 0.0
    for name in parser.parse_args().names:
        start = time.perf_counter()
        found = check(name)
        worst = max(worst, *found.values())
        shown = ", ".join(f"{way} {error:.1e}" for way, error in found.items())
        print(f"{name:14} {shown}; {time.perf_counter() - start:.1f} s", flush=True)
    return worst > TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
