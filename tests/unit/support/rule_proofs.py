"""
What is known about each rule of `canonicalize` on numbers: `python tests/unit/support/rule_proofs.py` prints a table.

A rule is an instance: a program to which it applies, for an element type. All values are tried where there are at most
2^16 of them; z3 shows it for the others, if it answers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product, starmap
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    ModuleOp,
    TensorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.dtypes import is_float_dtype, numpy_dtype, record_of
from relex.dialects.errors import RelexError
from relex.dialects.parser import verify_module
from relex.dialects.relex import ConstantOp
from relex.dialects.relex.elementwise import BinaryElementwise, UnaryElementwise
from relex.passes import run_pass
from relex.reference import interpret

SMALL: tuple[Attribute, ...] = (f16, i8, i16, i1)
LARGE: tuple[Attribute, ...] = (f32, f64, i32, i64)
TYPES = SMALL + LARGE
_TYPES = {record_of(t).name: t for t in TYPES}

EXHAUSTED, PROVED, TESTED = "exhausted", "proved", "tested"


@dataclass(frozen=True)
class Instance:
    """A rule applied to operands of a type."""

    rule: str
    type: Attribute
    module: ModuleOp

    @property
    def types(self) -> list[Attribute]:
        """The element types of the arguments."""
        (main,) = self.module.ops
        assert isinstance(main, func.FuncOp)
        return [t.element_type for t in main.function_type.inputs if isa(t, TensorType)]


_OPERATORS: dict[str, type[Any]] = dict(relex.OPERATORS)


@dataclass
class _Builder:
    """Builds the left side of a rule."""

    type: Attribute
    variables: dict[str, SSAValue]
    ops: list[Operation] = field(default_factory=list[Operation])

    def value(self, node: ast.expr) -> SSAValue:
        """Return the value of an expression."""
        match node:
            case ast.Name(id=name):
                return self.variables[name]
            case ast.Call(func=ast.Name(id=name), args=args):
                types = [_TYPES[a.id] for a in args if isinstance(a, ast.Name) and a.id in _TYPES]
                operands = [self.value(a) for a in args if not (isinstance(a, ast.Name) and a.id in _TYPES)]
                return self._add(_OPERATORS[name](*operands, *types))
            case _:
                number = ast.literal_eval(node)
                t = i1 if isinstance(number, bool) else self.type
                return self._add(ConstantOp(np.array(number).astype(numpy_dtype(t))))

    def _add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]


def instance_of(rule: str, t: Attribute) -> Instance | None:
    """Return a rule for a type; None if the operators do not take it. `c` is a boolean."""
    left = ast.parse(rule.split(" = ")[0], mode="eval").body
    names = [n for n in ("x", "y", "c") if any(isinstance(v, ast.Name) and v.id == n for v in ast.walk(left))]
    types = [TensorType(i1 if name == "c" else t, [DYNAMIC_INDEX]) for name in names]
    block = Block(arg_types=types)
    builder = _Builder(t, dict(zip(names, block.args, strict=True)))
    try:
        result = builder.value(left)
        block.add_ops([*builder.ops, func.ReturnOp(result)])
        module = ModuleOp([func.FuncOp("main", FunctionType.from_lists(types, [result.type]), Region(block))])
        verify_module(module)
    except RelexError:
        return None
    return Instance(rule, t, module)


RULES = (
    "negative(negative(x)) = x",
    "abs(negative(x)) = abs(x)",
    "ewise_fma(x, 1, y) = add(x, y)",
    "ewise_fma(1, x, y) = add(x, y)",
    "ewise_fma(x, y, -0.0) = multiply(x, y)",
    "where(c, x, x) = x",
    "where(True, x, y) = x",
    "where(False, x, y) = y",
    "clip(x) = x",
)
"""The rules of `passes/graph/canonicalization/algebraic_identities.py` that no property of an operator states."""


def rules() -> Iterator[str]:
    """Yield all rules, apart from those about conversions."""
    for name, kind in sorted(_OPERATORS.items()):
        if issubclass(kind, BinaryElementwise):
            left, right = kind.NEUTRAL
            yield from [f"{name}({left!r}, x) = x"] if left is not None else []
            yield from [f"{name}(x, {right!r}) = x"] if right is not None else []
            yield from [f"{name}(x, x) = x"] if kind.IDEMPOTENT else []
        elif issubclass(kind, UnaryElementwise) and kind.IDEMPOTENT:
            yield f"{name}({name}(x)) = {name}(x)"
    yield from RULES


def pairs() -> Iterator[tuple[str, Attribute]]:
    """Yield all rules for all types, also for those that their operators do not take."""
    yield from product(rules(), TYPES)
    yield from ((f"astype(x, {name}) = x", t) for name, t in _TYPES.items())
    for middle, last in product(_TYPES, repeat=2):
        yield from ((f"astype(astype(x, {middle}), {last}) = astype(x, {last})", t) for t in TYPES)


def instances() -> Iterator[Instance]:
    """Yield all rules for the types that their operators take."""
    yield from filter(None, starmap(instance_of, pairs()))


def applied(instance: Instance) -> ModuleOp | None:
    """Return the program after `canonicalize`; None if no rule applied."""
    after = run_pass(CanonicalizePass(), instance.module)
    return None if after.is_structurally_equivalent(instance.module) else after


@cache
def values_of(t: Attribute) -> Any:
    """Return all values of a small type."""
    dtype = numpy_dtype(t)
    if dtype == np.bool_:
        return np.array([False, True])
    return np.array(range(2 ** (8 * dtype.itemsize)), f"u{dtype.itemsize}").view(dtype)


def samples_of(t: Attribute) -> Any:
    """Return some values of a type, the extreme ones among them."""
    dtype = numpy_dtype(t)
    bits = np.random.default_rng(0).integers(0, 2**64, 4096, dtype=np.uint64).astype(f"u{dtype.itemsize}")
    if not is_float_dtype(dtype):
        return np.concatenate([bits.view(dtype), np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, -1], dtype)])
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny]
    return np.concatenate([bits.view(dtype), np.array([*special, np.finfo(dtype).smallest_subnormal], dtype)])


def same(a: Any, b: Any) -> bool:
    """Return whether arrays are equal bit by bit; all NaNs are equal."""
    if not is_float_dtype(a.dtype):
        return bool((a == b).all())
    bits = f"u{a.itemsize}"
    return bool(((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))).all())


def holds_for(instance: Instance, after: ModuleOp, values: list[Any]) -> bool:
    """Return whether both sides give the same for all combinations of values."""
    grid = [np.ascontiguousarray(g).reshape(-1) for g in np.meshgrid(*values, indexing="ij")]
    return same(interpret(instance.module)["main"](*grid), interpret(after)["main"](*grid))


def verdict(instance: Instance) -> str | None:
    """Return what is known about a rule for a type; None if none applies. Raises `AssertionError` for a wrong one."""
    after = applied(instance)
    if after is None:
        return None
    sizes = [2 ** (1 if t == i1 else 8 * numpy_dtype(t).itemsize) for t in instance.types]
    if int(np.prod([float(n) for n in sizes])) <= 2**17:
        assert holds_for(instance, after, [values_of(t) for t in instance.types]), instance.rule
        return EXHAUSTED
    count = len(instance.types)
    tried = [values_of(i1) if t == i1 else samples_of(t)[:: 1 if count == 1 else 31] for t in instance.types]
    assert holds_for(instance, after, tried), instance.rule
    from rule_solver import proves

    return PROVED if proves(instance.module, after) else TESTED


CONVERSIONS = "conversions that merge or go"


def table() -> str:
    """Return the table of all rules; those about conversions are one line, with how many there are of each kind."""
    found: dict[str, dict[str, list[str]]] = {}
    for instance in instances():
        if (known := verdict(instance)) is not None:
            rule = CONVERSIONS if instance.rule.startswith("astype(") else instance.rule
            found.setdefault(rule, {}).setdefault(record_of(instance.type).name, []).append(known)
    names = [record_of(t).name for t in TYPES]
    lines = [f"| rule | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    lines += [f"| `{r}` | {' | '.join(_summary(by_type.get(n, [])) for n in names)} |" for r, by_type in found.items()]
    return "\n".join(lines)


def _summary(verdicts: list[str]) -> str:
    kinds = sorted(set(verdicts))
    return ", ".join(f"{verdicts.count(k)} {k}" if len(verdicts) > 1 else k for k in kinds)


if __name__ == "__main__":
    print(table())
