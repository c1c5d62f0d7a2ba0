"""Random loop functions: stages that read what earlier ones have written, at any indices in bounds."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.parser import parse_module

SIZES = (1, 2, 3, 4, 5, 7, 8, 17)
"""Extents of dimensions: few are multiples of what a vector holds."""

EMPTY = 0.05
"""The probability that a nest has a loop without iterations."""

MOST_ELEMENTS = 160
"""The largest number of elements of a buffer: each is interpreted."""

BINARY = {
    "f32": ("addf", "subf", "mulf", "maximumf", "minimumf"),
    "f64": ("addf", "subf", "mulf", "maximumf"),
    "i32": ("addi", "subi", "muli", "maxsi", "minui", "xori"),
}
SUMS = {"f32": ("addf", "maximumf"), "f64": ("addf",), "i32": ("addi", "minsi")}
START = {"addf": "0.0", "maximumf": "-1.0e+30", "addi": "0", "minsi": "2147483647"}

Shape = tuple[int, ...]


class LoopText:
    """The text of a loop function that grows by stages."""

    def __init__(self, random: Random):
        self._random = random
        self._dtype = random.choice(["f32", "f32", "f32", "f64", "i32"])
        self._names = 0
        self.lines: list[str] = []
        self.readable: list[tuple[str, Shape]] = []

    def shape(self) -> Shape:
        """Draw the shape of a buffer."""
        while True:
            shape = tuple(self._random.choice(SIZES) for _ in range(self._random.choice([1, 1, 2, 2, 3])))
            if prod(shape) <= MOST_ELEMENTS:
                return shape

    def written(self, shape: Shape) -> Shape:
        """Draw the shape of a buffer that is written: most often the given one, else one without elements."""
        dimension = self._random.randrange(len(shape))
        return (*shape[:dimension], 0, *shape[dimension + 1 :]) if self._random.random() < EMPTY else shape

    def memref(self, shape: Shape) -> str:
        """Return the type of a buffer."""
        return f"memref<{'x'.join(map(str, shape))}x{self._dtype}>"

    def stage(self, buffer: str, shape: Shape, number: int) -> None:
        """Write all elements of a buffer: by a formula of others, or by a reduction."""
        random = self._random
        axes = [(f"%v{d}", size, "spatial") for d, size in enumerate(shape)]
        is_sum = random.random() < 0.4
        if is_sum:
            summed = SIZES if prod(shape) <= 32 else SIZES[:3]
            axes += [(f"%r{d}", random.choice(summed), "reduce") for d in range(random.choice([1, 1, 2]))]
            if random.random() < EMPTY:
                axes[-1] = (axes[-1][0], 0, "reduce")
        order = random.sample(range(len(axes)), len(axes))
        loops = [f"%i{d}" for d in order]
        self.lines.append(f"tir.for {', '.join(loops)} in ({', '.join(str(axes[d][1]) for d in order)}) {{")
        bound = ", ".join(f"{name}: {kind}<{size}> = %i{d}" for d, (name, size, kind) in enumerate(axes))
        self.lines.append(f"tir.block @stage{number} ({bound}) {{")
        place = f"{buffer}[{', '.join(name for name, _, kind in axes if kind == 'spatial')}] : {self.memref(shape)}"
        if is_sum:
            combiner = random.choice(SUMS[self._dtype])
            start = self._let(f"arith.constant {START[combiner]} : {self._dtype}", indent="tir.init { ")
            self.lines.append(f"memref.store {start}, {place} }}")
            value = self._value(axes)
            total = self._let(f"memref.load {place}")
            flags = " fastmath<reassoc,contract>" if combiner == "addf" and random.random() < 0.5 else ""
            value = self._let(f"arith.{combiner} {total}, {value}{flags} : {self._dtype}")
        else:
            value = self._value(axes)
        self.lines += [f"memref.store {value}, {place}", "} }"]

    def _let(self, text: str, indent: str = "") -> str:
        self._names += 1
        self.lines.append(f"{indent}%n{self._names} = {text}")
        return f"%n{self._names}"

    def _value(self, axes: list[tuple[str, int, str]]) -> str:
        """Compute something from one to three elements."""
        value = self._element(axes)
        for _ in range(self._random.randint(0, 2)):
            operands = self._random.sample([value, self._element(axes)], 2)
            op = self._random.choice(BINARY[self._dtype])
            value = self._let(f"arith.{op} {', '.join(operands)} : {self._dtype}")
        return value

    def _element(self, axes: list[tuple[str, int, str]]) -> str:
        buffer, shape = self._random.choice(self.readable)
        indices = [self._index(axes, size) for size in shape]
        return self._let(f"memref.load {buffer}[{', '.join(indices)}] : {self.memref(shape)}")

    def _index(self, axes: list[tuple[str, int, str]], size: int) -> str:
        """Return an index in 0..size: a variable, one that is cut off or turned around, or a number."""
        random = self._random
        fitting = [axis for axis in axes if axis[1] <= size]
        if fitting and random.random() < 0.75:
            name, extent, _ = random.choice(fitting)
            if random.random() < 0.8:
                return name
            offset = self._let(f"arith.constant {random.randint(max(extent, 1) - 1, size - 1)} : index")
            return self._let(f"arith.subi {offset}, {name} : index")
        if random.random() < 0.2:
            return self._let(f"arith.constant {random.randrange(size)} : index")
        name, _, _ = random.choice(axes)
        op, limit = random.choice([("minsi", size - 1), ("remui", size), ("floordivsi", 0)])
        if op == "floordivsi":
            largest = max(extent for _, extent, _ in axes)
            limit = -(-largest // size)
        return self._let(f"arith.{op} {name}, {self._let(f'arith.constant {limit} : index')} : index")


def random_loops(random: Random) -> ModuleOp:
    """Return a module with a loop function @main of one to three stages, on buffers of static sizes."""
    return parse_module("\n".join(_lines(random)))


def _lines(random: Random) -> Iterator[str]:
    text = LoopText(random)
    text.readable = [(f"%X{i}", text.shape()) for i in range(random.choice([1, 2, 2]))]
    output = text.written(text.shape())
    inputs = ", ".join(f"{name}: {text.memref(shape)}" for name, shape in text.readable)
    yield f"tir.prim_func @main({inputs}) outs(%Z: {text.memref(output)}) attributes {{tir.noalias}} {{"
    for number in range(random.choice([0, 0, 1, 1, 2])):
        shape = text.written(text.shape()) if random.random() < 0.5 else output
        yield f"%T{number} = tir.alloc_buffer : {text.memref(shape)}"
        text.stage(f"%T{number}", shape, number)
        if prod(shape):
            text.readable.append((f"%T{number}", shape))
    text.stage("%Z", output, 9)
    yield from text.lines
    yield "}"
