"""Interfaces of functions at any level: their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, NoneAttr, TensorType, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects.dtypes import INTEGERS, is_unsigned, numpy_dtype
from relex.dialects.errors import DTypeError, size_str
from relex.dialects.function_arguments import (
    FINITE_ATTR,
    RESULT_ATTR,
    argument_attr,
    argument_names,
    replacements,
    stated_dims,
)
from relex.dialects.symbols import is_public
from relex.dialects.tir import PrimFuncOp
from relex.reference.interpreter.failures import failures_of
from relex.reference.interpreter.memory import signless


@dataclass(frozen=True)
class Spec:
    """An argument or result: an array, whose dynamic sizes are negative, or a scalar, whose shape is None."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    dims: tuple[str, ...] = ()
    """Names of the sizes: sizes of the same name are equal; "" is no name."""
    is_index: bool = False
    is_buffer: bool = False
    is_unsigned: bool = False
    """Whether integers are unsigned; `dtype` is then the signed type of the same size."""
    is_finite: bool = False
    """Whether all calls pass finite numbers."""
    result: int | None = None
    """The number of the result that takes the place of an argument: once lowered, a function writes it there."""

    def shown(self, value: Any) -> Any:
        """Return numbers of this type as messages show them."""
        array = np.asarray(value)
        return array.view(f"u{array.itemsize}") if self.is_unsigned and array.dtype.kind == "i" else array

    def fits(self, other: Spec) -> bool:
        """Return whether two specs are equal except for names. A buffer may take the place of a value."""
        return (self.dtype, self.shape, self.is_index) == (other.dtype, other.shape, other.is_index)

    def __str__(self) -> str:
        dtype = "index" if self.is_index and self.shape is None else f"{'u' * self.is_unsigned}{self.dtype.name}"
        if self.shape is None:
            return f"{self.name}: {dtype}"
        sizes = "x".join(map(size_str, self.shape))
        return f"{self.name}: {dtype}[{sizes}]"


