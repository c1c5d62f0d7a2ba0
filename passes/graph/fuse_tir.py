"""Turn each group of calls into one loop function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.dtypes import buffer_of
from relex.dialects.errors import fail
from relex.dialects.function_arguments import result_attrs
from relex.dialects.index.domains import constant_value
from relex.dialects.names import Names
from relex.dialects.op_edits import index_constant
from relex.dialects.relex import PRIMITIVE_ATTR, CallOp, CallTirOp, ConstantOp, DataflowOp, Operator, OutputOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.symbols import erase_unused, is_private, symbols_called
from relex.dialects.tir import OP_PATTERN_ATTR, AllocBufferOp, BlockOp, ForOp, PrimFuncOp
from relex.dialects.tir.indices import stated_name
from relex.dialects.tir.prim_func import STRICT_ATTR
from relex.dialects.walks import walk, walk_of
from relex.passes.driver.base import RelexPass
from relex.passes.fusion.group_sizes import GroupSizes
from relex.passes.fusion.primitive import is_size, meaning


class FuseTirPass(RelexPass):
    """
    Turns each function marked `relex.primitive` into one loop function of the same name, and calls of it into
    `relex.call_tir`. The loops of its parts follow each other (`merge-loops` brings them together); intermediate
    results are local buffers. Blocks, loops and buffers keep their names, made unique; `tir.noalias` and other
    attributes are kept if all parts have them, `relex.strict` if one has it. Constants in a group become arguments.
    Equal private groups become one function, the function of the first. Private loop functions without callers are
    dropped.

    Requires operators to be lowered (`legalize-ops`). A group that holds more than calls of loop functions, such as a
    call of a library function, or that `func.call` calls, is left unchanged.

    ```mlir
    func.func private @double_relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {relex.primitive} {
      %0 = relex.call_tir @double(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = relex.call_tir @relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }
    // fuse-tir
    tir.prim_func private @double_relu(%x: memref<8xf32>) outs(%relu: memref<8xf32>) {
      %double = tir.alloc_buffer : memref<8xf32>
      tir.for %i in (8) {
        tir.block @double (%vi: spatial<8> = %i) { ... }
      }
      tir.for %i in (8) {
        tir.block @relu (%vi: spatial<8> = %i) { ... }
      }
    }
    ```
    """

    name = "fuse-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loop_functions = [f for f in op.ops if isinstance(f, PrimFuncOp)]
        groups = _Groups(op)
        for name in list(groups.functions):
            groups.fuse(name)
        erase_unused(op, loop_functions)


_UNDERSTOOD = (CallTirOp, ConstantOp, DataflowOp, OutputOp, ReturnOp)


class _Groups:
    """The groups of one module, to be fused one after the other."""

    def __init__(self, module: ModuleOp):
        self.functions: dict[str, FuncOp] = {}
        """The groups that are still to be fused."""
        self._loop_functions: dict[str, PrimFuncOp] = {}
        self._calls: dict[str, list[CallOp]] = {}
        self._uses = symbols_called(module)
        self._fused: dict[object, str] = {}
        """The loop functions made so far, by the meaning of their groups: equal groups share one."""
        for op in walk(module):
            match op:
                case FuncOp() if PRIMITIVE_ATTR in op.attributes:
                    self.functions[op.sym_name.data] = op
                case PrimFuncOp():
                    self._loop_functions[op.sym_name.data] = op
                case CallOp():
                    self._calls.setdefault(op.callee.root_reference.data, []).append(op)
                case _:
                    pass

    def fuse(self, name: str) -> None:
        """Replace a group and its calls, after the groups that it calls itself."""
        function = self.functions.pop(name, None)
        if function is None:
            return
        for inner in walk_of(function, CallOp):
            self.fuse(inner.callee.root_reference.data)
        calls = self._calls.get(name, [])
        if len(calls) != self._uses[name] or not _is_fusible(function):
            return
        for block in walk_of(function, DataflowOp):
            block.dissolve()
        constants: dict[Attribute, ConstantOp] = {}
        for op in function.walk():
            if isinstance(op, ConstantOp):
                constants.setdefault(op.value, op)
        key = name if function.sym_visibility != StringAttr("private") else _identity(function)
        if key not in self._fused:
            self._fused[key] = name
            new = _Fusion(function, list(constants.values()), self._loop_functions, self._uses).run()
            self._loop_functions[name] = new
            Rewriter.insert_op(new, InsertPoint.before(function))
        for call in calls:
            replace_call(call, function, self._fused[key], list(constants.values()))
        Rewriter.erase_op(function)


def _identity(group: FuncOp) -> object:
    """Return a key that is equal for groups of which one can stand for the other."""
    return meaning(group), group.arg_attrs, DictionaryAttr(group.attributes)


def _is_fusible(group: FuncOp) -> bool:
    """Return whether a group holds nothing that cannot be in a loop function."""
    if len(group.body.blocks) != 1 or not all(isinstance(arg.type, TensorType) for arg in group.args):
        return False
    others = [op for op in group.body.walk() if not isinstance(op, _UNDERSTOOD) and not is_size(op)]
    for op in others:
        if isinstance(op, Operator):
            fail(op, "cannot be fused; run 'legalize-ops' before 'fuse-tir'")
    return not others


def replace_call(call: CallOp, group: FuncOp, callee: str, constants: Sequence[ConstantOp] = ()) -> None:
    """Call the loop function of a group, with the group's constants as additional arguments. A result of the group that
    has dynamic sizes is one of a call of a loop function."""
    copies = [constant.clone() for constant in constants]
    sizes = GroupSizes(group, call)
    new = CallTirOp(
        callee,
        [*call.arguments, *copies],
        [tensor_type(t) for t in call.result_types],
        [size for value in _returned(group) for size in sizes.of(value)],
    )
    for op in (*copies, new):
        op.location = call.location
    Rewriter.insert_op([*copies, *sizes.ops], InsertPoint.before(call))
    for old, result in zip(call.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(call, new)


class _Fusion:
    """The construction of the loop function of a group."""

    def __init__(
        self,
        group: FuncOp,
        constants: Sequence[ConstantOp],
        loop_functions: Mapping[str, PrimFuncOp],
        uses: Mapping[str, int],
    ):
        self._group = group
        self._loop_functions = loop_functions
        self._uses = uses
        inputs = [*group.function_type.inputs, *(constant.result.type for constant in constants)]
        self._new = PrimFuncOp(
            group.sym_name.data,
            [_buffer_type(t) for t in inputs],
            [_buffer_type(t) for t in group.function_type.outputs],
            visibility=group.sym_visibility.data if group.sym_visibility else None,
        )
        self._values: dict[SSAValue, SSAValue] = {}
        """For each value of the group, the buffer that holds it, or the size that it is."""
        for parameter, argument in zip(group.args, self._new.inputs[: len(group.args)], strict=True):
            self._values[parameter] = argument
            argument.name_hint = parameter.name_hint
        self._constants: dict[Attribute, SSAValue] = {}
        for constant, argument in zip(constants, self._new.inputs[len(group.args) :], strict=True):
            self._constants[constant.value] = argument
            argument.name_hint = constant.result.name_hint
        self._outputs: dict[SSAValue, SSAValue] = {}
        """The output that a value of the group is computed into."""
        for value, output in zip(_returned(group), self._new.outputs, strict=True):
            if isinstance(value.owner, CallTirOp):
                self._outputs.setdefault(value, output)
        self._blocks, self._labels = Names(), Names()
        self._called: list[PrimFuncOp] = []

    def run(self) -> PrimFuncOp:
        """Return the loop function."""
        for op in self._group.body.block.ops:
            self._add(op)
        self._copy_repeated_results()
        self._new.location = self._group.location
        self._new.attributes |= self._attributes()
        self._new.arg_attrs = self._attributes_of_arguments()
        return self._new

    def _attributes_of_arguments(self) -> ArrayAttr[DictionaryAttr] | None:
        """Return the attributes of the group's arguments and results."""
        if self._group.arg_attrs is None and self._group.res_attrs is None:
            return None
        inputs = self._group.arg_attrs or [DictionaryAttr({})] * len(self._group.args)
        results = result_attrs(self._group, len(self._new.outputs))
        missing = len(self._new.args) - len(inputs) - len(results)
        return ArrayAttr([*inputs, *[DictionaryAttr({})] * missing, *results])

    def _add(self, op: Operation) -> None:
        match op:
            case ConstantOp():
                self._values[op.result] = self._constants[op.value]
            case CallTirOp():
                self._add_call(op, self._loop_functions[op.callee.root_reference.data])
            case tensor.DimOp():
                self._insert(memref.DimOp(self._values[op.source], self._values[op.index]), op)
            case ReturnOp():
                pass
            case _:
                self._insert(op.clone(self._values), op)

    def _add_call(self, call: CallTirOp, callee: PrimFuncOp) -> None:
        """Inline the body of a loop function on the buffers of a call."""
        self._called.append(callee)
        sizes = self._sizes(call, callee)
        for result, parameter in zip(call.results, callee.outputs, strict=True):
            self._values[result] = self._buffer(result, parameter, sizes)
        buffers = [self._values[value] for value in (*call.arguments, *call.results)]
        for op in self._body_of(callee, buffers):
            self._rename(op)
            self._new.body.block.add_op(op)

    def _sizes(self, call: CallTirOp, callee: PrimFuncOp) -> list[SSAValue]:
        """Return the dynamic sizes of the results of a call. One that is known to be a number, because `relex.squeeze`
        requires it, is still taken from an argument if the loops take it from there: rules look for loops that run as
        often as a buffer is long."""
        sizes = [self._values[size] for size in call.sizes]
        if all(constant_value(size) is None for size in sizes):
            return sizes
        inputs = {
            name: (self._values[argument], d)
            for argument, parameter in zip(call.arguments, callee.args, strict=False)
            for d in range(len(_buffer_type(argument.type).get_shape()))
            if (name := stated_name(parameter, d)) is not None
        }
        names = [
            stated_name(output, d)
            for output in callee.outputs
            for d, size in enumerate(sizes_in_type(output.type))
            if size == DYNAMIC_INDEX
        ]
        for i, name in enumerate(names):
            if constant_value(sizes[i]) is not None and name in inputs:
                buffer, dimension = inputs[name]
                index = index_constant(dimension)
                size = memref.DimOp(buffer, index)
                self._new.body.block.add_ops([index, size])
                sizes[i] = size.result
        return sizes

    def _body_of(self, callee: PrimFuncOp, buffers: Sequence[SSAValue]) -> list[Operation]:
        """Return the body of a loop function on other buffers: a copy, unless this is its only call."""
        if self._uses[callee.sym_name.data] > 1 or not is_private(callee):
            inside: dict[SSAValue, SSAValue] = dict(zip(callee.args, buffers, strict=True))
            return [op.clone(inside) for op in callee.body.block.ops]
        for argument, buffer in zip(callee.args, buffers, strict=True):
            for use in list(argument.uses):  # Names stay where they are.
                use.operation.operands[use.index] = buffer
        body = list(callee.body.block.ops)
        for op in body:
            op.detach()
        return body

    def _buffer(self, result: OpResult, parameter: SSAValue, sizes: list[SSAValue]) -> SSAValue:
        """Return the output for a result, or else a new local buffer, which takes its share of the sizes."""
        buffer_type = _buffer_type(result.type)
        own = [sizes.pop(0) for size in buffer_type.get_shape() if size == DYNAMIC_INDEX]
        buffer = self._outputs.get(result)
        if buffer is None:
            alloc = AllocBufferOp(buffer_type, own)
            alloc.location = result.op.location
            self._new.body.block.add_op(alloc)
            buffer = alloc.buffer
        buffer.name_hint = buffer.name_hint or parameter.name_hint
        return buffer

    def _insert(self, new: Operation, old: Operation) -> None:
        new.location = old.location
        self._new.body.block.add_op(new)
        new.results[0].name_hint = old.results[0].name_hint
        self._values[old.results[0]] = new.results[0]

    def _rename(self, op: Operation) -> None:
        """Give the blocks and loops in a copy unique names."""
        for inner in op.walk():
            if isinstance(inner, BlockOp):
                inner.block_name = StringAttr(self._blocks.fresh(inner.block_name.data))
            elif isinstance(inner, ForOp) and inner.label is not None:
                inner.label = StringAttr(self._labels.fresh(inner.label.data))

    def _copy_repeated_results(self) -> None:
        """Copy to the outputs that no call computes: arguments, constants, and results that are returned twice."""
        for value, output in zip(_returned(self._group), self._new.outputs, strict=True):
            if (source := self._values[value]) is not output:
                self._new.body.block.add_op(memref.CopyOp(source, output))

    def _attributes(self) -> dict[str, Attribute]:
        """Return the attributes of the group, and those that all loop functions in it share. It is strict if one is."""
        own = {name: attr for name, attr in self._group.attributes.items() if name != PRIMITIVE_ATTR}
        first, *others = self._called or [self._new]
        shared = {
            name: attr
            for name, attr in first.attributes.items()
            if name != OP_PATTERN_ATTR and all(f.attributes.get(name) == attr for f in others)
        }
        strict = {STRICT_ATTR: UnitAttr()} if any(f.strict for f in self._called) else {}
        return {**shared, **strict, **own}


def _returned(group: FuncOp) -> list[SSAValue]:
    """Return the values that a group returns."""
    terminator = group.body.block.last_op
    return list(terminator.operands) if isinstance(terminator, ReturnOp) else []


def _buffer_type(t: Attribute) -> MemRefType:
    return buffer_of(tensor_type(t))
