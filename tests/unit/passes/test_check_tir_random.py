"""`check-tir` on random loop nests, against running through all their iterations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import CompileWarning
from relex.passes import CheckTirPass

SIZE = 6
"""The number of elements of each buffer."""

Values = dict[str, int]


@dataclass(frozen=True)
class Term:
    """An index expression: as text that computes it, the name of its value, and as a function of the loop variables."""

    steps: tuple[str, ...]
    name: str
    value: Callable[[Values], int]


@dataclass(frozen=True)
class Access:
    op: str
    buffer: str
    index: Term


@dataclass(frozen=True)
class Nest:
    loops: tuple[tuple[str, int, bool], ...]
    """Name, extent, whether parallel."""
    guard: tuple[str, Term, int] | None
    accesses: tuple[Access, ...]

    def text(self) -> str:
        heads = ", ".join(f"{'parallel ' * parallel}{name}" for name, _, parallel in self.loops)
        lines = [f"tir.for {heads} in ({', '.join(str(extent) for _, extent, _ in self.loops)}) {{"]
        if self.guard is not None:
            predicate, term, bound = self.guard
            lines += [*term.steps, f"%b = arith.constant {bound} : index"]
            lines += [f"%g = arith.cmpi {predicate}, {term.name}, %b : index", "scf.if %g {"]
        for n, access in enumerate(self.accesses):
            place = f"{access.buffer}[{access.index.name}] : memref<{SIZE}xf32>"
            lines += access.index.steps
            lines.append(f"%x{n} = memref.load {place}" if access.op == "load" else f"memref.store %zero, {place}")
        return "\n".join([*lines, "}" * (2 if self.guard is not None else 1)])

    def iterations(self) -> Iterator[Values]:
        names = [name for name, _, _ in self.loops]
        for values in product(*(range(extent) for _, extent, _ in self.loops)):
            iteration = dict(zip(names, values, strict=True))
            if self.guard is None or HOLDS[self.guard[0]](self.guard[1].value(iteration), self.guard[2]):
                yield iteration


HOLDS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a % 2**64 < b % 2**64,
}
BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "minsi": min,
    "maxsi": max,
}
BY_CONSTANT: dict[str, Callable[[int, int], int]] = {
    "muli": lambda a, c: a * c,
    "floordivsi": lambda a, c: a // c,
    "ceildivsi": lambda a, c: -(-a // c),
    "divsi": lambda a, c: int(a / c),
    "remsi": lambda a, c: a - int(a / c) * c,
    "minui": lambda a, c: a if 0 <= a < c else c,
}


@dataclass
class Counter:
    """Makes names."""

    count: int = field(default=0)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"


@st.composite
def terms(draw: st.DrawFn, names: Sequence[str], counter: Counter, depth: int = 2) -> Term:
    kind = draw(st.sampled_from(["variable", "variable", "binary", "binary", "by constant", "constant"]))
    if depth == 0 and kind not in ("constant",):
        kind = "variable"
    name = counter.fresh()
    match kind:
        case "variable":
            variable = draw(st.sampled_from(names))
            return Term((), variable, lambda values: values[variable])
        case "constant":
            number = draw(st.integers(-2, SIZE))
            return Term((f"{name} = arith.constant {number} : index",), name, lambda values: number)
        case "binary":
            op = draw(st.sampled_from(sorted(BINARY)))
            a, b = (draw(terms(names, counter, depth - 1)) for _ in range(2))
            step = f"{name} = arith.{op} {a.name}, {b.name} : index"
            return Term((*a.steps, *b.steps, step), name, lambda v: BINARY[op](a.value(v), b.value(v)))
        case _:
            op = draw(st.sampled_from(sorted(BY_CONSTANT)))
            a, number, c = draw(terms(names, counter, depth - 1)), draw(st.integers(1, 4)), counter.fresh()
            steps = (f"{c} = arith.constant {number} : index", f"{name} = arith.{op} {a.name}, {c} : index")
            return Term((*a.steps, *steps), name, lambda v: BY_CONSTANT[op](a.value(v), number))


@st.composite
def nests(draw: st.DrawFn, counter: Counter) -> Nest:
    names = [counter.fresh() for _ in range(draw(st.integers(1, 3)))]
    loops = tuple((name, draw(st.sampled_from([0, 1, 2, 2, 3, SIZE])), draw(st.booleans())) for name in names)
    guard = None
    if draw(st.booleans()):
        guard = draw(st.sampled_from(sorted(HOLDS))), draw(terms(names, counter)), draw(st.integers(0, SIZE))
    accesses = [
        Access(
            draw(st.sampled_from(["load", "store", "store"])),
            draw(st.sampled_from(["%Y", "%T"])),
            draw(terms(names, counter)),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    return Nest(loops, guard, tuple(accesses))


@st.composite
def programs(draw: st.DrawFn) -> list[Nest]:
    counter = Counter()
    return [draw(nests(counter)) for _ in range(draw(st.integers(1, 3)))]


def mistakes(program: Sequence[Nest]) -> set[str]:
    """What goes wrong when the program runs."""
    found: set[str] = set()
    written: set[tuple[str, int]] = set()
    for nest in program:
        users: dict[object, set[int]] = {}
        writers: dict[object, set[int]] = {}
        for iteration in nest.iterations():
            for access in nest.accesses:
                place = access.buffer, access.index.value(iteration)
                if not 0 <= place[1] < SIZE:
                    found.add("index")
                elif access.op == "store":
                    written.add(place)
                elif place not in written:
                    found.add("before it is read")
                for depth, (name, _, parallel) in enumerate(nest.loops):
                    if parallel:
                        run = depth, tuple(iteration[outer] for outer, _, _ in nest.loops[:depth]), place
                        users.setdefault(run, set()).add(iteration[name])
                        if access.op == "store":
                            writers.setdefault(run, set()).add(iteration[name])
        if any(len(users[run]) > 1 for run in writers):
            found.add("parallel loop")
    if not all(("%Y", i) in written for i in range(SIZE)):
        found.add("all of %Y")
    return found


def verdicts(text: str) -> set[str]:
    """What `check-tir` finds; fails if there is something that it cannot decide."""
    module = parse_module(text, verify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        try:
            CheckTirPass()(module)
        except CompileError as e:
            messages = [d.message for d in e.diagnostics]
            kinds = ("index", "before it is read", "parallel loop", "all of %Y")
            return {kind for kind in kinds if any(kind in message for message in messages)}
    return set()


@settings(max_examples=60, deadline=None)
@given(programs())
def test_the_verdict_is_what_happens(program: list[Nest]) -> None:
    text = "\n".join(
        [
            f"tir.prim_func @main() outs(%Y: memref<{SIZE}xf32>) {{",
            "%zero = arith.constant 0.0 : f32",
            f"%T = tir.alloc_buffer : memref<{SIZE}xf32>",
            *(nest.text() for nest in program),
            "}",
        ]
    )
    assert verdicts(text) == mistakes(program)
