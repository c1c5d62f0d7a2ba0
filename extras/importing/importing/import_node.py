"""The place in a program at which a node of an imported model becomes operators: what its operands are, and shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.dialects.relex.types import normalize_axes
from relex.dialects.sizes import IndexExpr, Size, Sizes, count, names_in
from relex.frontend import op
from relex.frontend.graph_expressions import Call, Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.conditions import at_least
from relex.frontend.importing.values import Computed, Known, Tensor, refuse, sizes_of


class ImportedNode(ABC):
    """A node of a model while it is imported, of any format: what is known of its operands."""

    def __init__(self, builder: Builder):
        self.builder = builder

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the node in messages."""

    def expect(self, condition: Operand, message: str, index: Operand | None = None) -> None:
        """Let the program stop with an error unless a condition, a scalar, holds when it runs. With `index`, the error
        is about an index, which it names."""
        holds = self.builder.tensor(condition)
        if isinstance(holds, Computed):
            self.builder.expect(holds, f"{self.title}: {message}", index)
        elif not holds.array:
            found = None if index is None else self.tensor(index)
            refuse(f"{message}, found {found.array}" if isinstance(found, Known) else message)

    def expect_at_least(self, size: Size, least: Size, message: str, found: Operand | None = None) -> None:
        """Let the program take only sizes of which one is at least another one. Where one of them depends on elements,
        it stops with an error that names what was `found` instead."""
        condition = at_least(size, least)
        if self.builder.always_holds(condition):
            return
        if any(self.builder.is_late(name) for name in names_in(condition)):
            self.expect(op.reshape(op.less_equal(Known(least), Known(size)), []), message, found)
        else:
            self.builder.require(condition, message)

    def expect_equal(self, size: Size, other: Size, message: str) -> None:
        """Let the program take only sizes of which two are equal."""
        self.expect_at_least(size, other, message)
        self.expect_at_least(other, size, message)

    def tensor(self, x: Operand) -> Tensor:
        """Emit an expression."""
        return self.builder.tensor(x)

    def emit_results(self, call: Call) -> Sequence[Tensor]:
        """Emit a call of an operator with several results."""
        return self.builder.results(call)

    def constant(self, array: Array) -> Known:
        """Return an array as a tensor."""
        return Known(array)

    def shape(self, x: Operand) -> Sizes:
        """Return the sizes of a tensor."""
        return self.tensor(x).sizes

    def rank(self, x: Operand) -> int:
        """Return the number of dimensions of a tensor."""
        return len(self.shape(x))

    def static_shape(self, x: Operand, what: str = "sizes", first: int = 0) -> tuple[int, ...]:
        """Return the sizes of a tensor from dimension `first` on, which must be known at import."""
        shape = self.shape(x)[first:]
        if any(isinstance(size, IndexExpr) for size in shape):
            found = " x ".join(map(str, shape))
            refuse(f"expected {what} that are known at import, found {found}; fix the sizes with `shapes=`")
        return tuple(size for size in shape if isinstance(size, int))

    def closed(self, size: Size, reason: str, attribute: str = "") -> int:
        """Return a size that must be known at import. In the reason to refuse others, `{}` stands for the size."""
        if not isinstance(size, int):
            refuse(f"{reason.format(size)}; fix the size with `shapes=`", attribute)
        return size

    def element_type(self, x: Operand) -> Attribute:
        """Return the element type of a tensor."""
        return self.tensor(x).element_type

    def is_float(self, x: Operand) -> bool:
        """Return whether a tensor has floats."""
        return self.element_type(x) in FLOATS

    def known(self, x: Operand | None, what: str) -> Array:
        """Return an input that must be known at import; some of its elements may be sizes of the program."""
        tensor = None if x is None else self.tensor(x)
        if isinstance(tensor, Known):
            self.builder.require_exact(tensor)
            return tensor.array
        refuse(
            f"expected {what}, known at import, found a tensor of the program; 'values' freezes an input, and 'shapes' "
            "fixes sizes"
        )

    def known_sizes(self, x: Operand | None, what: str) -> list[Size]:
        """Return the elements of an input that must be known at import, integers and sizes of the program."""
        return sizes_of(self.known(x, what).flat)

    def sizes(self, x: Operand | None, what: str) -> list[Size]:
        """Return the elements of an input as sizes. If the program computes them, they depend on elements, and a run
        checks that they are sizes."""
        tensor = None if x is None else self.tensor(x)
        if tensor is None or isinstance(tensor, Known):
            return self.known_sizes(x, what)
        self.static_shape(tensor, f"sizes of {what}")
        numbers = op.reshape(op.astype(tensor, i64), [-1])
        return list(self.shape(op.as_sizes(numbers))[1:]) if count(self.shape(tensor)) else []

    def known_integers(self, x: Operand | None, what: str) -> list[int]:
        """Return the elements of an input that must be known at import, without sizes of the program."""
        array = self.known(x, what)
        if any(isinstance(size, IndexExpr) for size in array.flat):
            refuse(f"expected {what} without dynamic sizes; fix the sizes with `shapes=`")
        return [int(number) for number in array.flat]

    def known_number(self, x: Operand | None, what: str) -> Any:
        """Return the only element of an input that must be known at import, and no dynamic size."""
        number = self.known_size(x, what)
        if isinstance(number, IndexExpr):
            refuse(f"expected {what} that is known at import, found {number}; fix dynamic sizes with `shapes=`")
        return number

    def known_size(self, x: Operand | None, what: str) -> Any:
        """Return the only element of an input that must be known at import, or be a size of the program."""
        array = self.known(x, what)
        if array.size != 1:
            refuse(f"expected {what} of one element, found {array.size}")
        return array.reshape(-1)[0].item() if array.dtype != object else array.reshape(-1)[0]

    def reshape(self, x: Operand, sizes: Sequence[Size]) -> Operand:
        """Return a tensor with another shape of as many elements."""
        # A size of -1 follows from the others, unless one of them is 0, or all of them are to fit sizes of the run.
        follows = (
            sum(isinstance(size, IndexExpr) for size in sizes) == 1
            and 0 not in sizes
            and count(sizes) == count(self.shape(x))
        )
        return op.reshape(x, [size if isinstance(size, int) else -1 if follows else str(size) for size in sizes])

    def broadcast_to(self, x: Operand, sizes: Sequence[Size]) -> Operand:
        """Return a tensor repeated along dimensions of size 1, and new ones."""
        old = self.shape(x)
        pairs = zip(sizes, (1,) * (len(sizes) - len(old)) + old, strict=True)
        new = [size if isinstance(size, int) else -1 if size == found else str(size) for size, found in pairs]
        return op.broadcast_to(x, new)

    def full(self, sizes: Sequence[Size], number: float | bool, element_type: Attribute) -> Operand:
        """Return a tensor with equal elements."""
        return self.broadcast_to(Known(np.array(number, numpy_dtype(element_type))), sizes)

    def like(self, number: float | bool | Sequence[Any] | Array, x: Operand) -> Known:
        """Return an array of the element type of a tensor."""
        return Known(np.asarray(number).astype(numpy_dtype(self.element_type(x))))

    def axes(self, axes: Sequence[int], x: Operand) -> tuple[int, ...]:
        """Return dimensions counted from the front."""
        return normalize_axes(axes, self.rank(x))
