"""Emission of the ops of a graph function: constants folded, and sizes followed through the program."""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.dialects.errors import Diagnostic
from relex.dialects.function_arguments import INOUT_ATTR, keep_argument_names, set_argument_attr, state_dims
from relex.dialects.index.atoms import Symbol
from relex.dialects.index.expr import terms_of
from relex.dialects.names import Names
from relex.dialects.relex import AssertOp, AstypeOp, CompressOp, ConstantOp, NonzeroOp, Operator, UniqueOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType, is_bytes, rank_of, without_names
from relex.dialects.sizes import (
    IndexExpr,
    Requirement,
    Size,
    Sizes,
    count,
    larger,
    name_of_size,
    named,
    names_in,
    never_negative,
    substitute,
)
from relex.dialects.sizes.attributes import state_requirements
from relex.dialects.sizes.implied import always_holds
from relex.dialects.sizes.late import data_name
from relex.frontend import op
from relex.frontend.graph_expressions import AnyOperand, Call, Constant, Expr, Operand
from relex.frontend.importing.conditions import at_least, requirements_of
from relex.frontend.importing.size_arithmetic import evaluate_on_sizes, parts_of
from relex.frontend.importing.values import Computed, Known, Tensor, element_type_of, refuse
from relex.frontend.named_sizes import NamedSizes

FOLDED = 1 << 16
"""Results of this many elements at most are computed at import if their operands are known: shapes, masks, tables.
Larger ones are left to the passes, so that a small file cannot ask for much memory."""

SIZES_FOLDED = 32
"""The most elements of arrays that are folded if some are sizes of the program: shapes have fewer."""


