"""A function under construction."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, FunctionType, IntegerAttr, LocationAttr, ModuleOp, TensorType, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.dialects.errors import CompileError, RelexError, one_line
from relex.dialects.function_arguments import INOUT_ATTR, keep_argument_names, set_argument_attr, state_dims
from relex.dialects.names import Names, name_value
from relex.dialects.relex import ConstantOp, DataflowOp, OutputOp
from relex.dialects.relex.structure import impurity
from relex.dialects.sizes import Size, named
from relex.frontend.call_site import refuse
from relex.frontend.graph_expressions import AnyOperand, Binding, Call, Constant, Expr, Tensor, Var
from relex.frontend.named_sizes import NamedSizes
from relex.passes.rewriting.size_values import SizeValues, Sources


class FunctionBody(NamedSizes):
    """A function under construction: its parameters, the constants and sizes at its start, and the insertion point."""

    exists: ClassVar[bool] = False
    """True if the function is in the module already, and ops are added in the middle of it."""

    def __init__(self, module: ModuleOp, names: Names, op: FuncOp, params: Sequence[Var] = ()):
        self.module = module
        self.op = op
        self.dataflow: Dataflow | None = None
        self.is_complete = False
        self._names = names
        self._block = op.body.block
        self._last_of_start: Operation | None = None
        self._values: dict[Expr, SSAValue] = {}
        self._sources: dict[str, tuple[SSAValue, int]] = {}
        self._sizes = SizeValues(self._block, self._sources)
        self._late: dict[str, tuple[SSAValue, int, object]] = {}
        """Sizes that have names in the middle of the function: tensors that have them, and the scopes of these."""
        self._regions: list[RegionScope] = []
        for i, (param, argument) in enumerate(zip(params, self._block.args, strict=False)):
            self._values[param] = argument
            name_value(argument, param.name)
            state_dims(op, i, [size if isinstance(size, str) else "" for size in param.shape])
            self._declare_sizes(argument, param.shape)
        if params:
            keep_argument_names(op, [param.name for param in params])

    def _declare_sizes(self, argument: SSAValue, shape: Sequence[int | str | None]) -> None:
        """Make the names in the shape of an argument known."""
        for dimension, size in enumerate(shape):
            if isinstance(size, str):
                self._sources.setdefault(size, (argument, dimension))

    def bind(self, expr: Tensor, name: str, place: FileLineColLoc | None = None) -> list[Binding]:
        """Emit the ops that compute an expression and return its values. Nested calls get their own names."""
        values = self._compute(expr, place)
        if isinstance(expr, Call):
            for value in values:
                value.name_hint = self._names.fresh(name)
        return self.bindings(values)

    def bindings(self, values: Sequence[SSAValue]) -> list[Binding]:
        """Return values as they are known at the insertion point."""
        return [Binding(value, self._scopes()[0]) for value in values]

    def _scopes(self) -> list[object]:
        """The scopes whose values are known at the insertion point, innermost first."""
        return [*reversed(self._regions), *([] if self.dataflow is None else [self.dataflow]), self]

    @property
    def is_in_region(self) -> bool:
        """True in a branch or a loop."""
        return bool(self._regions)

    @contextmanager
    def region(self, scope: RegionScope) -> Generator[None]:
        """Insert ops at the end of a branch or a loop."""
        self._regions.append(scope)
        try:
            yield
        finally:
            self._regions.pop()

    def value(self, expr: AnyOperand, place: FileLineColLoc | None = None) -> SSAValue:
        """Return the single value of an expression."""
        if not isinstance(expr, Expr | SSAValue):
            refuse(f"expected a tensor of the program, found {expr!r}; 'const' makes one of it", place)
        values = self.bind(expr, "lv", place)
        if len(values) != 1:
            refuse(f"expected an expression with one result, found {len(values)}; emit it first", place)
        return values[0].value

    def size(self, name: str) -> SSAValue:
        """Return the value of a named size, which a parameter must have, or a tensor whose sizes have been named."""
        source = self.size_source(name)
        if name in self._sources:
            return self._sizes.emit(named(name))
        return self.compute_sizes([named(name)], {name: source}, self.op.location)[0]

    def name_sizes(self, tensor: SSAValue, texts: Sequence[str]) -> None:
        """Make names that the program gives to sizes of a tensor known, where the tensor is."""
        for dimension, text in enumerate(texts):
            if text.isidentifier():
                self._late[text] = tensor, dimension, self._scopes()[0]

    def size_source(self, name: str) -> tuple[SSAValue, int]:
        """Return a parameter that has a named size, or a tensor whose sizes have been named, and the dimension."""
        if name in self._sources:
            return self._sources[name]
        late = [other for other, (*_, scope) in self._late.items() if scope in self._scopes()]
        if name not in late:
            known = ", ".join([*self._sources, *late]) or "none"
            raise RelexError(f"expected a size that a parameter has, found '{name}'; there are {known}")
        tensor, dimension, _ = self._late[name]
        return tensor, dimension

    def compute_sizes(self, sizes: Sequence[Size], sources: Sources, place: LocationAttr) -> list[SSAValue]:
        """Emit the computation of dynamic sizes at the insertion point and return their values."""
        block = Block()
        computed = SizeValues(block, sources)
        values = [computed.emit(size) for size in sizes]
        for op in list(block.ops):
            op.detach()
            self.insert(op, place)
        return values

    def insert(self, op: Operation, place: LocationAttr) -> None:
        """Add an op at the insertion point: the end of the open block."""
        op.location = place
        if self._regions:
            self._regions[-1].block.add_op(op)
            return
        block = self._block if self.dataflow is None else self.dataflow.block
        block.add_op(op)

    def insert_checked(self, op: Operation, place: FileLineColLoc) -> None:
        """Add an op, which must be pure in a dataflow block."""
        if self.dataflow is not None and (reason := impurity(op)) is not None:
            refuse(f"'{op.name}' op expected to be pure inside a dataflow block, but it {reason}", place)
        self.insert(op, place)

    def finish(self, values: Sequence[SSAValue], replacing: Mapping[SSAValue, SSAValue]) -> None:
        """End the function with its results, of which the last ones take the place of parameters."""
        for number, param in enumerate(replacing, len(values)):
            if not isinstance(param, BlockArgument) or param.owner is not self._block:
                refuse(f"expected a parameter to replace, found '{param.name_hint}'")
            set_argument_attr(self.op, param.index, INOUT_ATTR, IntegerAttr(number, i64))
        results = [*values, *replacing.values()]
        self._block.add_op(ReturnOp(*results))
        inputs = self.op.function_type.inputs.data
        self.op.function_type = FunctionType.from_lists(inputs, [value.type for value in results])
        self.is_complete = True

    def close_dataflow(self) -> None:
        """Emit the dataflow block and rebind its outputs to the results of the op."""
        dataflow = self.dataflow
        if dataflow is None:
            return
        self.dataflow = None
        dataflow.block.add_op(OutputOp(*(binding.value for binding in dataflow.outputs)))
        op = DataflowOp([binding.value.type for binding in dataflow.outputs], dataflow.block)
        self._block.add_op(op)
        for binding, result in zip(dataflow.outputs, op.results, strict=True):
            result.name_hint = self._names.fresh("gv")
            binding.value, binding.owner = result, self

    def _compute(self, expr: Tensor, place: FileLineColLoc | None) -> Sequence[SSAValue]:
        match expr:
            case Var():
                if expr not in self._values:
                    refuse(f"expected a parameter of @{self.op.sym_name.data}, found '{expr.name}'", place)
                return [self._values[expr]]
            case Constant():
                if expr not in self._values:
                    self._values[expr] = self._at_start(ConstantOp(expr.value), expr.place).results[0]
                return [self._values[expr]]
            case Binding():
                return [self._known(expr, place)]
            case Call():
                return self._add(expr).results
            case SSAValue():
                return [self._inside(expr, place)]
            case _:
                refuse(f"expected a tensor of the program, found {type(expr).__name__}", place)

    def _known(self, binding: Binding, place: FileLineColLoc | None) -> SSAValue:
        if any(binding.owner is scope for scope in self._scopes()):
            return binding.value
        name = binding.value.name_hint
        if isinstance(binding.owner, RegionScope):
            refuse(f"'{name}' is not known outside of its branch or loop, which has to return it", place)
        if isinstance(binding.owner, Dataflow) and binding not in binding.owner.outputs:
            refuse(f"'{name}' is not known outside of its dataflow block; 'emit_output' makes it known", place)
        refuse(f"'{name}' belongs to another function", place)

    def _inside(self, value: SSAValue, place: FileLineColLoc | None) -> SSAValue:
        """Return a value of the IR, which must be one of this function."""
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        scopes = (self.op, *(scope.block for scope in self._regions))
        if block is None or not any(scope.is_ancestor(block) for scope in scopes):
            refuse(f"expected a value of @{self.op.sym_name.data}, found one of another function", place)
        return value

    def _add(self, call: Call) -> Operation:
        operands = self._operands(call)
        try:
            op = call.build(self, operands)
        except CompileError:
            raise
        except (RelexError, VerifyException, TypeError, ValueError) as e:
            call.refuse(f"{one_line(e)}")
        self.insert_checked(op, call.place)
        return op

    def _operands(self, call: Call) -> list[SSAValue]:
        tensors = {
            i: self.value(arg, call.place) for i, arg in enumerate(call.args) if isinstance(arg, Expr | SSAValue)
        }
        like = next(iter(tensors.values()), None)
        return [tensors[i] if i in tensors else self._number(arg, like, call) for i, arg in enumerate(call.args)]

    def _number(self, value: object, like: SSAValue | None, call: Call) -> SSAValue:
        """Return a scalar constant with the element type of another operand."""
        if like is None or not isinstance(value, int | float):
            call.refuse(f"expected tensors of the program, found {value!r}")
        if not isa(like.type, TensorType):
            call.refuse(f"expected a tensor beside {value}, found {like.type}")
        element_type = like.type.element_type
        if (isinstance(value, float) and element_type not in FLOATS) or (element_type == i1 and value not in (0, 1)):
            call.refuse(f"expected elements of {element_type}, found {value}")
        try:
            constant = ConstantOp(np.array(value, numpy_dtype(element_type)))
        except (RelexError, OverflowError) as e:
            call.refuse(f"expected elements of {element_type}, found {value}: {one_line(e)}")
        return self._at_start(constant, call.place).results[0]

    def _at_start(self, op: Operation, place: FileLineColLoc) -> Operation:
        """Insert an op before all computation; these ops stay in order of first use."""
        op.location = place
        last = self._last_of_start
        Rewriter.insert_op(op, InsertPoint.at_start(self._block) if last is None else InsertPoint.after(last))
        self._last_of_start = op
        return op


class RegionScope:
    """A branch or a loop under construction."""

    def __init__(self, block: Block):
        self.block = block


class Dataflow:
    """A dataflow block under construction."""

    def __init__(self):
        self.block = Block()
        self.outputs: list[Binding] = []
