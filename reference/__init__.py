"""Reference semantics: an interpreter for every level, and equivalence checks of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.reference.equivalence.check import check_equivalent as check_equivalent
    from relex.reference.equivalence.check import check_pass as check_pass
    from relex.reference.equivalence.differences import NotEquivalentError as NotEquivalentError
    from relex.reference.fuzzing.fuzz import FuzzError as FuzzError
    from relex.reference.fuzzing.fuzz import FuzzReport as FuzzReport
    from relex.reference.fuzzing.fuzz import fuzz_pass as fuzz_pass
    from relex.reference.interpreter.api import Interpretation as Interpretation
    from relex.reference.interpreter.api import InterpretedFunction as InterpretedFunction
    from relex.reference.interpreter.api import interpret as interpret
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
