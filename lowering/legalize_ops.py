"""Legalization of graph operators to loop functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from relex.dialects.errors import PassError, diagnose
from relex.dialects.names import Names
from relex.dialects.relex import CallDpsPackedOp, CallTirOp, Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType, with_names
from relex.dialects.reserved import RESERVED
from relex.dialects.sizes import Requirement, gathering
from relex.dialects.sizes.requirements import Solver
from relex.dialects.table import find
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import walk
from relex.lowering.legalizations import LEGALIZATIONS, Legalization, apply_legalization
from relex.lowering.legalizations.overrides import Override, read_overrides
from relex.lowering.support.size_values import SizesOfResults
from relex.lowering.te import Tensor, emit_prim_func, placeholder
from relex.passes.driver.base import RelexPass
from relex.passes.graph.infer_sizes import infer_sizes


@dataclass(frozen=True)
class LegalizeOpsPass(RelexPass):
    """
    Turns every graph operator into a call of a loop function that computes it, by the table in
    `relex.lowering.legalizations`. Equal operators on equal types share one function. Operators missing from the table
    are errors, all reported at once. With `strict`, sums keep the order and rounding of the plain loop.

    `overrides` take precedence over the table: from Python `LegalizeOpsPass(overrides={DenseOp: my_dense})`. Keys are
    classes or names of operators. `my_dense` is a function like those in the table, or one of the tensors alone; a loop
    function; or the name of a library function, which is called instead. A file given to `relex-opt` by `--load-passes`
    changes the table itself, with the decorator `legalizes`.

    Dynamic sizes are computed at the start of a graph function, from the sizes of its arguments; requirements on them
    are stated as by `infer-sizes`.

    ```mlir
    %y = relex.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    // legalize-ops
    %y = relex.call_tir @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
    // and, at the end of the module:
    tir.prim_func private @relu(%x: memref<8xf32>) outs(%relu: memref<8xf32>) attributes {tir.noalias} {
      tir.for %i0 @i0 in (8) {
        tir.block @relu (%vi0: spatial<8> = %i0) {
          %0 = memref.load %x[%vi0] : memref<8xf32>
          %1 = arith.constant 0.0 : f32
          %2 = arith.maximumf %0, %1 : f32
          memref.store %2, %relu[%vi0] : memref<8xf32>
        }
      }
    }
    ```
    """

    name = "legalize-ops"

    strict: bool = False
    overrides: Mapping[type[Operation] | str, Override] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        read_overrides(self.overrides or {})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = {**LEGALIZATIONS, **read_overrides(self.overrides or {}, strict=self.strict)}
        missing = [o for o in walk(op) if isinstance(o, Operator) and find(table, o) is None]
        reason = "has no entry in the legalization table; add one with '@legalizes'"
        problems = [diagnose(o, reason) for o in missing]
        sizes = None
        try:
            sizes = infer_sizes(op)
        except PassError as e:
            problems += e.diagnostics
        if problems:
            raise PassError(problems)
        pattern = LegalizeOperator(op, Names.of_symbols(op, RESERVED), self.strict, table, SizesOfResults(sizes))
        PatternRewriteWalker(pattern, apply_recursively=False).rewrite_module(op)


@dataclass(eq=False)
class LegalizeOperator(RewritePattern):
    """Replace an operator by a call of the loop function for its class, types and properties."""

    module: ModuleOp
    names: Names
    strict: bool
    table: Mapping[type[Operation], Legalization | str]
    sizes: SizesOfResults
    functions: dict[object, str] = field(default_factory=dict[object, str])

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, Operator):
            return
        legalize = find(self.table, op)
        assert legalize is not None
        types = [tensor_type(t) for t in op.result_types]
        sizes = [size for result in op.results for size in self.sizes.of(result)]
        if isinstance(legalize, str):
            call = CallDpsPackedOp(legalize, list(op.operands), types, sizes)
        else:
            call = CallTirOp(self._function_for(op, legalize), list(op.operands), types, sizes)
        call.location = op.location
        rewriter.replace(op, call)

    def _function_for(self, op: Operator, legalize: Legalization) -> str:
        key = (type(op), tuple(op.operand_types), tuple(sorted(op.properties.items())))
        if key not in self.functions:
            self.functions[key] = self._add_function(op, legalize)
        return self.functions[key]

    def _add_function(self, op: Operator, legalize: Legalization) -> str:
        func = loops_of(op, legalize, strict=self.strict)
        name = self.names.fresh(func.sym_name.data)
        func.sym_name, func.sym_visibility = StringAttr(name), StringAttr("private")
        for inner in func.walk():
            inner.location = op.location
        self.module.body.block.add_op(func)
        return name


def loops_of(op: Operator, legalize: Legalization, *, strict: bool = False) -> PrimFuncOp:
    """Return the loop function that a legalization makes of an operator."""
    inputs, requirements = _placeholders(op, _parameters(legalize, len(op.operands)))
    computed = apply_legalization(legalize, op, inputs)
    if isinstance(computed, PrimFuncOp):
        return computed.clone()
    return emit_prim_func(op.name.rpartition(".")[2], inputs, computed, requirements, strict=strict)


def _placeholders(op: Operator, names: Sequence[str]) -> tuple[list[Tensor], Sequence[Requirement]]:
    """Return placeholders for the operands, and the requirements left on their sizes. Sizes that the operator requires
    to be equal share a name."""
    solver = Solver()
    types = [
        SizedType(t.element_type, with_names(t.get_shape(), lambda d, name=name: solver.name(f"{name}_d{d}")))
        for name, t in zip(names, map(tensor_type, op.operand_types), strict=True)
    ]
    with gathering() as gathered:
        op.infer(types, op.properties)
    for requirement in gathered:
        solver.require(requirement)
    inputs = [placeholder(name, solver.solved(t.shape), t.element_type) for name, t in zip(names, types, strict=True)]
    return inputs, solver.left


def _parameters(function: Legalization, count: int) -> list[str]:
    """The names of a legalization's tensors: its parameters after the first, which is the op."""
    _, *parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters]
    if parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        more = names.pop()
        names += [f"{more}{i}" for i in range(count - len(names))]
    return names
