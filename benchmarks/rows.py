"""The benchmarks: each is a row of the tables.

A row defines once what it computes, on the `Operators` of any contender. To add a row, add an entry to `ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from benchmarks.models import NETWORKS, layers

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


class Operators(Protocol):
    """The operators that a contender implements, on its own kind of tensors."""

    def dense(self, x: Any, w: Any) -> Any:
        """Multiply x[M, K] by the transpose of w[N, K]."""

    def matmul(self, x: Any, y: Any) -> Any:
        """Multiply two matrices."""

    def add(self, x: Any, y: Any) -> Any:
        """Add two tensors, with broadcasting."""

    def multiply(self, x: Any, y: Any) -> Any:
        """Multiply two tensors elementwise."""

    def relu(self, x: Any) -> Any:
        """The maximum of each element and 0."""

    def exp(self, x: Any) -> Any:
        """The exponential of each element."""

    def sum(self, x: Any, axis: int | None) -> Any:
        """Sum along one axis, or over all elements."""

    def max(self, x: Any, axis: int) -> Any:
        """The maxima along one axis."""

    def softmax(self, x: Any) -> Any:
        """Softmax along the last axis."""

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """Layer normalization along the last axis, with an epsilon of 1e-5."""

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        """The softmax of q k^T * scale, times v, for queries q[H, N, D], keys k[H, M, D] and values v[H, M, D]."""

    def transpose(self, x: Any) -> Any:
        """Transpose a matrix into new memory."""

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        """Convolve x[N, C, H, W] with kernels[O, C, KH, KW]."""

    def max_pool2d(self, x: Any, size: int) -> Any:
        """The maximum of each `size` x `size` window of x[N, C, H, W]."""

    def flatten(self, x: Any) -> Any:
        """Reshape x[N, ...] to a matrix of N rows."""


class ArrayOperators:
    """The operators that are Python's own on the arrays of a library."""

    def dense(self, x: Any, w: Any) -> Any:
        return x @ w.T

    def matmul(self, x: Any, y: Any) -> Any:
        return x @ y

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y


@dataclass(frozen=True)
class Row:
    """A program: `compute` is called with operators, the inputs and the weights."""

    group: str
    name: str
    compute: Callable[..., Any]
    inputs: Shapes
    """Shapes of the arguments of each call."""
    weights: Shapes = field(default_factory=dict[str, Shape])
    """Shapes of the compile-time constants."""
    dtype: str = "float32"
    model: str = ""
    """The name of a model in `benchmarks.models`, for rows that are ONNX files: they have no `compute`."""

    def apply(self, operators: Operators, tensors: Sequence[Any]) -> Any:
        """Compute the row on tensors of a contender."""
        return self.compute(operators, *tensors)


