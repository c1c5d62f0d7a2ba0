"""State shared by the readers of a script: the module being read, and the block and the names of a function."""

from __future__ import annotations

import ast
import warnings
from collections import ChainMap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.ir import Block, Operation

from relex.dialects.errors import CompileWarning, Diagnostic
from relex.frontend.script.constants import Constants
from relex.frontend.script.source import ScriptError, ScriptSource
from relex.frontend.script.vocabulary import Vocabulary

OpT = TypeVar("OpT", bound=Operation)


@dataclass
class Unit:
    """A script being translated to a module."""

    source: ScriptSource
    context: Context
    params: Mapping[str, Any]
    vocabulary: Vocabulary
    constants: Constants
    in_class: bool = True
    """The functions are members of a class, which calls them by the names that they are compiled under."""
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    complete: bool = True
    """True if everything read so far is part of the module; False once a statement had to be left out."""

    def report(self, error: ScriptError) -> None:
        """Record an error that does not affect the rest of the script."""
        self.errors.append(self.source.diagnose(error))

    def warn(self, error: ScriptError) -> None:
        """Warn about a mistake where the rest of the script is unambiguous."""
        diagnostic = self.source.diagnose(error)
        warning = CompileWarning(diagnostic)
        warnings.warn_explicit(warning, CompileWarning, diagnostic.file, diagnostic.line)

    def leave_out(self, error: ScriptError) -> None:
        """Record an error that leaves the module incomplete."""
        self.complete = False
        if not isinstance(error, FollowUp):
            self.report(error)


class FollowUp(ScriptError):
    """A use of something that is wrong itself, and has been reported."""


class WrongValue:
    """Stands for the value of a statement with an error."""


@dataclass(frozen=True)
class Hidden:
    """Stands for a value that is not visible in this scope."""

    reason: str


class Scope:
    """The block that a function is read into, and what the names of the script refer to there."""

    def __init__(self, unit: Unit):
        self.unit = unit
        self.entry = self.block = Block()
        self.names: ChainMap[str, object] = ChainMap()

    def read(self, nodes: Sequence[ast.stmt], statement: Callable[[ast.stmt], None]) -> None:
        """Read statements one by one, continuing after a statement with an error."""
        for node in nodes:
            try:
                statement(node)
            except ScriptError as e:
                self.unit.leave_out(e)
                stored = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
                self.names.update({name.id: WrongValue() for name in stored})

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Read into another block, whose names are not visible after it."""
        before = self.block, self.names
        self.block, self.names = block, self.names.new_child()
        try:
            yield
        finally:
            self.block, self.names = before

    def emit(self, node: ast.AST, op: OpT) -> OpT:
        """Add the op for a part of the script, with its location."""
        op.location = self.unit.source.location(node)
        self.block.add_op(op)
        return op

    def lookup(self, node: ast.Name) -> object:
        """Return the object that a name refers to."""
        if node.id not in self.names:
            raise ScriptError(node, f"name '{node.id}' is not defined")
        match self.names[node.id]:
            case WrongValue():
                raise FollowUp(node, f"'{node.id}' is wrong")
            case Hidden(reason=reason):
                raise ScriptError(node, reason)
            case value:
                return value

    def meaning(self, node: ast.AST) -> str | None:
        """Return the meaning of a dotted name of TVMScript, or None if the function shadows it."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return None if isinstance(root, ast.Name) and root.id in self.names else self.unit.vocabulary.meaning(node)


def arguments(
    call: ast.Call,
    what: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    more: Sequence[str] = (),
    neutral: Sequence[str] = (),
) -> dict[str, ast.expr]:
    """Return the arguments of a call by name. Arguments in `more` and `neutral` are keyword-only; those in `neutral`
    have no effect, and error messages do not mention them.

    Raises `ScriptError` for too many or missing arguments, and for unknown names.
    """
    names = (*required, *optional)
    bound: dict[str, ast.expr] = {}
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            raise ScriptError(argument, f"expected the arguments of '{what}' one by one, found '*'")
        if position >= len(names):
            raise ScriptError(argument, f"expected at most {len(names)} arguments for '{what}', found {len(call.args)}")
        bound[names[position]] = argument
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in (*names, *more, *neutral):
            known = ", ".join((*names, *more)) or "no arguments"
            raise ScriptError(keyword, f"expected {known} for '{what}', found '{keyword.arg or '**'}'")
        if keyword.arg in bound:
            raise ScriptError(keyword, f"expected '{keyword.arg}' of '{what}' once")
        bound[keyword.arg] = keyword.value
    missing = [name for name in required if name not in bound]
    if missing:
        raise ScriptError(call, f"expected an argument '{missing[0]}' for '{what}'")
    return bound


def expect_neutral(
    unit: Unit, bound: Mapping[str, ast.expr], neutral: Mapping[str, tuple[object, ...]], why: str = ""
) -> None:
    """Raise `ScriptError` if an option of TVM's has a value other than those that describe what relex does anyway."""
    for name, allowed in neutral.items():
        if name in bound and (value := unit.constants.value(bound[name])) not in allowed:
            raise ScriptError(bound[name], f"expected {name} to be {allowed[0]!r}, found {value!r}{why}")
