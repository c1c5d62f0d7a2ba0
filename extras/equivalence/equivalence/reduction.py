"""Reduction of a program and its arguments to smaller ones that still show what is wrong with a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolOpInterface

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.function_arguments import argument_attrs, argument_names
from relex.dialects.parser import verify_module
from relex.dialects.symbols import symbol_of
from relex.reference.interpreter.budget import steps_taken

Edit = Callable[[ModuleOp], bool]
"""Changes a module; returns whether there was something to change."""

ATTEMPTS = 1000
"""The number of smaller programs or arguments that a reduction tries."""

STEPS = 10_000_000
"""The number of interpreted steps that a reduction may take for them."""


class Patience:
    """Decides when a reduction ends, at the same place on every machine."""

    def __init__(self) -> None:
        self._attempts = ATTEMPTS
        self._steps = steps_taken() + STEPS

    def is_left(self) -> bool:
        """Return whether there may be one more attempt."""
        self._attempts -= 1
        return self._attempts >= 0 and steps_taken() < self._steps


def reduce_module(
    module: ModuleOp, name: str, shows: Callable[[ModuleOp], bool], patience: Patience | None = None
) -> ModuleOp:
    """Return a smaller module for which `shows` is still true. Removes functions other than `name`, ops, results and
    arguments one by one, as long as there is patience."""
    patience = patience or Patience()
    current, changed = module.clone(), True
    while changed and patience.is_left():
        changed = False
        place = sum(1 for _ in current.walk())
        # Backwards: removing an op keeps the numbers of the ops before it.
        while place > 1 and patience.is_left():
            place -= 1
            smaller = _first_that_shows(current, name, place, shows)
            if smaller is not None:
                current, changed = smaller, True
                place = min(place + 1, sum(1 for _ in current.walk()))
    return current


def _first_that_shows(module: ModuleOp, name: str, place: int, shows: Callable[[ModuleOp], bool]) -> ModuleOp | None:
    """Return the module with op number `place` changed in the first way that still shows what is wrong."""
    for edit in _edits(list(module.walk())[place], place, name):
        smaller = module.clone()
        try:
            if not edit(smaller):
                continue
            verify_module(smaller)
            if shows(smaller):
                return smaller
        except Exception:
            # The program is no longer valid, or the pass rejects it.
            continue
    return None


def _edits(op: Operation, place: int, name: str) -> Iterator[Edit]:
    """Yield the possible edits of `op`, which is op number `place` of a module."""

    def at(edit: Callable[[Operation], bool]) -> Edit:
        return lambda module: edit(list(module.walk())[place])

    if op.has_trait(SymbolOpInterface):
        yield at(lambda op: _erase_symbol(op, name))
        if isinstance(op, func.FuncOp) and op.sym_name.data == name:
            for i in reversed(range(len(op.function_type.inputs))):
                yield at(lambda op, i=i: _drop_argument(op, i))
    elif isinstance(op, func.ReturnOp):
        if len(op.arguments) > 1:
            for i in range(len(op.arguments)):
                yield at(lambda op, i=i: _return(op, [op.operands[i]]))
        elif op.arguments and isinstance(owner := op.arguments[0].owner, Operation):
            for operand in range(len(owner.operands)):
                yield at(lambda op, i=operand: _return_operand(op, i))
    elif not op.has_trait(IsTerminator):
        yield at(_erase)
        yield at(_replace_by_operand)
        yield at(lambda op: _replace_by_argument(op, name))


def _erase_symbol(op: Operation, name: str) -> bool:
    symbol, module = symbol_of(op), op.parent_op()
    if symbol is None or symbol == name or module is None:
        return False
    for inner in module.walk():
        for attr in (*inner.properties.values(), *inner.attributes.values()):
            if isinstance(attr, SymbolRefAttr) and attr.root_reference.data == symbol:
                return False
    return _erase(op)


def _erase(op: Operation) -> bool:
    if any(result.uses.get_length() for result in op.results):
        return False
    op.detach()
    op.erase()
    return True


def _replace_by_operand(op: Operation) -> bool:
    """Replace the result by an operand of its type."""
    if len(op.results) != 1:
        return False
    value = next((operand for operand in op.operands if operand.type == op.results[0].type), None)
    if value is None:
        return False
    op.results[0].replace_all_uses_with(value)
    return _erase(op)


def _replace_by_argument(op: Operation, name: str) -> bool:
    """Replace the results by new arguments of the function."""
    function = op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    if function is None or function.sym_name.data != name or not op.results or not op.operands:
        return False
    block = function.body.blocks[0]
    attrs = argument_attrs(function)
    taken = set(argument_names(function))
    for result in op.results:
        argument = block.insert_arg(result.type, len(block.args))
        argument.name_hint = next(n for i in range(len(taken) + 1) if (n := f"in{i}") not in taken)
        taken.add(argument.name_hint)
        result.replace_all_uses_with(argument)
    if function.arg_attrs is not None and attrs is not None:
        function.arg_attrs = ArrayAttr([*attrs, *[type(attrs[0])({})] * len(op.results)]) if attrs else None
    function.update_function_type()
    return _erase(op)


def _drop_argument(op: Operation, index: int) -> bool:
    assert isinstance(op, func.FuncOp)
    block = op.body.blocks[0]
    if block.args[index].uses.get_length():
        return False
    block.erase_arg(block.args[index])
    if op.arg_attrs is not None:
        op.arg_attrs = ArrayAttr(attr for i, attr in enumerate(op.arg_attrs) if i != index)
    op.update_function_type()
    return True


def _return_operand(op: Operation, index: int) -> bool:
    """Instead of the returned value, return an operand of the op that computes it."""
    owner = op.operands[0].owner
    return isinstance(owner, Operation) and _return(op, [owner.operands[index]])


def _return(op: Operation, values: Sequence[SSAValue]) -> bool:
    function = op.parent_op()
    if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
        return False
    op.operands = values
    function.res_attrs = None
    function.update_function_type()
    return True


def simplify_arguments(arguments: Sequence[Any], shows: Callable[[list[Any]], bool]) -> list[Any]:
    """Return arguments for which `shows` is still true, with as many elements as possible zero."""
    current = [np.array(value) for value in arguments]
    patience = Patience()
    for i, array in enumerate(current):
        chunks = [np.flatnonzero(nonzero(array.reshape(-1)))]
        while chunks and patience.is_left():
            chunk = chunks.pop()
            if not chunk.size:
                continue
            simpler = array.copy()
            simpler.reshape(-1)[chunk] = 0
            if shows([value[()] for value in (*current[:i], simpler, *current[i + 1 :])]):
                array = current[i] = simpler
            elif chunk.size > 1:
                half = chunk.size // 2
                chunks += [chunk[half:], chunk[:half]]
    return [value[()] for value in current]


def nonzero(array: Any) -> Any:
    """Return a mask of all elements except zeros without a sign."""
    return (array != 0) | np.signbit(array) if is_float_dtype(array.dtype) else array != 0
