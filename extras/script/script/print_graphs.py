"""Prints graph functions as `@R.function`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.errors import fail
from relex.dialects.function_arguments import INOUT_ATTR, argument_names, replacements
from relex.dialects.index.domains import constant_value
from relex.dialects.op_edits import terminator_of
from relex.dialects.relex import properties
from relex.dialects.relex.properties import Scalar
from relex.dialects.relex.size_properties import EXPRESSION_PROPERTIES
from relex.dialects.relex.types import tensor_type
from relex.dialects.symbols import is_private, lookup
from relex.frontend.script import writing
from relex.frontend.script.attributes import write_attributes
from relex.frontend.script.dtypes import NAMES
from relex.frontend.script.dynamic_options import SizeNames, printed_options
from relex.frontend.script.graph_calls import PRINTED
from relex.frontend.script.inlining import inlined_ops
from relex.frontend.script.operators import script_name
from relex.frontend.script.print_expressions import ExpressionPrinter

INLINE_ELEMENTS = 16
"""Constants with more elements are printed on separate lines."""


class GraphPrinter(ExpressionPrinter):
    """Prints a graph function. Fails on ops that scripts cannot express.

    Constants are printed in full; if `constants` is given, long ones are appended to it instead.
    """

    def __init__(
        self, function: FuncOp, writer: writing.Writer, module_name: str, constants: list[relex.ConstantOp] | None
    ):
        super().__init__(writer)
        self._function = function
        self._module_name = module_name
        self._constants = constants
        self._counters: dict[SSAValue, str] = {}
        """The names that count the trips of loops."""
        self._size_names = SizeNames(function, self.sizes)

    def print(self) -> None:
        """Print the function."""
        function, writer = self._function, self.writer
        if len(function.body.blocks) != 1:
            fail(function, f"{writing.CANNOT}: expected a function of one block, found {len(function.body.blocks)}")
        parameters = [self._parameter(i, name) for i, name in enumerate(argument_names(function))]
        results = [self._type(t, function) for t in function.function_type.outputs.data]
        options = ["private=True"] * is_private(function) + ["pure=False"] * _checks_assertions(function, set())
        writer.line(f"@R.function({', '.join(options)})" if options else "@R.function")
        result = results[0] if len(results) == 1 else f"R.Tuple({', '.join(results)})"
        with writer.indented(f"def {writing.symbol_name(function)}({', '.join(parameters)}) -> {result}:"):
            for name in dict.fromkeys(self.sizes.values()):
                writer.line(f"{name} = T.int64()")
            if attributes := self._attributes():
                writer.line(f"R.func_attr({writing.dictionary(attributes)})")
            if any(isinstance(op, relex.CallTirOp | relex.CallOp | func.CallOp) for op in function.walk()):
                writer.line(f"cls = {self._module_name}")
            self._block(function.body.block)

    def _attributes(self) -> dict[str, object]:
        attributes = dict(self._function.attributes)
        primitive = {"Primitive": True} if attributes.pop(relex.PRIMITIVE_ATTR, None) is not None else {}
        return primitive | self._replaced() | write_attributes(self._function, attributes)

    def _replaced(self) -> dict[str, object]:
        """For each result, the number of the parameter whose place it takes, or -1."""
        places = {number: argument for argument, number in replacements(self._function).items()}
        count = len(self._function.function_type.outputs)
        return {INOUT_ATTR: [places.get(i, -1) for i in range(count)]} if places else {}

    # Types.

    def _parameter(self, position: int, given: str) -> str:
        value = self._function.args[position]
        t = value.type
        name = self.writer.texts[value] = self.writer.argument(given)
        if not isa(t, TensorType):
            return f"{name}: {self._type(t, self._function)}"
        sizes = [s if s.isdecimal() else f'"{s}"' for s in self.argument_sizes(self._function, position, t)]
        return f"{name}: {self.tensor(sizes, t)}"

    def tensor(self, sizes: Sequence[str], t: TensorType) -> str:
        """Return the type of a tensor of some sizes."""
        return f'R.Tensor({writing.tuple_of(sizes)}, dtype="{writing.dtype_name(self._function, t.element_type)}")'

    def _type(self, t: Attribute, op: Operation) -> str:
        if not isa(t, TensorType):
            return f'R.Prim("{"int64" if isinstance(t, IndexType) else writing.dtype_name(op, t)}")'
        if t.has_static_shape():
            return self.tensor([str(size) for size in t.get_shape()], t)
        return f'R.Tensor(dtype="{writing.dtype_name(op, t.element_type)}", ndim={len(t.get_shape())})'

    # Statements.

    def _block(self, block: Block) -> None:
        inlined = inlined_ops(block)
        for op in block.ops:
            # Graph functions give no names to sizes that they compute.
            is_size = isinstance(op, tensor.DimOp | tensor.ExtractOp) or op.dialect_name() == arith.Arith.name
            if not (is_size or (op in inlined and _is_scalar(op))):
                self._statement(op)

    def _statement(self, op: Operation) -> None:
        match op:
            case func.ReturnOp():
                values = [self._value(value) for value in op.operands]
                result = values[0] if len(values) == 1 else writing.tuple_of(values) if values else "R.tuple()"
                self.writer.line(f"return {result}")
            case relex.DataflowOp():
                self._dataflow(op)
            case relex.OutputOp() | scf.YieldOp():
                return
            case scf.IfOp():
                self._if(op)
            case scf.WhileOp():
                self._while(op)
            case scf.ForOp():
                self._for(op)
            case relex.ConstantOp():
                self._constant_line(op)
            case tensor.FromElementsOp(elements=[OpResult(op=arith.IndexCastOp(input=count))]) if (
                count in self._counters
            ):
                self.writer.texts[op.result] = self._counters[count]
            case tensor.FromElementsOp(elements=[number]) if tensor_type(op.result.type).get_num_dims() == 0:
                self.writer.texts[op.result] = self._value(number)
            case _:
                self._bind(op, self._call_text(op))

    def _value(self, value: SSAValue) -> str:
        """Return the text of a tensor, or of a number as a value."""
        is_expression = not isinstance(value.type, TensorType) and isinstance(value, OpResult)
        return f"R.prim_value({self.text(value)})" if is_expression else self.text(value)

    def _if(self, op: scf.IfOp) -> None:
        """Print a branch. Its results are names that both sides assign at their end."""
        names = [self.writer.define(result, "lv") for result in op.results]
        self._side(f"if {self._condition(op.cond, op)}:", op.true_region.block, names)
        if op.false_region.blocks and len([*op.false_region.block.ops]) + len(names) > 1:
            self._side("else:", op.false_region.block, names)

    def _while(self, op: scf.WhileOp) -> None:
        """Print a loop. What it carries are names that it assigns at its end; its condition is one expression."""
        test, end = op.before_region.block, op.before_region.block.last_op
        if not isinstance(end, scf.ConditionOp) or [*end.args] != [*test.args]:
            fail(op, f"{writing.CANNOT}: expected a condition that passes on what the loop carries")
        names = [self.writer.define(result, "lv") for result in op.results]
        for name, value in zip(names, op.arguments, strict=True):
            self.writer.line(f"{name} = {self.text(value)}")
        for name, *values in zip(names, test.args, op.after_region.block.args, strict=True):
            self.writer.texts.update({value: self.writer.use(name) for value in values})
        for inner in test.ops:
            if isinstance(inner, relex.Operator | relex.ConstantOp):
                self.writer.texts[inner.results[0]] = self._call_text(inner)
        self._side(f"while {self._condition(end.condition, op)}:", op.after_region.block, names)

    def _for(self, op: scf.ForOp) -> None:
        """Print a loop with a number of trips as one that counts them, which is what Relax has."""
        first, end, step = map(self._number, (op.lb, op.ub, op.step))
        if constant_value(op.step) is None:
            fail(op, f"{writing.CANNOT}: expected a step that is constant")
        count, *carried = op.body.block.args
        self._counters[count] = counter = self.writer.name(count.name_hint, "i")
        names = [self.writer.define(result, "lv") for result in op.results]
        for name, value in zip(names, map(self.text, op.iter_args), strict=True):
            self.writer.line(f"{name} = {value}")
        self.writer.line(f"{counter} = {first}")
        self.writer.texts.update(zip(carried, map(self.writer.use, names), strict=True))
        after = f"{counter} = R.add({counter}, {step})"
        self._side(f"while R.less({counter}, {end}):", op.body.block, names, after)

    def _number(self, value: SSAValue) -> str:
        """Return the text of a tensor without dimensions that an index comes from."""
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr(value=IntAttr(data=number))):
                return f'R.const({number}, "int64")'
            case arith.IndexCastOp(input=OpResult(op=tensor.ExtractOp(tensor=source, indices=()))):
                return self.text(source)
            case owner:
                fail(
                    owner if isinstance(owner, Operation) else self._function,
                    f"{writing.CANNOT}: expected a tensor's element",
                )

    def _side(self, head: str, block: Block, names: Sequence[str], after: str = "") -> None:
        """Print a region, with assignments of what it gives. A name may stand for another value until then."""
        end = terminator_of(block)
        with self.writer.indented(head):
            self._block(block)
            values = [self.text(value) for value in end.operands]
            changed = [(name, value) for name, value in zip(names, values, strict=True) if name != value]
            if len(changed) > 1 and {name for name, _ in changed} & {value for _, value in changed}:
                copies = [self.writer.name(name, "lv") for name, _ in changed]
                for copy, (_, value) in zip(copies, changed, strict=True):
                    self.writer.line(f"{copy} = {value}")
                changed = [(name, copy) for (name, _), copy in zip(changed, copies, strict=True)]
            for name, value in changed:
                self.writer.line(f"{name} = {value}")
            if after:
                self.writer.line(after)
            elif not changed and not [op for op in block.ops if op is not end]:
                self.writer.line("pass")

    def _condition(self, value: SSAValue, op: Operation) -> str:
        if isinstance(value, BlockArgument):
            return self.text(value)
        if not isinstance(value.owner, tensor.ExtractOp) or value.owner.indices:
            fail(op, f"{writing.CANNOT}: expected a condition that is a tensor without dimensions")
        return self.text(value.owner.tensor)

    def _dataflow(self, op: relex.DataflowOp) -> None:
        """Print a dataflow block. Its results share the names of the values they come from."""
        values = op.output.values
        names: list[str] = []
        with self.writer.indented("with R.dataflow():"):
            for result, value in zip(op.results, values, strict=True):
                if isinstance(value, OpResult) and op.is_ancestor(value.op) and value.name_hint is None:
                    value.name_hint = result.name_hint
            self._block(op.body.block)
            for value in values:
                names.append(self._output_name(op, value, names))
            self.writer.line(f"R.output({', '.join(names)})")
        for result, name in zip(op.results, names, strict=True):
            self.writer.texts[result] = self.writer.use(name)

    def _output_name(self, op: relex.DataflowOp, value: SSAValue, taken: Sequence[str]) -> str:
        """Return the name of an output; a value that is not defined in the block, or is an output twice, gets a new
        name."""
        text = self.text(value)
        is_inside = isinstance(value, OpResult) and op.is_ancestor(value.op)
        if is_inside and text.isidentifier() and text not in taken:
            return text
        name = self.writer.name(value.name_hint, "gv")
        self.writer.line(f"{name} = {text}")
        return name

    def _constant_line(self, op: relex.ConstantOp) -> None:
        """Print a constant; one that is left out, and a small one with a single use, is printed inline."""
        text = self._constant_text(op)
        is_elided = self._constants is not None and op in self._constants
        if is_elided or (len(list(op.result.uses)) == 1 and len(op.value) <= INLINE_ELEMENTS):
            self.writer.texts[op.result] = text
        else:
            self._bind(op, text, "const")

    def _bind(self, op: Operation, text: str, default: str = "lv") -> None:
        """Print a line that binds the results of a call to names: their own, or one like `default`."""
        if not op.results:
            self.writer.line(text)
            return
        if len(op.results) == 1:
            t = op.results[0].type
            has_type = isinstance(op, relex.CallTirOp | relex.CallDpsPackedOp) or not (
                isa(t, TensorType) and t.has_static_shape()
            )
            name = self.writer.define(op.results[0], default)
            self.writer.line(f"{name}{'' if has_type else f': {self._type(t, op)}'} = {text}")
            return
        name = self.writer.name(None, "lv")
        self.writer.line(f"{name} = {text}")
        for i, result in enumerate(op.results):
            self.writer.line(f"{self.writer.define(result, 'lv')} = {name}[{i}]")

    # Expressions.

    def _call_text(self, op: Operation) -> str:
        if (show := PRINTED.find(op)) is not None:
            return show(self, op)
        match op:
            case relex.CallOp(callee=callee) | func.CallOp(callee=callee):
                return f"cls.{callee.root_reference.data}({', '.join(map(self._value, op.operands))})"
            case tensor.CollapseShapeOp(src=source) | tensor.ExpandShapeOp(src=source):
                sizes = tensor_type(op.results[0].type).get_shape()
                shape = ["-1" if size == DYNAMIC_INDEX else str(size) for size in sizes]
                return f"R.reshape({self.text(source)}, R.shape([{', '.join(shape)}]))"
            case relex.Operator():
                return self.operator(op)
            case _ if _is_scalar(op):
                return self.text(op.results[0])
            case _:
                fail(op, writing.CANNOT)

    def operator(self, op: relex.Operator, *more: str) -> str:
        """Return the call of an operator, with more options."""
        if op.is_variadic() and any(name in op.properties for name in EXPRESSION_PROPERTIES.values()):
            fail(op, f"{writing.CANNOT}: found sizes that are known at run time")
        dynamic_options = printed_options(op, self._size_names)
        operands = [self.text(value) for value in op.operands][: None if op.is_variadic() else len(op.operand_names())]
        parts = [writing.tuple_of(operands)] if op.is_variadic() else operands
        defaults = op.with_defaults({})
        for name in op.options():
            if name in dynamic_options:
                parts.append(f"{name}={dynamic_options[name]}")
            if name in dynamic_options or name in EXPRESSION_PROPERTIES.values():
                continue
            attribute = op.properties.get(name)
            # Some axes have no default in TVM.
            if attribute is not None and (attribute != defaults.get(name) or name == "axis"):
                parts.append(f"{name}={self._option(op, attribute)}")
        return f"{script_name(type(op))}({', '.join([*parts, *more])})"

    @staticmethod
    def _option(op: relex.Operator, attribute: Attribute) -> str:
        if isa(attribute, Scalar):
            return writing.python_number(attribute.value.data, attribute.type)
        value = NAMES.get(attribute, properties.python_value(attribute))
        if isinstance(value, Attribute):
            fail(op, f"{writing.CANNOT}: found {attribute}")
        return writing.python_value([*value] if isinstance(value, tuple) else value)

    def _constant_text(self, op: relex.ConstantOp) -> str:
        if self._constants is None or len(op.value) <= INLINE_ELEMENTS:
            return self._call_text(op)
        self._constants.append(op)
        return f'metadata["ir.GenericConst"][{len(self._constants) - 1}]'


def _checks_assertions(function: Operation, seen: set[Operation]) -> bool:
    """Return whether a graph function checks assertions, or calls one that does: TVM calls it impure."""
    seen.add(function)
    callees = (lookup(op, op.callee) for op in function.walk() if isinstance(op, func.CallOp))
    return any(isinstance(op, relex.AssertOp) for op in function.walk()) or any(
        _checks_assertions(callee, seen) for callee in callees if callee is not None and callee not in seen
    )


def _is_scalar(op: Operation) -> bool:
    """Return whether an op computes a size."""
    return len(op.results) == 1 and not isinstance(op.results[0].type, TensorType)
