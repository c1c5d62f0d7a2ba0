"""What relex-opt says about its passes: all of them in a list, or one with its documentation and options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from types import NoneType
from typing import Any, cast, get_args, get_type_hints

from xdsl.passes import ModulePass

from relex.tools.pipelines import PassFactory, type_text


def list_passes(described: Mapping[str, PassFactory], all_passes: Mapping[str, PassFactory]) -> str:
    """The passes `described` with the first sentence of their documentation, then the names of all others."""
    width = max(map(len, described), default=0)
    lines = [f"{name:{width}}  {_summary(described[name]())}".rstrip() for name in sorted(described)]
    return "\n".join([*lines, "", *sorted(all_passes.keys() - described.keys())]) + "\n"


def help_pass(cls: type[ModulePass]) -> str:
    """Name, documentation and options of a pass."""
    documentation = _documentation(cls) or "There is no documentation."
    rows = [_describe_option(cls, field) for field in dataclasses.fields(cls) if field.init]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    options = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(
        [cls.name, "", _indent(documentation), "", "Options:", _indent("\n".join(options or ["none"])), ""]
    )


def _describe_option(cls: type[ModulePass], field: dataclasses.Field[Any]) -> tuple[str, str, str]:
    kind = get_type_hints(cls)[field.name]
    return field.name.replace("_", "-"), type_text(kind), _default_text(field, kind)


def _default_text(field: dataclasses.Field[Any], kind: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    elif field.default is not dataclasses.MISSING:
        default = field.default
    else:
        return "optional" if NoneType in get_args(kind) else "required"
    return "optional" if default is None else f"default: {_value_text(default)}"


def _value_text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(_value_text(part) for part in cast("tuple[object, ...]", value)) or "none"
        case _:
            return str(value) or '""'


def _documentation(cls: type[ModulePass]) -> str:
    """The docstring of the class itself: not what it inherits, nor what a dataclass writes in its place."""
    text = vars(cls).get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else inspect.cleandoc(text)


def _summary(cls: type[ModulePass]) -> str:
    """The first sentence of a docstring."""
    text = " ".join(_documentation(cls).split())
    sentence, end, _ = text.partition(". ")
    return sentence + end.strip()


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))
