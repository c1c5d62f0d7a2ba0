"""A program that is written in another way computes the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.parser import verify_module
from relex.lowering import RelexPipelinePass
from relex.reference import check_equivalent
from relex.reference.fuzzing.structures import random_program
from relex.reference.fuzzing.variants import main_of
from relex.tools.campaign.comparing import difference, difference_after, skip_unused_sizes
from relex.tools.campaign.subject import Case, Subject

Rewriting = Callable[[SSAValue, Builder, Random], "SSAValue | None"]
"""Returns a value that is equal, computed in another way; None if there is none."""


class EquivalentsSubject(Subject):
    """Random programs and equivalents: operands exchanged, values cut into parts and put together, moved through a
    transpose and back. Both compute the same, and so does what the equivalent is compiled to."""

    name = "equivalents"
    weight = 2

    def make(self, random: Random) -> Case:
        return Case(random_program(random), {"seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        skip_unused_sizes(case.module)
        seed = int(case.options["seed"])
        other = equivalent(case.module, Random(seed))
        found = difference(lambda: check_equivalent(case.module, other, seed=seed, samples=1))
        return found or difference_after([RelexPipelinePass().steps()], other, seed)


def equivalent(module: ModuleOp, random: Random) -> ModuleOp:
    """Return an equivalent of a program."""
    changed = module.clone()
    function = main_of(changed)
    assert function is not None
    for op in list(function.body.block.ops):
        if random.random() < 0.5 and isinstance(op, relex.AddOp | relex.MultiplyOp | relex.MaximumOp | relex.MinimumOp):
            op.operands = [op.operands[1], op.operands[0]]
    places = [(value, use) for value in _values(function) for use in list(value.uses)]
    for value, use in random.sample(places, min(len(places), random.randint(1, 3))):
        new = random.choice(REWRITINGS)(value, Builder(InsertPoint.before(use.operation)), random)
        if new is not None:
            use.operation.operands[use.index] = new
    verify_module(changed)
    return changed


def _values(function: FuncOp) -> list[SSAValue]:
    block = function.body.block
    found = [*block.args, *(result for op in block.ops for result in op.results)]
    return [value for value in found if isa(value.type, TensorType) and not isinstance(value.owner, relex.ConstantOp)]


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isa(value.type, TensorType)
    return value.type.get_shape()


def _add(builder: Builder, op: Operation) -> SSAValue:
    return builder.insert(op).results[0]


def through_transpose(value: SSAValue, builder: Builder, random: Random) -> SSAValue | None:
    """Transpose a value, and back."""
    rank = len(_shape(value))
    axes = random.sample(range(rank), rank)
    back = [axes.index(i) for i in range(rank)]
    return _add(builder, relex.PermuteDimsOp(_add(builder, relex.PermuteDimsOp(value, axes)), back))


def in_parts(value: SSAValue, builder: Builder, random: Random) -> SSAValue | None:
    """Cut a value into two parts, and put them together."""
    shape = _shape(value)
    known = [axis for axis, size in enumerate(shape) if size != DYNAMIC_INDEX and size > 1]
    if not known:
        return None
    axis = random.choice(known)
    cut = random.randint(1, shape[axis] - 1)
    first = _add(builder, relex.StridedSliceOp(value, axes=[axis], begin=[0], end=[cut]))
    second = _add(builder, relex.StridedSliceOp(value, axes=[axis], begin=[cut], end=[shape[axis]]))
    return _add(builder, relex.ConcatOp(first, second, axis=axis))


def with_a_dimension(value: SSAValue, builder: Builder, random: Random) -> SSAValue | None:
    """Give a value a dimension of size one, and take it away."""
    axis = random.randint(0, len(_shape(value)))
    return _add(builder, relex.SqueezeOp(_add(builder, relex.ExpandDimsOp(value, axis=[axis])), axis=[axis]))


def negated_twice(value: SSAValue, builder: Builder, random: Random) -> SSAValue | None:
    """Change the sign of a value, twice."""
    assert isa(value.type, TensorType)
    if value.type.element_type.name not in ("f32", "f64", "f16", "bf16"):
        return None
    return _add(builder, relex.NegativeOp(_add(builder, relex.NegativeOp(value))))


def reshaped(value: SSAValue, builder: Builder, random: Random) -> SSAValue | None:
    """Reshape a value to one dimension, and back."""
    shape = _shape(value)
    if DYNAMIC_INDEX in shape or 0 in shape:
        return None
    return _add(builder, relex.ReshapeOp(_add(builder, relex.ReshapeOp(value, [-1])), list(shape)))


REWRITINGS: list[Rewriting] = [through_transpose, in_parts, with_a_dimension, negated_twice, reshaped]
