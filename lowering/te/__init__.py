"""Tensor expressions: what an operator computes, element by element, and the loop nests that compute it."""

from __future__ import annotations

from relex.lazy import listed
from relex.lowering.te.emit import emit_prim_func as emit_prim_func
from relex.lowering.te.expressions import Axis as Axis
from relex.lowering.te.expressions import Const as Const
from relex.lowering.te.expressions import Converted as Converted
from relex.lowering.te.expressions import Element as Element
from relex.lowering.te.expressions import Extent as Extent
from relex.lowering.te.expressions import IfThenElse as IfThenElse
from relex.lowering.te.expressions import LookedUp as LookedUp
from relex.lowering.te.expressions import Number as Number
from relex.lowering.te.expressions import PrimCall as PrimCall
from relex.lowering.te.expressions import PrimExpr as PrimExpr
from relex.lowering.te.expressions import Procedure as Procedure
from relex.lowering.te.expressions import Reduce as Reduce
from relex.lowering.te.expressions import Reinterpreted as Reinterpreted
from relex.lowering.te.expressions import as_expr as as_expr
from relex.lowering.te.expressions import bitcast as bitcast
from relex.lowering.te.expressions import call as call
from relex.lowering.te.expressions import cast as cast
from relex.lowering.te.expressions import compare as compare
from relex.lowering.te.expressions import equal as equal
from relex.lowering.te.expressions import highest as highest
from relex.lowering.te.expressions import if_then_else as if_then_else
from relex.lowering.te.expressions import is_nan as is_nan
from relex.lowering.te.expressions import look_up as look_up
from relex.lowering.te.expressions import lowest as lowest
from relex.lowering.te.expressions import max as max
from relex.lowering.te.expressions import maximum as maximum
from relex.lowering.te.expressions import min as min
from relex.lowering.te.expressions import minimum as minimum
from relex.lowering.te.expressions import not_equal as not_equal
from relex.lowering.te.expressions import prod as prod
from relex.lowering.te.expressions import quotient as quotient
from relex.lowering.te.expressions import reduce as reduce
from relex.lowering.te.expressions import reduce_axis as reduce_axis
from relex.lowering.te.expressions import select as select
from relex.lowering.te.expressions import sum as sum
from relex.lowering.te.expressions import walk as walk
from relex.lowering.te.statements import Code as Code
from relex.lowering.te.tensors import OfIndices as OfIndices
from relex.lowering.te.tensors import OfSomeIndices as OfSomeIndices
from relex.lowering.te.tensors import Tensor as Tensor
from relex.lowering.te.tensors import compute as compute
from relex.lowering.te.tensors import placeholder as placeholder
from relex.lowering.te.tensors import procedure as procedure
from relex.lowering.te.tensors import rounded as rounded
from relex.lowering.te.tensors import widened as widened

__dir__ = listed(__name__)
