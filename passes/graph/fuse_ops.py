"""Operator fusion: group operators that run better together as one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from relex.dialects.dtypes import is_emulated, record_of
from relex.dialects.names import Names
from relex.dialects.relex import PRIMITIVE_ATTR, AstypeOp, CallOp, CallTirOp, ConstantOp, Operator, PackBytesOp
from relex.dialects.relex.block_panels import Unpacking
from relex.dialects.relex.types import is_bytes, tensor_type
from relex.dialects.reserved import RESERVED
from relex.dialects.symbols import erase_unused
from relex.dialects.tir import OpPattern, PrimFuncOp
from relex.dialects.tir.op_pattern import set_op_pattern, widest
from relex.passes.analysis.op_patterns import stated_pattern
from relex.passes.analysis.transposed_terms import moves_terms_apart
from relex.passes.driver.base import RelexPass
from relex.passes.fusion.grouping import Node, find_groups
from relex.passes.fusion.primitive import Primitive, can_move, is_size, meaning

_Step = CallTirOp | Operator
"""What a kernel is made of."""

MAX_NAME = 80
"""Length to which the names of functions are cut."""


@dataclass(frozen=True)
class FuseOpsPass(RelexPass):
    """
    Moves operators, and calls of loop functions, that belong together into private functions marked `relex.primitive`:
    each is what one kernel is made of. An operator that belongs with no other has a function alone. `legalize-ops`
    and `fuse-tir` make one loop function of each.

    The class of an operator states how elements of its result depend on elements of its operands; for other operators,
    and for loop functions, this pattern is found as by `annotate-op-pattern`. What joins:

    * A matrix product takes in elementwise consumers of its result, and the transposition of an operand, as in
      `q @ k.T`, after which its reduction axis is not contiguous any more: it reads the operand better from its source.
      So it does weights that are stored as f16 or bf16.
    * A reduction takes in elementwise producers of its operands.
    * Elementwise, broadcast and injective ones join each other.
    * Opaque ones, and all other ops, join nothing. A group has at most one product or reduction.

    An op joins its post-dominator, together with everything in between; a result that more than one op outside needs
    becomes one of several results of its group. Nothing is computed twice. Constants stay outside, as arguments. A
    group that another pass made grows in the same way: it is dissolved and formed again.

    ```mlir
    func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = relex.add %x, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %1 = relex.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }
    // fuse-ops
    func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = relex.call @fused_add_relu(%x, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }
    func.func private @fused_add_relu(%x: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32>
        attributes {relex.primitive} {
      %0 = relex.add %x, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %1 = relex.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }
    ```

    A group has no more than `max_size` operators and loop functions. With `strict`, sums keep the order of the plain
    loop, wherever their operands are read.
    """

    name = "fuse-ops"

    max_size: int = 64
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fusion = _Fusion(op, self.max_size, OperatorPatterns(self.strict))
        for function in list(op.ops):
            if isinstance(function, FuncOp) and PRIMITIVE_ATTR not in function.attributes:
                fusion.run(function)
        erase_unused(op, [f for f in op.ops if isinstance(f, FuncOp) and PRIMITIVE_ATTR in f.attributes])


class _Fusion:
    """The groups of one module."""

    def __init__(self, module: ModuleOp, max_size: int, operators: OperatorPatterns):
        self._module = module
        self._max_size = max_size
        self._operators = operators
        self._names = Names.of_symbols(module, RESERVED)
        self._functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp | PrimFuncOp)}
        self._patterns: dict[str, OpPattern] = {}
        self._known: dict[object, str] = {}
        """The functions of the groups made so far, by their meaning: equal groups share one."""

    def run(self, function: FuncOp) -> None:
        """Fuse the calls in each block of a function."""
        for block in [b for op in function.walk() for region in op.regions for b in region.blocks]:
            self._fuse_block(block)

    def _fuse_block(self, block: Block) -> None:
        ops = list(block.ops)
        groups = [[ops[i] for i in group] for group in find_groups(self._nodes(block), self._max_size)]
        if all(map(self._stays, groups)):
            return
        left = [group[0] if self._stays(group) else self._outline(group) for group in groups]
        staying = set(left)
        for op in reversed(ops):
            op.detach()
            if op not in staying:
                op.erase()
        block.add_ops(left)

    def _stays(self, group: Sequence[Operation]) -> bool:
        """Return whether a group is an op that has a function already, or cannot have one: a result whose size is
        counted in a function is not allocated outside of it."""
        op, *others = group
        if isinstance(op, Operator) and op.is_view:
            return True
        if others or not isinstance(op, Operator) or op.COUNTS:
            return not others
        return not any(value.uses for value in op.results) or not self._operators.are_lowered(op)

    def _nodes(self, block: Block) -> list[Node]:
        """Return the ops of a block as nodes. Side effects keep their order; values used by other blocks are operands
        of the last op."""
        place = {op: i for i, op in enumerate(block.ops)}
        needed: list[set[int]] = [set() for _ in place]
        effect: int | None = None
        for op, i in place.items():
            for user in (use.operation for result in op.results for use in result.uses):
                around = block.find_ancestor_op_in_block(user)
                needed[len(place) - 1 if around is None else place[around]].add(i)
            if not is_side_effect_free(op):
                needed[i].update(() if effect is None else (effect,))
                effect = i
        return [
            Node(
                self._pattern(op),
                sorted(needed[i]),
                len(self._steps(op)) or 1,
                {place[o] for o in self._copies(op)},
                _widens_bytes(op) or _unpacks(op),
            )
            for op, i in place.items()
        ]

    def _copies(self, op: Operation) -> Iterator[Operation]:
        """Yield the ops in the same block that transpose an operand of a product, which reads it better as it was."""
        if not isinstance(op, CallTirOp | Operator) or self._pattern(op) is not OpPattern.OUT_ELEMENTWISE_FUSABLE:
            return
        for i, argument in enumerate(op.arguments if isinstance(op, CallTirOp) else op.operands):
            copy = argument.owner
            if isinstance(copy, Block):
                continue
            if i and copy.parent is op.parent and (_widens_stored_floats(copy) or _unpacks(copy)):
                yield copy
                continue
            if copy.parent is not op.parent or not self._may_transpose(copy):
                continue
            loops, loops_of_copy = self._loops(op), self._loops(copy)
            if loops is not None and loops_of_copy is not None and moves_terms_apart(loops_of_copy, loops, i):
                yield copy

    def _may_transpose(self, op: Operation | Block) -> TypeGuard[_Step]:
        """Return whether an op may do no more than move elements to other places."""
        if isinstance(op, Operator):
            return op.MOVES and self._operators.pattern(op) is OpPattern.INJECTIVE
        return isinstance(op, CallTirOp)

    def _loops(self, step: _Step) -> PrimFuncOp | None:
        """Return the loop function that an operator becomes, or that a call calls."""
        if isinstance(step, Operator):
            return self._operators.loops(step)
        callee = self._functions[step.callee.root_reference.data]
        return callee if isinstance(callee, PrimFuncOp) else None

    def _pattern(self, op: Operation) -> OpPattern:
        steps = self._steps(op)
        if not any(result.uses for result in op.results):
            return OpPattern.OPAQUE  # Dead ops are left to `remove-unused`.
        if isinstance(op, Operator) and (op.is_view or _copies_words(op)):
            return OpPattern.OPAQUE
        sizes = (size for step in steps if isinstance(step, CallTirOp) for size in step.sizes)
        if not steps or not all(map(can_move, sizes)):
            return OpPattern.OPAQUE
        return widest(map(self._pattern_of_step, steps))

    def _steps(self, op: Operation) -> list[_Step]:
        """Return the operators and calls that an op stands for: itself, or the steps of a group; empty for all other
        ops."""
        if isinstance(op, CallTirOp | Operator):
            return [op]
        callee = self._functions.get(op.callee.root_reference.data) if isinstance(op, CallOp) else None
        if not isinstance(callee, FuncOp) or len(callee.body.blocks) != 1:
            return []
        others = (ConstantOp, ReturnOp)
        inner = [step for step in callee.body.block.ops if not isinstance(step, others) and not is_size(step)]
        steps = [step for step in inner if isinstance(step, CallTirOp | Operator)]
        return steps if len(steps) == len(inner) else []

    def _pattern_of_step(self, step: _Step) -> OpPattern:
        if isinstance(step, Operator):
            return self._operators.pattern(step)
        name = step.callee.root_reference.data
        if name not in self._patterns:
            callee = self._functions[name]
            self._patterns[name] = stated_pattern(callee) if isinstance(callee, PrimFuncOp) else OpPattern.OPAQUE
        return self._patterns[name]

    def _outline(self, ops: Sequence[Operation]) -> CallOp:
        """Move a group into a function, or reuse the function of an equal group; return the call."""
        primitive = Primitive()
        names: list[str] = []
        for op in ops:
            names += map(_name, self._steps(op))
            match op:
                case CallOp():
                    primitive.add_group(op, self._functions[op.callee.root_reference.data])
                case CallTirOp():
                    primitive.add(op, self._functions[op.callee.root_reference.data])
                case _:
                    primitive.add(op)
        outputs = [v for op in ops for v in op.results if any(use.operation not in ops for use in v.uses)]
        function = primitive.finish(outputs)
        if len(ops) == 1:
            # Loops of one operator have its pattern, also where a schedule hides it from those who look at loops again.
            set_op_pattern(function, self._pattern(ops[0]))
        key = meaning(function)
        if key not in self._known:
            name = "_".join(["fused", *names] if len(names) > 1 else names)
            self._known[key] = self._names.fresh(name[:MAX_NAME].rstrip("_"))
            function.sym_name = StringAttr(self._known[key])
            self._module.body.block.add_op(function)
        call = CallOp(self._known[key], primitive.inputs, [value.type for value in outputs])
        call.location = function.location = ops[-1].location
        for value, result in zip(outputs, call.results, strict=True):
            value.replace_all_uses_with(result)
        return call


def _name(step: _Step) -> str:
    if isinstance(step, Operator):
        return step.name.rpartition(".")[2]
    return step.callee.root_reference.data.removeprefix("fused_")


def _widens_stored_floats(op: Operation | Block) -> TypeGuard[AstypeOp]:
    """Return whether an operator makes wider numbers of floats that a program stores, as weights, for one user."""
    if not isinstance(op, AstypeOp) or isinstance(op.operand.owner, Operator) or not op.result.has_one_use():
        return False
    narrow, wide = (tensor_type(value.type).element_type for value in (op.operand, op.result))
    return is_emulated(narrow) and wide == f32


def _copies_words(op: Operator) -> bool:
    """Return whether words of an operator are an argument as it is: a product that reads the copy, which stays apart,
    packs it into tiles as it packs an argument."""
    return isinstance(op, PackBytesOp) and op.has_neighbours and isinstance(op.data.owner, Block)


def _unpacks(op: Operation | Block) -> bool:
    """Return whether an operator unpacks a weight for one product, which packs it into its tiles at the same time."""
    return isinstance(op, Unpacking) and op.result.has_one_use()


def _widens_bytes(op: Operation) -> bool:
    """Return whether an operator makes wider numbers of bytes that another op computes."""
    if not isinstance(op, AstypeOp) or not isinstance(op.operand.owner, Operation):
        return False
    return is_bytes(op.operand) and record_of(tensor_type(op.result.type).element_type).bits > 8


class OperatorPatterns:
    """The patterns and loops of operators, found once for each class, types and properties. With `strict`, sums keep
    their order."""

    def __init__(self, strict: bool):
        self._strict = strict
        self._patterns: dict[object, OpPattern] = {}
        self._loops: dict[object, PrimFuncOp | None] = {}

    def pattern(self, op: Operator) -> OpPattern:
        """Return the pattern of an operator: what its class states, or else the pattern of its loops; opaque if there
        are none."""
        key = _key(op)
        if key not in self._patterns:
            known = op.pattern if _is_lowered_as_stated(op) else None
            loops = self.loops(op) if known is None else None
            self._patterns[key] = known or (OpPattern.OPAQUE if loops is None else stated_pattern(loops))
        return self._patterns[key]

    def are_lowered(self, op: Operator) -> bool:
        """Return whether the table of legalizations has an entry for an operator."""
        from relex.lowering.legalizations import LEGALIZATIONS

        return LEGALIZATIONS.find(op) is not None

    def loops(self, op: Operator) -> PrimFuncOp | None:
        """Return the loops of an operator by the table of legalizations; None if it has no entry, or one for two
        loop functions."""
        from relex.lowering.legalizations import LEGALIZATIONS
        from relex.lowering.legalize_ops import loops_of

        key = _key(op)
        if key not in self._loops:
            legalize = LEGALIZATIONS.find(op)
            self._loops[key] = None if legalize is None else loops_of(op, legalize, strict=self._strict)
        return self._loops[key]


def _key(op: Operator) -> object:
    return type(op), tuple(op.operand_types), tuple(sorted(op.properties.items()))


def _is_lowered_as_stated(op: Operator) -> bool:
    """Return whether the package that states the pattern of an operator, in its class or a base class, has made the
    entry by which it is lowered, too."""
    from relex.lowering.legalizations.legalization_table import lowered_by

    stating = next(kind for kind in type(op).__mro__ if not {"pattern", "PATTERN"}.isdisjoint(vars(kind)))
    return stating.__module__.partition(".")[0] == lowered_by(op)
