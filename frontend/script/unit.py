"""What the readers of one script share, and how they go through statements."""

from __future__ import annotations

import ast
import warnings
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from xdsl.context import Context
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.errors import CompileWarning, Diagnostic
from relex.frontend.script.constants import Constants
from relex.frontend.script.source import ScriptError, Source
from relex.frontend.script.vocabulary import Vocabulary

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

OpT = TypeVar("OpT", bound=Operation)


@dataclass
class Unit:
    """One script on its way to a module."""

    source: Source
    context: Context
    params: Mapping[str, Array]
    vocabulary: Vocabulary
    constants: Constants
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    complete: bool = True
    """Whether all that was read has become part of the module; False once a statement had to be left out."""

    def report(self, error: ScriptError) -> None:
        """Note an error that keeps nothing else from being read."""
        self.errors.append(self.source.diagnose(error))

    def warn(self, error: ScriptError) -> None:
        """Tell of something that is wrong, where the rest of the script says what is meant."""
        diagnostic = self.source.diagnose(error)
        warning = CompileWarning(diagnostic)
        warnings.warn_explicit(warning, CompileWarning, diagnostic.file, diagnostic.line)

    def leave_out(self, error: ScriptError) -> None:
        """Note an error that leaves a hole in the module."""
        self.complete = False
        if not isinstance(error, FollowUp):
            self.report(error)


class FollowUp(ScriptError):
    """A use of something that is wrong itself, which has been said."""


class Wrong:
    """Stands for the value of a statement that is wrong."""


@dataclass(frozen=True)
class Hidden:
    """Stands for a value that cannot be seen where its name is."""

    reason: str


class Reader(ABC):
    """Reads the statements of a function into a block, with a scope of names. What a name may stand for is up to the
    kind of function."""

    def __init__(self, unit: Unit, block: Block):
        self.unit = unit
        self.entry = self.block = block
        self.scope: ChainMap[str, object] = ChainMap()

    @abstractmethod
    def statement(self, node: ast.stmt) -> None:
        """Read one statement. Raises `ScriptError`."""

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Read statements one by one; one that is wrong does not keep the next from being read."""
        for node in nodes:
            try:
                self.statement(node)
            except ScriptError as e:
                self.unit.leave_out(e)
                for name in _assigned(node):
                    self.scope[name] = Wrong()

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Read into another block, whose names are not seen behind it."""
        before = self.block, self.scope
        self.block, self.scope = block, self.scope.new_child()
        try:
            yield
        finally:
            self.block, self.scope = before

    def emit(self, node: ast.AST, op: OpT) -> OpT:
        """Add an op that stands for a part of the script."""
        op.location = self.unit.source.location(node)
        self.block.add_op(op)
        return op

    def lookup(self, node: ast.Name) -> object:
        """What a name stands for."""
        if node.id not in self.scope:
            raise ScriptError(node, f"name '{node.id}' is not defined")
        match self.scope[node.id]:
            case Wrong():
                raise FollowUp(node, f"'{node.id}' is wrong")
            case Hidden(reason=reason):
                raise ScriptError(node, reason)
            case value:
                return value

    def meaning(self, node: ast.AST) -> str | None:
        """What a dotted name of TVMScript means, unless the function has something else of its name."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return None if isinstance(root, ast.Name) and root.id in self.scope else self.unit.vocabulary.meaning(node)


def as_value(value: object) -> SSAValue | None:
    """What a name stands for, if it is a value."""
    return cast("SSAValue", value) if isinstance(value, SSAValue) else None


def name_value(value: SSAValue, name: str) -> None:
    """Let a value be printed with the name that it has in the script, where that is possible."""
    if value.name_hint is None and SSAValue.is_valid_name(name):
        value.name_hint = name


def _assigned(node: ast.stmt) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def arguments(
    call: ast.Call,
    what: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    more: Sequence[str] = (),
    neutral: Sequence[str] = (),
) -> dict[str, ast.expr]:
    """The arguments of a call by name. Those in `more` can be given by name only, as those in `neutral`, which messages
    do not mention: they make no difference.

    Raises `ScriptError` for too many or too few, and for names that the function does not have.
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