@dataclass(frozen=True)
class Interface:
    """The arguments and results of a function. Without `fills`, buffer arguments may be written, and their contents
    after a call are results too; with `fills`, the last arguments are buffers for the results."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    fills: bool = False
    has_loops: bool = False
    late: frozenset[int] = frozenset()
    """The numbers of further results, which the function allocates when it knows their sizes."""

    @property
    def written(self) -> tuple[Spec, ...]:
        """The arguments that are results as well."""
        return () if self.fills else tuple(spec for spec in self.inputs if spec.is_buffer)

    @property
    def dims(self) -> tuple[tuple[str, ...], ...]:
        """The names of the sizes of the arguments."""
        return tuple(spec.dims for spec in self.inputs)

    def with_dims(self, dims: Sequence[tuple[str, ...]]) -> Interface:
        """Return the interface with other names of the sizes of the arguments."""
        named = (replace(spec, dims=names) for spec, names in zip(self.inputs, dims, strict=True))
        return replace(self, inputs=tuple(named))

    @property
    def finite(self) -> frozenset[int]:
        """The indices of the arguments that are finite in all calls."""
        return frozenset(i for i, spec in enumerate(self.inputs) if spec.is_finite)

    def with_finite(self, finite: AbstractSet[int]) -> Interface:
        """Return the interface with other arguments that are finite in all calls."""
        return replace(self, inputs=tuple(replace(spec, is_finite=i in finite) for i, spec in enumerate(self.inputs)))

    @property
    def replaced(self) -> dict[int, int]:
        """The results that take the place of arguments, by number, each with the index of the argument."""
        return {spec.result: i for i, spec in enumerate(self.inputs) if spec.result is not None}

    @property
    def filled(self) -> list[int]:
        """The results, by number, that a function has further buffers for once it is lowered."""
        return [i for i, spec in enumerate(self.outputs) if spec.shape is not None and i not in self.replaced]

    def lowered_from(self, other: Interface) -> bool:
        """Return whether this is `other`, an interface on values, with buffers for the results that are not scalars."""
        inputs = (*other.inputs, *(other.outputs[i] for i in other.filled if i not in self.late))
        outputs = [spec for spec in other.outputs if spec.shape is None]
        return not other.written and _fit(self.inputs, inputs) and _fit(self.outputs, outputs)

    def equals(self, other: Interface) -> bool:
        """Return whether functions with these interfaces take the same arguments and return the same results."""
        written = len(self.written) == len(other.written)
        return written and _fit(self.inputs, other.inputs) and _fit(self.outputs, other.outputs)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def _fit(specs: Sequence[Spec], others: Sequence[Spec]) -> bool:
    return len(specs) == len(others) and all(map(Spec.fits, specs, others))


class NotComparable(Exception):
    """The reason why a function is not checked."""


def find_function(module: ModuleOp, name: str) -> Operation | None:
    """Return the definition of a function, if there is one."""
    found = SymbolTable.lookup_symbol(module, name)
    if isinstance(found, func.FuncOp | PrimFuncOp | llvm.FuncOp) and found.regions[0].blocks:
        return found
    return None


def function_names(module: ModuleOp) -> dict[str, bool]:
    """Return the functions that a module defines, and whether each is public."""
    names: dict[str, bool] = {}
    for op in module.ops:
        if not op.regions or not op.regions[0].blocks:
            continue
        match op:
            case func.FuncOp() | PrimFuncOp():
                names[op.sym_name.data] = is_public(op)
            case llvm.FuncOp():
                names[op.sym_name.data] = op.linkage.linkage.data == "external"
            case _:
                pass
    return names


def interface_of(function: Operation) -> Interface:
    """Return the interface of a `func.func` or `tir.prim_func`. Raises `NotComparable` if it cannot be called."""
    if not isinstance(function, func.FuncOp | PrimFuncOp):
        raise NotComparable(f"'{function.name}' says too little about its arguments")
    arguments = zip(argument_names(function), function.args, strict=True)
    replaced = replacements(function)
    specs = tuple(
        replace(_spec(function, i, name, arg.type), result=replaced.get(i)) for i, (name, arg) in enumerate(arguments)
    )
    if isinstance(function, PrimFuncOp):
        count = len(function.input_types)
        return Interface(specs[:count], specs[count:], fills=True, has_loops=True)
    results = function.function_type.outputs.data
    results = results[: len(results) - 2 * bool(failures_of(function))]
    labels = [f"result {i}" if len(results) > 1 else "result" for i in range(len(results))]
    outputs = tuple(_spec(function, None, label, t) for label, t in zip(labels, results, strict=True))
    if any(spec.is_buffer for spec in outputs):
        raise NotComparable("it returns a buffer")
    has_loops = any(op.regions or op.successors for op in function.walk() if op is not function)
    calls = any("call" in op.name for op in function.walk())
    return Interface(specs, outputs, has_loops=has_loops or calls, late=late_results(function))


def late_results(function: Operation) -> frozenset[int]:
    """Return the numbers of the results that a function on buffers allocates itself."""
    numbers = (op.attributes.get(RESULT_ATTR) for op in function.walk() if isinstance(op, memref.AllocOp))
    return frozenset(number.value.data for number in numbers if isa(number, IntegerAttr))


def _spec(function: Operation, index: int | None, name: str, t: Attribute) -> Spec:
    if isa(t, TensorType) or isa(t, MemRefType) or isa(t, VectorType):
        if isinstance(t, MemRefType) and not isinstance(t.layout, NoneAttr):
            raise NotComparable(f"it has an argument of type {t}")
        shape = tuple(t.get_shape())
        dims = stated_dims(function, index) if index is not None else ()
        dims = dims if len(dims) == len(shape) else ("",) * len(shape)
        is_finite = index is not None and argument_attr(function, index, FINITE_ATTR) is not None
        spec = Spec(name, _dtype(t.element_type), shape, dims, is_buffer=isinstance(t, MemRefType), is_finite=is_finite)
        return replace(spec, is_index=isinstance(t.element_type, IndexType), is_unsigned=_is_unsigned(t.element_type))
    return Spec(name, _dtype(t), None, is_index=isinstance(t, IndexType), is_unsigned=_is_unsigned(t))


def _is_unsigned(t: Attribute) -> bool:
    return t in INTEGERS and is_unsigned(t)


def _dtype(t: Attribute) -> np.dtype[Any]:
    if isinstance(t, IndexType):
        return np.dtype(np.int64)
    try:
        return signless(numpy_dtype(t))
    except DTypeError:
        raise NotComparable(f"it takes or gives {t}, which NumPy does not have") from None
