"""
Bounds on how far two correct results of a program may lie apart.

A program may have several correct results. relex allows (`docs/checking.md` explains it to users):

* Elementwise arithmetic is IEEE arithmetic: one result. So are data movement, comparisons, integers.
* Additions with `reassoc` may be reordered within their chain, and a product with `contract` may be fused into them
  without rounding. A sum of K terms is then off from the exact one by at most K roundings of the sum of the absolute
  values, so two correct ones lie at most twice as far apart. Sums whose partial sums are all multiples of one power of
  two, and small enough to be representable, are the same in any order: samples of small integers produce such sums, and
  these must match bit by bit.
* Functions beyond arithmetic (`exp`, `tanh`, ...) may come from any library: two results may lie `FUNCTION_ULPS` apart.
* The sign of a zero is unspecified where a maximum or minimum chooses between zeros, and in reordered sums.
* Any NaN is as good as another: the integer that has the bits of one is unspecified.

`BoundedNumbers` propagates this through a run of the interpreter: each number carries its *spread*, the maximum
distance between two correct values of it. An operation on numbers with a spread gives one with a spread: the spread of
the exact operation over all correct operands, plus two roundings. Results without a known bound (a quotient whose
divisor may be zero, a selection that may go either way) have an infinite spread and are not compared; if control flow
depends on such a number, the run ends with `Undecided`. Where a program works on the bits of such a number, as after
`expand-math`, nothing is known: there, the bounds of the earlier program apply. Operators of the graph level run as the
loops that `legalize-ops` makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.arrays import Array
from relex.dialects.dtypes import element_type_of
from relex.dialects.errors import PassError
from relex.dialects.relex import Operator
from relex.dialects.tir import PrimFuncOp
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.reference.equivalence.bounded import Undecided, bounded_dtype, plain, spread_of, value_of
from relex.reference.equivalence.spread_rules import RULES, Rule, known_if_operands_are
from relex.reference.interpreter.memory import Buffer, fresh_array
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.program import Function, Program


class BoundedNumbers(Numbers):
    """Numbers with the spread of their correct values."""

    def __init__(self) -> None:
        super().__init__(checked=True)
        self._loops: dict[object, Function | None] = {}

    def constant(self, value: Any, element_type: Attribute) -> Any:
        return value if isinstance(element_type, IndexType) else plain(value)

    def fresh_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], element_type: Attribute) -> Array:
        array = fresh_array(shape, dtype, checked=True)
        if isinstance(element_type, IndexType):
            return array
        result = np.zeros(shape, bounded_dtype(dtype))
        result["value"] = array
        return result

    def decided(self, value: Any) -> Any:
        if not value.dtype.names:
            return value
        if np.any(spread_of(value) != 0):
            raise Undecided
        return value_of(value)

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, Operator):
            return lambda *arrays: self._run_operator(op, function, arrays)
        if isinstance(op.results[0].type, IndexType):
            return lambda *numbers: function(*map(self.decided, numbers))
        rule = self.rule_of(op)

        def run(*numbers: Any) -> Any:
            value = function(*map(value_of, numbers))
            if len(op.results) > 1:
                return tuple(known_if_operands_are(op, part, *numbers) for part in value)
            return rule(op, value, *numbers)

        return run

    def rule_of(self, op: Operation) -> Rule:
        """Return the function that bounds the result of an op."""
        return RULES.find(op) or known_if_operands_are

    def of_loops(self) -> BoundedNumbers:
        """Return the numbers for the loops that operators run as."""
        return type(self)()

    def result_of(self, op: Operator, result: Any) -> Any:
        """Return a result of a graph operator with the spread that it has in a program."""
        return result

    def in_place(self, op: Operation, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
        def run(*arrays: Array) -> None:
            count = len(arrays) - outputs
            inputs = arrays[:count]
            values = [np.array(value_of(array)) for array in arrays]
            function(*values)
            for output, value in zip(arrays[count:], values[count:], strict=True):
                output[...] = known_if_operands_are(op, value, *(_any_spread(array) for array in inputs))

        return run

    def _run_operator(self, op: Operator, evaluate: Callable[..., Any], arrays: Sequence[Array]) -> Any:
        values = [np.asarray(value_of(array)) for array in arrays]
        types = [TensorType(element_type_of(value.dtype), value.shape) for value in values]
        key = (op, *types)
        if key not in self._loops:
            self._loops[key] = as_loops(op, types, self.of_loops())
        loops = self._loops[key]
        found = evaluate(*values)
        results = cast("tuple[Array, ...]", found) if isinstance(found, tuple) else (found,)
        if loops is None:
            spread = max([_any_spread(array)["spread"] for array in arrays], default=0.0)
            outputs = tuple(plain(result, spread) for result in results)
        else:
            outputs = tuple(self.fresh_array(r.shape, r.dtype, element_type_of(r.dtype)) for r in results)
            loops(*map(Buffer.read_only, map(np.asarray, arrays)), *map(Buffer, outputs))
        outputs = tuple(self.result_of(op, output) for output in outputs)
        return outputs if isinstance(found, tuple) else outputs[0]


def as_loops(op: Operator, types: Sequence[TensorType[Attribute]], numbers: Numbers) -> Function | None:
    """Return the loop function of an operator on operands of static types; None if there is none."""
    operands = [create_ssa_value(t) for t in types]
    block = Block(arg_types=types)
    static = type(op).create(
        operands=block.args, properties=dict(op.properties), result_types=op.types_of_results(types, op.properties)
    )
    block.add_ops([static, ReturnOp(*static.results)])
    main = FuncOp("main", ([v.type for v in operands], static.result_types), Region(block))
    module = ModuleOp([main])
    try:
        LegalizeOpsPass().apply(Context(), module)
    except PassError:
        return None
    loops = next(inner for inner in module.ops if isinstance(inner, PrimFuncOp))
    return Program(module, numbers=numbers).function(loops)


def _any_spread(array: Array) -> Any:
    """Return one number that is known if all elements of an array are."""
    return plain(np.False_, np.inf if np.any(spread_of(array) != 0) else 0.0)
