"""
Arrays of a domain that NumPy's functions work on: what operators of graphs mean, without their loops.

`evaluate` of an operator gets `Elements` in place of arrays. Functions that move elements move cells, and functions of
numbers become the functions of the ops that compute them. Functions that are not in the tables of `numpy_functions` can
only be evaluated where all numbers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from xdsl.dialects import arith

from relex.dialects.arrays import Array
from relex.dialects.dtypes import converted, is_float_dtype
from relex.reference.domains import numpy_functions
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.symbols import SUM, SymbolHead, head_of
from relex.reference.interpreter.memory import signless


class Unknown(Exception):
    """NumPy's function is not known here."""


class Elements(NDArrayOperatorsMixin):
    """An array of cells of a domain, which stand for numbers of a dtype. With `is_rounded`, results are only fixed up
    to rounding: ops have the fast-math flags in `FLAGS`."""

    def __init__(self, domain: Domain, cells: Any, dtype: np.dtype[Any], *, is_rounded: bool):
        self.domain = domain
        self.cells: Array = np.asarray(cells)
        self.dtype = dtype
        self.is_rounded = is_rounded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unknown(f"an attribute '{name}'")

    def known(self) -> Array:
        """Return the numbers. Raises `Unknown` if one of them is not known."""
        values = self.domain.values(self.cells)
        if values is None:
            raise Unknown("numbers that are not known")
        return np.asarray(values, signless(self.dtype)).view(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.known() if dtype is None else self.known().astype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.cells.shape

    @property
    def ndim(self) -> int:
        """As of an array."""
        return self.cells.ndim

    @property
    def size(self) -> int:
        """As of an array."""
        return self.cells.size

    @property
    def T(self) -> Elements:
        """As of an array."""
        return self.derived(self.cells.T)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Any) -> Elements:
        return self.derived(self.cells[_known(index)])

    def reshape(self, *shape: Any) -> Elements:
        """As of an array."""
        return self.derived(self.cells.reshape(*shape))

    def transpose(self, *axes: Any) -> Elements:
        """As of an array."""
        return self.derived(self.cells.transpose(*axes))

    def sum(self, axis: Any = None, **options: Any) -> Elements:
        """As of an array."""
        return self._reduce("add", axis, **options)

    def min(self, axis: Any = None, **options: Any) -> Elements:
        """As of an array."""
        return self._reduce("minimum", axis, **options)

    def largest(self, axes: Sequence[int], keepdims: bool) -> Elements:
        """The maximum, with +0 above -0."""
        return self._reduce("maximum", tuple(axes), keepdims=keepdims)

    def smallest(self, axes: Sequence[int], keepdims: bool) -> Elements:
        """The minimum, with -0 below +0."""
        return self._reduce("minimum", tuple(axes), keepdims=keepdims)

    def astype(self, dtype: Any, **_: Any) -> Elements:
        """As of an array, for conversions that every number has."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self

        def convert(value: Any) -> Any:
            return converted(np.asarray(value).view(self.dtype), dtype).view(signless(dtype))

        if {self.dtype.kind, dtype.kind} == {"i", "u"} and self.dtype.itemsize == dtype.itemsize:
            return self.derived(self.cells, dtype)
        return self.converted(_cast(self.dtype, dtype), dtype, convert)

    def reinterpreted(self, dtype: np.dtype[Any]) -> Elements:
        """The numbers of another type that have the same bits."""
        target = signless(dtype)
        if signless(self.dtype) == target:
            return self.derived(self.cells, dtype)
        return self.converted(arith.BitcastOp.name, dtype, lambda value: value.view(target))

    def converted(self, op: str, dtype: np.dtype[Any], convert: Callable[[Any], Any]) -> Elements:
        """Return what an op makes of each element: a number of another type."""
        head = SymbolHead(op, signless(dtype), signless(self.dtype).name, convert)
        return self.derived(self.applied(head, [self]).cells, dtype)

    def copy(self) -> Elements:
        """As of an array."""
        return self.derived(self.cells.copy())

    def __setitem__(self, index: Any, value: Any) -> None:
        self.cells[_known(index)] = self.lifted(value, self.dtype).cells

    def derived(self, cells: Any, dtype: np.dtype[Any] | None = None) -> Elements:
        """Return an array of other cells."""
        return Elements(self.domain, cells, dtype or self.dtype, is_rounded=self.is_rounded)

    def lifted(self, value: Any, dtype: np.dtype[Any] | None = None) -> Elements:
        """Return an operand next to this one as an array of the domain."""
        if isinstance(value, Elements):
            return value
        # Python's numbers take the type of the other operand.
        array = np.asarray(value, self.dtype if isinstance(value, bool | int | float) else None)
        array = np.asarray(array, dtype)
        return self.derived(self.domain.constants(array.view(signless(array.dtype))), array.dtype)

    def applied(self, head: SymbolHead, operands: Sequence[Elements]) -> Elements:
        """Apply an op elementwise."""
        dtype = operands[0].dtype
        return self._mapped(self.domain.make(head), operands, dtype if signless(dtype) == head.dtype else head.dtype)

    def _mapped(self, make: Make, operands: Sequence[Elements], dtype: np.dtype[Any]) -> Elements:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        cells = [x.cells if x.shape == shape else np.broadcast_to(x.cells, shape) for x in operands]
        return self.derived(self.domain.map(make, cells), dtype)

    def _head(self, name: str, dtype: np.dtype[Any]) -> SymbolHead:
        """Return the head for one of NumPy's functions of two numbers of a type."""
        names = numpy_functions.BINARY.get(name, ("", "", ""))
        op = names[0 if is_float_dtype(dtype) else 2 if dtype.kind == "b" else 1]
        if not op:
            raise Unknown(f"{name} of {dtype.name}")
        op = numpy_functions.UNSIGNED.get(op, op) if dtype.kind == "u" else op
        return head_of(op, signless(dtype), numpy_functions.FLAGS.get(op, "") if self.is_rounded else "")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce":
            return self._reduce(ufunc.__name__, **options)
        if method == "__call__" and options.keys() == {"out"} and ufunc is np.add:
            (target,) = options["out"]
            target[...] = self.applied(target._addition(target.dtype), [target.lifted(x) for x in inputs])
            return target
        if method == "at":
            return inputs[0]._update(ufunc.__name__, *inputs[1:])
        if method != "__call__" or options.keys() - {"dtype", "casting"}:
            raise Unknown(f"{ufunc.__name__}.{method}")
        if ufunc is np.matmul:
            return self._matmul(*map(self.lifted, inputs))
        return self._call(ufunc.__name__, list(map(self.lifted, inputs)))

    def called(self, name: str, *others: Any) -> Elements:
        """Apply a function of `BINARY` to this and others."""
        return self._call(name, [self, *map(self.lifted, others)])

    def _call(self, name: str, operands: list[Elements]) -> Elements:
        dtype = np.result_type(*(x.dtype for x in operands))
        operands = [x.astype(dtype) for x in operands]
        if name == "subtract" and is_float_dtype(dtype):
            return self._call("add", [operands[0], self._call("negative", operands[1:])])
        if name == "subtract" and dtype.kind in "iu":
            return self.applied(head_of("arith.subi", signless(dtype)), operands)
        if name == "negative":
            if is_float_dtype(dtype):
                return self.applied(head_of("arith.negf", dtype), operands)
            return self._call("subtract", [self.lifted(0, dtype), *operands])
        if name in ("invert", "logical_not"):
            ones = np.zeros((), dtype) == 0 if dtype.kind == "b" else ~np.zeros((), dtype)
            return self._call("bitwise_xor", [self.lifted(ones), *operands])
        if name == "absolute" and dtype.kind == "i":
            return self._call("maximum", [*operands, self._call("negative", operands)])
        if name == "isnan":
            return self._call("not_equal", operands * 2)
        if name == "square":
            return self._call("multiply", operands * 2)
        if name in numpy_functions.COMPARISONS:
            predicate = numpy_functions.COMPARISONS[name][0 if is_float_dtype(dtype) else 1]
            if dtype.kind in "bu" and predicate > 1:
                predicate += 4  # False is below true, as of unsigned integers.

            def compare(a: Any, b: Any) -> Any:
                return getattr(np, name)(np.asarray(a).view(dtype), np.asarray(b).view(dtype))

            return self._mapped(self.domain.comparison(signless(dtype), predicate, compare), operands, np.dtype(bool))
        if name in numpy_functions.UNARY and len(operands) == 1 and is_float_dtype(dtype):
            return self.applied(head_of(numpy_functions.UNARY[name], dtype), operands)
        return self.applied(self._head(name, dtype), operands)

    def _reduce(self, name: str, axis: Any = None, keepdims: bool = False, initial: Any = None, dtype: Any = None,
                **options: Any) -> Elements:  # fmt: skip
        if any(v is not None and "no value" not in str(v) for v in options.values()):
            raise Unknown(f"{name} with {', '.join(options)}")
        x = self if dtype is None else self.astype(dtype)
        axes = [int(a) % self.ndim for a in np.atleast_1d(np.arange(self.ndim) if axis is None else axis).tolist()]
        kept = [a for a in range(self.ndim) if a not in axes]
        rows = x.cells.transpose(*kept, *axes).reshape(
            *(self.shape[a] for a in kept), prod(self.shape[a] for a in axes)
        )
        head = self._addition(x.dtype) if name == "add" else self._head(name, x.dtype)
        start = numpy_functions.STARTS.get(name, initial)
        begin = () if start is None else (self.lifted(np.asarray(start, x.dtype)).cells[()],)
        found = self.domain.fold(head, begin, rows)
        shape = [1 if a in axes else n for a, n in enumerate(self.shape)] if keepdims else rows.shape[:-1]
        return self.derived(found.reshape(shape), x.dtype)

    def _update(self, name: str, index: Any, values: Any) -> None:
        """Apply a function to elements at an index, one after the other, as `at` of a function of NumPy's."""
        places = np.arange(self.size).reshape(self.shape)[_known(index)]
        operands = np.broadcast_to(self.lifted(values, self.dtype).cells, places.shape)
        make, cells = self.domain.make(self._head(name, self.dtype)), self.cells.reshape(-1)
        for place, operand in zip(places.reshape(-1).tolist(), operands.reshape(-1), strict=True):
            cells[place] = self.domain.map(make, [cells[place], operand])
        self.cells = cells.reshape(self.shape)

    def _scan(self, name: str, axis: int = -1, dtype: Any = None) -> Elements:
        x = self if dtype is None else self.astype(dtype)
        head = replace(self._head(name, x.dtype), properties="")
        return x.derived(np.moveaxis(self.domain.scan(head, np.moveaxis(x.cells, axis, -1)), -1, axis))

    def _products(self, a: Elements, b: Elements) -> Elements:
        """Return the sums of products along the last dimension."""
        head = self._head("multiply", a.dtype)
        head = head_of(head.name, head.dtype, "contract") if head.name == "arith.mulf" else head
        size = max(a.shape[-1], b.shape[-1])
        step = self.domain.at_once(prod(np.broadcast_shapes(a.shape, b.shape)), size)
        parts = [slice(i, i + step) for i in range(0, max(size, 1), step)]
        sums = [self.applied(head, [a._part(s), b._part(s)])._reduce("add", -1) for s in parts]
        return reduce(lambda x, y: self.applied(self._addition(x.dtype), [x, y]), sums)

    def _part(self, part: slice) -> Elements:
        return self if self.shape[-1] == 1 else self[..., part]

    def _addition(self, dtype: np.dtype[Any]) -> SymbolHead:
        """Return the head for a sum in any order."""
        head = self._head("add", dtype)
        return SymbolHead(SUM, head.dtype, "", head.function) if head.name == "arith.addf" else head

    def _matmul(self, a: Elements, b: Elements) -> Elements:
        left = a[np.newaxis, :] if a.ndim == 1 else a
        right = b[:, np.newaxis] if b.ndim == 1 else b
        found = self._products(
            left[..., :, np.newaxis, :], right.derived(np.swapaxes(right.cells, -1, -2))[..., np.newaxis, :, :]
        )
        found = found[..., 0, :] if a.ndim == 1 else found
        return found[..., 0] if b.ndim == 1 else found

    def _einsum(self, text: str, a: Elements, b: Elements) -> Elements:
        (left, right), out = text.split("->")[0].split(","), text.split("->")[1]
        summed = [c for c in dict.fromkeys(left + right) if c not in out]
        aligned = [_aligned(x, labels, [*out, *summed]) for x, labels in ((a, left), (b, right))]
        shape = np.broadcast_shapes(*(x.shape for x in aligned))
        self.domain.spend(prod(shape))
        flat = [x.derived(np.broadcast_to(x.cells, shape).reshape(*shape[: len(out)], -1)) for x in aligned]
        return self._products(*flat)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in numpy_functions.MOVES:
            first, *rest = args
            if isinstance(first, list | tuple):
                return self._joined(function, args[0], *rest, **options)
            rest, options = [_known(x) for x in rest], {name: _known(x) for name, x in options.items()}
            return self.lifted(first).derived(function(self.lifted(first).cells, *rest, **options))
        if function in numpy_functions.REDUCTIONS:
            x, *rest = args
            return x._reduce(numpy_functions.REDUCTIONS[function], *rest, **options)
        if function is np.where and len(args) == 3:
            return self._where(*args)
        if function is np.pad and set(options) <= {"constant_values"}:
            value = self.lifted(options.get("constant_values", 0), self.dtype)
            return self.derived(_padded(self.cells, args[1], value.cells))
        if function in (np.full_like, np.zeros_like) and set(options) <= {"shape", "dtype"}:
            first, value = args[0], args[1] if function is np.full_like else 0
            dtype = np.dtype(options.get("dtype") or first.dtype)
            filled = first.lifted(np.asarray(value, dtype))
            return filled.derived(np.full(options.get("shape", first.shape), filled.cells, filled.cells.dtype))
        if function in numpy_functions.SCANS:
            return args[0]._scan(numpy_functions.SCANS[function], *args[1:], **options)
        if function is np.argmax and len(args) == 1 and self.domain.values(self.cells) is None:
            return args[0]._argmax(**options)
        if function is np.round and len(args) == 1:
            return self._call("rint", [args[0]])
        if function is np.einsum:
            text, *operands = args
            return self._einsum(text, *map(self.lifted, operands))
        if function is np.clip:
            x, low, high = args
            return np.minimum(np.maximum(x, low), high)
        # Any other function is one of numbers.
        return function(*map(_known, args), **{name: _known(x) for name, x in options.items()})

    def _joined(self, function: Any, arrays: Sequence[Any], *rest: Any, **options: Any) -> Elements:
        parts = [self.lifted(x) for x in arrays]
        if len({x.dtype for x in parts}) > 1:
            raise Unknown(f"{function.__name__} of several types")
        return parts[0].derived(function([x.cells for x in parts], *rest, **options))

    def _argmax(self, axis: int) -> Elements:
        """Find the position of the largest element by comparing it with one after the other; NaN counts as larger."""
        rows: Any = np.moveaxis(cast("Any", self), axis, -1)
        best, place = rows[..., 0], self.lifted(np.zeros(rows.shape[:-1], np.int64))
        for i in range(1, rows.shape[-1]):
            element = rows[..., i]
            larger = (element > best) | (element != element) & (best == best)
            best, place = self._where(larger, element, best), self._where(larger, i, place)
        return place

    def _where(self, condition: Any, a: Any, b: Any) -> Elements:
        condition = self.lifted(condition)
        known = next((x for x in (a, b) if isinstance(x, Elements)), None)
        if known is None:
            known = self.lifted(np.asarray(a))
        a, b = (known.lifted(x) for x in (a, b))
        dtype = np.result_type(a.dtype, b.dtype)
        choice = self.domain.choice(signless(dtype))
        return self._mapped(choice, [condition, a.astype(dtype), b.astype(dtype)], dtype)


