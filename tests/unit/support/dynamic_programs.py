"""Operators on operands whose sizes are dynamic: their types, and programs of one operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from programs import Array, MakeOperator, tensor_of
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, Region
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import InferenceError
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Requirement, evaluate, gathering


def opened(make: MakeOperator, operands: Sequence[Array]) -> list[TensorType]:
    """The types of the operands, with `?` for every size for which the operator takes it, and takes these operands."""
    types = [tensor_of(array) for array in operands]
    for i, array in enumerate(operands):
        for dimension in range(array.ndim):
            shape = list(types[i].get_shape())
            shape[dimension] = DYNAMIC_INDEX
            tried = [*types[:i], TensorType(types[i].element_type, shape), *types[i + 1 :]]
            if takes(make, tried, operands):
                types = tried
    return types


def takes(make: MakeOperator, types: Sequence[TensorType], operands: Sequence[Array]) -> bool:
    try:
        op = make(*map(create_ssa_value, types))
        with gathering() as requirements:
            op.infer([SizedType.of(t, f"x{i}") for i, t in enumerate(types)], op.properties)
    except InferenceError:
        return False
    values = {f"x{i}_{d}": size for i, array in enumerate(operands) for d, size in enumerate(array.shape)}
    return all(holds(requirement, values) for requirement in requirements)


def holds(requirement: Requirement, values: Mapping[str, int]) -> bool:
    lhs, rhs = evaluate(requirement.lhs, values), evaluate(requirement.rhs, values)
    return lhs == rhs if requirement.relation == "==" else lhs <= rhs


def program(make: MakeOperator, types: Sequence[TensorType]) -> str:
    block = Block(arg_types=types)
    for i, argument in enumerate(block.args):
        argument.name_hint = f"x{i}"
    operator = make(*block.args)
    block.add_ops([operator, func.ReturnOp(*operator.results)])
    main = func.FuncOp("main", FunctionType.from_lists(types, operator.result_types), Region(block))
    return str(ModuleOp([main]))
