"""Operators as solutions: what they compute, and the operands that they are to refuse."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb

from relex.dialects import make_context
from relex.dialects.arrays import Array
from relex.dialects.errors import CompileError, RelexError, describe
from relex.dialects.parser import parse_module
from relex.reference import interpret
from relex.runtime import build
from relex.tools.learn.grading import arguments, expect_right
from relex.tools.options.plugins import Plugins
from relex.tools.shell.diagnostics import ToolError


@dataclass(frozen=True)
class OperatorAim:
    """What an operator computes: the formula of a program with it, for some shapes of its arguments. `refused` are
    programs whose operands it is to refuse, by what is wrong with them."""

    text: str
    formula: Callable[..., Array]
    shapes: Sequence[Sequence[tuple[int, ...]]]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


def graded_operator(file: Path, aim: OperatorAim) -> Iterator[str]:
    """Yield a line for each thing that is right. Raises `ToolError` or `CompileError` for the first that is not. Runs
    the file."""
    with _blaming(file):
        yield from _graded(file, aim)


@contextmanager
def _blaming(file: Path) -> Generator[None]:
    """Turn exceptions of a file into errors at its lines."""
    try:
        yield
    except RelexError:
        raise
    except Exception as e:
        lines = [frame.lineno for frame in extract_tb(e.__traceback__) if Path(frame.filename).name == file.name]
        raise ToolError(f"{file}:{lines[-1] if lines else 1}: {describe(e)}") from e


def _graded(file: Path, aim: OperatorAim) -> Iterator[str]:
    context = make_context()
    Plugins.of([str(file)]).add_dialects(context)
    module = parse_module(aim.text, "program.mlir", context=context)
    yield "the operator takes the operands that it should"
    for what, text in aim.refused.items():
        try:
            parse_module(text, "program.mlir", context=context)
        except CompileError as e:
            yield f"{what}: {e.diagnostics[0].message}"
        else:
            raise ToolError(f"expected `infer` to refuse {what}, found no error")
    for what, functions in (("evaluate", interpret(module)), ("compiled", build(module))):
        for shapes in aim.shapes:
            expect_right(what, functions["main"], aim.formula, arguments(shapes))
        yield f"{what}: results are right"
