"""The tensors of an imported graph: arrays known at import, and tensors of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from relex.dialects.arrays import Array
from relex.dialects.dtypes import DTYPES, numpy_dtype
from relex.dialects.errors import RelexError
from relex.dialects.relex.operator import tensor_type
from relex.dialects.sizes import IndexExpr, Size, Sizes
from relex.frontend.graph_expressions import Call, Expr
from relex.frontend.importing.size_arithmetic import Ratio


class Unsupported(RelexError):
    """Something in a model that cannot be imported, and why. `attribute` names the attribute of the node that is the
    reason, if one is."""

    def __init__(self, reason: str, attribute: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.attribute = attribute


def refuse(reason: str, attribute: str = "") -> NoReturn:
    """Stop the import of a node."""
    raise Unsupported(reason, attribute)


def sizes_of(given: Iterable[Any]) -> list[Size]:
    """Return sizes as numbers and expressions."""
    elements = list(given)
    if fractions := [size for size in elements if isinstance(size, Ratio)]:
        refuse(f"expected a size, found {fractions[0]}, which need be no whole number; fix its sizes with `shapes=`")
    return [size if isinstance(size, IndexExpr) else int(size) for size in elements]


def size_argument(size: Size) -> int | str:
    """Return a size as operators take it: as a number, or as the text of an expression."""
    return size if isinstance(size, int) else str(size)


def plain(node: object, function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function to operands as they are: the rule for rows of importers' tables whose operators ask no more."""
    return function(*operands)


def with_node(node: object, function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function to the node and the operands: the rule for rows whose functions ask for sizes or types."""
    return function(node, *operands)


def refusal(reason: str) -> Callable[..., NoReturn]:
    """Return the import of an operator that is always refused."""

    def refused(*arguments: object) -> NoReturn:
        refuse(reason)

    return refused


class Value(Expr):
    """A tensor of the graph."""

    def __init__(self) -> None:
        # Not the constructor of `Expr`: the location of an op is the node that it is imported from.
        self.place = FileLineColLoc(StringAttr(str(UNKNOWN_LOC)), IntAttr(0), IntAttr(0))


class Known(Value):
    """An array that is known at import. In shapes, some elements may be sizes of the program, or, among floats, ratios
    of them: those arrays have NumPy's dtype `object`, and stand for a tensor of another type, by default i64. `call` is
    what a program computes in place of ratios, which are exact."""

    def __init__(
        self,
        array: Array | Size | float | bool | Sequence[Size],
        name: str = "",
        dtype: np.dtype[Any] | None = None,
        call: Call | None = None,
    ):
        super().__init__()
        made: Array = np.asarray(array)
        self._stands_for = np.dtype(np.int64) if dtype is None else dtype
        if made.dtype == object and not any(isinstance(size, IndexExpr | Ratio) for size in made.flat):
            made = made.astype(self._stands_for)
        self.array = made
        self.name = name
        self.call = call

    @property
    def is_symbolic(self) -> bool:
        """True if elements may be sizes of the program."""
        return self.array.dtype == object

    @property
    def sizes(self) -> Sizes:
        """The shape."""
        return self.array.shape

    @property
    def element_type(self) -> Attribute:
        """The element type of the tensor that the array stands for. Raises `Unsupported` if relex does not have it."""
        return element_type_of(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the tensor that the array stands for."""
        return self._stands_for if self.is_symbolic else self.array.dtype


class Computed(Value):
    """A tensor of the program, with its sizes in terms of the sizes of the arguments."""

    def __init__(self, value: SSAValue, sizes: Sequence[Size]):
        super().__init__()
        self.value = value
        self.sizes: Sizes = tuple(sizes)

    @property
    def element_type(self) -> Attribute:
        """The element type."""
        return tensor_type(self.value.type).element_type

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the elements."""
        return numpy_dtype(self.element_type)


Tensor: TypeAlias = Known | Computed


def element_type_of(dtype: np.dtype[Any]) -> Attribute:
    """Return the element type for a NumPy dtype. Raises `Unsupported` if relex does not have it."""
    if dtype.name not in DTYPES:
        refuse(f"elements of type {'string' if dtype.kind in 'US' else dtype.name}")
    return DTYPES[dtype.name]
