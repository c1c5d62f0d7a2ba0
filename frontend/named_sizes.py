"""Sizes and positions of operators that are expressions of named sizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from relex.dialects.relex.size_properties import EXPRESSION_PROPERTIES, like_name
from relex.dialects.sizes import Size, named, names_in, parse_index, substitute


class NamedSizes(ABC):
    """A function under construction whose parameters have named sizes."""

    @abstractmethod
    def size_source(self, name: str) -> tuple[SSAValue, int]:
        """Return a parameter and its dimension that has a named size."""

    def with_sizes(self, properties: Mapping[str, Any], operand: SSAValue | None) -> dict[str, Any]:
        """Return the properties of an operator with expressions of named sizes as the operator has them: in a property
        for such expressions, in terms of the sizes of its operand, and of parameters, which become its operands
        `like`."""
        result, like = dict(properties), dict[SSAValue, int]()
        for name, numbers in EXPRESSION_PROPERTIES.items():
            given: Sequence[int | str] = properties.get(name) or ()
            if not any(isinstance(size, str) for size in given):
                continue
            texts = [self._in_terms_of(operand, like, size) if isinstance(size, str) else "" for size in given]
            if name == "shape":
                texts = [text for text, size in zip(texts, given, strict=True) if text or size == -1]
            result[numbers] = texts
            result[name] = [(-1 if name == "shape" else 0) if isinstance(size, str) else size for size in given]
        return {**result, "like": list(like)} if like else result

    def _in_terms_of(self, operand: SSAValue | None, like: dict[SSAValue, int], text: str) -> str:
        """Return an expression of named sizes with the names that an operator has for them; add their tensors."""
        index = parse_index(text)
        names: dict[str, Size] = {}
        for name in names_in(index):
            tensor, dimension = self.size_source(name)
            own = tensor is operand
            names[name] = named(f"d{dimension}" if own else like_name(like.setdefault(tensor, len(like)), dimension))
        return str(substitute(index, names))
