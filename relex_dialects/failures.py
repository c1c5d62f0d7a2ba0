"""Failures of assertions below the graph level: `cf.assert`, and the index, or the size, that its error is to name.

```mlir
func.func private @relex_found_index(i64)
...
func.call @relex_found_index(%i) : (i64) -> ()
cf.assert %in_range, "expected indices from 0 to 9"
```
"""

from __future__ import annotations

from xdsl.dialects import cf
from xdsl.dialects.builtin import FunctionType, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, Region, SSAValue

from relex.dialects.exceptions import AssertionRecord

FOUND_INDEX = "relex_found_index"
"""The function that a program calls with an index right before an assertion whose error names that index."""


FOUND_SIZE = "relex_found_size"
"""The function that a program calls with a size right before an assertion about sizes, whose error names that one."""

NOTES = (FOUND_INDEX, FOUND_SIZE)


def declaration() -> FuncOp:
    """Return the declaration of the function that takes an index."""
    return _declaration(FOUND_INDEX)


def size_declaration() -> FuncOp:
    """Return the declaration of the function that takes a size."""
    return _declaration(FOUND_SIZE)


def _declaration(name: str) -> FuncOp:
    return FuncOp(name, FunctionType.from_lists([i64], []), Region(), StringAttr("private"))


def notes_index(op: Operation | None) -> bool:
    """Return whether an op is a call of one of the functions."""
    return isinstance(op, CallOp) and op.callee.string_value() in NOTES


def found_index(check: cf.AssertOp) -> SSAValue | None:
    """Return the index or the size that the error of an assertion names, if it names one."""
    note = check.prev_op
    return note.operands[0] if note is not None and notes_index(note) else None


def failure_of(check: cf.AssertOp) -> AssertionRecord:
    """Return the failure of an assertion."""
    note = check.prev_op
    is_of_sizes = isinstance(note, CallOp) and note.callee.string_value() == FOUND_SIZE
    return AssertionRecord(check.msg.data, notes_index(note), is_of_sizes)
