"""Every graph operator, on operands that grow along one axis at a time, and how much code it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from operator_cases import CASES
from programs import MakeOperator, operator_module, tensor_of
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i64
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import InferenceError
from relex.dialects.index.domains import constant_value
from relex.dialects.relex import (
    ArgmaxOp,
    ConcatOp,
    Conv2dOp,
    LayerNormOp,
    LogSoftmaxOp,
    MatmulOp,
    MaxOp,
    MaxPool2dOp,
    Operator,
    PermuteDimsOp,
    SoftmaxOp,
    StridedSliceOp,
    SumOp,
    TakeOp,
)
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.lowering.relex_pipeline import RelexPipelinePass

Types = Sequence[TensorType[Attribute]]
Place = tuple[int, int]
"""An operand, and one of its axes."""

OTHER_SIZE = 31
"""Of the axes that do not grow: odd, and large enough for vectors and tiles."""


def _tensor(*shape: int, of: Attribute = f32) -> TensorType[Attribute]:
    return TensorType(of, shape)


def _along(axis: int) -> Iterator[tuple[MakeOperator, Types]]:
    """Operators that go along an axis, along this one of three."""
    x = _tensor(3, 5, 7)
    size = _tensor(x.get_shape()[axis])
    yield partial(SoftmaxOp, axis=axis), [x]
    yield partial(LogSoftmaxOp, axis=axis), [x]
    yield partial(LayerNormOp, axes=[axis]), [x, size, size]
    yield partial(SumOp, axis=axis), [x]
    yield partial(MaxOp, axis=axis), [x]
    yield partial(ArgmaxOp, axis=axis), [x]
    yield partial(ConcatOp, axis=axis), [x, x]
    yield partial(TakeOp, axis=axis), [x, _tensor(4, of=i64)]
    yield partial(StridedSliceOp, axes=[axis], begin=[1], end=[2**40], strides=[2]), [x]
    yield partial(PermuteDimsOp, axes=[axis, *(d for d in (2, 1, 0) if d != axis)]), [x]


LARGER: list[tuple[MakeOperator, Types]] = [
    *(case for axis in range(3) for case in _along(axis)),
    (ArgmaxOp, [_tensor(3, 5, 7)]),
    (partial(SumOp, axis=(0, 2)), [_tensor(3, 5, 7)]),
    (MatmulOp, [_tensor(3, 5), _tensor(5, 7)]),
    (Conv2dOp, [_tensor(2, 3, 5, 7), _tensor(4, 3, 1, 1)]),
    (partial(MaxPool2dOp, pool_size=[16, 16], strides=[16, 16]), [_tensor(2, 3, 64, 65)]),
]
"""What `CASES` has no need of: each axis of three, and more than the smallest operands."""


def operator_of(make: MakeOperator) -> type[Operator]:
    """The class that a case of `CASES` makes an operator of: `functools.partial` has it as `func`."""
    kind: Any = make
    return getattr(kind, "func", kind)


@dataclass(frozen=True)
class Growth:
    """An operator, and axes of its operands that have the same size, whatever it is."""

    make: MakeOperator
    types: Types
    axes: frozenset[Place]

    def __str__(self) -> str:
        """`relex.softmax axis=0 Nx31`."""
        properties: dict[str, Any] = getattr(self.make, "keywords", {})
        said = (f"{name}={value}".replace(" ", "") for name, value in properties.items())
        shapes = (
            "x".join("N" if (i, d) in self.axes else str(size) for d, size in enumerate(t.get_shape()))
            for i, t in enumerate(self.types)
        )
        return " ".join([operator_of(self.make).name, *said, *shapes])

    def program(self, size: int, element: Attribute = f32) -> ModuleOp:
        """The operator alone, with `element` for the f32 in the types of its operands, if it takes that."""
        types = _resized(self.types, self.axes, size)
        others = [TensorType(element, t.get_shape()) if t.element_type == f32 else t for t in types]
        return operator_module(self.make, others if _accepts(self.make, others) else types)


OPERATORS = [*((make, [tensor_of(array) for array in operands]) for make, operands in CASES), *LARGER]


def growths(make: MakeOperator, types: Types) -> Iterator[Growth]:
    """An operator with each of its axes, the others of a moderate size where the operator allows it."""
    found = list(_axes(make, types))
    for axes in found:
        yield Growth(
            make, reduce(lambda t, other: _larger(make, t, other), [o for o in found if o != axes], types), axes
        )


def _axes(make: MakeOperator, types: Types) -> Iterator[frozenset[Place]]:
    """Axes that can grow: each alone where the operator allows it, else with all that have the same size."""
    sizes = {(i, d): size for i, t in enumerate(types) for d, size in enumerate(t.get_shape())}
    seen: set[Place] = set()
    for place, size in sizes.items():
        equal = frozenset(other for other in sizes if sizes[other] == size)
        axes = next((a for a in (frozenset([place]), equal) if _accepts(make, _resized(types, a, 4096))), None)
        if axes is not None and place not in seen:
            seen |= axes
            yield axes


def _larger(make: MakeOperator, types: Types, axes: frozenset[Place]) -> Types:
    larger = _resized(types, axes, OTHER_SIZE)
    return larger if _accepts(make, larger) else types


def _resized(types: Types, axes: frozenset[Place], size: int) -> Types:
    return [
        TensorType(t.element_type, [size if (i, d) in axes else old for d, old in enumerate(t.get_shape())])
        for i, t in enumerate(types)
    ]


def _accepts(make: MakeOperator, types: Types) -> bool:
    try:
        make(*map(create_ssa_value, types))
    except InferenceError:
        return False
    return True


def code_size(program: ModuleOp, target: Target) -> int:
    """The operations of the core level, each as often as LLVM is told to copy it by unrolling loops."""
    module = program.clone()
    set_target(module, target)
    return sum(map(_copies, RelexPipelinePass("core")(module).walk()))


def _copies(op: Operation) -> int:
    around = op.parent_op()
    copies = 1 if around is None else _copies(around)
    if isinstance(around, scf.ForOp) and around.attributes.get(LOOP_ANNOTATION) == LoopAnnotationAttr(Unrolling.FULL):
        copies *= _iterations(around)
    return copies


def _iterations(loop: scf.ForOp) -> int:
    start, end, step = (constant_value(bound) for bound in (loop.lb, loop.ub, loop.step))
    assert start is not None
    assert end is not None
    assert step
    return len(range(start, end, step))
