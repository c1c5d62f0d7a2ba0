"""Models that NNSmith makes at random and PyTorch exports: what relex computes of each, beside ONNX Runtime.

    python extras/onnx/tests/nnsmith_models.py                          # 500 models
    python extras/onnx/tests/nnsmith_models.py --models 50 --seed 1000  # others
    python extras/onnx/tests/nnsmith_models.py --replay nnsmith/17.onnx # one that was written before

Each model is a function of its seed, and is tried in a separate process. What becomes of it:

* `equal`: relex and ONNX Runtime agree.
* `unstable`: they differ only where the model does, if what it computes changes in the last digits, or where ONNX
  leaves open what a node computes, as the integer of NaN.
* `differs`: relex is wrong, or ONNX Runtime is, as judged by the model in 64 bits.
* `unsupported`: the importer refuses an operator, and says which.
* `broken`: anything else: an error of the compiler, a crash, no end.

Seeds of which NNSmith makes no model, or one that PyTorch does not export or ONNX Runtime does not run, are passed
over. Models that are not equal are written into a folder, with their inputs as `.npz`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from itertools import count, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

Arrays = Mapping[str, NDArray[Any]]

Verdict = Literal["equal", "unstable", "differs", "unsupported", "broken", "no model"]

VERSIONS = range(13, 21)
"""The operator sets that PyTorch exports to, one after the other."""

ELEMENTS = 512
"""The largest number of elements of a tensor."""

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
"""The element types of models. ONNX Runtime refuses many operators for some of them."""

TRIES = 20
"""How many operators are tried for each one of a model: some fit nowhere."""

SECONDS = 120
"""The time that a model may take until it counts as endless."""

CHANGE = 8
"""By how many units in the last place numbers are changed, in units of the narrowest float type. What a result changes
by shows what rounding may do to it, and where a comparison or `floor` is undecided."""

CHANGES = 6
"""How often they are changed."""

LIMITS: dict[int, float] = {
    TensorProto.UINT8: 127,
    TensorProto.INT8: 127,
    TensorProto.INT16: 2.0**15 - 1,
    TensorProto.INT32: 2.0**31 - 1,
    TensorProto.INT64: 2.0**63 - 1024,
}
"""The largest number that becomes an integer, by its type."""

FLOATS: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
}
"""The float types, the narrowest first."""

ORDERING = ("ArgMax", "ArgMin", "Clip", "LeakyRelu", "Max", "Min", "PRelu", "ReduceMax", "ReduceMin", "Relu")
"""Operators for which ONNX leaves open what they compute of NaN."""


class NoModel(Exception):
    """Raised for a seed that makes no model, with the reason."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of a model. `message` says why it is not equal, `operators` is what it consists of."""

    seed: int
    verdict: Verdict
    message: str = ""
    operators: tuple[str, ...] = ()


@cache
def operators() -> Sequence[Any]:
    """Return NNSmith's operators, with the element types that are tried."""
    dtypes = {import_module("nnsmith.abstract.dtype").DType[name] for name in DTYPES}
    found: list[Any] = []
    for operator in exporter().operators():
        takes, gives = ([c for c in combinations if set(c) <= dtypes] for combinations in _combinations(operator))
        if takes and gives:
            operator.in_dtypes, operator.out_dtypes = takes, gives
            found.append(operator)
    return found


def _combinations(operator: Any) -> tuple[Any, Any]:
    return operator.in_dtypes, operator.out_dtypes


