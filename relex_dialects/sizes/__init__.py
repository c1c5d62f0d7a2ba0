"""Sizes that are known at run time: expressions of names, and what must hold of them."""

from relex.dialects.sizes.expressions import (
    MAX_SIZE,
    Dim,
    Size,
    Sizes,
    count,
    evaluate,
    larger,
    name_of_size,
    named,
    names_in,
    never_negative,
    parse_size,
    smaller,
    substitute,
)
from relex.dialects.sizes.requirements import Requirement, at_most, equal, gathering, parse_requirement

__all__ = [
    "MAX_SIZE",
    "Dim",
    "Requirement",
    "Size",
    "Sizes",
    "at_most",
    "count",
    "equal",
    "evaluate",
    "gathering",
    "larger",
    "name_of_size",
    "named",
    "names_in",
    "never_negative",
    "parse_requirement",
    "parse_size",
    "smaller",
    "substitute",
]
