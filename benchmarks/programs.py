"""Programs with branches, loops and sizes that depend on elements, beside the same in C.

C is compiled by `cc -O3 -march=native`, with sums in any order, and called by `ctypes` on arrays that exist; relex is
called as a user would, with fresh results. Both compute on one thread, in turns; the table shows medians of processor
time. Every result is first compared with the other's.

    python -m benchmarks.programs
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.frontend import BlockBuilder, Var, const, op
from relex.runtime import build

Array = np.ndarray[Any, np.dtype[Any]]

ROUNDS = 31

SUMS_IN_ANY_ORDER = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
"""What relex permits, too."""

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>

void steps_to_one(const int64_t *first, int64_t *count) {
  int64_t n = *first, steps = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    steps++;
  }
  *count = steps;
}

void cube_root(const double *a, double *root) {
  double x = 1;
  while (fabs(x * x * x - *a) > 1e-12 * *a)
    x = x - (x * x * x - *a) / (3 * x * x);
  *root = x;
}

int64_t encode(const int64_t *x, int64_t n, int64_t *values, int64_t *lengths) {
  int64_t runs = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || x[i] != x[i - 1]) {
      values[runs] = x[i];
      lengths[runs++] = 0;
    }
    lengths[runs - 1]++;
  }
  return runs;
}

static float shared(const float *a, const float *b) {
  float top = fmaxf(a[0], b[0]), left = fmaxf(a[1], b[1]);
  float bottom = fminf(a[2], b[2]), right = fminf(a[3], b[3]);
  float both = fmaxf(bottom - top, 0) * fmaxf(right - left, 0);
  float areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
  return both / (areas - both);
}

/* Boxes in the order of their scores. */
int64_t suppress(const float *boxes, const int64_t *order, int64_t n, int64_t most, float limit, int64_t *selected) {
  int64_t count = 0;
  for (int64_t i = 0; i < n && count < most; i++) {
    const float *box = boxes + 4 * order[i];
    int kept = 1;
    for (int64_t j = 0; j < count && kept; j++)
      kept = !(shared(box, boxes + 4 * selected[j]) > limit);
    if (kept)
      selected[count++] = order[i];
  }
  return count;
}

int64_t decode(int64_t token, const float *embedding, const float *recurrence, const float *output, int64_t words,
               int64_t width, int64_t most, float *state, float *next, int64_t *tokens) {
  int64_t count = 0;
  memset(state, 0, width * sizeof(float));
  while (count < most && token != 0) {
    for (int64_t i = 0; i < width; i++) {
      float sum = 0;
      for (int64_t k = 0; k < width; k++)
        sum += recurrence[i * width + k] * state[k];
      next[i] = tanhf(sum + embedding[token * width + i]);
    }
    float best = -INFINITY;
    for (int64_t i = 0; i < words; i++) {
      float sum = 0;
      for (int64_t k = 0; k < width; k++)
        sum += output[i * width + k] * next[k];
      if (sum > best) {
        best = sum;
        token = i;
      }
    }
    memcpy(state, next, width * sizeof(float));
    tokens[count++] = token;
  }
  return count;
}
"""


def steps_to_one() -> ModuleOp:
    """Halve an even number, or triple an odd one and add 1, until it is 1."""
    bb = BlockBuilder()
    first = Var("first", (), "int64")
    with bb.function("main", [first]):

        def trip(n: Any, steps: Any) -> tuple[Any, Any]:
            is_even = op.equal(op.mod(n, 2), 0)
            return op.where(is_even, op.floor_divide(n, 2), op.add(op.multiply(n, 3), 1)), op.add(steps, 1)

        def goes_on(n: Any, _steps: Any) -> Any:
            return op.not_equal(n, 1)

        _, steps = bb.while_(goes_on, trip, first, const(np.int64(0)))
        bb.emit_func_output(steps)
    return bb.get()


def cube_root() -> ModuleOp:
    """Newton's method in f64 until it has converged."""
    bb = BlockBuilder()
    a = Var("a", (), "float64")
    with bb.function("main", [a]):

        def error(x: Any) -> Any:
            return op.subtract(op.multiply(op.multiply(x, x), x), a)

        def is_far(x: Any) -> Any:
            return op.greater(op.abs(error(x)), op.multiply(a, 1e-12))

        def trip(x: Any) -> Any:
            return op.subtract(x, op.divide(error(x), op.multiply(op.multiply(x, x), 3.0)))

        bb.emit_func_output(bb.while_(is_far, trip, const(np.float64(1))))
    return bb.get()


