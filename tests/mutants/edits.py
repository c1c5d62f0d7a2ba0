"""
Small wrong edits of Python sources, as a person makes them by mistake.

An edit replaces some text: the rest of the file, its lines and its comments stay as they are. `KINDS` has a function
for each kind of edit, from a node of the syntax tree to the edits of it.

What no program of a user can reach is not edited: messages of errors and what is raised, docstrings, formatted text,
annotations, imports, decorators, assertions, `__repr__` and `__str__`, and what only other systems than this one run
(`sys.platform`). What only makes programs slower is left out by file, in `draws.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Edit:
    """Replaces the bytes of a source from `start` to `end`."""

    kind: str
    line: int
    start: int
    end: int
    new: str
    place: tuple[int, int]
    """The bytes of the whole expression or statement that is changed."""

    def apply(self, source: bytes) -> bytes:
        """Return the edited source."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def probe(self, source: bytes, status: int) -> bytes:
        """Return a source that ends the process where the edit would be run."""
        start, end = self.place
        return source[:start] + f"__import__('os')._exit({status})".encode() + source[end:]

    def describe(self, source: bytes) -> str:
        """Return the changed lines before and after, as one line."""
        after = self.apply(source)
        begin = source.rfind(b"\n", 0, self.start) + 1
        rest = min(len(source) - self.end, (source[self.end :] + b"\n").index(b"\n"))
        texts = source[begin : self.end + rest], after[begin : len(after) - (len(source) - self.end) + rest]
        before, now = (" ".join(text.decode().split()) for text in texts)
        return f"{before} => {now}"


class Source:
    """A source with its syntax tree, and where its nodes are."""

    def __init__(self, data: bytes):
        self.data = data
        self.tree = ast.parse(data)
        self._lines = [0]
        for line in data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Return the first byte of a node and the one after its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr) -> str:
        """Return the text of an expression."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def replaced(self, kind: str, node: ast.expr | ast.stmt, new: str, within: ast.expr | None = None) -> Edit:
        """Return the edit that replaces a node."""
        return self.changed(kind, within or node, *self.span(node), new)

    def changed(self, kind: str, node: ast.expr | ast.stmt, start: int, end: int, new: str) -> Edit:
        """Return the edit that replaces some bytes of a node."""
        return Edit(kind, node.lineno, start, end, new, self.span(node))


Change = Callable[[Source, ast.AST], Iterator[Edit]]

KINDS: dict[str, Change] = {}
"""The kinds of edits: each gives the edits of one node."""


def kind(change: Change) -> Change:
    """Enter a kind of edit, named after its function."""
    KINDS[change.__name__.replace("_", " ")] = change
    return change


def edits(data: bytes) -> list[Edit]:
    """Return all edits of a source, in the order of their places."""
    source = Source(data)
    found = [edit for node in reached(source.tree) for change in KINDS.values() for edit in change(source, node)]
    return sorted(dict.fromkeys(found), key=lambda edit: (edit.start, edit.end, edit.kind, edit.new))


REFUSALS = {"fail", "refuse", "emit_error", "warn"}
"""Functions that report an error, with a message."""

TYPES = {"cast", "TypeVar", "NewType", "isinstance", "issubclass", "getattr", "hasattr", "setattr", "field"}
"""Calls whose arguments have different kinds: exchanged, they are no mistake that a program could be run with."""


def called(node: ast.AST) -> str:
    """Return the name of the function that is called, or nothing."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return ""


