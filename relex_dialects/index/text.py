"""Integer expressions as text, in Python's syntax: `2 * n + (m - 1) // 4`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol, Variable, factors_of
from relex.dialects.index.expr import Index, IndexExpr, atoms_in, constant_of, larger, named, smaller, terms_of

Texts: TypeAlias = dict[Atom, str]
"""The texts of atoms; each is made once, after the texts of what it is computed from."""


def text_of(index: Index) -> str:
    """Return the text of an index. Products of more atoms come first, the constant last; equal expressions of names
    have equal texts."""
    return _text_of(index, _texts_in(index))


def ordered_terms(index: Index) -> list[tuple[Atom, int]]:
    """Return the atoms of an index with their factors, in an order that is the same for equal expressions of names."""
    return [(atom, factor) for atom, factor, _ in _ordered(index, _texts_in(index))]


def text_of_atom(atom: Atom) -> str:
    """Return the text of an atom."""
    if isinstance(atom, Symbol | Variable):
        return atom.name
    return _texts_in(IndexExpr.of(atom))[atom]


def _texts_in(index: Index) -> Texts:
    texts: Texts = {}
    for atom in atoms_in(index):
        texts[atom] = _text_of_atom(atom, texts)
    return texts


def _text_of(index: Index, known: Texts) -> str:
    parts = [_term_text(*term) for term in _ordered(index, known)]
    if constant_of(index) or not parts:
        parts.append(str(constant_of(index)))
    return parts[0] + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:])


def _ordered(index: Index, known: Texts) -> list[tuple[Atom, int, list[str]]]:
    """Return the atoms with their factors, and the texts of what each is a product of."""
    terms = [(atom, factor, [known[part] for part in factors_of(atom)]) for atom, factor in terms_of(index).items()]
    return sorted(terms, key=lambda term: (-len(term[2]), term[2]))


def _text_of_atom(atom: Atom, known: Texts) -> str:
    match atom:
        case Symbol(name=name) | Variable(name=name):
            return name
        case Product(factors=factors):
            return " * ".join(_in_product(factor, known[factor]) for factor in factors)
        case Quotient(dividend=dividend, divisor=divisor):
            return f"{_in_division(dividend, known)} // {divisor}"
        case Remainder(dividend=dividend, divisor=divisor):
            return f"{_in_division(dividend, known)} % {divisor}"
        case Extreme(which=which, operands=(lhs, rhs)):
            return f"{which}({_text_of(lhs, known)}, {_text_of(rhs, known)})"
        case _:
            return f"%{atom.name_hint or '?'}"


def _term_text(atom: Atom, factor: int, texts: list[str]) -> str:
    if factor == 1 and not isinstance(atom, Product):
        return texts[0]
    text = " * ".join(map(_in_product, factors_of(atom), texts))
    return text if factor == 1 else f"-{text}" if factor == -1 else f"{factor} * {text}"


def _in_product(atom: Atom, text: str) -> str:
    return f"({text})" if isinstance(atom, Quotient | Remainder) else text


def _in_division(dividend: IndexExpr, known: Texts) -> str:
    text = _text_of(dividend, known)
    return f"({text})" if " " in text else text


@lru_cache(maxsize=4096)  # Each pass that reads sizes reads the same ones.
def parse_index(text: str) -> Index:
    """Parse an expression, the inverse of `text_of`. Raises `ValueError`."""
    return read_index(parse_text(text), text)


def parse_text(text: str) -> ast.expr:
    """Return the syntax tree of a text. Raises `ValueError`."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as e:
        raise ValueError(f"expected a size, found '{text}'") from e


_EXTREMES: dict[str, Callable[[Index, Index], Index]] = {"min": smaller, "max": larger}


def read_index(node: ast.expr, text: str) -> Index:
    """Convert a part of the syntax tree of `text` to an expression. Raises `ValueError`."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return named(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read_index(operand, text)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return read_index(left, text) + read_index(right, text)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return read_index(left, text) - read_index(right, text)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return read_index(left, text) * read_index(right, text)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int(divisor))) if divisor > 0:
            return read_index(left, text) // divisor
        case ast.BinOp(left=left, op=ast.Mod(), right=ast.Constant(value=int(divisor))) if divisor > 0:
            return read_index(left, text) % divisor
        case ast.Call(func=ast.Name(id="min" | "max" as which), args=[lhs, rhs], keywords=[]):
            return _EXTREMES[which](read_index(lhs, text), read_index(rhs, text))
        case _:
            pass
    raise ValueError(f"expected a size made of names, numbers, + - * // % min max, found '{text}'")
