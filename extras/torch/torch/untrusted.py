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
from math import prod
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
    """Return whether an expression has only numbers, names, operators and calls of classes of SymPy and torch that
    compute sizes, and no numbers that take long to compute."""
    try:
        tree = ast.parse(text, mode="eval").body
        names = {id(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_symbol(node)}
        return all(_is_harmless(node, is_name=id(node) in names) for node in ast.walk(tree)) and _is_small(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_symbol(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "Symbol" and len(call.args) == 1


POWERS = ("Pow", "PowByNatural")
FUNCTIONS = (
    *POWERS,
    *("Add", "Float", "Integer", "Mul", "Rational", "Symbol"),
    *(
        "And",
        "Eq",
        "Equality",
        "Ge",
        "GreaterThan",
        "Gt",
        "Le",
        "LessThan",
        "Lt",
        "Ne",
        "Not",
        "Or",
        "StrictGreaterThan",
    ),
    *("StrictLessThan", "Unequality", "ITE", "Piecewise", "ExprCondPair", "Where"),
    *("Abs", "CeilDiv", "CleanDiv", "FloorDiv", "IntTrueDiv", "Max", "Min", "Mod", "ModularIndexing", "PythonMod"),
    *("CeilToInt", "FloatTrueDiv", "FloorToInt", "Identity", "RoundToInt", "ToFloat", "TruncToFloat", "TruncToInt"),
)
"""The classes of SymPy and torch in expressions of sizes. Others compute anything, such as factorials."""

MAX_BITS, MAX_TERMS = 1 << 12, 1 << 12
"""The most bits of a number in an expression, and terms of its product, if all are multiplied out."""


def _is_harmless(node: ast.AST, *, is_name: bool) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in FUNCTIONS
        case ast.Constant(value=str(name)):
            return is_name and name.isidentifier()
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Name(id=name):
            return not name.startswith("__")
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.keyword():
            return True
        case ast.LShift() | ast.RShift():
            return False
        case _:
            return isinstance(node, ast.operator | ast.unaryop | ast.boolop | ast.cmpop | ast.expr_context)


def _is_small(tree: ast.expr) -> bool:
    bits, terms = _measured(tree)
    return bits <= MAX_BITS and terms <= MAX_TERMS


def _measured(node: ast.AST) -> tuple[int, int]:
    """Return bounds of the bits of numbers, and of the terms, that come of an expression. Raises `ValueError` if they
    are too large."""
    match node:
        case ast.Constant(value=int(number)):
            return number.bit_length(), 1
        case ast.BinOp(base, ast.Pow(), exponent) | ast.Call(ast.Name("Pow" | "PowByNatural"), [base, exponent]):
            (bits, terms), power = _measured(base), abs(_exponent(exponent))
            if bits * power > MAX_BITS or (terms > 1 and power > MAX_BITS.bit_length()):
                raise ValueError("a large power")
            bits, terms = bits * power, terms**power
        case ast.BinOp(_, ast.Mult(), _) | ast.Call(ast.Name("Mul")):
            parts = [_measured(part) for part in _operands(node)]
            bits, terms = sum(bits for bits, _ in parts), prod(terms for _, terms in parts)
        case _:
            parts = [_measured(part) for part in _operands(node)]
            bits, terms = sum(bits for bits, _ in parts) + 1, max(sum(terms for _, terms in parts), 1)
    if terms > MAX_TERMS:
        raise ValueError("a product of many terms")
    return bits, terms


def _operands(node: ast.AST) -> list[ast.AST]:
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def _exponent(node: ast.AST) -> int:
    """Return an exponent, which must be a number."""
    match node:
        case ast.Constant(value=int(number)) | ast.Call(ast.Name("Integer"), [ast.Constant(value=int(number))]):
            return number
        case ast.UnaryOp(ast.USub(), operand) | ast.Call(ast.Name("Integer"), [ast.UnaryOp(ast.USub(), operand)]):
            return -_exponent(operand)
        case _:
            raise ValueError("an exponent that is no number")


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
