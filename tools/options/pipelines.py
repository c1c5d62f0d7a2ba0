"""Textual pass pipelines: MLIR's `builtin.module(cse,relex-pipeline{to=core})`, and xDSL's plain list."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, ParameterListType, ParameterType, parse_pipeline
from xdsl.utils.hints import isa

from relex.dialects.errors import Diagnostic, RelexError
from relex.tools.shell.diagnostics import ToolError, print_diagnostic

ConvertibleT = TypeVar("ConvertibleT", bound=ArgSpecConvertible)
PassFactory = Callable[[], type[ModulePass]]

ANCHORS = ("builtin.module", "any")
"""Anchors of what runs on a module, as all passes do."""


class _Reader:
    """A recursive-descent parser for pipelines."""

    _SPACE = re.compile(r"\s*")
    _NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
    _QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'')
    _BARE = re.compile(r"[^\s,{}\"']+")

    def __init__(self, text: str):
        self._text = text
        self._pos = 0
        self.anchors: dict[str, None] = {}
        """Other ops that the pipeline has passes for."""

    def pipeline(self, *, bare: bool) -> list[ArgSpec]:
        """Parse all passes of the text. The enclosing anchor is optional only if `bare`."""
        start = self._pos
        anchor = self._match(self._NAME)
        if anchor is not None and self._accept("("):
            passes = self._nested(anchor[0], start)
        elif bare:
            self._pos = start
            passes = self._passes(end="")
        else:
            self._fail_at(start, "expected an anchor around all passes, as in 'builtin.module(...)'; -p takes a list")
        if self._rest():
            self._fail("expected the end of the pipeline")
        return passes

    def options(self, end: str) -> dict[str, ParameterListType]:
        """Parse options up to the character `end`, which is not consumed; the empty string is the end of the text."""
        options: dict[str, ParameterListType] = {}
        while self._rest()[:1] != end:
            start = self._pos
            name = self._match(self._NAME)
            if name is None:
                self._fail(f"expected the name of an option or '{end}'" if end else "expected the name of an option")
            if name[0] in options:
                self._fail_at(start, f"expected every option once, found '{name[0]}' again")
            options[name[0]] = self._values() if self._accept("=") else ()
        return options

    def _passes(self, end: str) -> list[ArgSpec]:
        passes: list[ArgSpec] = []
        while self._rest()[:1] != end:
            if passes and not self._accept(","):
                self._fail(f"expected ',' or '{end}'" if end else "expected ','")
            start = self._pos
            name = self._name_of_pass()
            if self._accept("("):
                passes += self._nested(name, start)
                continue
            options: dict[str, ParameterListType] = {}
            if self._accept("{"):
                options = self.options(end="}")
                self._expect("}")
            passes.append(ArgSpec(name, options))
        return passes

    def _name_of_pass(self) -> str:
        found = self._match(self._NAME)
        if found is None:
            self._fail("expected the name of a pass")
        return found[0]

    def _nested(self, anchor: str, start: int) -> list[ArgSpec]:
        """Parse the passes on an op, whose name at `start` and the parenthesis after it were read."""
        if anchor not in ANCHORS:
            if "." not in anchor:
                self._fail_at(start, f"expected an op such as 'func.func' before '(', found '{anchor}'")
            self.anchors[anchor] = None
        passes = self._passes(end=")")
        self._expect(")")
        return passes

    def _values(self) -> ParameterListType:
        """Parse one or several comma-separated values; MLIR encloses several in braces."""
        braced = self._accept("{")
        values = [self._value()]
        while self._accept(","):
            values.append(self._value())
        if braced:
            self._expect("}")
        return tuple(values)

    def _value(self) -> ParameterType:
        if (quoted := self._match(self._QUOTED)) is not None:
            return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted[1] is not None else quoted[2]
        bare = self._match(self._BARE)
        if bare is None:
            self._fail("expected a value")
        return _Bare(bare[0])

    def _rest(self) -> str:
        """Return the remaining text without leading space."""
        self._match(self._SPACE)
        return self._text[self._pos :]

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if pattern is not self._SPACE:
            self._match(self._SPACE)
        found = pattern.match(self._text, self._pos)
        if found is not None:
            self._pos = found.end()
        return found

    def _accept(self, character: str) -> bool:
        found = self._rest().startswith(character)
        self._pos += found
        return found

    def _expect(self, character: str) -> None:
        if not self._accept(character):
            self._fail(f"expected '{character}'")

    def _fail(self, message: str) -> NoReturn:
        rest = self._rest()
        self._fail_at(self._pos, f"{message}, found '{rest[0]}'" if rest else f"{message}, found the end")

    def _fail_at(self, pos: int, message: str) -> NoReturn:
        start = self._text.rfind("\n", 0, pos) + 1
        line = self._text[start:].partition("\n")[0]
        raise ToolError(f"wrong pass pipeline: {message}\n{line}\n{' ' * (pos - start)}^")


class _Bare(str):
    """Unquoted text: what it means depends on the type of the option."""


_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?|inf|nan)")


def _scalar(value: ParameterType) -> ParameterType:
    """Return a value, unquoted text as what it looks like."""
    if not isinstance(value, _Bare):
        return value
    if value in ("true", "false"):
        return value == "true"
    return int(value) if re.fullmatch(r"[-+]?[0-9]+", value) else _float(value)


def _float(value: ParameterType) -> ParameterType:
    """Return a value, one that is a number as a float."""
    is_number = not isinstance(value, str | bool) or (isinstance(value, str) and _FLOAT.fullmatch(value))
    return float(value) if is_number else value


def _text(value: ParameterType) -> ParameterType:
    return str(value) if isinstance(value, _Bare) else value


def parse_passes(text: str) -> list[ArgSpec]:
    """Parse the argument of `-p`: a list, or a pipeline in MLIR's form."""
    # xDSL's syntax for a pipeline run by mlir-opt: `mlir-opt["..."]`.
    return list(parse_pipeline(text)) if "[" in text else _read_pipeline(text, bare=True)


