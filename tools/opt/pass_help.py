"""relex-opt's help on passes: the list of all passes, or the documentation and options of one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from shutil import get_terminal_size
from types import NoneType
from typing import Any, cast, get_args, get_type_hints

from xdsl.passes import ModulePass

from relex.passes.rewriting.numerics import numerics_of
from relex.tools.options.pipelines import PassFactory, default_of, type_text


def list_passes(described: Mapping[str, PassFactory], all_passes: Mapping[str, PassFactory]) -> str:
    """Return the `described` passes, then all others, each with the first sentence of its documentation."""
    width = max(map(len, all_passes), default=0)
    first = [f"{name:{width}}  {_summary(described[name]())}".rstrip() for name in sorted(described)]
    others = sorted(all_passes.keys() - described.keys())
    return "\n".join([*first, "", *(f"{name:{width}}  {_of_others(name, all_passes[name])}" for name in others)]) + "\n"


UNDOCUMENTED = {
    "convert-memref-to-ptr": "Converts `memref` to the dialect `ptr`; relex has `finalize-memref-to-llvm`.",
    "convert-ptr-to-llvm": "Converts the dialect `ptr` to the LLVM dialect.",
    "cse": "Merges operations that compute the same (common subexpression elimination).",
    "dce": "Removes operations without effects whose results are not used (dead code elimination).",
    "loop-hoist-memref": "Moves loads and stores of `memref` out of loops.",
    "lower-affine": "Lowers `affine` to `scf`, `arith` and `memref`.",
    "reconcile-unrealized-casts": "Removes `builtin.unrealized_conversion_cast` ops that cancel each other.",
    "scf-parallel-loop-tiling": "Tiles `scf.parallel` loops.",
}
"""What those passes of xDSL do that people meet and that have no documentation."""


def _of_others(name: str, find: PassFactory) -> str:
    """Return the first sentence about a pass that need not be importable or documented."""
    try:
        made = find()
    except ImportError as e:
        return f"It needs a package that is not installed: {e.name}."
    return _summary(made) or UNDOCUMENTED.get(name) or f"It has no documentation: {made.__module__}."


GROUPS = {
    "relex.passes.graph": "passes on graphs",
    "relex.passes.loops": "passes on loop functions",
    "relex.lowering": "lowerings from graphs to the core level",
    "relex.lowering.llvm": "lowerings to LLVM",
}
"""The packages of passes, with their titles."""


def package_of(cls: type[ModulePass]) -> str:
    """Return the package that a pass belongs to."""
    return cls.__module__.rpartition(".")[0]


def passes_by_package(described: Mapping[str, PassFactory]) -> str:
    """Return passes in groups, each with the beginning of its documentation in a line."""
    width = max(get_terminal_size().columns - 2, 60)
    groups: dict[str, list[str]] = {title: [] for title in (*GROUPS.values(), "other passes")}
    for name, made in sorted(described.items()):
        line = f"  {name:31} {_summary(made())}".rstrip()
        shown = line if len(line) <= width else f"{line[: width - 3].rpartition(' ')[0].rstrip(',:;')} ..."
        groups[GROUPS.get(package_of(made()), "other passes")].append(shown)
    return "\n\n".join("\n".join([f"{title}:", *lines]) for title, lines in groups.items() if lines)


def help_pass(cls: type[ModulePass]) -> str:
    """Return the name, documentation, options and numerics of a pass."""
    documentation = _documentation(cls) or UNDOCUMENTED.get(cls.name) or "There is no documentation."
    rows = option_rows(cls)
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    options = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    sections = {"Options:": "\n".join(options or ["none"]), "Numerics:": str(numerics_of(cls))}
    lines = [cls.name, "", _indent(documentation)]
    for title, text in sections.items():
        lines += ["", title, _indent(text)]
    return "\n".join([*lines, ""])


def option_rows(cls: type[ModulePass]) -> list[tuple[str, str, str]]:
    """Return the name, the type and the default of each option of a pass."""
    return [_describe_option(cls, field) for field in dataclasses.fields(cls) if field.init]


def _describe_option(cls: type[ModulePass], field: dataclasses.Field[Any]) -> tuple[str, str, str]:
    kind = get_type_hints(cls)[field.name]
    return field.name.replace("_", "-"), type_text(kind), _default_text(field, kind)


def _default_text(field: dataclasses.Field[Any], kind: Any) -> str:
    if (default := default_of(field)) is dataclasses.MISSING:
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
    """Return the docstring of the class itself, neither an inherited one nor one generated by `dataclass`."""
    text = vars(cls).get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else inspect.cleandoc(text)


def _summary(cls: type[ModulePass]) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join(_documentation(cls).split())
    sentence, _, _ = text.partition(". ")
    return f"{sentence.rstrip('.')}." if sentence else ""


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))
