"""Pack constants at compile time into the layouts that loop functions read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    i32,
)
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.function_arguments import argument_attrs
from relex.dialects.relex import CallTirOp, ConstantOp
from relex.dialects.walks import walk_of
from relex.passes.analysis.constant_inputs import KnownCalls, constant_of, known_calls
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.reorderings import Reordering, reorderings
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.index_arithmetic import remove_unused


class RewriteLayoutPass(RelexPass):
    """
    Packs constants into the layout that a loop function wants at compile time instead of in every run. An input that
    the function copies into a local buffer of another layout, or with padding at the edges, and that is a constant in
    all of its calls, becomes an input in that layout; places that the copy leaves open are 0.

    The function must be private and called by `relex.call_tir` only. A constant whose copies for several functions
    would take more than four times its size keeps its layout in the functions that come last.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %w = relex.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
      %y = relex.call_tir @f(%x, %w) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
      ...
    }
    tir.prim_func private @f(%x: memref<4xf32>, %w: memref<2x4xf32>) outs(%y: memref<4xf32>) {
      %w_local = tir.alloc_buffer : memref<4x2xf32>
      tir.for %j, %i in (4, 2) {
        tir.block @w_local (%vj: spatial<4> = %j, %vi: spatial<2> = %i) {
          %0 = memref.load %w[%vi, %vj] : memref<2x4xf32>
          memref.store %0, %w_local[%vj, %vi] : memref<4x2xf32>
        }
      }
      ...
    }
    // rewrite-layout
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %w_local = relex.constant dense<[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]]> : tensor<4x2xf32>
      %y = relex.call_tir @f(%x, %w_local) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
      ...
    }
    tir.prim_func private @f(%x: memref<4xf32>, %w_local: memref<4x2xf32>) outs(%y: memref<4xf32>) {
      ...
    }
    ```
    """

    name = "rewrite-layout"

    def same_call(self, function: Operation, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """A function that gets packed copies takes other arguments, even where their types are the same."""
        module = function.parent_op()
        known = known_calls(module) if isinstance(module, ModuleOp) else []
        copies = [reorderings(k.func, k.func.inputs[i]) for k in known if k.func is function for i in k.constants]
        return None if any(map(list, copies)) else (arguments, arguments)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = _Copies()
        constants = [o for o in walk_of(op, ConstantOp) if o.result.first_use is not None]
        for known in known_calls(op):
            if known.constants:
                _Rewriting(known, made).run()
        erase_unused_constants(constants)


class _Copies:
    """The packed copies of constants, without duplicates."""

    def __init__(self) -> None:
        self._of: dict[DenseIntOrFPElementsAttr, set[DenseIntOrFPElementsAttr]] = defaultdict(set)

    def accept(self, constant: DenseIntOrFPElementsAttr, copy: DenseIntOrFPElementsAttr) -> bool:
        """Return whether a constant may have this copy as well, and record it if so."""
        copies = self._of[constant] | {copy}
        if sum(map(_bytes, copies)) > max(cost.PACKED_BYTES_ALLOWED, cost.MAX_PACKED_GROWTH * _bytes(constant)):
            return False
        self._of[constant] = copies
        return True


def _bytes(value: DenseIntOrFPElementsAttr) -> int:
    return len(value.data.data)


class _Rewriting:
    """The rewriting of one function and its calls."""

    def __init__(self, known: KnownCalls, made: _Copies):
        self._func = known.func
        self._calls = known.calls
        self._constants = [known.func.inputs[i] for i in sorted(known.constants)]
        self._made = made
        self._attrs = argument_attrs(known.func) or []

    def run(self) -> None:
        """Replace all packed copies in the function by arguments."""
        copies = [copy for argument in self._constants for copy in reorderings(self._func, argument)]
        taken = list(dict.fromkeys(copy.source for copy in copies if self._take(copy)))
        for argument in taken:
            if argument.first_use is None:
                self._drop(argument)
        if taken:
            self._set_types()

    def _take(self, copy: Reordering) -> bool:
        """Turn a packed copy into an argument, after the argument that it is a copy of."""
        number = copy.source.index
        constants = [constant_of(call.arguments[number]) for call in self._calls]
        new = {constant: _reordered(constant, copy) for constant in dict.fromkeys(constants)}
        if not all(self._made.accept(before.value, after.value) for before, after in new.items()):
            return False
        for before, after in new.items():
            Rewriter.insert_op(after, InsertPoint.after(before))
        argument = self._func.body.block.insert_arg(copy.buffer.buffer.type, number + 1)
        self._attrs.insert(number + 1, DictionaryAttr({}))
        for call, constant in zip(self._calls, constants, strict=True):
            _set_arguments(call, [*call.arguments[: number + 1], new[constant].result, *call.arguments[number + 1 :]])
        copy.replace_by(argument)
        return True

    def _drop(self, argument: BlockArgument) -> None:
        number = argument.index
        self._func.body.block.erase_arg(argument)
        del self._attrs[number]
        for call in self._calls:
            _set_arguments(call, [*call.arguments[:number], *call.arguments[number + 1 :]])

    def _set_types(self) -> None:
        func = self._func
        remove_unused(list(func.body.block.ops))
        func.function_type = FunctionType.from_lists([arg.type for arg in func.args], [])
        func.arg_attrs = ArrayAttr(self._attrs) if any(attr.data for attr in self._attrs) else None


def _set_arguments(call: CallTirOp, arguments: Sequence[SSAValue]) -> None:
    """Change a call in place, because it may be an argument of another call of the same function."""
    sizes = call.sizes
    call.operands = [*arguments, *sizes]
    call.properties[AttrSizedOperandSegments.attribute_name] = DenseArrayBase.from_list(
        i32, [len(arguments), len(sizes)]
    )


def _reordered(constant: ConstantOp, copy: Reordering) -> ConstantOp:
    new = ConstantOp(copy.packed(constant.value))
    new.location = constant.location
    new.result.name_hint = copy.buffer.buffer.name_hint
    return new
