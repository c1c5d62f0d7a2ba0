"""Modules printed as TVMScript and read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program, random_array
from test_random_graphs import DTYPES, OPERATORS, SHAPES, Graph
from test_script_programs import LIBRARY_CALLS, PROGRAMS, read
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.frontend.script import parse_script, print_script
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.runtime import interpret


def read_back(module: ModuleOp) -> ModuleOp:
    """What a module's script says; the same text, when it is printed again."""
    text = print_script(module)
    again = parse_script(text)
    assert print_script(again) == text
    return again


def assert_comes_back(module: ModuleOp) -> None:
    again = read_back(module)
    assert again.is_structurally_equivalent(module), print_script(module)


@pytest.mark.parametrize("name", [*PROGRAMS, *LIBRARY_CALLS])
def test_programs(name: str):
    assert_comes_back(read(name))


OPERATORS_ALONE = [pytest.param(operator_program(*case), id=str(i)) for i, case in enumerate(CASES)]


@pytest.mark.parametrize("text", OPERATORS_ALONE)
def test_operators(text: str):
    assert_comes_back(parse_module(text))


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_loops_of_operators(make: MakeOperator, operands: list[Array]):
    """Constants may be read in another place, but every step gives what it gave."""
    module = LegalizeOpsPass()(parse_module(operator_program(make, operands)))
    again = read_back(module)
    assert_comes_back(again)
    expected, found = (interpret(m)["main"](*operands) for m in (module, again))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=40)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from(DTYPES))
    graph = Graph([random_array(rng, dtype, shape) for shape in data.draw(st.lists(SHAPES, min_size=1, max_size=3))])
    for operator in data.draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=15)):
        if fitting := graph.operands(operator):
            graph.add(operator, data.draw(st.sampled_from(fitting)))
    returned = data.draw(st.lists(st.integers(0, len(graph.values) - 1), min_size=1, max_size=4))
    module = graph.module(returned)
    assert_comes_back(module)
    assert_comes_back(read_back(LegalizeOpsPass(strict=data.draw(st.booleans()))(module)))
