"""Building blocks of passes: rules, patterns and outlining; constants, and functions that are remembered.

The names of this package are those that are useful in passes of other packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.passes.support.outline import OutliningPass as OutliningPass
    from relex.passes.support.patterns import Match as Match
    from relex.passes.support.patterns import Pattern as Pattern
    from relex.passes.support.patterns import attribute as attribute
    from relex.passes.support.patterns import constant as constant
    from relex.passes.support.patterns import each as each
    from relex.passes.support.patterns import op as op
    from relex.passes.support.patterns import values as values
    from relex.passes.support.patterns import wildcard as wildcard
    from relex.passes.support.rules import OperatorFunction as OperatorFunction
    from relex.passes.support.rules import Rule as Rule
    from relex.passes.support.rules import RulesPass as RulesPass
    from relex.passes.support.rules import operators as operators
    from relex.passes.support.rules import rule as rule
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
