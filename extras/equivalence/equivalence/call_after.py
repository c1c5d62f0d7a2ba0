"""Calls of a function after a pass, which may change its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.passes.driver.base import SameCall
from relex.passes.rewriting.numerics import Numerics
from relex.reference.equivalence import sizes
from relex.reference.equivalence.comparison import Mismatch
from relex.reference.equivalence.execution import CallOutcome, Runner
from relex.reference.equivalence.interface import Interface, NotComparable, find_function, interface_of
from relex.reference.equivalence.references import LastRun


@dataclass(frozen=True)
class CallAfter:
    """The way to call a function after a pass."""

    interface: Interface
    rewrite: Callable[[Sequence[Any]], tuple[list[Any], list[Any]]] | None
    """Maps arguments to those for the function before the pass and after it, or raises `NotComparable` if there are
    none; None if they stay the same."""
    numerics: Numerics
    is_native: bool = False

    @classmethod
    def of(
        cls, before: LastRun, module: ModuleOp, same_call: SameCall | None, numerics: Numerics
    ) -> CallAfter | Mismatch | None:
        """Return the way to call the function of a module; the mismatch if it is wrong; None if it is not to be
        compared."""
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        tried = [] if same_call is None else [(given, same_call(old, given)) for given in before.tried()]
        if tried and all(pair is None for _, pair in tried):
            return None
        if new is None and SymbolTable.lookup_symbol(module, before.name) is not None:
            return Mismatch("", "a function to keep its body", "a declaration")
        if new is None:
            return Mismatch("", "a public function to stay", "none of this name") if before.is_public else None
        if isinstance(new, llvm.FuncOp):
            return cls(before.interface, None, numerics, is_native=True) if before.is_public else None
        interface = interface_of(new)
        if same_call is not None and not all(pair and pair[0] is given and pair[1] is given for given, pair in tried):

            def rewrite(arguments: Sequence[Any]) -> tuple[list[Any], list[Any]]:
                pair = same_call(old, arguments)
                if pair is None:
                    raise NotComparable("the pass has no same_call for the arguments that were tried")
                return list(pair[0]), list(pair[1])

            return cls(interface, rewrite, numerics)
        if interface.equals(before.interface) or interface.lowered_from(before.interface):
            return cls(before.interface, None, numerics)
        return Mismatch("", f"{before.interface}", f"{interface}") if before.is_public else None

    def find_other_sizes(self, before: LastRun, module: ModuleOp) -> Mismatch | None:
        """Return a call that a pass makes invalid or valid, or whose result shapes it changes, as far as sizes alone
        show that."""
        if self.is_native or self.rewrite is not None:
            return None
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        assert new is not None
        return sizes.find_mismatch(old, new, before.interface)

    def given(
        self, before: LastRun, arguments: Sequence[Any], expected: CallOutcome | None
    ) -> tuple[Sequence[Any], Sequence[Any], CallOutcome]:
        """Return the arguments of a call before the pass, those after it, and the outcome before: `expected`, if that
        is known and the arguments stay the same. Raises `NotComparable` if there are none, or if the call stops, unless
        it does so because of an assertion."""
        changed = arguments
        if self.rewrite is not None:
            (arguments, changed), expected = self.rewrite(arguments), None
        if expected is None:
            expected = before.runner.run(before.name, before.interface, arguments, None)
        if expected.error is not None and expected.failed is None:
            raise NotComparable(f"it stops, even before: {expected.error}")
        return arguments, changed, expected

    def mismatch(self, before: LastRun, after: Runner, arguments: Sequence[Any]) -> Mismatch | None:
        """Return the mismatch of a call with other arguments, if there is one and it is known."""
        try:
            given, changed, expected = self.given(before, arguments, None)
            found = after.run(before.name, self.interface, changed, before.shapes(expected))
            return before.mismatch(given, expected, found, self.numerics)
        except NotComparable:
            return None
