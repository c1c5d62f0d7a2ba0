"""Dynamic sizes: expressions of names, and the requirements on them."""

from relex.dialects.index.expr import IndexExpr, larger, name_of_size, named, names_in, never_negative, smaller
from relex.dialects.index.text import parse_index
from relex.dialects.index.values import evaluate, substitute
from relex.dialects.sizes.expressions import MAX_ARGUMENT_SIZE, MAX_SIZE, Size, Sizes, count, sources
from relex.dialects.sizes.requirements import Requirement, at_most, equal, gathering, parse_requirement

__all__ = [
    "MAX_ARGUMENT_SIZE",
    "MAX_SIZE",
    "IndexExpr",
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
    "parse_index",
    "parse_requirement",
    "smaller",
    "sources",
    "substitute",
]


def __dir__() -> list[str]:
    return __all__
