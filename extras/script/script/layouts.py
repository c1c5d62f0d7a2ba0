"""Options of TVM's operators for which tensors are converted before and after relex's: layouts, and `out_dtype`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from relex.dialects.relex import AstypeOp, Operator, PermuteDimsOp, SlidingWindows, TransposedConvolution
from relex.dialects.relex.operator import tensor_type
from relex.frontend.script.dtypes import element_type_of
from relex.frontend.script.scope import Unit
from relex.frontend.script.source import ScriptError

_LAYOUTS = ("data_layout", "layout", "kernel_layout", "out_layout")

Emit = Callable[[Operator], Operator]
"""Inserts an op."""


def conversion_options(operator: type[Operator]) -> Sequence[str]:
    """Return the options that ask for conversions around an operator."""
    return ("out_dtype", *(_LAYOUTS if issubclass(operator, SlidingWindows) else ()))


class Conversions:
    """The conversions that the options of a call ask for."""

    def __init__(self, unit: Unit, operator: type[Operator], bound: Mapping[str, ast.expr], emit: Emit):
        self._emit = emit
        self._dtype = self._data = self._kernel = self._out = None
        options = conversion_options(operator)
        values = {name: unit.constants.value(node) for name, node in bound.items() if name in options}
        if values.get("out_dtype") not in (None, "", "void"):
            self._dtype = element_type_of(bound["out_dtype"], values["out_dtype"])
        if not issubclass(operator, SlidingWindows):
            return
        dimensions = "DHW"[-operator.RANK :]
        data, kernel = f"NC{dimensions}", ("IO" if issubclass(operator, TransposedConvolution) else "OI") + dimensions
        given = values.get("data_layout") or values.get("layout") or data
        for name, value in values.items():
            expected = kernel if name == "kernel_layout" else data
            if name in _LAYOUTS and value and sorted(str(value)) != sorted(expected):
                raise ScriptError(bound[name], f"expected {name} to be '{expected}' in some order, found {value!r}")
        self._data = _moves(data, str(given))
        self._kernel = _moves(kernel, str(values.get("kernel_layout") or kernel))
        self._out = _moves(str(values.get("out_layout") or given), data)

    def before(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands as relex's operator takes them: TVM multiplies elements of the dtype of the result."""
        moved = [self._moved(x, axes) for x, axes in zip(operands, (self._data, self._kernel), strict=False)]
        return [self._converted(x) for x in (*moved, *operands[len(moved) :])]

    def after(self, op: Operator) -> Operator:
        """Return the op whose result is TVM's."""
        owner = self._moved(op.results[0], self._out).owner
        assert isinstance(owner, Operator)
        return owner

    def _moved(self, value: SSAValue, axes: Sequence[int] | None) -> SSAValue:
        if axes is None or list(axes) == sorted(axes) or len(axes) != len(tensor_type(value.type).get_shape()):
            return value
        return self._emit(PermuteDimsOp(value, axes)).results[0]

    def _converted(self, value: SSAValue) -> SSAValue:
        if self._dtype in (None, tensor_type(value.type).element_type):
            return value
        return self._emit(AstypeOp(value, self._dtype)).results[0]


def _moves(to: str, given: str) -> list[int]:
    return [given.index(letter) for letter in to]