def parse_pass_pipeline(text: str) -> list[ArgSpec]:
    """Parse the argument of `--pass-pipeline`, in MLIR's form: `builtin.module(...)` around all passes."""
    return _read_pipeline(text, bare=False)


def _read_pipeline(text: str, *, bare: bool) -> list[ArgSpec]:
    reader = _Reader(text)
    passes = reader.pipeline(bare=bare)
    if reader.anchors:
        named = ", ".join(f"'{anchor}(...)'" for anchor in reader.anchors)
        message = f"pass pipeline: every pass runs on the whole module, also in {named}"
        print_diagnostic(Diagnostic(message, "relex-opt", severity="remark"))
    return passes


def parse_pass_flag(text: str) -> ArgSpec:
    """Parse a flag `--NAME` or `--NAME=OPTIONS`, given without its dashes."""
    name, _, options = text.partition("=")
    return ArgSpec(name, _Reader(options).options(end=""))


def find_pass(name: str, passes: Mapping[str, PassFactory]) -> type[ModulePass]:
    """Return the pass with a name. Raises `ToolError`, which says what does the same, or suggests a similar name."""
    if name not in passes:
        from relex.dialects.spelling import advice
        from relex.tools.options.mlir_opt import OTHERWISE

        hint = OTHERWISE.get(name) or advice(name, passes, "--list-passes shows all of them")
        raise ToolError(f"unknown pass '{name}'; {hint}")
    return passes[name]()


def instantiate(kind: str, cls: type[ConvertibleT], spec: ArgSpec) -> ConvertibleT:
    """Create a pass or target with the options of its spec. Raises `ToolError` for invalid options."""
    types = get_type_hints(cls)
    options = {field.name.replace("_", "-"): types[field.name] for field in dataclasses.fields(cls) if field.init}
    parameters: dict[str, ParameterListType] = {}
    for name, values in spec.parameters.items():
        option = name.replace("_", "-")
        if option not in options:
            known = ", ".join(sorted(options)) or "none"
            raise ToolError(f"{kind} '{spec.name}' has no option '{name}'; its options: {known}")
        parameters[name] = _fit(values, options[option])
        if not _is_value(parameters[name], options[option]):
            found = ",".join(map(str, values)) or "no value"
            raise ToolError(
                f"{kind} '{spec.name}': expected {type_text(options[option])} for option '{name}', found {found}"
            )
    try:
        return cls.from_spec(ArgSpec(spec.name, parameters))
    except (ValueError, RelexError) as e:
        raise ToolError(f"{kind} '{spec.name}': {e}") from e


def _fit(values: ParameterListType, kind: Any) -> ParameterListType:
    """Convert the values of an option to its type: a flag alone is true, `1` is also a float, or text."""
    if not values and kind is bool:
        return (True,)
    readings = [tuple(map(read, values)) for read in (_scalar, _float, _text)]
    return next((reading for reading in readings if _is_value(reading, kind)), values)


def _is_value(values: ParameterListType, kind: Any) -> bool:
    if not values:
        return NoneType in get_args(kind)
    return isa(values, kind) or (len(values) == 1 and isa(values[0], kind))


def type_text(kind: Any) -> str:
    """Return a type as shown on the command line: `int`, `a | b` for a choice, `int, ...` for a list."""
    parts = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is Literal:
        return " | ".join(map(str, parts))
    if get_origin(kind) in (Union, UnionType):
        return " | ".join(map(type_text, parts))
    if get_origin(kind) is tuple:
        return ", ".join("..." if part is ... else type_text(part) for part in parts)
    return "string" if kind is str else kind.__name__


def pipeline_text(passes: Iterable[ModulePass]) -> str:
    """Return the pipeline as text for `--pass-pipeline`, with composed passes expanded."""
    return f"builtin.module({','.join(pass_text(step) for p in passes for step in flatten(p))})"


def pass_text(p: ModulePass) -> str:
    """Return a pass with the options that are not the default, as text to be read back."""
    values = p.spec(include_default=True).parameters
    options = " ".join(
        f"{field.name}={','.join(map(_value_text, values[field.name]))}" if values[field.name] else field.name
        for field in dataclasses.fields(p)
        # Equal is not enough: -0.0 equals 0.0, and NaN not even itself.
        if field.name in values and repr(getattr(p, field.name)) != repr(default_of(field))
    )
    return f"{p.name}{{{options}}}" if options else p.name


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of an option; `MISSING` if it has none."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _value_text(value: ParameterType) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'
        case _:
            return repr(value)


def flatten(p: ModulePass) -> list[ModulePass]:
    """Return the passes that `p` is composed of, in order, or `p` itself."""
    from relex.passes.driver.base import steps_of

    steps = steps_of(p)
    return [inner for step in steps for inner in flatten(step)] if steps else [p]


def explaining(p: ModulePass) -> ModulePass:
    """Return the same pass, with the default schedule reporting its decisions."""
    from relex.passes import ApplySchedulePass, ScheduleCpuPass, ShareLoopsPass

    explained = ApplySchedulePass | ScheduleCpuPass | ShareLoopsPass
    return dataclasses.replace(p, explain=True) if isinstance(p, explained) else p
