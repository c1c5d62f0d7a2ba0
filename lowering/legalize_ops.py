"""Legalization of graph operators to loop functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from relex.dialects.errors import PassError, diagnose, fail
from relex.dialects.names import Names
from relex.dialects.relex import CallDpsPackedOp, CallTirOp, Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType, with_names
from relex.dialects.reserved import RESERVED
from relex.dialects.sizes import Requirement, gathering
from relex.dialects.sizes.requirements import Solver
from relex.dialects.table import find, flat
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import walk
from relex.lowering import te
from relex.lowering.legalizations import LEGALIZATIONS, CountAndFill, Legalization, apply_legalization
from relex.lowering.legalizations.overrides import Override, read_overrides
from relex.lowering.support.count_and_fill import calls_of_parts, loops_of_parts
from relex.passes.driver.base import RelexPass
from relex.passes.graph.infer_sizes import infer_sizes
from relex.passes.rewriting.size_values import SizesOfResults


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
    are stated as by `infer-sizes`. An operator whose result sizes depend on elements becomes two calls: a count of
    elements, and a fill of results of that size.

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
        table = {**flat(LEGALIZATIONS), **read_overrides(self.overrides or {}, strict=self.strict)}
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


class OperatorLoops:
    """The loop functions that a legalization makes of an operator: one, or two if result sizes are counted."""

    def __init__(self, op: Operator, legalize: Legalization, *, strict: bool = False):
        self.inputs, requirements = _placeholders(op, _parameters(legalize, len(op.operands)))
        self.names: Sequence[str] = ()
        """The names of the functions in a module."""
        computed = apply_legalization(legalize, op, self.inputs)
        self.counted = computed if isinstance(computed, CountAndFill) else None
        emit = partial(te.emit_prim_func, requirements=requirements, strict=strict)
        if isinstance(computed, PrimFuncOp):
            self.functions: Sequence[PrimFuncOp] = [computed.clone()]
        elif isinstance(computed, CountAndFill):
            self.functions = loops_of_parts(op, computed, self.inputs, emit)
        else:
            self.functions = [emit(op.name.rpartition(".")[2], self.inputs, computed)]


@dataclass(eq=False)
class LegalizeOperator(RewritePattern):
    """Replace an operator by a call of the loop function for its class, types and properties."""

    module: ModuleOp
    names: Names
    strict: bool
    table: Mapping[type[Operation], Legalization | str]
    sizes: SizesOfResults
    loops: dict[object, OperatorLoops] = field(default_factory=dict[object, OperatorLoops])

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, Operator) or op.is_view:
            return
        legalize = find(self.table, op)
        assert legalize is not None
        if isinstance(legalize, str):
            new, results = self._call(op, partial(CallDpsPackedOp, legalize))
        elif (loops := self._loops_for(op, legalize)).counted is None:
            new, results = self._call(op, partial(CallTirOp, loops.names[0]))
        else:
            new, results = calls_of_parts(op, loops.counted, loops.inputs, loops.names)
            self.sizes.move(op.results, results)
        for one in new:
            one.location = op.location
        rewriter.replace(op, new, results)

    def _call(self, op: Operator, make: Callable[..., Operation]) -> tuple[list[Operation], Sequence[SSAValue]]:
        if self.sizes.has_late(op.results):
            fail(op, "expected an entry of a count and a fill, as a size of its result depends on elements")
        sizes = [size for result in op.results for size in self.sizes.of(result)]
        call = make(list(op.operands), [tensor_type(t) for t in op.result_types], sizes)
        return [call], call.results

    def _loops_for(self, op: Operator, legalize: Legalization) -> OperatorLoops:
        key = (type(op), tuple(op.operand_types), tuple(sorted(op.properties.items())))
        if key not in self.loops:
            self.loops[key] = loops = OperatorLoops(op, legalize, strict=self.strict)
            loops.names = [self._add_function(op, function) for function in loops.functions]
        return self.loops[key]

    def _add_function(self, op: Operator, func: PrimFuncOp) -> str:
        name = self.names.fresh(func.sym_name.data)
        func.sym_name, func.sym_visibility = StringAttr(name), StringAttr("private")
        for inner in func.walk():
            inner.location = op.location
        self.module.body.block.add_op(func)
        return name


def loops_of(op: Operator, legalize: Legalization, *, strict: bool = False) -> PrimFuncOp | None:
    """Return the loop function that a legalization makes of an operator; None if it makes two."""
    function, *others = OperatorLoops(op, legalize, strict=strict).functions
    return None if others else function


def _placeholders(op: Operator, names: Sequence[str]) -> tuple[list[te.Tensor], Sequence[Requirement]]:
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
    inputs = [
        te.placeholder(name, solver.solved(t.shape), t.element_type) for name, t in zip(names, types, strict=True)
    ]
    return inputs, solver.left


def _parameters(function: Legalization, count: int) -> list[str]:
    """The names of a legalization's tensors: its parameters after the first, which is the op."""
    _, *parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters]
    if parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        more = names.pop()
        names += [f"{more}{i}" for i in range(count - len(names))]
    return names
