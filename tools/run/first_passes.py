"""`relex-run -p`: passes that run on a program before it is compiled or interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from relex.dialects.errors import Diagnostic
from relex.tools.options.pipelines import PassFactory, find_pass, instantiate, parse_passes
from relex.tools.shell.diagnostics import Source, compile_warnings, stage

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from relex.tools.options.plugins import Plugins


def known_passes() -> dict[str, PassFactory]:
    """Return the passes that are installed, by name."""
    from xdsl.universe import Universe

    from relex.lowering import PASSES as LOWERING_PASSES
    from relex.passes import PASSES

    return {**Universe.get_multiverse().all_passes, **PASSES, **LOWERING_PASSES}


def passes_named(text: str, plugins: Plugins) -> list[ModulePass]:
    """Return the passes that a pipeline names, as `relex-opt -p` does. Raises `ToolError` for an unknown one."""
    known = known_passes()
    plugins.add_passes(known)
    return [plugins.extended(instantiate("pass", find_pass(spec.name, known), spec)) for spec in parse_passes(text)]


def run_passes(
    passes: Sequence[ModulePass],
    module: ModuleOp,
    context: Context,
    source: Source,
    show: Callable[[Diagnostic], None],
) -> None:
    """Run passes on a module, and verify it after each; `show` prints what they warn of."""
    from relex.passes.driver.base import apply_pass, verify_after

    for p in passes:
        with stage(f"pass '{p.name}'", source), compile_warnings(show):
            apply_pass(p, context, module)
            verify_after(p, module)