ENCODE = """
func.func @main(%x: tensor<?xi64> {relex.dims = ["n"]}) -> (tensor<?xi64>, tensor<?xi64>) {
  %before = relex.strided_slice %x axes = [0] begin = [0] end = [-1] : (tensor<?xi64>) -> tensor<?xi64>
  %after = relex.strided_slice %x axes = [0] begin = [1] end = [9223372036854775807] : (tensor<?xi64>) -> tensor<?xi64>
  %differs = relex.not_equal %before, %after : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
  %true = relex.constant dense<true> : tensor<1xi1>
  %starts = relex.concat %true, %differs : (tensor<1xi1>, tensor<?xi1>) -> tensor<?xi1>
  %places = relex.nonzero %starts : (tensor<?xi1>) -> tensor<?x1xi64>
  %firsts = relex.squeeze %places axis = [1] : (tensor<?x1xi64>) -> tensor<?xi64>
  %later = relex.strided_slice %firsts axes = [0] begin = [1] end = [9223372036854775807]
      : (tensor<?xi64>) -> tensor<?xi64>
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xi64>
  %count = arith.index_cast %size : index to i64
  %end = tensor.from_elements %count : tensor<1xi64>
  %ends = relex.concat %later, %end : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %lengths = relex.subtract %ends, %firsts : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %values = relex.take %x, %firsts axis = 0 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  func.return %values, %lengths : tensor<?xi64>, tensor<?xi64>
}
"""


def suppress(most: int, limit: float) -> ModuleOp:
    """The best boxes that do not overlap by more than `limit`."""
    bb = BlockBuilder()
    boxes, scores = Var("boxes", ("n", 4), "float32"), Var("scores", ("n",), "float32")
    with bb.function("main", [boxes, scores]):
        numbers = const(np.array(most)), const(np.float32(limit)), const(np.float32(-1))
        selected = op.non_max_suppression(
            op.expand_dims(boxes, 0), op.expand_dims(scores, [0, 1]), numbers[0], numbers[1], numbers[2]
        )
        bb.emit_func_output(op.take(selected, const(np.array(2)), axis=1))
    return bb.get()


def decode(embedding: Array, recurrence: Array, output: Array, most: int) -> ModuleOp:
    """The tokens that a recurrent model writes after the first, until it writes 0."""
    bb = BlockBuilder()
    first = Var("first", (), "int64")
    with bb.function("main", [first]):

        def goes_on(i: Any, token: Any, _state: Any, _tokens: Any) -> Any:
            return op.logical_and(op.less(i, most), op.not_equal(token, 0))

        def trip(i: Any, token: Any, state: Any, tokens: Any) -> tuple[Any, ...]:
            state = bb.emit(op.tanh(op.dense(state, const(recurrence)) + op.take(const(embedding), token, axis=0)))
            token = bb.emit(op.argmax(op.dense(state, const(output)), axis=0))
            tokens = op.scatter_nd(tokens, op.expand_dims(i, [0, 1]), op.expand_dims(token, 0))
            return op.add(i, 1), token, state, tokens

        width = recurrence.shape[0]
        start = const(np.int64(0)), first, const(np.zeros(width, np.float32)), const(np.zeros(most, np.int64))
        count, _, _, tokens = bb.while_(goes_on, trip, *start)
        bb.emit_func_output([tokens, count])
    return bb.get()


@dataclass(frozen=True)
class Row:
    """A program, its arguments, and the same in C, which returns what the program returns."""

    name: str
    program: ModuleOp | str
    arguments: Sequence[Array]
    in_c: Callable[[], tuple[Array, ...]]


def pointer(array: Array) -> ctypes.c_void_p:
    """The address of an array, which it keeps alive."""
    return array.ctypes.data_as(ctypes.c_void_p)


