"""Programs of users, for the type checker alone: public names have their types, and names that do not exist are errors.

An error that is expected here and not found is an error itself.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

import relex
from relex import dialects, frontend, lowering, passes, runtime, tools
from relex.dialects.arrays import Array
from relex.dialects.relex import AddOp, ConcatOp, NegativeOp, WhereOp, array_of, shape_of
from relex.frontend import Var, op
from relex.frontend.graph_expressions import Call
from relex.reference import Interpretation
from relex.runtime import Executable

x = Var("x", (2, 3))


def right(module: ModuleOp) -> None:
    assert_type(relex.build(module, strict=True), Executable)
    assert_type(relex.load("model.relex"), Executable)
    assert_type(relex.parse("model.mlir"), ModuleOp)
    assert_type(relex.interpret(module, checked=True), Interpretation)
    assert_type(relex.show(module), None)
    assert_type(relex.__version__, str)
    assert_type(relex.passes.FuseOpsPass()(module), ModuleOp)
    assert_type(op.sum(x, axis=[0, 1], keepdims=True), Call)
    assert_type(op.concat([x, x], x, axis=1), Call)
    assert_type(op.nn.relu(x), Call)
    assert_type(op.astype(x, "float16"), Call)


def right_ops(add: AddOp, concat: ConcatOp) -> None:
    assert_type(add.lhs.type, TensorType)
    assert_type(add.lhs.type.get_shape(), tuple[int, ...])
    assert_type([tensor.type.get_num_dims() for tensor in concat.tensors], list[int])
    assert_type(add.result.type, TensorType)
    assert_type(shape_of(add.result), tuple[int, ...])
    assert_type(array_of(add.rhs), Array | None)
    assert_type(AddOp(add.lhs, NegativeOp(add.rhs)), AddOp)


def wrong_ops(x: SSAValue) -> None:
    AddOp(x)  # pyright: ignore[reportCallIssue]
    AddOp(x, x, x)  # pyright: ignore[reportCallIssue]
    AddOp(x, "x")  # pyright: ignore[reportArgumentType]
    NegativeOp()  # pyright: ignore[reportCallIssue]
    WhereOp(x, x)  # pyright: ignore[reportCallIssue]


def wrong(module: ModuleOp) -> None:
    names: list[object] = [
        relex.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        dialects.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        frontend.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        lowering.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        passes.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        runtime.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        tools.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        op.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        op.nn.nonsense,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    ]
    print(names)
    relex.build(module, nonsense=True)  # pyright: ignore[reportCallIssue]
    relex.build(3)  # pyright: ignore[reportArgumentType]
    relex.show("model.mlir")  # pyright: ignore[reportArgumentType]
    op.relu()  # pyright: ignore[reportCallIssue]
    op.relu("x")  # pyright: ignore[reportArgumentType]
    op.sum(x, axis="0")  # pyright: ignore[reportArgumentType]
    op.sum(x, nonsense=1)  # pyright: ignore[reportCallIssue]
