"""Sizes and positions that are known at run time: expressions of the sizes of operands, in a property.

An operator names the sizes of its first operand `d0`, `d1`, ..., and the sizes of operand `i` of `like`, of which
only the sizes are used, `like{i}_d0`, `like{i}_d1`, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.errors import InferenceError
from relex.dialects.index.atoms import factors_of
from relex.dialects.index.expr import combination, constant_of, terms_of
from relex.dialects.relex.operator import Operator
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.types import SizedType, expect_integers
from relex.dialects.sizes import Size, at_most, evaluate, names_in, parse_index, substitute
from relex.dialects.upstream.hints import isa

EXPRESSION_PROPERTIES = {"shape": "sizes", "begin": "begin_sizes", "end": "end_sizes"}
"""Properties with numbers, and those with the expressions that take the place of some of them."""


def like_name(i: int, dimension: int) -> str:
    """Return the name of a size of an operand of `like`."""
    return f"like{i}_d{dimension}"


def names_of_sizes(operands: Sequence[SizedType], first: int = 1) -> dict[str, Size]:
    """Return the sizes of operands by their names in properties; sizes of `like` are the operands from `first` on."""
    own = {f"d{d}": size for operand in operands[:first][:1] for d, size in enumerate(operand.get_shape())}
    like = {
        like_name(i, d): size for i, other in enumerate(operands[first:]) for d, size in enumerate(other.get_shape())
    }
    return own | like


def texts_of(properties: Mapping[str, Attribute], name: str, count: int) -> list[str]:
    """Return the expressions in a property; empty texts, if it is absent. Raises `InferenceError` unless there are as
    many as expected."""
    attr = properties.get(name)
    if attr is None:
        return [""] * count
    if not isa(attr, ArrayAttr[StringAttr]):
        raise InferenceError(f"expected an array of texts as {name}, found {attr}")
    if len(attr) != count:
        raise InferenceError(f"expected {count} {name}, found {len(attr)}")
    return [text.data for text in attr]


def parse_size(text: str, names: Mapping[str, Size]) -> Size:
    """Return the value of an expression of names. Raises `InferenceError` for others."""
    try:
        index = parse_index(text)
    except ValueError as e:
        raise InferenceError(str(e)) from e
    if unknown := [name for name in names_in(index) if name not in names]:
        raise InferenceError(f"expected sizes of operands ({', '.join(names) or 'none'}), found '{unknown[0]}'")
    return substitute(index, names)


def dynamic_shape(properties: Mapping[str, Attribute], names: Mapping[str, Size]) -> list[Size]:
    """Return the property `shape` with the expressions of the property `sizes` in place of its -1, except for those
    that are empty."""
    shape = expect_integers(as_integers(properties["shape"]), "sizes", least=-1)
    texts = iter(texts_of(properties, "sizes", shape.count(-1)))
    return [_positive(text, names) if size == -1 and (text := next(texts)) else size for size in shape]


def _positive(text: str, names: Mapping[str, Size]) -> Size:
    size = parse_size(text, names)
    if not at_most(0, size):
        raise InferenceError(f"expected a size that is not negative, found {size}")
    return size


def quotient(dividend: Size, divisor: Size) -> Size | None:
    """Return an exact quotient of sizes; None if the dividend is no multiple of a divisor with names."""
    if isinstance(divisor, int):
        return dividend // divisor
    if constant_of(divisor) or len(terms_of(divisor)) != 1 or constant_of(dividend):
        return None
    ((atom, factor),) = terms_of(divisor).items()
    result: Size = 0
    for other, count in terms_of(dividend).items():
        rest = list(factors_of(other))
        for part in factors_of(atom):
            if part not in rest:
                return None
            rest.remove(part)
        if count % factor:
            return None
        result = result + prod((combination(0, {part: 1}) for part in rest), start=count // factor)
    return result


def shape_for(op: Operator, operands: Sequence[Array]) -> list[int]:
    """Return the shape of an operator's result for these operands. It is the shape of the type rule for their types: a
    size of 0 that is known only now does not count."""
    values = {f"operand{i}_{d}": size for i, array in enumerate(operands) for d, size in enumerate(array.shape)}
    return [evaluate(size, values) for size in op.infer(op.sized_operands(), op.properties).get_shape()]