def rows(library: ctypes.CDLL) -> list[Row]:
    """All rows."""
    rng = np.random.default_rng(0)
    for name in ("encode", "suppress", "decode"):
        getattr(library, name).restype = ctypes.c_int64

    def scalar(name: str, argument: Array, result: Array) -> Callable[[], tuple[Array]]:
        call, places = library[name], (pointer(argument), pointer(result))

        def called() -> tuple[Array]:
            call(*places)
            return (result,)

        return called

    # The largest number of steps below 10^8, and a root that takes some.
    long, number = np.array(63_728_127), np.array(1e30)
    runs = np.repeat(rng.integers(0, 10, 200_000), rng.integers(1, 10, 200_000))
    values, lengths = np.empty_like(runs), np.empty_like(runs)

    def encoded() -> tuple[Array, ...]:
        count = library.encode(pointer(runs), ctypes.c_int64(runs.size), pointer(values), pointer(lengths))
        return values[:count], lengths[:count]

    corners = rng.random((1000, 2), np.float32) * 100
    boxes = np.concatenate([corners, corners + 5 + 20 * rng.random((1000, 2), np.float32)], axis=1)
    scores = rng.random(1000, np.float32)
    selected = np.empty(100, np.int64)

    def suppressed() -> tuple[Array, ...]:
        order = np.argsort(-scores, kind="stable")
        count = library.suppress(
            pointer(boxes),
            pointer(order),
            ctypes.c_int64(1000),
            ctypes.c_int64(100),
            ctypes.c_float(0.5),
            pointer(selected),
        )
        return (selected[:count],)

    result: list[Row] = [
        Row("steps to 1", steps_to_one(), [long], scalar("steps_to_one", long, np.empty((), np.int64))),
        Row("cube root", cube_root(), [number], scalar("cube_root", number, np.empty(()))),
        Row("run lengths", ENCODE, [runs], encoded),
        Row("suppression", suppress(100, 0.5), [boxes, scores], suppressed),
    ]
    for width in (8, 256):
        result.append(_decoding(library, width, rng))
    return result


def _decoding(library: ctypes.CDLL, width: int, rng: np.random.Generator) -> Row:
    words, most = 50, 100
    embedding, output = rng.standard_normal((2, words, width)).astype(np.float32)
    recurrence = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
    output[0] = 0  # It writes other words for long.
    state, after, tokens = np.empty(width, np.float32), np.empty(width, np.float32), np.zeros(most, np.int64)

    arrays = [pointer(array) for array in (embedding, recurrence, output)]
    numbers = [ctypes.c_int64(number) for number in (words, width, most)]
    own = [pointer(array) for array in (state, after, tokens)]

    def decoded() -> tuple[Array, ...]:
        tokens.fill(0)
        return tokens, np.array(library.decode(ctypes.c_int64(1), *arrays, *numbers, *own))

    program = decode(embedding, recurrence, output, most)
    return Row(f"greedy decoding, width {width}", program, [np.array(1)], decoded)


def compiled_c(folder: Path) -> ctypes.CDLL:
    """The programs in C."""
    source, library = folder / "programs.c", folder / "programs.so"
    source.write_text(SOURCE)
    options = ["-O3", "-march=native", *SUMS_IN_ANY_ORDER, "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", str(library), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def seconds(call: Callable[[], object], calls: int) -> float:
    """The time of a call, of several."""
    start = thread_time()
    for _ in range(calls):
        call()
    return (thread_time() - start) / calls


def measure(row: Row) -> str:
    """A line of the table."""
    function = partial(build(row.program)["main"], *row.arguments)
    found: Any = function()
    results = cast("tuple[Array, ...]", found if isinstance(found, tuple) else (found,))
    for result, wanted in zip(results, row.in_c(), strict=True):
        np.testing.assert_allclose(result, wanted, 1e-6)
    calls = max(1, int(0.01 / seconds(function, 3)))
    turns = [(seconds(function, calls), seconds(row.in_c, calls)) for _ in range(ROUNDS)]
    own, other = (median(turn[i] for turn in turns) * 1e6 for i in range(2))
    ratio = median(turn[0] / turn[1] for turn in turns)
    return f"| {row.name} | {own:.1f} | {other:.1f} | {ratio:.2f} |"


def main() -> None:
    """Print the table."""
    print("| program | relex, us | C, us | ratio |\n|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for row in rows(compiled_c(Path(folder))):
            print(measure(row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
