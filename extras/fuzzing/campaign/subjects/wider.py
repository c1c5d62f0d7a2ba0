"""Operators, and whole programs, compute what they do in wider precision, up to their own rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from relex.reference import interpret
from relex.reference.fuzzing.structures import random_program
from relex.reference.fuzzing.variants import main_of
from relex.reference.intervals.graphs import follow, judge, steps
from relex.runtime import build
from relex.tools.campaign.calling import as_list, called, first_difference
from relex.tools.campaign.comparing import skip_unused_sizes
from relex.tools.campaign.subject import Case, Subject, count

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Arrays = Mapping[SSAValue, "Array"]


class WiderSubject(Subject):
    """Random programs compared with intervals in wider precision: each operator as it is interpreted, from its own
    operands, and what compiled code makes of all of them."""

    name = "wider"
    weight = 2

    def make(self, random: Random) -> Case:
        strict = "strict" if random.random() < 0.25 else ""
        return Case(random_program(random), {"strict": strict, "seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        skip_unused_sizes(case.module)
        executable = build(case.module, strict=bool(case.options["strict"]), cache=False)["main"]
        interpreted = interpret(with_all_values(case.module))["main"]
        main = main_of(case.module)
        assert main is not None

        def compare(arguments: Sequence[Array]) -> str | int:
            results = as_list(called(executable, arguments))
            arrays = dict(zip(values_of(main), as_list(interpreted(*arguments)), strict=True))
            return difference_of(main, arguments, arrays, results)

        return first_difference(case, executable.signature.inputs, compare)


def difference_of(main: FuncOp, arguments: Sequence[Array], arrays: Arrays, results: Sequence[Array]) -> str | int:
    """Return where an operator, or compiled code, differs from what is known; else how many elements were decided."""
    total = 0
    for op, verdict in steps(main, arrays):
        if verdict.wrong:
            return f"'{op.name}' is interpreted in another way than in wider precision: {verdict.wrong}"
        count(op.name, verdict.decided, verdict.elements)
        total += verdict.decided
    known = follow(main, arguments)
    returned = main.body.block.last_op
    assert returned is not None
    for i, (value, array) in enumerate(zip(returned.operands, results, strict=True)):
        verdict = judge(known[value], array)
        if verdict.wrong:
            return f"compiled code computes something else than in wider precision: {verdict.wrong} of return value {i}"
        count("compiled code", verdict.decided, verdict.elements)
        total += verdict.decided
    return total


def values_of(main: FuncOp) -> list[SSAValue]:
    """Return the values of a graph."""
    block = main.body.block
    return [*block.args, *(result for op in block.ops for result in op.results)]


def with_all_values(module: ModuleOp) -> ModuleOp:
    """Return a program that returns all values of its function @main."""
    module = module.clone()
    main = main_of(module)
    assert main is not None
    returned = main.body.block.last_op
    assert isinstance(returned, ReturnOp)
    values = values_of(main)
    returned.operands = values
    main.function_type = FunctionType.from_lists(main.function_type.inputs.data, [v.type for v in values])
    return module
