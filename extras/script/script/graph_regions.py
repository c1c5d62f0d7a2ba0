"""Branches and loops of graph functions: `if` and `while`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i1
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, SSAValue

from relex.dialects.names import name_value
from relex.frontend.script.graph_calls import Value, as_tensors, flatten
from relex.frontend.script.graph_expressions import GraphExpressions
from relex.frontend.script.scope import Hidden, Scope
from relex.frontend.script.source import ScriptError

Read = Callable[[ast.stmt], None]


def read_if(node: ast.If, scope: Scope, graph: GraphExpressions, statement: Read) -> None:
    """Read an `if`. The names that both branches assign are known after it, and so are those known before it that one
    branch gives another value of the same type."""
    holds = _condition(node.test, scope, graph)
    blocks, assigned = (Block(), Block()), list[dict[str, object]]()
    for block, body in zip(blocks, (node.body, node.orelse), strict=True):
        with scope.inside(block):
            scope.read(body, statement)
            assigned.append(dict(scope.names.maps[0]))
    then, otherwise = ({**_kept(other, scope), **own} for own, other in (assigned, assigned[::-1]))
    names = [name for name in then if name in otherwise and _tensors(then[name]) and _tensors(otherwise[name])]
    first, second = ([v for name in names for v in _tensors(found[name])] for found in (then, otherwise))
    _expect_types(node, names, first, second)
    for block, values in zip(blocks, (first, second), strict=True):
        with scope.inside(block):
            scope.emit(node, scf.YieldOp(*values))
    made = scope.emit(node, scf.IfOp(holds, [value.type for value in first], [blocks[0]], [blocks[1]]))
    _bind(scope, names, [then[name] for name in names], made.results)
    hidden = Hidden("the value is not known outside of its branch; assign it in both")
    scope.names.update({name: hidden for name in {**then, **otherwise} if name not in names})


def read_while(node: ast.While, scope: Scope, graph: GraphExpressions, statement: Read) -> None:
    """Read a `while`. It carries the names that its body assigns and that are known before it."""
    if node.orelse:
        raise ScriptError(node.orelse[0], "expected no 'else' after a loop")
    stored = [n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = [name for name in dict.fromkeys(stored) if _tensors(scope.names.get(name))]
    before_loop = [scope.names[name] for name in names]
    first = [v for value in before_loop for v in _tensors(value)]
    types = [value.type for value in first]
    test, body = Block(arg_types=types), Block(arg_types=types)
    with scope.inside(test):
        _bind(scope, names, before_loop, test.args)
        scope.emit(node, scf.ConditionOp(_condition(node.test, scope, graph), *test.args))
    with scope.inside(body):
        _bind(scope, names, before_loop, body.args)
        scope.read(node.body, statement)
        inside = dict(scope.names.maps[0])
        values = [v for name in names for v in _tensors(inside[name])]
        _expect_types(node, names, first, values)
        scope.emit(node, scf.YieldOp(*values))
    made = scope.emit(node, scf.WhileOp(first, types, [test], [body]))
    _bind(scope, names, before_loop, made.results)
    hidden = Hidden("the value is not known outside of its loop; assign it before")
    scope.names.update({name: hidden for name in inside if name not in names})


def _condition(node: ast.expr, scope: Scope, graph: GraphExpressions) -> SSAValue:
    value = graph.tensors(node)
    if isinstance(value, SSAValue) and value.type == i1:
        return value
    if not isinstance(value, SSAValue) or value.type != TensorType(i1, []):
        found = value.type if isinstance(value, SSAValue) else f"{len(value)} tensors"
        raise ScriptError(node, f"expected a condition that is a boolean tensor without dimensions, found {found}")
    return scope.emit(node, ExtractOp(value, [], i1)).result


def _kept(assigned: Mapping[str, object], scope: Scope) -> dict[str, object]:
    """Return the values from before a branch for the names that it assigns others of their types."""
    known = {name: scope.names[name] for name in assigned if name in scope.names}
    return {name: value for name, value in known.items() if _types(value) == _types(assigned[name])}


def _types(value: object) -> list[Attribute]:
    return [tensor.type for tensor in _tensors(value)]


def _tensors(value: object) -> list[SSAValue]:
    """Return the tensors that a name stands for, none if it stands for something else."""
    found = as_tensors(value)
    return [] if found is None else flatten(found)


def _expect_types(node: ast.AST, names: Sequence[str], first: Sequence[SSAValue], second: Sequence[SSAValue]) -> None:
    types, found = [value.type for value in first], [value.type for value in second]
    if types != found:
        what = f"{', '.join(names)} to be {', '.join(map(str, types))}"
        raise ScriptError(node, f"expected {what} on all ways, found {', '.join(map(str, found))}")


def _bind(scope: Scope, names: Sequence[str], like: Sequence[object], values: Sequence[SSAValue]) -> None:
    """Let names stand for values, in the same structure as before."""
    rest = iter(values)
    for name, value in zip(names, like, strict=True):
        known = as_tensors(value)
        assert known is not None
        new = _restored(known, rest)
        scope.names[name] = new
        if isinstance(new, SSAValue):
            name_value(new, name)


def _restored(value: Value, rest: Iterator[SSAValue]) -> Value:
    return next(rest) if isinstance(value, SSAValue) else tuple(_restored(part, rest) for part in value)
