"""Calls of functions that return tensors of late sizes: only the caller of a program gives memory for such."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.relex import CallOp
from relex.dialects.symbols import erase_unused, is_private, resolve
from relex.dialects.walks import walk_of
from relex.passes.rewriting.size_values import SizesOfResults


def inline_late_calls(module: ModuleOp, sizes: SizesOfResults) -> bool:
    """Replace each call of a function that returns a tensor of late size by the ops of the function, which is gone if
    it is private. Returns whether anything changed.

    ```mlir
    %y = func.call @f(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
    func.func private @f(%x: tensor<?xf32>) -> tensor<?x1xi64> {
      %p = relex.call_tir @nonzero(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?x1xi64>
      func.return %p : tensor<?x1xi64>
    }
    // becomes
    %p = relex.call_tir @nonzero(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?x1xi64>
    ```
    """
    late = [f for f in module.ops if isinstance(f, func.FuncOp) and _returns_late(f, sizes)]
    private = [f for f in late if is_private(f)]
    is_changed = bool(private)
    while calls := [op for op in walk_of(module, CallOp, func.CallOp) if _callee(op) in late]:
        is_changed = True
        for call in calls:
            _inline(call, _callee(call))
    if private:
        erase_unused(module, module.ops)  # With them goes what only they call.
    return is_changed


def _callee(call: CallOp | func.CallOp) -> func.FuncOp:
    return resolve(call, call.callee, func.FuncOp)


def _returns_late(function: func.FuncOp, sizes: SizesOfResults) -> bool:
    end = function.body.blocks[-1].last_op if len(function.body.blocks) == 1 else None
    return isinstance(end, func.ReturnOp) and any(map(sizes.is_late, end.arguments))


def _inline(call: CallOp | func.CallOp, callee: func.FuncOp) -> None:
    block = callee.body.clone().block
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    Rewriter.inline_block(block, InsertPoint.before(call), call.arguments)
    Rewriter.replace_op(call, [], [*end.arguments])
    Rewriter.erase_op(end)