def reached(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that programs can reach; see above."""
    if not is_unreachable(node):
        yield node
        left_out = parts_left_out(node)
        for child in ast.iter_child_nodes(node):
            if child not in left_out:
                yield from reached(child)


def is_unreachable(node: ast.AST) -> bool:
    """Return whether programs do not reach a node, or only to report an error."""
    match node:
        case ast.FunctionDef(name="__repr__" | "__str__") | ast.Import() | ast.ImportFrom():
            return True
        case ast.Raise() | ast.JoinedStr() | ast.Assert():
            return True
        case ast.If(test=test) | ast.IfExp(test=test):
            return bool(re.search(r"TYPE_CHECKING|sys\.platform", ast.unparse(test)))
        case ast.Expr(value=value):
            return called(value) in REFUSALS
        case _:
            return called(node) in REFUSALS


def parts_left_out(node: ast.AST) -> Sequence[ast.AST | None]:
    """Return the children of a node that are not edited."""
    match node:
        case ast.FunctionDef(decorator_list=decorators, returns=returns):
            return [*decorators, returns]
        case ast.ClassDef(decorator_list=decorators, bases=bases, keywords=keywords):
            return [*decorators, *bases, *keywords]
        case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
            return [annotation]
        case ast.Subscript(value=ast.Name(id=name)) if name in GENERIC or name[0].isupper():
            return [node.slice]
        case ast.Call(args=args, keywords=keywords) if called(node) in TYPES:
            return [*args[1:], *keywords]
        case ast.ExceptHandler(type=caught):
            return [caught]
        # The order of what is looked through does not matter.
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple() as values]):
            return [values]
        case ast.Call(keywords=keywords):
            return [keyword for keyword in keywords if keyword.arg in ASSERTED]
        case _:
            return []


GENERIC = {"dict", "list", "tuple", "set", "frozenset", "type", "defaultdict"}
"""Types with parameters."""

COMPARISONS = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
}
"""What each comparison is taken for."""

COMPARISON = re.compile(r"<=|>=|==|!=|<|>|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b")


@kind
def comparison(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`a < b` becomes `a <= b`, `a == b` becomes `a != b`."""
    if isinstance(node, ast.Compare):
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            begin, end = source.span(left)[1], source.span(right)[0]
            if found := COMPARISON.search(source.data[begin:end].decode()):
                new = COMPARISONS[" ".join(found[0].split())]
                yield source.changed("comparison", node, begin + found.start(), begin + found.end(), new)


@kind
def off_by_one(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A number becomes the next one or the one before, and a length is one less."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield source.replaced("off by one", node, str(value + 1))
            if value > 0:
                yield source.replaced("off by one", node, str(value - 1))
        case ast.Call() if called(node) == "len":
            yield source.replaced("off by one", node, f"({source.text(node)} - 1)")
        case _:
            pass


@kind
def dropped_condition(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Of `a and b` one is taken for true, of `a or b` one for false; a condition always holds, or never."""
    match node:
        case ast.BoolOp(op=op, values=values):
            neutral = "True" if isinstance(op, ast.And) else "False"
            for value in values:
                if not binds(value):
                    yield source.replaced("dropped condition", value, neutral, node)
        case ast.If(test=test) | ast.IfExp(test=test) if not binds(test):
            yield from (source.replaced("dropped condition", test, new) for new in ("True", "False"))
        case ast.comprehension(ifs=ifs):
            for condition in ifs:
                if not binds(condition):
                    yield source.replaced("dropped condition", condition, "True")
        case ast.UnaryOp(op=ast.Not()):
            begin = source.span(node)[0]
            yield source.changed("dropped condition", node, begin, begin + len("not"), "")
        case _:
            pass


def binds(node: ast.expr) -> bool:
    """Return whether an expression gives a value to a name, which others need."""
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))


OPERATORS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "%", ast.Mod: "//"}
"""What an operator is taken for."""

OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
"""What a function is taken for."""

SYMMETRIC = {"array_equal", "gcd", "lcm", "union", "intersection", "suppress"}
"""Functions whose arguments may be in any order."""

ASSERTED = {"strict"}
"""Arguments that only stop what cannot be: `zip(a, b, strict=True)`."""


@kind
def swapped_operands(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`a - b` becomes `b - a` or `a + b`, `f(a, b)` becomes `f(b, a)`, `min` becomes `max`."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if not isinstance(op, (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd, ast.BitXor)):
                yield exchanged(source, node, left, right)
            begin, end = source.span(left)[1], source.span(right)[0]
            found = re.search(r"\+|-|//|\*|%", source.data[begin:end].decode())
            if found and type(op) in OPERATORS:
                at = begin + found.start()
                new = OPERATORS[type(op)]
                yield source.changed("swapped operands", node, at, begin + found.end(), new)
        case ast.Call(func=ast.Name(id=name)) if name in OPPOSITES:
            yield source.changed("swapped operands", node, *source.span(node.func), OPPOSITES[name])
        case ast.Call(args=args) if called(node) not in TYPES | SYMMETRIC:
            yield from neighbours(source, node, args)
        case ast.Tuple(elts=elts, ctx=ast.Load()):
            yield from neighbours(source, node, elts)
        case _:
            pass


def neighbours(source: Source, node: ast.expr, values: Sequence[ast.expr]) -> Iterator[Edit]:
    """Yield the edits that exchange a value and the next one."""
    for left, right in pairwise(values):
        # A text in the place of a value is no mistake that comes far.
        is_text = [isinstance(value, (ast.JoinedStr, ast.Constant)) for value in (left, right)]
        is_starred = isinstance(left, ast.Starred) or isinstance(right, ast.Starred)
        if is_text[0] == is_text[1] and not is_starred and source.text(left) != source.text(right):
            yield exchanged(source, node, left, right)


def exchanged(source: Source, node: ast.expr, left: ast.expr, right: ast.expr) -> Edit:
    """Return the edit that exchanges two parts of an expression."""
    (start, left_end), (right_start, end) = source.span(left), source.span(right)
    between = source.data[left_end:right_start].decode()
    texts = (operand(source, value) for value in (right, left))
    return source.changed("swapped operands", node, start, end, between.join(texts))


def operand(source: Source, node: ast.expr) -> str:
    """Return the text of an expression that stands as one beside all operators."""
    return f"({source.text(node)})" if isinstance(node, (ast.BinOp, ast.IfExp, ast.UnaryOp)) else source.text(node)


@kind
def lost_flag(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`True` becomes `False`, and an argument that is given by its name is lost."""
    match node:
        case ast.Constant(value=bool(value)):
            yield source.replaced("lost flag", node, str(not value))
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg is not None and keyword.arg not in ASSERTED:
                    yield source.changed("lost flag", node, *with_comma(source.data, *source.span(keyword)), "")
        case _:
            pass


def with_comma(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the bytes of an argument with the comma after it, or the one before."""
    if after := re.compile(rb"\s*, *").match(data, end):
        return start, after.end()
    before = re.search(rb",\s*$", data[:start])
    return before.start() if before else start, end


@kind
def lost_step(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A statement that does something is not there."""
    match node:
        case ast.Expr(value=ast.Call()):
            yield source.replaced("lost step", node, "pass")
        case ast.AugAssign() | ast.Continue():
            yield source.replaced("lost step", node, "pass")
        case _:
            pass