@cache
def exporter() -> Any:
    """Return NNSmith's class of models that become ONNX files."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(action="ignore"):
        models = import_module("nnsmith.materialize.onnx").ONNXModelCPU
    models.add_seed_setter()
    return models


def generate(seed: int, nodes: int) -> tuple[ModelProto, Arrays]:
    """Return the model of a seed, and inputs for it. Raises `NoModel` if there is none."""
    models, made = exporter(), operators()
    # Other threads would wait busily: all tensors are small. Each thread of this process has its own number.
    import_module("torch").set_num_threads(1)
    import_module("nnsmith.util").set_seed(seed)
    tried = count()
    try:
        generator = import_module("nnsmith.graph_gen").SymbolicGen(
            made, seed, symbolic_init=False, max_elem_per_tensor=ELEMENTS
        )
        # Not the clock ends the search, so that a seed makes the same model everywhere.
        generator.extra_exit_check = partial(_tried_enough, tried, TRIES * nodes)
        generator.abstract_gen(max_node_size=nodes, max_gen_millisec=1_000_000)
        net = models.from_gir(generator.make_concrete()).torch_model
    except Exception as e:
        raise NoModel(f"NNSmith: {type(e).__name__}") from e
    search = import_module("nnsmith.materialize.torch.input_gen").SamplingSearch(net)
    # Inputs and weights for which nothing is NaN or infinite, where a few trials find them.
    inputs = search.search(max_sample=8)[1] or net.get_random_inps()
    try:
        model = export(net, inputs, VERSIONS[seed % len(VERSIONS)])
    except Exception as e:
        raise NoModel(f"torch.onnx.export: {type(e).__name__}") from e
    return model, {name: tensor.detach().numpy() for name, tensor in inputs.items()}


def _tried_enough(tried: Iterator[int], most: int, nodes: int) -> bool:
    return next(tried) == most


def export(net: Any, inputs: Mapping[str, Any], version: int) -> ModelProto:
    """Return a model of PyTorch in the format ONNX, as it is: PyTorch folds no constants."""
    file = BytesIO()
    import_module("torch").onnx.export(
        net.eval(),
        tuple(inputs.values()),
        file,
        input_names=list(net.input_like),
        output_names=list(net.output_like),
        opset_version=version,
        do_constant_folding=False,
        dynamo=False,
    )
    return onnx.load_model_from_string(file.getvalue())


def by_onnx_runtime(model: ModelProto, inputs: Arrays) -> list[NDArray[Any]]:
    """Return the results of ONNX Runtime, which runs the nodes as they are. Raises `NoModel` if it does not."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        taken = {i.name for i in session.get_inputs()}
        return session.run(None, {name: array for name, array in inputs.items() if name in taken})
    except Exception as e:
        raise NoModel(f"ONNX Runtime: {str(e).partition(' node with name')[0][:100]}") from e


def doubled(model: ModelProto) -> ModelProto:
    """Return a model with f64 in place of all other float types."""
    result = ModelProto()
    result.CopyFrom(model)
    del result.graph.value_info[:]
    for info in [*result.graph.input, *result.graph.output]:
        if info.type.tensor_type.elem_type in FLOATS:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in result.graph.initializer:
        _double(tensor)
    for node in result.graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _double(attribute.t)
            elif node.op_type == "Cast" and attribute.i in FLOATS:
                attribute.i = TensorProto.DOUBLE
    return result


def _double(tensor: TensorProto) -> None:
    if tensor.data_type in FLOATS:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), name))


