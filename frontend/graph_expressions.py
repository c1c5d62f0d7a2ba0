"""Expressions for `BlockBuilder`: parameters, constants, calls not yet emitted, and the values of emitted calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import DTYPES, element_type_of
from relex.dialects.errors import DTypeError, ShapeError, expect_kind, kind_of, wrong_kind
from relex.dialects.relex import AddOp, DivideOp, MultiplyOp, NegativeOp, Operator, SubtractOp
from relex.dialects.sizes import MAX_SIZE
from relex.frontend.call_site import refuse, user_place

if TYPE_CHECKING:
    from relex.frontend.function_body import FunctionBody

Number = int | float
Size = int | str
"""A static size, or the name of a dynamic one. Sizes with the same name are equal."""

_Method = Callable[["Expr", "Operand"], "Call"]


def _operators(kind: type[Operator]) -> tuple[_Method, _Method]:
    """Return the methods for an operator of Python, with the other operand on the right and on the left."""

    def method(self: Expr, other: Operand) -> Call:
        return call_operator(kind, self, other)

    def reflected(self: Expr, other: Operand) -> Call:
        return call_operator(kind, other, self)

    return method, reflected


class Expr:
    """A tensor of the program. Arithmetic on it creates operator calls, to be emitted by `BlockBuilder.emit`."""

    __array_ufunc__ = None
    """Makes NumPy arrays defer to this class's operators."""

    def __init__(self):
        self.place = user_place()
        """The location in the user's program that created it."""

    __add__, __radd__ = _operators(AddOp)
    __sub__, __rsub__ = _operators(SubtractOp)
    __mul__, __rmul__ = _operators(MultiplyOp)
    __truediv__, __rtruediv__ = _operators(DivideOp)

    def __neg__(self) -> Call:
        return call_operator(NegativeOp, self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a tensor of the program has no truth value while the program is built; use 'op.where'")


Tensor = Expr | SSAValue
"""A tensor of the program: an expression, or a value of the IR."""

Operand = Expr | Number
"""A tensor, or a number, which becomes a scalar of the other operands' element type."""

AnyOperand = Operand | SSAValue
"""The same, or a value of the IR, as rewriters have them."""


@dataclass(frozen=True)
class DynTensorType:
    """The rank and dtype of a tensor."""

    ndim: int
    dtype: str


class Var(Expr):
    """A parameter of a function: its name, sizes (each a number or a name), and dtype; or its name and the type of a
    value in the IR, whose dynamic sizes have no names."""

    def __init__(self, name: str, shape: Sequence[Size] | TensorType, dtype: str | DynTensorType = "float32"):
        super().__init__()
        expect_kind(name, str, "the name of a parameter")
        self.name = name
        if isinstance(shape, TensorType):
            self.shape: tuple[Size | None, ...] = _sizes_of(shape)
            self.type = shape
            return
        expect_sizes(shape, f"'{name}':")
        if isinstance(dtype, DynTensorType):
            if dtype.ndim != len(shape):
                raise ShapeError(f"'{name}': expected {dtype.ndim} sizes, as its type says, found {len(shape)}")
            dtype = dtype.dtype
        self.shape = tuple(shape)
        self.type = tensor_of(shape, dtype)


class Constant(Expr):
    """A constant tensor."""

    def __init__(self, value: Any, dtype: str | None):
        super().__init__()
        if dtype is not None:
            element_type(dtype)
        elif type(value) is float:
            # As in TVM. A NumPy float64 is also a float, but carries its dtype.
            dtype = "float32"
        try:
            self.value = array_of(value, dtype)
        except (TypeError, ValueError, OverflowError) as e:
            raise DTypeError(f"expected an array to make a constant of, found {kind_of(value)}: {e}") from e
        element_type_of(self.value.dtype)


class Call(Expr):
    """An operation not yet emitted: `build` creates the op in a function body, given the values of `args`."""

    def __init__(
        self, name: str, args: Sequence[AnyOperand], build: Callable[[FunctionBody, list[SSAValue]], Operation]
    ):
        super().__init__()
        self.name = name
        self.args = tuple(args)
        self.build = build

    def refuse(self, message: str) -> NoReturn:
        """Raise a `CompileError` at the line of the call."""
        refuse(f"'{self.name}' op {message}", self.place)


class Binding(Expr):
    """An emitted value. `owner` is the function body or dataflow block in which it is visible."""

    def __init__(self, value: SSAValue, owner: object):
        super().__init__()
        self.value = value
        self.owner = owner

    @property
    def type(self) -> TensorType:
        """The tensor type of the value."""
        if not isa(self.value.type, TensorType):
            raise DTypeError(f"expected a tensor, found {self.value.type}")
        return self.value.type

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None for dynamic ones."""
        return _sizes_of(self.type)


def _sizes_of(type: TensorType) -> tuple[int | None, ...]:
    return tuple(None if size == DYNAMIC_INDEX else size for size in type.get_shape())


def const(value: Any, dtype: str | None = None) -> Constant:
    """Return a constant from anything that NumPy converts to an array. Without `dtype`, a Python float becomes
    float32."""
    return Constant(value, dtype)


def call_operator(kind: type[Operator], *args: AnyOperand, **properties: Any) -> Call:
    """Return a call of an operator on tensors; the remaining arguments are passed by name, as its class takes them. A
    size of a shape, and a position of a slice, may also be an expression of the parameters' named sizes, as a text."""

    def build(body: FunctionBody, operands: list[SSAValue]) -> Operation:
        is_variadic = kind.is_variadic()
        given = body.with_sizes(properties, None if is_variadic else operands[0])
        # Variadic operands come first.
        like: list[SSAValue] = given.pop("like", []) if is_variadic else []
        return kind(*operands, *like, **given)

    return Call(kind.name, args, build)


def tensor_of(shape: Sequence[Size], dtype: str) -> TensorType:
    """Return the type of a tensor. Raises `ShapeError` and `DTypeError`."""
    return TensorType(element_type(dtype), [DYNAMIC_INDEX if isinstance(s, str) else _size(s) for s in shape])


def expect_sizes(shape: object, where: str = "") -> None:
    """Raise `DTypeError` unless `shape` is a list."""
    if isinstance(shape, str):
        raise wrong_kind("a list of sizes", shape, where)
    expect_kind(shape, Sequence, "a list of sizes", where)


def _size(size: SupportsIndex) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__") or index(size) < 0:
        raise ShapeError(f"expected sizes that are numbers from 0 up, or names, found {size!r}")
    if index(size) > MAX_SIZE:
        raise ShapeError(f"expected sizes of at most {MAX_SIZE}, found {index(size)}")
    return index(size)


def element_type(dtype: str | type | np.dtype[Any]) -> Attribute:
    """Return the element type for the name of a dtype. Raises `DTypeError`."""
    # NumPy would accept None as float64.
    expect_kind(dtype, str | type | np.dtype, "the name of a dtype")
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    try:
        parsed = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"expected the name of a dtype, found {dtype!r}") from None
    return element_type_of(parsed)


def array_of(value: Any, dtype: Any = None) -> Array:
    """Return an array of numbers. Raises `TypeError` for anything else that NumPy would make numbers of: None, which
    becomes NaN, and text."""
    found = np.asarray(value)
    are_numbers = found.dtype.kind in "biuf" or found.dtype.name in DTYPES
    others: list[object] = [] if are_numbers else found.reshape(-1).tolist()
    for element in others:
        # Python's integers of more than 64 bits are objects.
        if found.dtype != object or not isinstance(element, int | float):
            raise TypeError(f"expected numbers, found {kind_of(element)}")
    return np.array(value, dtype)
