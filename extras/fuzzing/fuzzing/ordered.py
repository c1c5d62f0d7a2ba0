"""Random loops whose order counts: sums and other folds that no flag lets reorder, running totals, elements that depend
on their neighbours, and numbers that loops carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.parser import parse_module

EXTENTS = (1, 2, 3, 4, 5, 8)

FOLDS = {
    "f32": ("mulf T, C; addf 0, X", "subf X, T", "addf T, X; mulf 0, C", "addf T, X", "mulf T, C; maximumf 0, X"),
    "i32": ("muli T, C; addi 0, X", "subi X, T", "xori T, X; muli 0, C"),
}
"""How a total `T` changes with an element `X`, with a constant `C`; `0` is the result of the first step. All but
`addf T, X` depend on the order even without rounding."""

CONSTANTS = {"f32": "0.625", "i32": "3"}

Shape = tuple[int, int]


def ordered_loops(random: Random) -> ModuleOp:
    """Return a module with a loop function @main of two or three dimensions, in which an order counts."""
    return parse_module("\n".join(random.choice(_KINDS)(_Text(random))))


def carried_loops(random: Random) -> ModuleOp:
    """Return a module with a function @main at the core level, whose loops carry a number from one iteration to the
    next."""
    return parse_module("\n".join(_carried(_Text(random))))


class _Text:
    """What the programs have in common: a type, two extents, and the steps of a fold."""

    def __init__(self, random: Random):
        self.random = random
        self.dtype = random.choice(["f32", "f32", "i32"])
        self.shape = random.choice(EXTENTS), random.choice(EXTENTS)
        self.fold = random.choice(FOLDS[self.dtype])

    def memref(self, shape: Sequence[int]) -> str:
        """Return the type of a buffer."""
        return f"memref<{''.join(f'{n}x' for n in shape)}{self.dtype}>"

    def head(self, result: Sequence[int]) -> Iterator[str]:
        """Yield the beginning of a loop function from a matrix to a result."""
        apart = " attributes {tir.noalias}" if self.random.random() < 0.7 else ""
        yield f"tir.prim_func @main(%X: {self.memref(self.shape)}) outs(%Z: {self.memref(result)}){apart} {{"
        yield from self.constants()

    def constants(self) -> Iterator[str]:
        """Yield the constants of all programs."""
        yield f"%c = arith.constant {CONSTANTS[self.dtype]} : {self.dtype}"
        yield f"%start = arith.constant {'0.0' if self.dtype == 'f32' else '0'} : {self.dtype}"

    def element(self, i: str, j: str) -> str:
        """Return an op that loads an element of the matrix."""
        return f"%x = memref.load %X[{i}, {j}] : {self.memref(self.shape)}"

    def folded(self) -> Iterator[str]:
        """Yield the ops that make a new total `%t_N` of `%t` and `%x`."""
        names = {"T": "%t", "X": "%x", "C": "%c"}
        for number, step in enumerate(self.fold.split("; ")):
            name, operands = step.split(" ", 1)
            shown = ", ".join(names.get(operand, f"%t_{operand}") for operand in operands.split(", "))
            yield f"%t_{number} = arith.{name} {shown} : {self.dtype}"

    @property
    def total(self) -> str:
        """The last of these values."""
        return f"%t_{self.fold.count(';')}"


def _fold(text: _Text) -> Iterator[str]:
    """Rows, or all of a matrix, are folded by a reduction, which starts by itself or after another block."""
    m, n = text.shape
    is_whole, is_apart = text.random.random() < 0.5, text.random.random() < 0.5
    result = [] if is_whole else [m]
    place = f"%Z[{'' if is_whole else '%v'}] : {text.memref(result)}"
    loops = text.random.sample([("%i", m), ("%j", n)], 2)
    yield from text.head(result)
    if is_apart:
        block = f"memref.store %start, {place}"
        starts = [f"tir.for %a in ({m}) {{", f"tir.block @start (%v: spatial<{m}> = %a) {{", block, "} }"]
        yield from ["tir.block @start () {", block, "}"] if is_whole else starts
    yield f"tir.for {', '.join(name for name, _ in loops)} in ({', '.join(str(extent) for _, extent in loops)}) {{"
    yield f"tir.block @fold (%v: {'reduce' if is_whole else 'spatial'}<{m}> = %i, %r: reduce<{n}> = %j) {{"
    if not is_apart:
        yield f"tir.init {{ memref.store %start, {place} }}"
    yield f"%t = memref.load {place}"
    yield text.element("%v", "%r")
    yield from text.folded()
    yield f"memref.store {text.total}, {place}"
    yield "} } }"


def _running(text: _Text) -> Iterator[str]:
    """All totals on the way, which one number in memory holds."""
    m, n = text.shape
    cell = text.memref([])
    yield from text.head(text.shape)
    yield "tir.block @running () {"
    yield f"%T = tir.alloc_buffer : {cell}"
    yield f"memref.store %start, %T[] : {cell}"
    yield f"tir.for %i, %j in ({m}, {n}) {{"
    yield f"%t = memref.load %T[] : {cell}"
    yield text.element("%i", "%j")
    yield from text.folded()
    yield f"memref.store {text.total}, %Z[%i, %j] : {text.memref(text.shape)}"
    yield f"memref.store {text.total}, %T[] : {cell}"
    yield "} } }"


def _neighbours(text: _Text) -> Iterator[str]:
    """Elements that depend on elements of the row above: straight, to the left or to the right."""
    m, n = text.shape
    matrix = text.memref(text.shape)
    offset = text.random.choice([-1, 0, 1])
    yield from text.head(text.shape)
    yield f"tir.for %a, %b in ({m}, {n}) {{"
    yield f"tir.block @copy (%va: spatial<{m}> = %a, %vb: spatial<{n}> = %b) {{"
    yield text.element("%va", "%vb")
    yield f"memref.store %x, %Z[%va, %vb] : {matrix}"
    yield "} }"
    yield "tir.block @neighbours () {"
    yield "%zero = arith.constant 0 : index"
    yield "%one = arith.constant 1 : index"
    yield f"%last = arith.constant {n - 1} : index"
    yield f"%offset = arith.constant {offset} : index"
    yield f"tir.for %i, %j in ({m}, {n}) {{"
    yield "%before = arith.subi %i, %one : index"
    yield "%above = arith.maxsi %before, %zero : index"
    yield "%beside = arith.addi %j, %offset : index"
    yield "%inside = arith.maxsi %beside, %zero : index"
    yield "%side = arith.minsi %inside, %last : index"
    yield f"%t = memref.load %Z[%above, %side] : {matrix}"
    yield text.element("%i", "%j")
    yield from text.folded()
    yield f"memref.store {text.total}, %Z[%i, %j] : {matrix}"
    yield "} } }"


_KINDS: list[Callable[[_Text], Iterator[str]]] = [_fold, _fold, _running, _neighbours]


def _carried(text: _Text) -> Iterator[str]:
    """Loops at the core level carry a total, and store it on the way or at the end."""
    m, n = text.shape
    cell, each = text.memref([1]), text.random.random() < 0.5
    yield f"func.func @main(%X: {text.memref(text.shape)}, %Z: {text.memref(text.shape) if each else cell}) {{"
    yield from text.constants()
    yield "%c0 = arith.constant 0 : index"
    yield "%c1 = arith.constant 1 : index"
    yield f"%m = arith.constant {m} : index"
    yield f"%n = arith.constant {n} : index"
    yield f"%all = scf.for %i = %c0 to %m step %c1 iter_args(%row = %start) -> ({text.dtype}) {{"
    yield f"%end = scf.for %j = %c0 to %n step %c1 iter_args(%t = %row) -> ({text.dtype}) {{"
    yield text.element("%i", "%j")
    yield from text.folded()
    if each:
        yield f"memref.store {text.total}, %Z[%i, %j] : {text.memref(text.shape)}"
    yield f"scf.yield {text.total} : {text.dtype}"
    yield "}"
    yield f"scf.yield %end : {text.dtype}"
    yield "}"
    if not each:
        yield f"memref.store %all, %Z[%c0] : {cell}"
    yield "func.return"
    yield "}"