def narrowest(model: ModelProto) -> np.finfo[Any]:
    """Return the limits of the narrowest float type of a model."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    found = {info.type.tensor_type.elem_type for info in (*graph.input, *graph.value_info, *graph.output)}
    return np.finfo(next((dtype for element, dtype in FLOATS.items() if element in found), np.float32))


def noisy(model: ModelProto, narrowest: np.finfo[Any], seed: int) -> ModelProto:
    """Return a model in 64 bits that rounds as it likes: each float that a node computes is changed in its last digits,
    and is 0 for every second seed if it is less than the smallest normal number.

    Where ONNX leaves open what a node computes, it computes something else each time: the largest of NaN and a number,
    an integer of a number that it cannot hold.
    """
    random = np.random.default_rng(seed)
    result = ModelProto()
    result.CopyFrom(onnx.shape_inference.infer_shapes(model))
    graph = result.graph
    floats = {i.name: _shape(i) for i in (*graph.input, *graph.value_info, *graph.output) if _is_double(i)}
    nodes = list(graph.node)
    del graph.node[:]

    def add(operator: str, *inputs: str | NDArray[np.float64], output: str = "") -> str:
        """Add a node, whose inputs may be numbers; return the name of its output."""
        names: list[str] = []
        for value in inputs:
            names.append(value if isinstance(value, str) else f"number.{len(graph.initializer)}")
            if not isinstance(value, str):
                graph.initializer.append(numpy_helper.from_array(value, names[-1]))
        graph.node.append(helper.make_node(operator, names, [output or f"noise.{len(graph.node)}"]))
        return graph.node[-1].output[0]

    def change(value: str, output: str = "") -> str:
        factors = 1 + CHANGE * float(narrowest.eps) * random.uniform(-1, 1, floats[output or value])
        if seed % 2:
            is_small = add("Less", add("Abs", value), np.asarray(float(narrowest.tiny)))
            value = add("Where", is_small, np.asarray(0.0), value)
        return add("Mul", value, np.asarray(factors), output=output)

    changed = {i.name: change(i.name) for i in graph.input if i.name in floats}
    for node in nodes:
        inputs = [changed.get(name, name) for name in node.input]
        limit = LIMITS.get(node.attribute[0].i) if node.op_type == "Cast" else np.inf
        if limit is not None and (node.op_type == "Cast" or node.op_type in ORDERING):
            # No number is less than NaN.
            other, largest = np.asarray(100 * random.normal()), np.asarray(limit)
            fits = [add("LessOrEqual", add("Abs", name), largest) if name in floats else "" for name in node.input]
            inputs = [add("Where", c, name, other) if c else name for c, name in zip(fits, inputs, strict=True)]
        outputs = [name for name in node.output if name in floats and node.op_type != "Constant"]
        node.input[:] = inputs
        node.output[:] = [f"{name}.exact" if name in outputs else name for name in node.output]
        graph.node.append(node)
        for name in outputs:
            change(f"{name}.exact", name)
    return result


def _is_double(info: ValueInfoProto) -> bool:
    return info.type.tensor_type.elem_type == TensorProto.DOUBLE


def _shape(info: ValueInfoProto) -> list[int]:
    """Return a shape, with 1 for sizes that are not known."""
    return [size.dim_value or 1 for size in info.type.tensor_type.shape.dim]


def references(model: ModelProto, inputs: Arrays) -> Iterator[list[NDArray[Any]]]:
    """Yield the results of the model in 64 bits by the interpreter, then the results of models that differ little."""
    wide = doubled(model)
    inputs = {name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in inputs.items()}
    yield _interpreted(wide, inputs)
    for seed in range(CHANGES):
        yield _interpreted(noisy(wide, narrowest(model), seed), inputs)


def _interpreted(model: ModelProto, inputs: Arrays) -> list[NDArray[Any]]:
    return _call(interpret(from_onnx(model))["main"], model, inputs)


def _call(function: Any, model: ModelProto, inputs: Arrays) -> list[NDArray[Any]]:
    """Call the function of a model with its inputs, some of which it may not have."""
    with np.errstate(all="ignore"):
        results = function(*(inputs[i.name] for i in model.graph.input if i.name in inputs))
    found: list[Any] = [*results] if isinstance(results, tuple) else [results]
    return [np.asarray(result) for result in found]


def close(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where two results are equal but for the rounding of a few operators.

    Floats may differ by 32 units in the last place, and by 4 of the largest element, because terms cancel. Integers and
    booleans are exact.
    """
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    epsilon = float(np.finfo(a.dtype).eps)
    with np.errstate(all="ignore"):
        return np.isclose(a, b, 32 * epsilon, 4 * epsilon * _largest(b), equal_nan=True)


def _largest(array: NDArray[Any]) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0))


