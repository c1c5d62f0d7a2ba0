"""The import of a graph of any format: what cannot be imported is collected, so that all of it is reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import CompileError, Diagnostic, RelexError, describe, one_line
from relex.dialects.parser import verify_module
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.values import Unsupported


class Missing:
    """A value that could not be imported; the reason was reported where it is computed."""


class ReportedError(Exception):
    """A node needs values that could not be imported, for reasons that were reported."""


@dataclass
class GraphImporter:
    """The import of a graph into one function."""

    builder: Builder

    @property
    def problems(self) -> list[Diagnostic]:
        """What could not be imported."""
        return self.builder.problems

    @contextmanager
    def collecting(self, report: Callable[[str], None]) -> Generator[None]:
        """Go on after an error in the body: `report` gets the reason."""
        try:
            yield
        except RelexError as e:
            report(one_line(e))

    @contextmanager
    def importing(self, report: Callable[[str, str], None]) -> Generator[None]:
        """Go on after an error in the import of a node: `report` gets the reason, and the attribute that it is about or
        an empty text."""
        try:
            yield
        except ReportedError:
            pass
        except Unsupported as e:
            report(e.reason, e.attribute)
        except CompileError as e:
            report(e.reason, "")
        except RecursionError:
            report("expected a model that nests less deeply", "")
        except (RelexError, VerifyException) as e:
            report(one_line(e), "")
        except (TypeError, ValueError, IndexError, KeyError, ArithmeticError, AssertionError) as e:
            report(f"cannot be imported: {type(e).__name__}: {one_line(e)}", "")

    def expect_no_problems(self) -> None:
        """Raise `CompileError` with everything that could not be imported, each problem once: nodes of loops may have
        been imported for each trip."""
        if self.problems:
            raise CompileError([*dict.fromkeys(self.problems)])

    def finish(self, results: Sequence[SSAValue], replaced: Mapping[SSAValue, int] | None = None) -> ModuleOp:
        """Return the module of the function, in which some results take the place of arguments. Raises `CompileError`
        with everything that could not be imported."""
        self.expect_no_problems()
        module = ModuleOp([self.builder.finish("main", results, replaced)])
        verify_module(module)
        return module


@contextmanager
def reading(expected: str, file: str) -> Generator[None]:
    """Raise `CompileError` for any error that relex does not raise: files may have anything in any place."""
    try:
        yield
    except RelexError:
        raise
    except Exception as e:
        raise CompileError(Diagnostic(f"expected {expected}: {describe(e).splitlines()[0]}", file)) from e


def size_name(name: str) -> str:
    """Return the name of a size in a model as relex writes it."""
    made = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "size"
    return made if made.isidentifier() else f"d_{made}"
