"""Arguments that results take the place of: a call writes to their memory, and returns nothing for them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func, tensor
from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.function_arguments import INOUT_ATTR, replacements, set_argument_attr
from relex.dialects.op_edits import insert_before
from relex.dialects.relex import AllocTensorOp
from relex.dialects.symbols import resolve
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.rewriting.size_values import SizesOfResults

_VIEWS = (tensor.CastOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)


def write_arguments(module: ModuleOp, sizes: SizesOfResults) -> None:
    """Let functions write results to the arguments whose place they take, at their end. What they return of such an
    argument is copied before; so is such an argument of a call, whose copy the call writes to.

    ```mlir
    func.func @main(%x: tensor<8xf32> {relex.inout = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>) {
      %y = relex.call_tir @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
      func.return %y, %x : tensor<8xf32>, tensor<8xf32>
    }
    // becomes
    func.func @main(%x: tensor<8xf32> {relex.inout}) -> tensor<8xf32> {
      %y = relex.call_tir @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %z = relex.alloc_tensor : tensor<8xf32>
      %0 = bufferization.materialize_in_destination %x in %z : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %1 = bufferization.materialize_in_destination %y in %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %z : tensor<8xf32>
    }
    ```
    """
    replaced = {f: found for f in module.ops if isinstance(f, func.FuncOp) and (found := replacements(f))}
    if not replaced:
        return
    for call in walk_of(module, func.CallOp):
        callee = resolve(call, call.callee, func.FuncOp)
        if callee in replaced:
            _pass_copies(call, replaced[callee], sizes)
    for function, of_function in replaced.items():
        _write_results(function, of_function, sizes)


def _write_results(function: func.FuncOp, replaced: Mapping[int, int], sizes: SizesOfResults) -> None:
    types = function.function_type
    kept = [i for i in range(len(types.outputs)) if i not in replaced.values()]
    function.function_type = FunctionType.from_lists(types.inputs.data, [types.outputs.data[i] for i in kept])
    if function.res_attrs is not None:
        function.res_attrs = type(function.res_attrs)(function.res_attrs.data[i] for i in kept)
    for argument in replaced:
        set_argument_attr(function, argument, INOUT_ATTR, UnitAttr())
    end = function.body.blocks[-1].last_op if function.body.blocks else None
    if not isinstance(end, func.ReturnOp):
        return
    places = {number: function.args[argument] for argument, number in replaced.items()}
    results = [*end.arguments]
    for i, value in enumerate(results):
        if (origin := _origin(value)) in places.values() and origin is not places.get(i):
            results[i] = _copied(value, end, sizes)
    for i, place in places.items():
        if _origin(results[i]) is not place:
            _write(results[i], place, end)
    end.operands = [results[i] for i in kept]


def _origin(value: SSAValue) -> SSAValue:
    """Return the tensor that a tensor is in the memory of."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    return value


def _copied(value: SSAValue, before: Operation, sizes: SizesOfResults) -> SSAValue:
    """Return new memory that holds a tensor."""
    assert isa(value.type, TensorType)
    alloc = insert_before(before, AllocTensorOp(value.type, sizes.of(value)))
    sizes.take_over(alloc.result, value)
    _write(value, alloc.result, before)
    return alloc.result


def _write(value: SSAValue, place: SSAValue, before: Operation) -> None:
    insert_before(before, MaterializeInDestinationOp.create(operands=[value, place], result_types=[value.type]))


def _pass_copies(call: func.CallOp, replaced: Mapping[int, int], sizes: SizesOfResults) -> None:
    """Let a call take copies of the arguments that it writes: they are its results."""
    arguments = [_copied(v, call, sizes) if i in replaced else v for i, v in enumerate(call.arguments)]
    kept = [result for i, result in enumerate(call.results) if i not in replaced.values()]
    new = insert_before(call, func.CallOp(call.callee, arguments, [result.type for result in kept]))
    results = dict[SSAValue, SSAValue](zip(kept, new.results, strict=True))
    results |= {call.results[number]: arguments[i] for i, number in replaced.items()}
    for old, value in results.items():
        sizes.take_over(value, old)
    Rewriter.replace_op(call, [], [results[result] for result in call.results])
