"""Prove that loop functions use memory correctly, or report where they do not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileWarning, PassError, diagnose, name_of
from relex.dialects.tir import PrimFuncOp
from relex.passes.analysis.buffer_accesses import strangers
from relex.passes.checking.bounds import check_bounds
from relex.passes.checking.findings import Finding
from relex.passes.checking.initialization import check_contents
from relex.passes.checking.races import check_races
from relex.passes.driver.base import RelexPass


@dataclass(frozen=True)
class CheckTirPass(RelexPass):
    """
    Proves that loop functions use memory correctly. For all iterations, whatever the data,

    * accesses stay in their buffers, and the variables of blocks in their ranges;
    * no two iterations of a parallel loop, and no two values of the spatial variables of a block, access the same
      element and at least one of them writes it;
    * outputs are written everywhere, and neither they nor local buffers are read before they are written, except to
      compute elements of local buffers that nothing reads.

    A violation is an error that names an iteration where it happens. What cannot be decided, mostly because it depends
    on data, is a warning, or an error with `undecided=error`. Different buffers are assumed not to alias, as with
    `tir.noalias`, and called functions are checked by themselves. Nothing is changed.

    ```mlir
    tir.prim_func @copy(%X: memref<10xf32>) outs(%Y: memref<10xf32>) {
      %four = arith.constant 4 : index
      %ten = arith.constant 10 : index
      tir.for %io, %ii in (3, 4) {
        %a = arith.muli %io, %four : index
        %i = arith.addi %a, %ii : index
        %inside = arith.cmpi sle, %i, %ten : index
        scf.if %inside {
          tir.block @Y (%vi: spatial<10> = %i) {
            %x = memref.load %X[%vi] : memref<10xf32>
            memref.store %x, %Y[%vi] : memref<10xf32>
          }
        }
      }
    }
    // check-tir
    // error: 'tir.block' op expected %vi in 0..9, found 10 at %io = 2, %ii = 2
    ```
    """

    name = "check-tir"

    undecided: Literal["warning", "error"] = "warning"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        findings = [finding for f in op.walk() if isinstance(f, PrimFuncOp) for finding in check(f)]
        errors = [f for f in findings if f.certain or self.undecided == "error"]
        for finding in findings:
            if finding not in errors:
                warnings.warn(CompileWarning(diagnose(finding.op, finding.message)), stacklevel=2)
        if errors:
            raise PassError([diagnose(f.op, f.message) for f in errors])


def check(function: PrimFuncOp) -> Iterator[Finding]:
    """Yield the errors and possible errors of a function."""
    for op, buffer in strangers(function):
        yield Finding(
            op, f"cannot decide what becomes of {name_of(buffer)}: nothing says what the op does", certain=False
        )
    yield from check_bounds(function)
    yield from check_races(function)
    yield from check_contents(function)