class Builder(NamedSizes):
    """A graph function under construction."""

    def __init__(self, file: str):
        self.block = Block()
        """The block that ops are added to: the function's, or one of a branch or a loop in it."""
        self._entry = self.block
        self.file = file
        self.location: LocationAttr = self.place("")
        """The location of the ops that are emitted next."""
        self._checked: set[Hashable] = set()
        self._requirements: list[Requirement] = []
        self._emitted: dict[Expr, Sequence[Tensor]] = {}
        self._constants: dict[Known, SSAValue] = {}
        self._computed: dict[Known, SSAValue] = {}
        self._last_constant: Operation | None = None
        self._names: list[str] = []
        self._dims: list[list[str]] = []
        self._arguments: dict[SSAValue, Computed] = {}
        """The arguments, and the tensors that have late sizes."""
        self._sources: dict[str, tuple[SSAValue, int]] = {}
        self._most: dict[str, Size] = {}
        """Bounds of late sizes."""
        self.problems: list[Diagnostic] = []
        """What could not be imported."""

    def place(self, path: str) -> FileLineColLoc:
        """Return the location of a part of the model by its path."""
        return FileLineColLoc(StringAttr(f"{self.file}:{path}" if path else self.file), IntAttr(0), IntAttr(0))

    def add_argument(self, name: str, element_type: Attribute, sizes: Sequence[Size]) -> Computed:
        """Add an argument to the function. Dynamic sizes are names."""
        argument = self._entry.insert_arg(TensorType(element_type, without_names(sizes)), len(self._entry.args))
        name_value(argument, name)
        self._names.append(name)
        self._dims.append([str(size) if isinstance(size, IndexExpr) else "" for size in sizes])
        for dimension, size in enumerate(sizes):
            if (size_name := name_of_size(size)) is not None:
                self._sources.setdefault(size_name, (argument, dimension))
        self._arguments[argument] = Computed(argument, sizes)
        return self._arguments[argument]

    def size_source(self, name: str) -> tuple[SSAValue, int]:
        if name not in self._sources:
            refuse(f"the size {name}, which no argument has; fix the size with `shapes=`")
        return self._sources[name]

    def tensor(self, expr: AnyOperand, like: Tensor | None = None) -> Tensor:
        """Emit the ops that compute an expression, each expression once. A number becomes a scalar like another
        tensor."""
        match expr:
            case Known() | Computed():
                return expr
            case Constant():
                return Known(expr.value)
            case Call():
                return self.results(expr)[0]
            case Expr() | SSAValue():
                raise TypeError(f"expected a tensor of the model, found {type(expr).__name__}")
            case _:
                return _number(expr, like)

    def results(self, call: Call) -> Sequence[Tensor]:
        """Emit the ops that compute a call, each call once, and return all of its results."""
        if call not in self._emitted:
            self._emitted[call] = self._call(call)
        return self._emitted[call]

    def value(self, expr: Operand) -> SSAValue:
        """Return the value of an expression in the program."""
        tensor = self.tensor(expr)
        if isinstance(tensor, Computed):
            return tensor.value
        if tensor.call is not None:
            if tensor not in self._computed:
                self._computed[tensor] = self._emit(tensor.call)[0].value
            return self._computed[tensor]
        if tensor.is_symbolic:
            return self.value(op.astype(_from_sizes(tensor.array), tensor.element_type))
        if tensor not in self._constants:
            self._constants[tensor] = self._constant(tensor)
        return self._constants[tensor]

    def finish(self, name: str, results: Sequence[SSAValue], replaced: Mapping[SSAValue, int] | None = None) -> FuncOp:
        """End the function with its results, of which some take the place of arguments: `replaced` has their
        numbers."""
        self.add(ReturnOp(*results))
        types = FunctionType.from_lists(self.block.arg_types, [value.type for value in results])
        function = FuncOp(name, types, Region(self.block))
        function.location = self.place("")
        keep_argument_names(function, self._names)
        for i, dims in enumerate(self._dims):
            state_dims(function, i, dims)
        for argument, number in (replaced or {}).items():
            assert isinstance(argument, BlockArgument)
            set_argument_attr(function, argument.index, INOUT_ATTR, IntegerAttr(number, i64))
        state_requirements(function, self._requirements)
        return function

    @contextmanager
    def region(self, block: Block) -> Generator[None]:
        """Add ops to a block of a branch or a loop. What is computed and checked in it is not known outside."""
        outer = self.block, self._emitted, self._computed, self._checked
        self.block = block
        self._emitted, self._computed, self._checked = {**self._emitted}, {**self._computed}, {*self._checked}
        try:
            yield
        finally:
            self.block, self._emitted, self._computed, self._checked = outer

    def state(self) -> tuple[Any, ...]:
        """Return what is known of sizes and problems, for `restore`."""
        return {**self._sources}, {**self._most}, [*self._requirements], [*self.problems]

    def restore(self, state: tuple[Any, ...]) -> None:
        """Forget what became known of sizes and problems in a block that is not used."""
        self._sources, self._most, self._requirements, self.problems[:] = state

    def expect(self, condition: Computed, message: str, index: Operand | None) -> None:
        """Let the program stop with an error unless a condition holds when it runs."""
        # xDSL reads strings of other characters as bytes.
        text = message.encode("ascii", "backslashreplace").decode()
        self.add(AssertOp(condition.value, text, None if index is None else self.value(index)))

    def require(self, condition: Size, message: str) -> None:
        """Let the function take sizes only for which a condition on them holds. Raises `RelexError` if it holds for
        none."""
        for requirement in requirements_of(condition):
            if requirement.holds is False:
                refuse(message or f"expected {requirement}")
            if requirement in self._requirements or always_holds(requirement):
                continue
            late = [
                name for size in (requirement.lhs, requirement.rhs) for name in names_in(size) if self.is_late(name)
            ]
            if late:
                refuse(f"expected no condition on {late[0]}, which only a run finds out, found {requirement}")
            self._requirements.append(requirement)

    def require_exact(self, known: Known) -> None:
        """Let the function take sizes only for which floats that are computed from them are not rounded, as sizes are
        made of the floats."""
        if known.call is None or not self.is_first_check(known):
            return
        limit = 2 ** (cast(Any, ml_dtypes).finfo(known.dtype).nmant + 1)
        for element in known.array.flat:
            dividend, _ = parts_of(element)
            if isinstance(dividend, IndexExpr):
                self.require(at_least(limit, dividend), "")
                self.require(at_least(dividend, -limit), "")
        for operand in known.call.args:
            if isinstance(operand, Call | Known) and isinstance(tensor := self.tensor(operand), Known):
                self.require_exact(tensor)

    def is_first_check(self, *what: Hashable) -> bool:
        """Return whether nothing like this was checked before."""
        is_first = what not in self._checked
        self._checked.add(what)
        return is_first

    def add(self, op: Operation) -> None:
        """Add an op at the location of the current node."""
        op.location = self.location
        self.block.add_op(op)

    def _call(self, call: Call) -> Sequence[Tensor]:
        return self._fold(call, self._operands(call)) or self._emit(call)

    def _operands(self, call: Call) -> Sequence[Tensor]:
        tensors = [self.tensor(arg) for arg in call.args if isinstance(arg, Expr)]
        # A number beside a condition is like the other operands.
        like = next((t for t in tensors if t.element_type != i1), tensors[0] if tensors else None)
        return [self.tensor(cast(Operand, arg), like) for arg in call.args]

    def _emit(self, call: Call) -> Sequence[Computed]:
        operands = self._operands(call)
        made = call.build(cast(Any, self), [self.value(operand) for operand in operands])
        self.add(made)
        return [Computed(*of_one) for of_one in zip(made.results, self._sizes_of_results(made, operands), strict=True)]

    def _fold(self, call: Call, operands: Sequence[Tensor]) -> Sequence[Known]:
        """Return the results of an operator on arrays that are known, unless they are large."""
        known = [operand for operand in operands if isinstance(operand, Known)]
        if len(known) != len(operands) or any(operand.array.size > FOLDED for operand in known):
            return []
        types = [TensorType(operand.element_type, operand.array.shape) for operand in known]
        try:
            made = call.build(cast(Any, _NoSizes()), list(Block(arg_types=types).args))
        except _OpenSize:
            return []
        if not isinstance(made, Operator) or not _is_small(made) or _widens_bytes(made):
            return []
        arrays = [operand.array for operand in known]
        if any(operand.is_symbolic for operand in known):
            is_shape = all(operand.array.size <= SIZES_FOLDED for operand in known)
            return self._fold_sizes(made, known, call) if is_shape else []
        return [Known(np.asarray(result)) for result in made.evaluate_results(*arrays)]

    def _fold_sizes(self, op: Operator, operands: Sequence[Known], call: Call) -> Sequence[Known]:
        found = evaluate_on_sizes(op, [operand.array for operand in operands])
        if found is None:
            return []
        result = tensor_type(op.results[0].type).element_type
        if result in FLOATS:
            return [Known(found, dtype=numpy_dtype(result), call=call)]
        for operand in operands:
            self.require_exact(operand)
        return [Known(found, dtype=numpy_dtype(result))]

    def _sizes_of_results(self, op: Operation, operands: Sequence[Tensor]) -> Sequence[Sizes]:
        """Return the sizes of an operator's results in terms of the sizes of the arguments. Operands that are not among
        `operands` are arguments, of which the operator uses the sizes."""
        if not isinstance(op, Operator):
            return [cast(TensorType, t).get_shape() for t in op.result_types]
        used = [*operands, *(self._arguments[value] for value in op.operands[len(operands) :])]
        inferred = type(op).infer_results([SizedType(o.element_type, o.sizes) for o in used], op.properties)
        sizes = [result.get_shape() for result in inferred]
        if not op.COUNTS:
            return sizes
        most = count(operands[-1].sizes) if isinstance(op, NonzeroOp | CompressOp | UniqueOp) else None
        return self._late(op, sizes, most)

    def is_late(self, name: str) -> bool:
        """Return whether only a run finds a size out: from elements, by the branch that it takes, or in a loop."""
        return name in self._sources and self._sources[name][0].owner is not self._entry

    def is_found_in(self, block: Block, size: Size) -> bool:
        """Return whether a size is found out in a block of a branch or a loop."""
        sources = [self._sources[name][0] for name in names_in(size) if name in self._sources]
        return any(block in (value.owner, value.owner.parent) for value in sources)

    def with_late(self, value: SSAValue, sizes: Sequence[Size | None]) -> Computed:
        """Return a tensor of which some sizes, in place of None, are late."""
        found = [self._name_late(value, d) if size is None else size for d, size in enumerate(sizes)]
        self._arguments[value] = Computed(value, found)
        return self._arguments[value]

    def _name_late(self, value: SSAValue, dimension: int) -> Size:
        name = Names(self._sources).fresh(f"late_d{dimension}")
        self._sources[name] = value, dimension
        return named(name)

    def always_holds(self, condition: Size) -> bool:
        """Return whether a condition holds for all sizes, given how large those that depend on elements can be."""
        return all(self._is_implied(requirement) for requirement in requirements_of(condition))

    def _is_implied(self, requirement: Requirement) -> bool:
        if requirement.relation != "<=":
            return False
        rest = requirement.rhs - requirement.lhs
        for atom, factor in terms_of(rest).items():
            if isinstance(atom, Symbol) and self.is_late(atom.name):
                least = 0 if factor > 0 else self._most.get(atom.name)
                if least is None:
                    return False
                rest += (least - named(atom.name)) * factor
        return never_negative(rest)

    def _late(self, op: Operator, results: Sequence[Sizes], most: Size | None) -> Sequence[Sizes]:
        """Return the sizes of results with names for those that depend on elements, which are at most `most`."""
        named_now: dict[str, Size] = {}
        for value, sizes in zip(op.results, results, strict=True):
            for dimension, size in enumerate(sizes):
                if (name := data_name(size)) is not None and str(size) not in named_now:
                    late = Names(self._sources).fresh(f"{op.name.rpartition('.')[2]}_{name}")
                    named_now[str(size)] = named(late)
                    self._sources[late] = value, dimension
                    if most is not None:
                        self._most[late] = most
        known = [tuple(substitute(size, named_now) for size in sizes) for sizes in results]
        self._arguments |= {v: Computed(v, sizes) for v, sizes in zip(op.results, known, strict=True)}
        return known

    def _constant(self, known: Known) -> SSAValue:
        element_type_of(known.array.dtype)  # Raises an error that names the type.
        constant = ConstantOp(known.array)
        constant.location = self.place(known.name) if known.name else self.location
        last = self._last_constant
        Rewriter.insert_op(constant, InsertPoint.at_start(self._entry) if last is None else InsertPoint.after(last))
        self._last_constant = constant
        name_value(constant.result, known.name)
        return constant.result


