"""Passes of others in the default compilation: where they run, and what is kept of programs compiled with them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from relex.dialects import RelexError, parse_module
from relex.dialects.errors import DTypeError, UnknownNameError
from relex.dialects.relex import ReluOp
from relex.dialects.tir import PrimFuncOp
from relex.lowering.relex_pipeline import RelexPipelinePass, pipeline
from relex.passes import FuseOpsPass, RelexPass, extends_pipeline, placed
from relex.passes.driver.extension import AnyExtension
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import op, wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule
from relex.reference import NotEquivalentError, check_pass
from relex.runtime import build, build_object
from relex.runtime.cache_key import cache_key

PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""
X = np.array([-1, 2, -3], np.float32)


@extends_pipeline(before=FuseOpsPass)
@dataclass(frozen=True)
class NegateReluPass(RulesPass):
    """A pass that changes results, so that they show whether it has run."""

    name = "negate-relu"

    wrong: bool = True
    rules = (rule(operators.relu(wildcard("x")), lambda m: operators.minimum(m.x, operators.negative(m.x))),)


@extends_pipeline(after="legalize-ops", before="fuse-tir")
@dataclass(frozen=True)
class CountLoopFunctionsPass(RelexPass):
    """Notes how many functions of each kind there are."""

    name = "count-loop-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        SEEN.append((sum(isinstance(f, FuncOp) for f in op.ops), sum(isinstance(f, PrimFuncOp) for f in op.ops)))


SEEN: list[tuple[int, int]] = []


@dataclass(frozen=True)
class NothingPass(ModulePass):
    """Does nothing."""

    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class OtherPass(NothingPass):
    """Does nothing either."""

    name = "other"


def names(passes: Sequence[AnyExtension], *, strict: bool = False) -> list[str]:
    return [p.name for _, group in pipeline(strict=strict, passes=passes) for p in group]


def test_a_pass_runs_where_it_belongs():
    assert build(PROGRAM, passes=[NegateReluPass()])["main"](X).tolist() == [-1.0, -2.0, -3.0]
    assert build(PROGRAM)["main"](X).tolist() == [0.0, 2.0, 0.0]
    SEEN.clear()
    build(PROGRAM, passes=[CountLoopFunctionsPass()])
    assert SEEN == [(2, 1)]


def test_the_c_export_runs_it(tmp_path: Path):
    SEEN.clear()
    build_object(PROGRAM, tmp_path / "model.o", passes=[CountLoopFunctionsPass()])
    assert SEEN == [(2, 1)]


def test_a_profile_runs_it():
    ex = build(PROGRAM, passes=[CountLoopFunctionsPass()])
    SEEN.clear()
    ex.profile(X)
    assert SEEN == [(2, 1)]


def test_places():
    usual = names([])
    start, end = usual.index("fuse-ops"), usual.index("plan-memory")
    assert names([NegateReluPass()]) == [*usual[:start], "negate-relu", *usual[start:]]
    assert names([placed(NothingPass(), after="plan-memory")]) == [*usual[: end + 1], "nothing", *usual[end + 1 :]]
    # Another place than the declared one, passes of xDSL, the first and the last place.
    moved = placed(CountLoopFunctionsPass(), after="plan-memory")
    assert names([moved])[end + 1] == "count-loop-functions"
    assert names([placed(CommonSubexpressionElimination(), before="set-target")])[0] == "cse"
    assert names([placed(CommonSubexpressionElimination(), after=usual[-1])])[-1] == "cse"


def test_passes_at_one_place_keep_their_order():
    nothing, other = placed(NothingPass(), after="plan-memory"), placed(OtherPass(), after="plan-memory")
    for pair in ([nothing, other], [other, nothing]):
        found = names(pair)
        assert found[found.index("plan-memory") + 1 :][:2] == [p.p.name for p in pair]
    nothing, other = placed(NothingPass(), before="plan-memory"), placed(OtherPass(), before="plan-memory")
    found = names([nothing, other])
    assert found[: found.index("plan-memory")][-2:] == ["nothing", "other"]


def test_places_relative_to_passes_of_others():
    found = names([placed(OtherPass(), after=NothingPass), placed(NothingPass(), after="plan-memory")])
    assert found[found.index("plan-memory") :][:3] == ["plan-memory", "nothing", "other"]


def test_a_place_at_a_pass_that_only_strict_compilation_leaves_out():
    found = names([placed(NothingPass(), after="expand-math")], strict=True)
    assert "expand-math" not in found
    assert found[found.index("vectorize-loops") + 1] == "nothing"


def test_levels_that_are_not_reached():
    p = RelexPipelinePass("graph", passes=[NegateReluPass(), CountLoopFunctionsPass()])
    assert [step.name for step in p.steps()][-1] == "negate-relu"
    assert "relex.relu" not in str(p(parse_module(PROGRAM)))


class Outlining(OutliningPass):
    """A pass on graphs."""

    name = "outlining"
    function_name = "f"
    pattern = op(ReluOp, wildcard("x"))


@pytest.mark.parametrize(
    ("passes", "error", "message"),
    [
        ([NothingPass()], RelexError, "expected a place for pass 'nothing' in the compilation: @extends_pipeline"),
        (
            [placed(NothingPass(), after="legalise-ops")],
            UnknownNameError,
            "'nothing' belongs after 'legalise-ops', but ",
        ),
        ([placed(NothingPass(), after="legalise-ops")], UnknownNameError, "did you mean 'legalize-ops'?"),
        ([placed(NothingPass(), after="my-own-pass")], UnknownNameError, "--dump-pass-pipeline prints them"),
        ([placed(NothingPass(), after="plan-memory", before="fuse-ops")], RelexError, "'plan-memory' runs later than"),
        (
            [placed(NothingPass(), after="other"), placed(OtherPass(), after="nothing")],
            RelexError,
            "found a cycle: 'nothing' after 'other', 'other' after 'nothing'",
        ),
        ([placed(NothingPass(), before="nothing")], RelexError, "found a cycle: 'nothing' before 'nothing'"),
        (
            [placed(NegateReluPass(), after="legalize-ops")],
            RelexError,
            "expected a place on level 'graph' for pass 'negate-relu', found after 'legalize-ops', which is on level "
            "'loops'",
        ),
        ([placed(Outlining(), after="plan-memory")], RelexError, "expected a place on level 'graph'"),
        ([NegateReluPass], RelexError, r"found the class NegateReluPass: write NegateReluPass\(\)"),
        (["negate-relu"], DTypeError, "passes expected a pass, found"),
    ],
)
def test_places_that_do_not_fit(passes: Sequence[AnyExtension], error: type[Exception], message: str):
    with pytest.raises(error, match=message.replace("?", r"\?")):
        build(PROGRAM, passes=passes)


def test_declarations_that_say_nothing():
    with pytest.raises(RelexError, match=r"after=... or before=..., found neither"):
        extends_pipeline()
    with pytest.raises(RelexError, match="expected the name or the class of a pass, found int"):
        extends_pipeline(after=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RelexError, match="extends_pipeline expected the class of a pass"):
        extends_pipeline(after="cse")(NothingPass())  # pyright: ignore[reportArgumentType]


def test_check_pass_checks_it():
    with pytest.raises(NotEquivalentError, match="pass 'negate-relu' changes what @main computes"):
        check_pass(RelexPipelinePass("graph", passes=[NegateReluPass()]), parse_module(PROGRAM))


def test_a_pass_that_breaks_the_program_is_named():
    @dataclass(frozen=True)
    class BreakPass(NothingPass):
        name = "break"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in op.walk():
                if isinstance(inner, FuncOp):
                    inner.body.block.erase_op(inner.body.block.ops.last)  # pyright: ignore[reportArgumentType]

    with pytest.raises(RelexError, match="after pass 'break'"):
        build(PROGRAM, passes=[placed(BreakPass(), after="fold-constants")])


def key(*passes: AnyExtension) -> str | None:
    return cache_key(parse_module(PROGRAM), strict=False, target=None, passes=passes)


def test_cached_programs_are_those_of_their_passes(tmp_path: Path):
    for _ in range(2):
        assert build(PROGRAM, cache=tmp_path, passes=[NegateReluPass()])["main"](X).tolist() == [-1.0, -2.0, -3.0]
        assert build(PROGRAM, cache=tmp_path)["main"](X).tolist() == [0.0, 2.0, 0.0]
    assert len(list(tmp_path.iterdir())) == 2


def test_options_and_places_count():
    nothing, other = placed(NothingPass(), after="fuse-ops"), placed(OtherPass(), after="fuse-ops")
    keys = [
        key(),
        key(NegateReluPass()),
        key(NegateReluPass(wrong=False)),
        key(nothing),
        key(placed(NothingPass(), before="fuse-ops")),
        key(nothing, other),
        key(other, nothing),
    ]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key(NegateReluPass()) == keys[1]


def test_passes_that_no_file_tells_are_not_cached(tmp_path: Path):
    number = 1

    @dataclass(frozen=True)
    class LocalPass(NothingPass):
        name = "local"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            assert number

    @dataclass(frozen=True)
    class WithFunctionPass(NothingPass):
        name = "with-function"

        function: object = len

    assert key(placed(LocalPass(), after="fuse-ops")) is None
    assert key(placed(WithFunctionPass(), after="fuse-ops")) is None


def test_files_of_passes_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file that is loaded has no name to import it by; it may import the files next to it."""
    from relex.runtime import cache_key as module
    from relex.tools.options.plugins import Plugins

    source = "from relex.passes import extends_pipeline\nfrom test_pipeline_extensions import NothingPass\n"
    source += "@extends_pipeline(after='fuse-ops')\nclass MyPass(NothingPass):\n    name = 'mine'\n"
    monkeypatch.setitem(sys.modules, "test_pipeline_extensions", sys.modules[__name__])
    file, neighbour = tmp_path / "mine.py", tmp_path / "neighbour.py"
    keys: set[str | None] = set()
    for text, other in ((source, ""), (source + "\n", ""), (source + "\n", "#")):
        file.write_text(text)
        neighbour.write_text(other)
        module._digest_of_file.cache_clear()  # pyright: ignore[reportPrivateUsage]
        plugins = Plugins()
        plugins.load(str(file))
        found = [key(*plugins.extensions()) for _ in range(2)]
        assert found[0] == found[1]
        keys.add(found[0])
    assert None not in keys
    assert len(keys) == 3


def test_options_that_must_be_given(tmp_path: Path):
    from relex.tools.options.plugins import Plugins
    from relex.tools.shell.diagnostics import ToolError

    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom xdsl.passes import ModulePass\n"
        "from relex.passes import extends_pipeline\n@extends_pipeline(after='fuse-ops')\n@dataclass(frozen=True)\n"
        "class MyPass(ModulePass):\n    name = 'mine'\n    factor: int\n    def apply(self, ctx, op): pass\n"
    )
    plugins = Plugins()
    plugins.load(str(file))
    with pytest.raises(ToolError, match=r"pass 'mine': .*factor"):
        plugins.extensions()
