"""Operators on shapes that are known at run time: one compilation for all sizes that fit."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from dynamic_programs import opened, program
from operator_cases import CASES
from operator_checks import all_expected, all_of
from programs import Array, MakeOperator, compiled, interpreted, operator_of, random_array
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.utils.hints import isa
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import parse_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import ExecutionError, InferenceError, ShapeError
from relex.dialects.relex import Conv2dTransposeOp, RepeatOp
from relex.dialects.relex.packed import PairsProduct
from relex.dialects.signature import Signature
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.relex_pipeline import Level, RelexPipelinePass
from relex.lowering.support.signatures import signatures
from relex.reference.interpreter.program import Program
from relex.runtime.shapes import ShapeRule


def other_sizes(signature: Signature, operands: Sequence[Array]) -> Iterator[dict[str, int]]:
    """Sizes to call a function with: the operands' sizes, none, one, more, and each size by itself."""
    given = {name: operands[i].shape[d] for name, (i, d) in signature.names.items()}
    yield given
    for size in (0, 1):
        yield dict.fromkeys(given, size)
        for name in list(given)[:1] if len(given) > 1 else []:
            yield given | {name: size}
    yield {name: size + 2 for name, size in given.items()}


@cache
def types_of(i: int) -> list[TensorType]:
    """The types of the operands of a case, with as many dynamic sizes as its operator takes."""
    return opened(*CASES[i])


def is_open(i: int) -> bool:
    return any(DYNAMIC_INDEX in t.get_shape() for t in types_of(i))


def legalization(make: MakeOperator) -> object:
    return next(LEGALIZATIONS[of] for of in operator_of(make).__mro__ if of in LEGALIZATIONS)


def sample() -> set[int]:
    """The places of the cases that are compiled, unless all are wanted: the first one of each legalization. The
    legalization of 36 functions of an element computes the same sizes for each."""
    found: dict[object, int] = {}
    for i, (make, _) in enumerate(CASES):
        # More dimensions are more of the same loops, and take twice as long as fewer.
        is_short = "3d" not in operator_of(make).name and operator_of(make) is not Conv2dTransposeOp
        if is_short and legalization(make) not in found and is_open(i):
            found[legalization(make)] = i
    return set(found.values())


SAMPLE = sample()
PLACES = [
    pytest.param(i, id=f"{operator_of(make).name}-{i}", marks=[] if i in SAMPLE else [pytest.mark.full])
    for i, (make, _) in enumerate(CASES)
]


@pytest.mark.sampled
@pytest.mark.parametrize("level", ["loops", "core"])
@pytest.mark.parametrize("place", PLACES)
def test_any_size(place: int, level: Level) -> None:
    if not is_open(place):
        pytest.skip("all sizes of its operands are fixed")
    make, operands = CASES[place]
    text = program(make, types_of(place))
    functions = [compiled(text, level)["main"], interpreted(text, level)["main"]]
    native = functions[:1]
    rng = np.random.default_rng(0)
    signature = functions[0].signature
    ran = 0
    for values in other_sizes(signature, operands):
        try:
            specs = signature.with_sizes(values).inputs
        except ShapeError:
            continue
        shapes = [spec.shape_with({}) for spec in specs]
        arrays = [random_array(rng, spec.dtype.name, spec.shape_with({})) for spec in specs]
        if values == {name: operands[i].shape[d] for name, (i, d) in signature.names.items()}:
            assert shapes == [array.shape for array in operands]
            arrays = operands
        if operator_of(make) is RepeatOp:
            arrays[1] = np.abs(arrays[1]) % 4  # Counts.
        if issubclass(operator_of(make), PairsProduct):
            arrays = [array & 0x007F007F | 0x3F803F80 for array in arrays]  # Numbers from 1 to 2.
        # What loads and stores do with sizes is seen at the core with the operands' sizes, and with none.
        is_large = max(values.values()) > 4 or (level == "core" and ran > 1)
        for function in native if is_large else functions:
            for found, wanted in zip(all_of(function(*arrays)), all_expected(make, *arrays), strict=True):
                scale = np.finfo(wanted.dtype).eps * 16 if wanted.dtype.kind == "f" else 0
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                # The terms of a sum may be larger than the sum, but hardly larger than all others.
                largest = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1) if scale else 0
                np.testing.assert_allclose(found, wanted, rtol=scale, atol=scale * largest)
        ran += 1
    assert ran >= 1


def accepts(signature: Signature, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a function takes arguments of these shapes."""
    dtypes = [spec.dtype for spec in signature.inputs]
    arrays = [np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    try:
        ShapeRule(signature, list)(arrays)
    except ShapeError:
        return False
    return True


def runs(module: ModuleOp, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether the interpreter computes results for arguments of these shapes, which nobody has checked before."""
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    types = [t for t in function.function_type.inputs if isa(t, TensorType)]
    arrays = [np.ones(shape, numpy_dtype(t.element_type)) for shape, t in zip(shapes, types, strict=True)]
    try:
        Program(module).function(function)(*arrays)
    except ExecutionError:
        return False
    return True


def is_taken(make: MakeOperator, types: Sequence[TensorType], shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether the operator takes operands of these shapes."""
    try:
        make(*(create_ssa_value(TensorType(t.element_type, s)) for t, s in zip(types, shapes, strict=True)))
    except InferenceError:
        return False
    return True


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("place", PLACES)
def test_calls_are_refused_where_the_operator_is(place: int) -> None:
    make, types = CASES[place][0], types_of(place)
    module = parse_module(program(make, types))
    as_graph, as_loops = (signatures(m)["main"] for m in (module, RelexPipelinePass("loops")(module)))
    rng = np.random.default_rng(0)
    for _ in range(60):
        shapes = [
            tuple(int(rng.integers(0, 5)) if size == DYNAMIC_INDEX else size for size in t.get_shape()) for t in types
        ]
        taken = accepts(as_graph, shapes)
        assert accepts(as_loops, shapes) == taken, shapes
        assert runs(module, shapes) == taken, shapes
        # Sizes of 1 broadcast where they are known, and never where they are not.
        broadcasts = len(shapes) > 1 and any(1 in shape for shape in shapes)
        assert is_taken(make, types, shapes) == taken or (broadcasts and not taken), shapes


@pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="needs mlir-opt-22")
def test_mlir_takes_what_they_become(some: Callable[[Sequence[int], int], list[int]]) -> None:
    programs = (parse_module(program(CASES[i][0], types_of(i))) for i in some(range(6, len(CASES)), 12))
    texts = (str(RelexPipelinePass("core")(module)) for module in programs)
    command = ["mlir-opt-22", "--split-input-file"]
    subprocess.run(command, input="\n// -----\n".join(texts), capture_output=True, text=True, check=True)


def test_each_legalization_is_compiled() -> None:
    compiled = {legalization(CASES[i][0]) for i in SAMPLE}
    others = [i for i, (make, _) in enumerate(CASES) if legalization(make) not in compiled]
    assert not any(map(is_open, others))


def test_most_sizes_can_be_left_open() -> None:
    opened = [size for i in range(0, len(CASES), 4) for t in types_of(i) for size in t.get_shape()]
    assert opened.count(DYNAMIC_INDEX) > 0.8 * len(opened)
