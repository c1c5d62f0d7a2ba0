"""Building blocks of passes: rules, patterns and outlining; constants, and functions that are remembered.

The names of this package are those that are useful in passes of other packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.passes.rewriting.outline import OutliningPass as OutliningPass
    from relex.passes.rewriting.patterns import Match as Match
    from relex.passes.rewriting.patterns import Pattern as Pattern
    from relex.passes.rewriting.patterns import attribute as attribute
    from relex.passes.rewriting.patterns import constant as constant
    from relex.passes.rewriting.patterns import each as each
    from relex.passes.rewriting.patterns import op as op
    from relex.passes.rewriting.patterns import values as values
    from relex.passes.rewriting.patterns import wildcard as wildcard
    from relex.passes.rewriting.rewrite_rules import OperatorFunction as OperatorFunction
    from relex.passes.rewriting.rewrite_rules import Rule as Rule
    from relex.passes.rewriting.rewrite_rules import RulesPass as RulesPass
    from relex.passes.rewriting.rewrite_rules import operators as operators
    from relex.passes.rewriting.rewrite_rules import rule as rule
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
