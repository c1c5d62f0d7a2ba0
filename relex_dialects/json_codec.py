"""JSON encoding of values: dataclasses, tuples, mappings, sizes, bytes.

The fields of a class are read off its annotations, so that no class lists them twice. Decoding executes nothing, and
makes objects only of the annotated types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from relex.dialects.sizes import MAX_SIZE, IndexExpr, Requirement, parse_index, parse_requirement

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]

Buffer = bytes | memoryview

_TEXTS: dict[type, Callable[[str], Any]] = {IndexExpr: parse_index, Requirement: parse_requirement}
"""The types that are encoded as their `str`, and their parsers."""


def to_plain(value: Any, store: Callable[[Buffer], Plain]) -> Plain:
    """Encode a value as JSON data; `store` stores bytes and returns their place. Fields that have their default are
    left out."""
    match value:
        case bytes() | memoryview():
            return store(cast(Buffer, value))
        case IndexExpr() | Requirement():
            return str(value)
        case Mapping():
            return {key: to_plain(of_key, store) for key, of_key in cast("Mapping[str, Any]", value).items()}
        case frozenset():
            return [*sorted(cast("frozenset[str]", value))]
        case tuple():
            return [to_plain(part, store) for part in cast("tuple[Any, ...]", value)]
        case None | bool() | int() | str():
            return value
        case _:
            parts = ((field, getattr(value, field.name)) for field in fields(value))
            return {field.name: to_plain(part, store) for field, part in parts if part != field.default}


def from_plain(kind: Any, plain: Plain, fetch: Callable[[Plain], Buffer], where: str = "it") -> Any:
    """Decode JSON data as a value of a type whose parts are annotated; `fetch` returns stored bytes.

    Raises `ValueError` naming the place of anything unexpected. A missing field has its default, if it has one.
    """
    if kind is bytes:
        return bytes(fetch(plain))
    if kind == Buffer:
        return fetch(plain)
    if kind in _TEXTS:
        return _from_text(kind, _expect(str, plain, where))
    if kind in (bool, int, str):
        return _expect(kind, plain, where)
    if is_dataclass(kind):
        return _dataclass(cast(type, kind), _expect(dict, plain, where), fetch, where)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return from_plain(next((k for k in parts if _may_be(k, plain)), parts[0]), plain, fetch, where)
    if origin is tuple:
        return _tuple(parts, _expect(list, plain, where), fetch, where)
    if origin is frozenset:
        return frozenset(_tuple((*parts, ...), _expect(list, plain, where), fetch, where))
    if origin is not Mapping:
        raise TypeError(f"{kind} cannot be read")
    return {
        _expect(str, key, where): from_plain(parts[1], of_key, fetch, f"{where}[{key!r}]")
        for key, of_key in _expect(dict, plain, where).items()
    }


def _expect(kind: type, plain: Plain, where: str) -> Any:
    # True is an int for `isinstance`.
    if type(plain) is not kind:
        raise ValueError(f"expected {where} to be of {kind.__name__}, found {type(plain).__name__}")
    if isinstance(plain, int) and abs(plain) > MAX_SIZE:
        raise ValueError(f"expected {where} to be a number of 64 bits, found {plain.bit_length()} bits")
    if isinstance(plain, str):
        _expect_text(plain, where)
    return plain


def _expect_text(text: str, where: str) -> None:
    """Check that a text is valid UTF-8 and has no NUL: names are passed to C, too."""
    try:
        data = text.encode()
    except UnicodeEncodeError as e:
        raise ValueError(f"expected {where} to be text, found {e.reason}") from e
    if b"\0" in data:
        raise ValueError(f"expected {where} to be text, found a NUL in it")


def _from_text(kind: type, text: str) -> Any:
    value = _TEXTS[kind](text)
    if not isinstance(value, kind):
        raise ValueError(f"expected a {kind.__name__}, found '{text}'")
    return value


def _may_be(kind: Any, plain: Plain) -> bool:
    return isinstance(plain, str if kind in _TEXTS else kind)


def _dataclass(kind: type, plain: dict[str, Plain], fetch: Callable[[Plain], Buffer], where: str) -> Any:
    types = _types_of(kind)
    if unknown := plain.keys() - types.keys():
        raise ValueError(f"expected {where} to have {', '.join(types)}, found {', '.join(sorted(unknown))}")
    values = {name: from_plain(types[name], part, fetch, f"{where}.{name}") for name, part in plain.items()}
    try:
        return kind(**values)
    except TypeError as e:
        raise ValueError(f"cannot read {where}: {e}") from e


@cache
def _types_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _tuple(kinds: tuple[Any, ...], plain: list[Plain], fetch: Callable[[Plain], Buffer], where: str) -> tuple[Any, ...]:
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(plain)
    if len(kinds) != len(plain):
        raise ValueError(f"expected {where} to have {len(kinds)} parts, found {len(plain)}")
    pairs = enumerate(zip(kinds, plain, strict=True))
    return tuple(from_plain(kind, part, fetch, f"{where}[{i}]") for i, (kind, part) in pairs)
