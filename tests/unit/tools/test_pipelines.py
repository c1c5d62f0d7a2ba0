"""Options of passes as text: what is read is the value, and what is printed is read back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from relex.tools.options.pipelines import (
    instantiate,
    parse_pass_flag,
    parse_pass_pipeline,
    parse_passes,
    pass_text,
    pipeline_text,
)
from relex.tools.shell.diagnostics import ToolError


@dataclass(frozen=True)
class OptionsPass(ModulePass):
    """A pass with an option of every type."""

    name = "options"

    tolerance: float = 0.0
    limit: float | None = None
    sizes: tuple[int, ...] = ()
    scales: tuple[float, ...] | None = None
    tag: str = ""
    number: int | float = 0
    exact: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def read(spec: ArgSpec) -> OptionsPass:
    return instantiate("pass", OptionsPass, spec)


FLOATS = {
    "1e-9": 1e-9, "1E5": 1e5, "2.e+3": 2000.0, ".5": 0.5, "-.5e1": -5.0, "+3": 3.0, "1": 1.0, "-0.0": -0.0,
    "inf": math.inf, "-inf": -math.inf, "+inf": math.inf, "nan": math.nan,
}  # fmt: skip


@pytest.mark.parametrize("text", FLOATS)
def test_floats(text: str) -> None:
    found = [
        read(parse_passes(f"options{{tolerance={text} limit={text} scales=1,{text}}}")[0]),
        read(parse_pass_pipeline(f"builtin.module(options{{tolerance={text} limit={text} scales={{1,{text}}}}})")[0]),
        read(parse_pass_flag(f"options=tolerance={text} limit={text} scales=1,{text}")),
    ]
    for p in found:
        for value in (p.tolerance, p.limit, p.scales[1] if p.scales else None):
            assert type(value) is float
            assert repr(value) == repr(FLOATS[text])
        assert repr(read(parse_passes(pass_text(p))[0])) == repr(p)


@pytest.mark.parametrize("text", ["e5", "1e", ".", "1.5f", "0x1p3", "infinity", "1_0", "--1", '"a"', "true", "1,2"])
def test_what_is_no_float(text: str) -> None:
    with pytest.raises(ToolError, match="pass 'options': expected float for option 'tolerance', found"):
        read(parse_passes(f"options{{tolerance={text}}}")[0])


@pytest.mark.parametrize("text", ["15", "1e-9", "inf", "true", "a.b", "+fma", ".5"])
def test_text_may_look_like_a_number(text: str) -> None:
    assert read(parse_passes(f"options{{tag={text}}}")[0]).tag == text
    assert read(parse_passes(f'options{{tag="{text}"}}')[0]).tag == text


def test_an_int_or_float_is_what_it_looks_like() -> None:
    assert [repr(read(parse_passes(f"options{{number={text}}}")[0]).number) for text in ("3", "3.0", "3e0")] == [
        "3", "3.0", "3.0",
    ]  # fmt: skip


PASSES = st.builds(
    OptionsPass,
    tolerance=st.floats(),
    limit=st.none() | st.floats(),
    sizes=st.lists(st.integers(), min_size=1).map(tuple),
    scales=st.none() | st.lists(st.floats(), min_size=1).map(tuple),
    tag=st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])),
    number=st.integers() | st.floats(),
    exact=st.booleans(),
)


@given(st.lists(PASSES, min_size=1, max_size=3))
def test_what_is_printed_is_read_back(passes: list[OptionsPass]) -> None:
    assert repr([read(spec) for spec in parse_pass_pipeline(pipeline_text(passes))]) == repr(passes)
