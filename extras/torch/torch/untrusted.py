"""Files that `torch.export.save` has written, or a stranger: what they hold is read, and nothing of it is run.

`torch.export.load` unpickles objects, loads machine code of the file, and evaluates expressions of sizes as Python.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from threading import local
from typing import Any
from zipfile import BadZipFile, ZipFile

from relex.dialects.errors import RelexError

LOAD = (
    "torch.export.load(FILE) in Python does, for a file that you trust, and relex imports the program that it returns"
)


@contextmanager
def nothing_runs(data: bytes) -> Generator[None]:
    """Refuse a file with machine code or with expressions that are more than arithmetic, and objects that the body
    unpickles. Raises `RelexError`."""
    _expect_data(data)
    _watch()
    _reading.refused, _reading.now = None, True
    try:
        yield
    except Exception as e:
        if _reading.refused is None:
            raise
        raise RelexError(f"expected tensors alone, found a pickled '{_reading.refused}'; {LOAD}") from e
    finally:
        _reading.now = False


def _expect_data(data: bytes) -> None:
    try:
        archive = ZipFile(BytesIO(data))
    except BadZipFile:
        return  # PyTorch says so.
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise RelexError("expected one entry of each name, found two")  # Readers differ in which they take.
    for name in names:
        if "aotinductor/" in name:
            raise RelexError(f"expected a program, found machine code, '{name}'")
        if name.endswith(".json"):
            json.loads(archive.read(name), object_hook=_expect_arithmetic)


def _expect_arithmetic(fields: dict[str, Any]) -> None:
    text = fields.get("expr_str", "0")
    if not isinstance(text, str) or not _is_arithmetic(text):
        raise RelexError(f"expected arithmetic of sizes, found '{text}'")


def _is_arithmetic(text: str) -> bool:
    """Return whether an expression has only numbers, names, operators and calls of classes of SymPy."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return False
    names = {id(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_symbol(node)}
    return all(_is_harmless(node, is_name=id(node) in names) for node in ast.walk(tree))


def _is_symbol(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "Symbol" and len(call.args) == 1


def _is_harmless(node: ast.AST, *, is_name: bool) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name[:1].isupper()
        case ast.Constant(value=str(name)):
            return is_name and name.isidentifier()
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Name(id=name):
            return not name.startswith("__")
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.keyword():
            return True
        case _:
            return isinstance(node, ast.operator | ast.unaryop | ast.boolop | ast.cmpop | ast.expr_context)


class _Reading(local):
    """Whether this thread reads a file, and what it was refused."""

    now = False
    refused: str | None = None


_reading = _Reading()
_is_watching = False


def _watch() -> None:
    """From now on, ask before an object is unpickled. PyTorch's reader of tensors does not import what it unpickles."""
    global _is_watching
    if not _is_watching:
        sys.addaudithook(_audit)
        _is_watching = True


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "pickle.find_class" and _reading.now:
        _reading.refused = ".".join(map(str, arguments))
        raise RelexError(f"refused to unpickle '{_reading.refused}'")