def mlp(ops: Operators, x: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
    """A perceptron with two layers."""
    hidden = ops.relu(ops.add(ops.dense(x, w0), b0))
    return ops.add(ops.dense(hidden, w1), b1)


def lenet(ops: Operators, x: Any, k0: Any, b0: Any, k1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """The network of examples/lenet."""
    pooled = ops.max_pool2d(ops.relu(ops.add(ops.conv2d(x, k0, 1), b0)), 2)
    features = ops.relu(ops.add(ops.conv2d(pooled, k1, 1), b1))
    hidden = ops.relu(ops.add(ops.dense(ops.flatten(features), w2), b2))
    return ops.add(ops.dense(hidden, w3), b3)


def dense(ops: Operators, x: Any, w: Any) -> Any:
    """A dense layer without a bias."""
    return ops.dense(x, w)


def matmul(ops: Operators, x: Any, y: Any) -> Any:
    """A product of matrices."""
    return ops.matmul(x, y)


def add(ops: Operators, x: Any, y: Any) -> Any:
    """A sum of two tensors."""
    return ops.add(x, y)


def chain(ops: Operators, x: Any, y: Any) -> Any:
    """A chain of elementwise operators."""
    return ops.relu(ops.add(ops.multiply(x, y), y))


def exp(ops: Operators, x: Any) -> Any:
    """The exponential."""
    return ops.exp(x)


def total(ops: Operators, x: Any) -> Any:
    """The sum of all elements."""
    return ops.sum(x, None)


def column_sums(ops: Operators, x: Any) -> Any:
    """The sum of each column."""
    return ops.sum(x, 0)


def row_maxima(ops: Operators, x: Any) -> Any:
    """The maximum of each row."""
    return ops.max(x, 1)


def softmax(ops: Operators, x: Any) -> Any:
    """Softmax of each row."""
    return ops.softmax(x)


def layer_norm(ops: Operators, x: Any, scale: Any, shift: Any) -> Any:
    """Layer normalization of each row."""
    return ops.layer_norm(x, scale, shift)


def attention(ops: Operators, q: Any, k: Any, v: Any) -> Any:
    """Attention of several heads."""
    return ops.attention(q, k, v, 0.125)


def transpose(ops: Operators, x: Any) -> Any:
    """A transposed matrix."""
    return ops.transpose(x)


MLP_WEIGHTS: Shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
LENET_WEIGHTS: Shapes = {
    "k0": (8, 1, 3, 3),
    "b0": (8, 1, 1),
    "k1": (16, 8, 3, 3),
    "b1": (16, 1, 1),
    "w2": (64, 256),
    "b2": (64,),
    "w3": (10, 64),
    "b3": (10,),
}
PRODUCTS = (
    (1, 1024, 1024),
    (17, 33, 65),
    (128, 128, 128),
    (127, 253, 511),
    (4096, 64, 64),
    (64, 256, 4096),
    (512, 1024, 1024),
    (1024, 1024, 1024),
)
"""M, K and N of each product: rows of the first operand, length of the reduction, columns of the result."""


def networks() -> Iterator[Row]:
    """Yield the networks."""
    for batch in (1, 16, 256, 2048):
        yield Row("networks", f"MLP 784-128-10, batch {batch}", mlp, {"x": (batch, 784)}, MLP_WEIGHTS)
    for batch in (1, 360):
        yield Row("networks", f"LeNet, batch {batch}", lenet, {"x": (batch, 1, 8, 8)}, LENET_WEIGHTS)


def products() -> Iterator[Row]:
    """Yield the products of matrices."""
    for m, k, n in PRODUCTS:
        size = f"{m}x{k}x{n}"
        yield Row("dense, constant weights", f"dense {size}, constant", dense, {"x": (m, k)}, {"w": (n, k)})
    for m, k, n in PRODUCTS:
        size = f"{m}x{k}x{n}"
        yield Row("dense, run-time weights", f"dense {size}", dense, {"x": (m, k), "w": (n, k)})
    for m, k, n in PRODUCTS:
        size = f"{m}x{k}x{n}"
        yield Row("matmul", f"matmul {size}", matmul, {"x": (m, k), "y": (k, n)})


def elementwise() -> Iterator[Row]:
    """Yield the elementwise operators."""
    yield Row("elementwise", "x + y, 1 element", add, {"x": (1,), "y": (1,)})  # What a call costs.
    for n in (1000, 100_000, 10_000_000):
        yield Row("elementwise", f"relu(x * y + y), {n}", chain, {"x": (n,), "y": (n,)})
    yield Row("elementwise", "x[1000,1000] + y[1000]", add, {"x": (1000, 1000), "y": (1000,)})
    yield Row("elementwise", "exp(x), 100000", exp, {"x": (100_000,)})
    yield Row("elementwise", "transpose 1000x1000", transpose, {"x": (1000, 1000)})


def reductions() -> Iterator[Row]:
    """Yield the reductions."""
    for n in (1000, 100_000, 10_000_000):
        yield Row("reductions", f"sum, {n}", total, {"x": (n,)})
    matrix: Shapes = {"x": (1000, 1000)}
    yield Row("reductions", "sums of columns, 1000x1000", column_sums, matrix)
    yield Row("reductions", "maxima of rows, 1000x1000", row_maxima, matrix)
    yield Row("reductions", "softmax 64x1000", softmax, {"x": (64, 1000)})
    yield Row("reductions", "layer_norm 64x1024", layer_norm, {"x": (64, 1024)}, {"scale": (1024,), "shift": (1024,)})


def attentions() -> Iterator[Row]:
    """Yield attention of 12 heads of 64, for a single query and for as many as there are keys."""
    for queries, keys in ((1, 1000), (128, 128), (512, 512), (1024, 1024)):
        cache = {name: (12, keys, 64) for name in "kv"}
        yield Row("attention", f"attention {queries}x{keys}", attention, {"q": (12, queries, 64), **cache})


def only_a_file(ops: Operators, *tensors: Any) -> Any:
    """Stand for the computation of a row that is an ONNX file."""
    raise TypeError("the row is an ONNX file")


def files() -> Iterator[Row]:
    """Yield the models in ONNX, for the contenders that read them."""
    for name in NETWORKS:
        yield Row("ONNX files", f"{name}, batch 1", only_a_file, {"x": (1, 3, 224, 224)}, model=name)
    for batch, length in ((1, 128), (8, 64)):
        name, shape = f"transformer block, {batch}x{length}", (batch, length, 256)
        yield Row("ONNX files", name, only_a_file, {"x": shape}, model="transformer block")
    for length in (128, 512):
        yield Row(
            "ONNX files", f"BERT layer, {length} tokens", only_a_file, {"x": (1, length, 768)}, model="BERT layer"
        )
    for length, past in ((512, 0), (1, 1000)):
        name = f"GPT block, {length} tokens after {past}"
        cache = {name: (1, 12, past, 64) for name in ("past_k", "past_v")}
        yield Row("ONNX files", name, only_a_file, {"x": (1, length, 768), **cache}, model="GPT block")


def convolutions() -> Iterator[Row]:
    """Yield layers of networks, one for each shape."""
    for name, shape, _ in layers():
        yield Row("convolutions by layer", name, only_a_file, {"x": shape}, model=name)


def doubles() -> Iterator[Row]:
    """Yield some of the rows above in double precision."""
    chosen = ("MLP 784-128-10, batch 16", "dense 512x1024x1024", "matmul 127x253x511", "relu(x * y + y), 100000")
    for row in (*networks(), *products(), *elementwise(), *reductions()):
        if row.name in (*chosen, "sum, 100000", "softmax 64x1000"):
            yield replace(row, group="f64", name=f"{row.name}, f64", dtype="float64")


ROWS = {
    row.name: row
    for rows in (networks(), files(), convolutions(), products(), elementwise(), reductions(), attentions(), doubles())
    for row in rows
}
"""All rows by name, in the order of the tables."""