def _from_sizes(array: Array) -> Expr:
    """Return a tensor of dynamic sizes: the last of the numbers from 0 to each size."""
    elements = [_from_size(size) for size in array.flat]
    return op.reshape(op.concat(*elements), array.shape)


def _from_size(size: Size) -> Expr:
    if not isinstance(size, IndexExpr):
        return Known(np.array([size], np.int64))
    if not never_negative(size):
        return op.subtract(_from_size(larger(size, 0)), _from_size(larger(-size, 0)))
    return op.strided_slice(op.iota(shape=[str(size + 1)], dtype=i64), [0], [str(size)], [str(size + 1)])


def _widens_bytes(op: Operator) -> bool:
    """Return whether an operator makes wider numbers of matrices of bytes, which products multiply as they are."""
    return isinstance(op, AstypeOp) and rank_of(op.operand) > 1 and is_bytes(op.operand)


def _is_small(op: Operator) -> bool:
    result = SizedType.of(cast(TensorType, op.result_types[0]), "result")
    elements = count(result.get_shape())
    return isinstance(elements, int) and elements <= FOLDED


class _OpenSize(Exception):
    """An operator cannot be computed at import, as one of its sizes is dynamic."""


class _NoSizes(NamedSizes):
    def size_source(self, name: str) -> tuple[SSAValue, int]:
        raise _OpenSize


def _number(number: float, like: Tensor | None) -> Known:
    if like is None:
        raise TypeError(f"expected a tensor of the model beside {number}")
    dtype = numpy_dtype(like.element_type)
    made = np.array(number, dtype)
    if isinstance(number, float) and dtype.kind in "iub":
        raise TypeError(f"expected elements of {like.element_type}, found {number}")
    return Known(made)


def name_value(value: SSAValue, name: str) -> None:
    """Name a value like the model's value, as far as MLIR's names allow."""
    hint = re.sub(r"[^\w$.-]+", "_", name).strip("_.")
    if SSAValue.is_valid_name(hint):
        value.name_hint = hint