def judge(model: ModelProto, inputs: Arrays, found: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]]):
    """Return what becomes of a model by the results of relex and of ONNX Runtime, and what differs."""
    if all(a.dtype == b.dtype and a.shape == b.shape and close(a, b).all() for a, b in zip(found, other, strict=True)):
        return "equal", ""
    expected, *near = references(model, inputs)
    for i, (a, b) in enumerate(zip(found, other, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return "differs", f"{i}: ONNX Runtime {b.dtype}{list(b.shape)}, relex {a.dtype}{list(a.shape)}"
        margin = tolerance(expected[i], [results[i] for results in near], a.dtype)
        with np.errstate(all="ignore"):
            wide_a, wide_b = (x.astype(np.float64) for x in (a, b))
            wrong = ~close(a, b) & ~(np.abs(wide_a - wide_b) <= margin) & np.isfinite(margin)
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            named = f"{model.graph.output[i].name}: {wrong.sum()} of {wrong.size} elements; at {list(at)}"
            return "differs", f"{named} reference {expected[i][at]}, ONNX Runtime {b[at]}, relex {a[at]}"
    return "unstable", ""


def tolerance(expected: NDArray[Any], near: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return by how much each element may differ: what little changes of the operands change it by, and infinity where
    floats overflow, where integers change, or where nothing is left of what was computed."""
    with np.errstate(all="ignore"):
        wide = expected.astype(np.float64)
        spread = np.max([np.abs(n.astype(np.float64) - wide) for n in near], axis=0)
        if dtype.kind != "f":
            return np.where(spread == 0, 0.0, np.inf)
        fits = np.abs(wide) < np.finfo(dtype).max / 8
        return np.where(fits & (spread <= _largest(wide) / 8), 4 * spread, np.inf)


def outcome(seed: int, model: ModelProto, inputs: Arrays) -> Outcome:
    """Run a model by relex and by ONNX Runtime. Raises `NoModel` if ONNX Runtime does not run it."""
    names = tuple(sorted({node.op_type for node in model.graph.node}))
    other = by_onnx_runtime(model, inputs)
    try:
        module = from_onnx(model)
    except CompileError as e:
        return Outcome(seed, "unsupported", e.diagnostics[0].message, names)
    except Exception as e:
        return Outcome(seed, "broken", f"import: {type(e).__name__}: {e}", names)
    try:
        found = _call(build(module, cache=False)["main"], model, inputs)
        verdict, message = judge(model, inputs, found, other)
    except Exception as e:
        return Outcome(seed, "broken", f"{type(e).__name__}: {e}", names)
    return Outcome(seed, verdict, message, names)


def try_seed(seed: int, nodes: int, folder: Path | None = None) -> Outcome:
    """Make the model of a seed and run it. What is not equal is written into a folder."""
    try:
        model, inputs = generate(seed, nodes)
        if folder is not None:
            write(folder, str(seed), model, inputs)
        result = outcome(seed, model, inputs)
    except NoModel as e:
        result = Outcome(seed, "no model", str(e))
    if folder is not None and result.verdict in ("equal", "no model", "unstable"):
        for path in _paths(folder, str(seed)):
            path.unlink(missing_ok=True)
    return result


def _paths(folder: Path, stem: str) -> tuple[Path, Path]:
    return folder / f"{stem}.onnx", folder / f"{stem}.npz"


def write(folder: Path, stem: str, model: ModelProto, inputs: Arrays) -> None:
    """Write a model and its inputs."""
    path, arrays = _paths(folder, stem)
    path.write_bytes(model.SerializeToString())
    named: dict[str, Any] = {**inputs}
    np.savez(arrays, **named)


def replay(path: Path) -> Outcome:
    """Run a model that was written."""
    model, arrays = _paths(path.parent, path.stem)
    with np.load(arrays) as inputs:
        return outcome(-1, onnx.load_model_from_string(model.read_bytes()), dict(inputs))


def _send(sender: Connection, seed: int, nodes: int, folder: Path) -> None:
    # PyTorch prints the models that it does not export.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sender.send(try_seed(seed, nodes, folder))


def try_apart(seed: int, nodes: int, folder: Path) -> Outcome:
    """Try a seed in a separate process: one that crashes or hangs is an outcome, too."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, seed, nodes, folder))
    process.start()
    sender.close()
    try:
        if receiver.poll(SECONDS):
            return receiver.recv()
        return Outcome(seed, "broken", f"does not come to an end in {SECONDS} seconds")
    except EOFError:
        process.join()
        return Outcome(seed, "broken", f"the process ended with {process.exitcode}")
    finally:
        process.kill()
        process.join()


def campaign(models: int, seed: int, nodes: int, jobs: int, folder: Path) -> list[Outcome]:
    """Try as many models; print what is not equal as it comes. Return what became of all seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    operators()
    found: list[Outcome] = []
    tried = 0
    seeds = count(seed)
    with ThreadPoolExecutor(jobs) as pool:
        while tried < models:
            chosen = list(islice(seeds, min(models - tried, 4 * jobs)))
            for result in pool.map(partial(try_apart, nodes=nodes, folder=folder), chosen):
                found.append(result)
                tried += result.verdict != "no model"
                if result.verdict not in ("equal", "no model", "unstable"):
                    print(f"{result.seed}: {result.verdict}: {result.message}", flush=True)
    return found


def summary(found: Sequence[Outcome]) -> str:
    """Return how many models had each outcome, why some were none, and what they consisted of."""
    verdicts = Counter(result.verdict for result in found)
    models = len(found) - verdicts.pop("no model", 0)
    lines = [f"{models} models: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())]
    for verdict in ("unsupported", "no model"):
        reasons = Counter(result.message for result in found if result.verdict == verdict)
        lines += [f"{n:6} {verdict}: {reason}" for reason, n in reasons.most_common(12)]
    names = Counter(name for result in found for name in result.operators)
    return "\n".join(
        [*lines, f"{len(names)} operators: " + ", ".join(f"{name} {n}" for name, n in names.most_common())]
    )


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=500, help="how many models (500)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first; the next ones follow (0)")
    parser.add_argument("--nodes", type=int, default=8, help="the number of operators that NNSmith aims at (8)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--output", type=Path, default=Path("nnsmith"), help="the folder for models that are not equal")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try a model that was written before")
    options = parser.parse_args()
    if options.replay is not None:
        result = replay(options.replay)
        print(f"{options.replay}: {result.verdict}{f': {result.message}' if result.message else ''}")
        return result.verdict not in ("equal", "unstable")
    found = campaign(options.models, options.seed, options.nodes, options.jobs, options.output)
    print(summary(found))
    return any(result.verdict in ("differs", "broken") for result in found)


if __name__ == "__main__":
    sys.exit(main())
