"""Failures of assertions below the graph level: `cf.assert`, and the index that its error is to name.

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

from relex.dialects.signature import AssertionRecord

FOUND_INDEX = "relex_found_index"
"""The function that a program calls with an index right before an assertion whose error names that index."""


def declaration() -> FuncOp:
    """Return the declaration of the function."""
    return FuncOp(FOUND_INDEX, FunctionType.from_lists([i64], []), Region(), StringAttr("private"))


def notes_index(op: Operation | None) -> bool:
    """Return whether an op is a call of the function."""
    return isinstance(op, CallOp) and op.callee.string_value() == FOUND_INDEX


def found_index(check: cf.AssertOp) -> SSAValue | None:
    """Return the index that the error of an assertion names, if it names one."""
    note = check.prev_op
    return note.operands[0] if note is not None and notes_index(note) else None


def failure_of(check: cf.AssertOp) -> AssertionRecord:
    """Return the failure of an assertion."""
    return AssertionRecord(check.msg.data, found_index(check) is not None)
