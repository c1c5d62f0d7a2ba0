"""Calls in place: `R.call_tir_inplace`, whose loop function changes some of its arguments.

Tensors do not change, so the function that is read copies these arguments to its outputs first. `plan-memory` leaves
out the copy where nothing else reads the argument.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.dialects.relex import CallTirOp
from relex.frontend.script.graph_calls import CALLS, Value, call_arguments, flatten, loop_callee, outputs_of, results_of
from relex.frontend.script.scope import Unit
from relex.frontend.script.source import ScriptError

if TYPE_CHECKING:
    from relex.frontend.script.graph_expressions import GraphExpressions

_NAME = "R.call_tir_inplace"

Parameter = tuple[ast.arg, str, Attribute, Sequence[str]]
"""A parameter of a loop function: where it is, its name, its type, and the names of its sizes."""


@CALLS.rule(_NAME)
def _call_tir_inplace(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = call_arguments(node, _NAME, "inplace_indices")
    name = loop_callee(graph, bound["func"])
    inputs = flatten(graph.tensors(bound["args"]))
    return results_of(graph.scope.emit(node, CallTirOp(name, inputs, *outputs_of(graph, node, bound))))


def called_in_place(unit: Unit, functions: Iterable[ast.FunctionDef]) -> Mapping[str, tuple[int, ...]]:
    """Return for each loop function that is called in place which argument each result takes the place of; -1 stands
    for none. Reports calls that differ."""
    found: dict[str, tuple[int, ...]] = {}
    calls = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
    for call in (call for call in calls if unit.vocabulary.calls(call, _NAME)):
        try:
            bound = call_arguments(call, _NAME, "inplace_indices")
            callee, places = bound["func"], _places(unit, bound["inplace_indices"])
        except ScriptError as e:
            unit.leave_out(e)
            continue
        name = callee.attr if isinstance(callee, ast.Attribute) else callee.id if isinstance(callee, ast.Name) else ""
        if found.setdefault(name, places) != places:
            unit.leave_out(ScriptError(call, f"expected all calls of '{name}' to change the same arguments"))
    return found


def _places(unit: Unit, node: ast.expr) -> tuple[int, ...]:
    value = unit.constants.value(node)
    places = (value,) if isinstance(value, int) else value
    if not isa(places, tuple[int, ...]) or not places or any(isinstance(place, bool) for place in places):
        raise ScriptError(node, f"expected inplace_indices to be a list of arguments, or -1, found {value!r}")
    return places


def with_copies(
    node: ast.AST, parameters: Sequence[Parameter], places: Sequence[int]
) -> tuple[list[Parameter], list[ast.stmt]]:
    """Return the parameters of a function, defined at `node`, whose results take the places of some, with outputs for
    these in their order, and the statements that copy arguments to them."""
    count = len(parameters) - places.count(-1)
    changed = [place for place in places if place != -1]
    if count < 0 or len({*changed}) < len(changed) or any(not 0 <= place < count for place in changed):
        found = ", ".join(map(str, places))
        raise ScriptError(node, f"expected inplace_indices to be different arguments, or -1, found {found}")
    inputs, fresh, copies = [*parameters[:count]], iter(parameters[count:]), list[ast.stmt]()
    for place in changed:
        argument, name, kind, dims = parameters[place]
        before = f"{name}_before"
        while any(before == other for _, other, *_ in parameters):
            before += "_"
        inputs[place] = (argument, before, kind, dims)
        copies += _copy(argument, name, before, kind, dims)
    return [*inputs, *(next(fresh) if place == -1 else parameters[place] for place in places)], copies


def _copy(node: ast.arg, name: str, before: str, kind: Attribute, dims: Sequence[str]) -> list[ast.stmt]:
    if not isa(kind, MemRefType):
        raise ScriptError(node, f"expected a buffer, as a call changes '{name}'")
    sizes = [dim if size == DYNAMIC_INDEX else str(size) for size, dim in zip(kind.get_shape(), dims, strict=True)]
    if "" in sizes:
        raise ScriptError(node, f"expected names for the sizes of '{name}', which a call changes")
    variables = [f"{before}_{d}" for d in range(len(sizes))]
    text = f"{name}[{', '.join(variables) or '()'}] = {before}[{', '.join(variables) or '()'}]"
    for variable, size in zip(reversed(variables), reversed(sizes), strict=True):
        text = f"for {variable} in T.serial({size}):\n" + "\n".join(f" {line}" for line in text.split("\n"))
    body = ast.parse(text).body
    for part in (part for statement in body for part in ast.walk(statement)):
        ast.copy_location(part, node)
    return body
