"""Interpretation in a domain: programs of any level run on cells in place of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType, VectorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.hints import isa
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.arrays import Array
from relex.dialects.errors import PassError
from relex.dialects.relex import Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.tir import PrimFuncOp
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.operators import evaluate
from relex.reference.domains.symbols import SymbolHead
from relex.reference.interpreter.memory import Buffer, signless
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.program import PreparedFunction, Program
from relex.reference.interpreter.scalars import dtype_of


class DomainNumbers(Numbers):
    """Cells of a domain in place of numbers, whose dtype has fields. Indices stay numbers."""

    def __init__(self, domain: Domain):
        super().__init__(checked=True)
        self.domain = domain
        self.assumed: set[str] = set()
        """The operators whose meaning was taken from the loops that `legalize-ops` makes of them."""
        self._loops: dict[object, PreparedFunction | None] = {}

    def fresh_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], element_type: Attribute) -> Array:
        array = super().fresh_array(shape, dtype, element_type)
        return array if is_index(element_type) else self.domain.constants(array)

    def cells_of(self, number: Any, dtype: np.dtype[Any]) -> Any:
        """Return the cells of numbers of a dtype, in the representation of a run or NumPy's."""
        if number.dtype.names:
            return number
        return self.domain.constants(np.asarray(number).astype(signless(dtype), copy=False))[()]

    def number_of(self, cells: Any, dtype: np.dtype[Any]) -> Any:
        """Return the representation of cells of a dtype in a run."""
        return cells

    def constant(self, value: Any, element_type: Attribute) -> Any:
        if isinstance(element_type, IndexType) or (isa(element_type, VectorType) and is_index(element_type)):
            return value
        array = np.asarray(value)
        return self.number_of(self.cells_of(array, array.dtype), array.dtype)[()]

    def decided(self, value: Any) -> Any:
        if not value.dtype.names:
            return value
        values = self.domain.values(np.asarray(value))
        if values is None:
            raise self.undecided()
        return values[()]

    def undecided(self) -> Exception:
        """Return the exception for a mask, control flow or an index that depends on a number that is not known."""
        raise NotImplementedError

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, Operator):
            return lambda *arrays: self.run_operator(op, arrays)
        if is_index(op.results[0].type):
            return lambda *numbers: function(*map(self.decided, numbers))
        dtypes = [dtype_of(op, v.type) for v in op.operands]
        makes = [self.make_result(op, function, i) for i in range(len(op.results))]

        def run(*numbers: Any) -> Any:
            cells = [self.cells_of(number, dtype) for number, dtype in zip(numbers, dtypes, strict=True)]
            found = [make(*cells)[()] for make in makes]
            return tuple(found) if len(found) > 1 else found[0]

        return run

    def make_result(self, op: Operation, function: Callable[..., Any], number: int) -> Make:
        """Return the function of one of an op's results."""
        if len(op.results) == 1:
            return self.domain.make_op(op, function)

        def of_one(*values: Any) -> Any:
            return function(*values)[number]

        dtype = dtype_of(op, op.results[number].type)
        return self.domain.make(SymbolHead(f"{op.name} {number}", dtype, str(op.operands[0].type), of_one))

    def run_operator(self, op: Operator, arrays: Sequence[Any]) -> Any:
        """Return the results of a graph operator: by its own definition, or by its loops."""
        types = [tensor_type(v.type) for v in op.operands]
        dtypes = [signless(dtype_of(op, t.element_type)) for t in types]
        cells = [_signless(self.cells_of(a, d)) for a, d in zip(arrays, dtypes, strict=True)]
        found = evaluate(op, self.domain, cells)
        if found is None:
            found = self._run_loops(op, types, cells, dtypes)
        results = tuple(self.number_of(array, dtype) for array, dtype in found)
        return results[0] if len(results) == 1 else results

    def _run_loops(
        self, op: Operator, operands: Sequence[TensorType[Attribute]], cells: Sequence[Array], dtypes: Sequence[Any]
    ) -> Sequence[tuple[Array, np.dtype[Any]]]:
        types = [TensorType(t.element_type, a.shape) for t, a in zip(operands, cells, strict=True)]
        key = (op, *types)
        if key not in self._loops:
            # The loops of an operator that counts are two functions, with a number between them.
            self._loops[key] = None if op.COUNTS else _as_loops(op, types, self)
        loops = self._loops[key]
        inferred = op.types_of_results(types, op.properties)
        results = [(tuple(t.get_shape()), signless(dtype_of(op, t.element_type)), t.element_type) for t in inferred]
        if loops is None:
            return self.without_loops(op, cells, [(shape, dtype) for shape, dtype, _ in results])
        self.assumed.add(op.name)
        outputs = [self.fresh_array(*result) for result in results]
        inputs = [self.number_of(a, d) for a, d in zip(cells, dtypes, strict=True)]
        loops(*map(Buffer.read_only, map(np.asarray, inputs)), *map(Buffer, outputs))
        return [
            (np.asarray(self.cells_of(array, dtype)), dtype)
            for array, (_, dtype, _) in zip(outputs, results, strict=True)
        ]

    def without_loops(
        self, op: Operator, cells: Sequence[Array], results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> Sequence[tuple[Array, np.dtype[Any]]]:
        """Return the results of an operator that has no meaning in the domain, neither by its definition nor as loops,
        given their shapes and dtypes."""
        raise NotImplementedError


def _signless(cells: Any) -> Array:
    array = np.asarray(cells)
    return array.view(signless(array.dtype))


def is_index(t: Attribute) -> bool:
    """Return whether numbers of a type are indices, or vectors of indices."""
    return isinstance(t.element_type if isa(t, VectorType) else t, IndexType)


def _as_loops(op: Operator, types: Sequence[TensorType[Attribute]], numbers: Numbers) -> PreparedFunction | None:
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
