"""Random graph functions with nested branches and loops."""

from __future__ import annotations

import random
from collections.abc import Sequence


def region_program(
    seed: int, *, dynamic: bool = False, changing: bool = False, growing: bool = False, depth: int = 3
) -> str:
    """A function @main of two tensors of the same size, a number that many trip counts are, and a condition. With
    `changing`, branches give tensors of different sizes, and trips change sizes; with `growing`, many trips append to
    what they carry, too."""
    changing = changing or growing
    regions = _Regions(random.Random(seed), dynamic=dynamic or changing, changing=changing, growing=growing)
    return regions.program(depth)


class _Regions:
    def __init__(self, rng: random.Random, *, dynamic: bool, changing: bool, growing: bool):
        self._rng = rng
        self._growing = growing
        self._changing = changing
        self._dynamic = dynamic
        self._t = "tensor<?xf32>" if dynamic else "tensor<5xf32>"
        self._lines: list[str] = []
        self._count = 0

    def program(self, depth: int) -> str:
        dims, t = ' {relex.dims = ["m"]}' if self._dynamic else "", self._t
        self._lines = [
            f"func.func @main(%x: {t}{dims}, %y: {t}{dims}, %n: index, %flag: i1) -> ({t}, {t}) {{",
            "  %c0 = arith.constant 0 : index",
            "  %c1 = arith.constant 1 : index",
            "  %c3 = arith.constant 3 : index",
            "  %half = relex.constant dense<0.5> : tensor<f32>",
            "  %places = relex.constant dense<[4, 0, 1, 1, 2]> : tensor<5xi64>",
        ]
        known = self._block("  ", ["%x", "%y"], depth)
        self._lines += [f"  func.return {', '.join(self._pick(known, 2))} : {t}, {t}", "}"]
        return "\n".join(self._lines)

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _pick(self, known: Sequence[str], count: int) -> list[str]:
        return [self._rng.choice(known[-4:] if self._rng.random() < 0.7 else known) for _ in range(count)]

    def _block(self, indent: str, known: Sequence[str], depth: int) -> list[str]:
        found = list(known)
        for _ in range(self._rng.randint(1, 4)):
            if depth and self._rng.random() < 0.45:
                found += self._region(indent, found, depth - 1)
            else:
                found.append(self._operator(indent, found))
        return found

    def _operator(self, indent: str, known: Sequence[str]) -> str:
        t, a, b, new = self._t, self._rng.choice(known), self._rng.choice(known), self._fresh()
        kinds = ["add", "maximum", "negative", "tanh", "softmax"] + ["take"] * (not self._dynamic)
        if self._changing:
            kinds = ["add", "tanh", "concat", "concat", "tail", "compress"]
        match self._rng.choice(kinds):
            case "add" | "maximum" as kind:
                other = a if self._changing else b  # Others have other sizes.
                text = f"relex.{kind} {a}, {other} : ({t}, {t}) -> {t}"
            case "concat":
                whole = self._fresh()
                self._lines.append(f"{indent}{whole} = relex.concat {a}, {b} : ({t}, {t}) -> {t}")
                # Sizes double from trip to trip otherwise.
                text = f"relex.strided_slice {whole} axes = [0] begin = [0] end = [9] : ({t}) -> {t}"
            case "tail":
                text = f"relex.strided_slice {a} axes = [0] begin = [1] end = [9] : ({t}) -> {t}"
            case "compress":
                less = self._fresh()
                self._lines.append(f"{indent}{less} = relex.less {a}, %half : ({t}, tensor<f32>) -> tensor<?xi1>")
                text = f"relex.compress {a}, {less} : ({t}, tensor<?xi1>) -> {t}"
            case "take":
                text = f"relex.take {a}, %places axis = 0 : ({t}, tensor<5xi64>) -> {t}"
            case kind:
                text = f"relex.{kind} {a} : ({t}) -> {t}"
        self._lines.append(f"{indent}{new} = {text}")
        return new

    def _condition(self, indent: str, known: Sequence[str]) -> str:
        if self._rng.random() < 0.2:
            return "%flag"
        most, limit, less, holds = (self._fresh() for _ in range(4))
        sums = ["sum", "sum" if self._changing else "max"]
        self._lines += [
            f"{indent}{most} = relex.{self._rng.choice(sums)} {self._rng.choice(known)} : ({self._t}) -> tensor<f32>",
            f"{indent}{limit} = relex.constant dense<{self._rng.choice(['0.0', '0.5', '0x7FC00000'])}> : tensor<f32>",
            f"{indent}{less} = relex.less {most}, {limit} : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            f"{indent}{holds} = tensor.extract {less}[] : tensor<i1>",
        ]
        return holds

    def _region(self, indent: str, known: Sequence[str], depth: int) -> list[str]:
        count = self._rng.randint(1, 3)
        match self._rng.choice(["if", "for", "while", "do while", "switch"]):
            case "if":
                return self._if(indent, known, depth, count)
            case "switch":
                return self._switch(indent, known, depth, count)
            case "for":
                return self._for(indent, known, depth, count)
            case kind:
                return self._while(indent, known, depth, count, is_test_last=kind == "do while")

    def _results(self, count: int) -> tuple[str, list[str]]:
        name = self._fresh()
        return (name, [name]) if count == 1 else (f"{name}:{count}", [f"{name}#{i}" for i in range(count)])

    def _types(self, count: int) -> str:
        return ", ".join([self._t] * count)

    def _end(self, indent: str, values: Sequence[str]) -> None:
        self._lines.append(f"{indent}  scf.yield {', '.join(values)} : {self._types(len(values))}")

    def _branch(self, indent: str, known: Sequence[str], depth: int, count: int) -> None:
        self._end(indent, self._pick(self._block(f"{indent}  ", known, depth), count))

    def _if(self, indent: str, known: Sequence[str], depth: int, count: int) -> list[str]:
        condition = self._condition(indent, known)
        name, results = self._results(count)
        self._lines.append(f"{indent}{name} = scf.if {condition} -> ({self._types(count)}) {{")
        self._branch(indent, known, depth, count)
        self._lines.append(f"{indent}}} else {{")
        self._branch(indent, known, depth, count)
        self._lines.append(f"{indent}}}")
        return results

    def _switch(self, indent: str, known: Sequence[str], depth: int, count: int) -> list[str]:
        name, results = self._results(count)
        self._lines.append(f"{indent}{name} = scf.index_switch %n -> {self._types(count)}")
        for case in (*(f"case {i}" for i in self._rng.sample(range(4), 2)), "default"):
            self._lines.append(f"{indent}{case} {{")
            self._branch(indent, known, depth, count)
            self._lines.append(f"{indent}}}")
        return results

    def _carried(self, known: Sequence[str], count: int) -> tuple[list[str], str]:
        arguments = [self._fresh() for _ in range(count)]
        pairs = zip(arguments, self._pick(known, count), strict=True)
        return arguments, ", ".join(f"{argument} = {first}" for argument, first in pairs)

    def _limit(self) -> str:
        return self._rng.choice(["%n", "%c3", "%c1", "%c0"])

    def _for(self, indent: str, known: Sequence[str], depth: int, count: int) -> list[str]:
        name, results = self._results(count)
        arguments, pairs = self._carried(known, count)
        self._lines.append(
            f"{indent}{name} = scf.for {self._fresh()} = %c0 to {self._limit()} step %c1 "
            f"iter_args({pairs}) -> ({self._types(count)}) {{"
        )
        if self._growing:
            found = self._block(f"{indent}  ", [*known, *arguments], depth)
            self._end(indent, self._all_grown(f"{indent}  ", arguments, found))
        else:
            self._branch(indent, [*known, *arguments], depth, count)
        self._lines.append(f"{indent}}}")
        return results

    def _all_grown(self, indent: str, values: Sequence[str], known: Sequence[str]) -> list[str]:
        """What many of the values begin, and other tensors in place of the rest."""
        return [
            self._grown(indent, value, known) if self._rng.random() < 0.7 else self._rng.choice(known)
            for value in values
        ]

    def _grown(self, indent: str, value: str, known: Sequence[str]) -> str:
        """A tensor with further rows, or with the same ones."""
        t = self._t
        match self._rng.choice(["one", "one", "two", "either", "none"]):
            case "one":
                rows, longer = self._fresh(), self._fresh()
                more = f"{rows}, {rows}" if self._rng.random() < 0.2 else rows
                types = ", ".join([t] * (1 + len(more.split())))
                self._lines += [
                    f"{indent}{rows} = relex.strided_slice {self._rng.choice([value, *known])} axes = [0] begin = [0] "
                    f"end = [2] : ({t}) -> {t}",
                    f"{indent}{longer} = relex.concat {value}, {more} : ({types}) -> {t}",
                ]
                known = [*known, value, longer]
                return longer if self._rng.random() < 0.7 else self._read(indent, longer, known)
            case "two":
                return self._grown(indent, self._grown(indent, value, known), known)
            case "either":
                condition, name = self._condition(indent, known), self._fresh()
                self._lines.append(f"{indent}{name} = scf.if {condition} -> ({t}) {{")
                self._end(indent, [self._grown(f"{indent}  ", value, known)])
                self._lines.append(f"{indent}}} else {{")
                self._end(indent, [self._grown(f"{indent}  ", value, known)])
                self._lines.append(f"{indent}}}")
                return name
            case _:
                return value

    def _read(self, indent: str, value: str, known: Sequence[str]) -> str:
        """The same tensor, after other ops have read it and those before it; a loop reads one of them."""
        for _ in range(2):
            self._operator(indent, known)
        count, one, i = (self._fresh() for _ in range(3))
        self._lines += [
            f"{indent}{count} = scf.for {i} = %c0 to %c1 step %c1 iter_args({one} = {value}) -> ({self._t}) {{",
            f"{indent}  {self._fresh()} = relex.add {one}, {one} : ({self._t}, {self._t}) -> {self._t}",
        ]
        self._end(indent, [one])
        self._lines.append(f"{indent}}}")
        return value

    def _while(self, indent: str, known: Sequence[str], depth: int, count: int, *, is_test_last: bool) -> list[str]:
        arguments, pairs = self._carried(known, count)
        inside, number, tested = [self._fresh() for _ in range(count)], self._fresh(), self._fresh()
        following, holds, types = self._fresh(), self._fresh(), f"{self._types(count)}, index"
        name, limit = self._fresh(), self._limit()
        self._lines.append(
            f"{indent}{name}:{count + 1} = scf.while ({pairs}, {number} = %c0) : ({types}) -> ({types}) {{"
        )
        before = [*known, *arguments]
        if is_test_last or self._rng.random() < 0.4:
            before = self._block(f"{indent}  ", before, depth)
        passed = self._pick(before, count) if is_test_last else self._rng.choices([*arguments, *before[-2:]], k=count)
        if self._growing and self._rng.random() < 0.8:
            passed = self._all_grown(f"{indent}  ", arguments, before) if is_test_last else arguments
        self._lines += [
            f"{indent}  {following} = arith.addi {number}, %c1 : index",
            f"{indent}  {holds} = arith.cmpi slt, {following if is_test_last else number}, {limit} : index",
            f"{indent}  scf.condition({holds}) {', '.join(passed)}, {following} : {types}",
            f"{indent}}} do {{",
            f"{indent}^bb0({', '.join(f'{value}: {self._t}' for value in inside)}, {tested}: index):",
        ]
        if is_test_last:
            self._rng.shuffle(inside)
            given = inside if self._rng.random() < 0.3 else sorted(inside)
        else:
            found = self._block(f"{indent}  ", [*known, *inside], depth)
            given = self._all_grown(f"{indent}  ", inside, found) if self._growing else self._pick(found, count)
        self._lines += [f"{indent}  scf.yield {', '.join(given)}, {tested} : {types}", f"{indent}}}"]
        return [f"{name}#{i}" for i in range(count)]
