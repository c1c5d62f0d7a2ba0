"""One loop function, compiled and measured by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from relex.dialects.dtypes import has_dtype, numpy_dtype
from relex.dialects.function_arguments import remove_argument_attr
from relex.dialects.relex import CallTirOp, ConstantOp
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import PrimFuncOp
from relex.passes import ApplyTuningPass
from relex.passes.analysis.constant_inputs import CONSTANT_ATTR, is_constant_input
from relex.runtime import build
from relex.tools.tuning.candidates import Candidate
from relex.tools.tuning.record import Record

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

LEAST_SECONDS = 1e-3
"""The time of as many calls as are measured together."""


class Harness:
    """A function that calls a loop function, with the constants that it has, and arguments for it."""

    def __init__(self, func: PrimFuncOp, target: Target):
        self._func, self._target = func, target
        self._rng = np.random.default_rng(0)
        self._module, self.arguments = self._made()

    @staticmethod
    def takes(func: PrimFuncOp) -> bool:
        """Return whether a function can be measured by itself: its sizes are known, and it takes arrays only."""
        return all(
            isa(t, MemRefType) and DYNAMIC_INDEX not in t.get_shape() and has_dtype(t.element_type)
            for t in func.function_type.inputs
        )

    def _made(self) -> tuple[ModuleOp, list[Array]]:
        inputs = self._func.args[: self._func.num_inputs]
        is_constant = [is_constant_input(value) for value in inputs]
        types = [_tensor(value.type) for value in inputs]
        outputs = [_tensor(t) for t in self._func.output_types]
        open_types = [t for t, constant in zip(types, is_constant, strict=True) if not constant]
        main = FuncOp("main", (open_types, outputs))
        builder = Builder(InsertPoint.at_end(main.body.block))
        given = iter(main.args)
        arrays = [(self._numbers(t), constant) for t, constant in zip(types, is_constant, strict=True)]
        operands: list[SSAValue] = [
            builder.insert(ConstantOp(array)).result if constant else next(given) for array, constant in arrays
        ]
        call = builder.insert(CallTirOp(self._func.sym_name.data, operands, outputs))
        builder.insert(ReturnOp(*call.results))
        func = self._func.clone()
        remove_argument_attr(func, CONSTANT_ATTR)
        module = ModuleOp([main, func])
        set_target(module, self._target)
        return module, [array for array, constant in arrays if not constant]

    def _numbers(self, t: TensorType[Attribute]) -> Array:
        """Return small whole numbers: most sums of their products are exact, in any order."""
        dtype = numpy_dtype(t.element_type)
        low = 0 if dtype.kind in "bu" else -2
        return self._rng.integers(low, 2 if dtype.kind == "b" else 3, t.get_shape()).astype(dtype)

    def compiled(self, candidate: Candidate | None) -> Callable[..., Any]:
        """Compile the function with a schedule; None stands for the default one."""
        if candidate is None:
            return build(self._module, cache=False)["main"]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidate.mlir"
            record = Record(self._target)
            record.add(self._func, candidate.steps)
            record.save(path)
            return build(self._module, cache=False, passes=[ApplyTuningPass(str(path))])["main"]

    def results(self, function: Callable[..., Any]) -> list[Array]:
        """Return copies of the results of a call."""
        found = function(*self.arguments)
        arrays = cast("Sequence[Array]", found if isinstance(found, tuple) else [found])
        return [np.array(array) for array in arrays]

    def times(self, functions: Sequence[Callable[..., Any]], rounds: int) -> list[float]:
        """Return the shortest time of a call of each function in seconds, measured in turns."""
        repeats = [self._repeats(function) for function in functions]
        best = [float("inf")] * len(functions)
        for _ in range(rounds):
            for i, function in enumerate(functions):
                best[i] = min(best[i], self._time(function, repeats[i]))
        return best

    def _time(self, function: Callable[..., Any], repeats: int) -> float:
        begin = perf_counter()
        for _ in range(repeats):
            function(*self.arguments)
        return (perf_counter() - begin) / repeats

    def _repeats(self, function: Callable[..., Any]) -> int:
        function(*self.arguments)
        return max(1, int(LEAST_SECONDS / max(self._time(function, 1), 1e-7)))


def _tensor(t: Attribute) -> TensorType[Attribute]:
    assert isa(t, MemRefType)
    return TensorType(t.element_type, t.get_shape())
