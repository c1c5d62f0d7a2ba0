"""Groups of operators on tensors of dynamic sizes: what their calls have in common, and calls of their code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from relex.dialects import function_arguments
from relex.dialects.errors import PassError
from relex.dialects.op_edits import terminator_of
from relex.dialects.relex import CallOp, CallTirOp
from relex.dialects.relex.types import tensor_type
from relex.dialects.sizes.attributes import annotate, has_unknown
from relex.dialects.tir import PrimFuncOp
from relex.passes.rewriting.equal_sizes import PassedSizes, common_sizes, state_passed
from relex.passes.rewriting.size_values import SizesOfResults


class DynamicGroups:
    """The groups of a module whose sizes are known at run time."""

    def __init__(self) -> None:
        self._sizes = PassedSizes()

    def state(self, group: FuncOp, calls: Sequence[CallOp]) -> bool:
        """State which sizes are equal in all calls of a group, so that nothing else of its callers counts for its code.
        Returns False if that is not known of some size."""
        types = _types(group)
        unknown = [i for i, t in enumerate(types) if has_unknown(t)]
        if not unknown or function_arguments.PASSED_ATTR in group.attributes:
            return True
        names = [*function_arguments.argument_names(group), *(f"out{i}" for i in range(len(types) - len(group.args)))]
        try:
            passed = [self._sizes.of(call) for call in calls]
        except PassError:
            return False  # It is reported when operators are lowered.
        texts = common_sizes(names, types, passed)
        if [*texts] != unknown:
            return False
        state_passed(group, texts, len(types))
        return True

    def call_instead(self, group: FuncOp, function: PrimFuncOp) -> None:
        """Let a group call a loop function that computes the same, and state there what the group requires of sizes."""
        if not any(map(has_unknown, _types(group))):
            return
        sizes, end = self._sizes.of_functions, terminator_of(group.body.block)
        values = SizesOfResults(sizes)
        given = [size for value in end.operands for size in values.of(value)]
        annotate(group, sizes.of(group))
        call = CallTirOp(function.sym_name.data, group.args, [tensor_type(value.type) for value in end.operands], given)
        group.body.block.insert_op_before(call, end)
        end.operands = call.results
        results = function_arguments.result_attrs(group, len(call.results))
        function.arg_attrs = ArrayAttr(
            [*(function_arguments.argument_attrs(group) or [DictionaryAttr({})] * len(group.args)), *results]
        )
        kept = (function_arguments.PASSED_ATTR, function_arguments.REQUIRES_ATTR)
        function.attributes |= {name: group.attributes[name] for name in kept if name in group.attributes}


def _types(group: FuncOp) -> list[Attribute]:
    """Return the types of the arguments and results of a group."""
    return [*group.function_type.inputs, *group.function_type.outputs]