def _known(value: Any) -> Any:
    """Return an argument of a function, or several, with numbers in place of elements. Raises `Unknown` if these are
    not known."""
    if isinstance(value, list | tuple):
        found = list(map(_known, cast("Sequence[Any]", value)))
        return tuple(found) if isinstance(value, tuple) else found
    return value.known() if isinstance(value, Elements) else value


def _padded(cells: Array, widths: Any, value: Any) -> Array:
    sides = np.broadcast_to(widths, (cells.ndim, 2)).tolist()
    shape = [before + size + after for (before, after), size in zip(sides, cells.shape, strict=True)]
    result = np.full(shape, value, cells.dtype)
    result[tuple(slice(before, before + size) for (before, _), size in zip(sides, cells.shape, strict=True))] = cells
    return result


def _aligned(x: Elements, labels: str, order: Sequence[str]) -> Elements:
    """Return an operand of `einsum` with a dimension for each label, of size 1 where it has none."""
    axes = [labels.index(c) for c in order if c in labels]
    moved = x.cells.transpose(axes)
    return x.derived(moved[tuple(slice(None) if c in labels else np.newaxis for c in order)])


def _cast(source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return the op that converts numbers of a type to another."""
    if target.kind == "b" or (is_float_dtype(source) and not is_float_dtype(target)):
        raise Unknown(f"conversion of {source.name} to {target.name}")
    if is_float_dtype(source):
        return "arith.extf" if target.itemsize > source.itemsize else "arith.truncf"
    is_never_negative = source.kind in "bu"
    if is_float_dtype(target):
        return "arith.uitofp" if is_never_negative else "arith.sitofp"
    if target.itemsize > source.itemsize or source.kind == "b":
        return "arith.extui" if is_never_negative else "arith.extsi"
    return "arith.trunci"
