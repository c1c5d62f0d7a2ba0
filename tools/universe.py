"""relex's universe for `xdsl-opt` and every other tool that loads xDSL's entry points.

xDSL imports this module whenever such a tool starts, so it contains only names and factories: a dialect or pass is
imported on first use. Two universes that define the same name make every tool fail, so names that xDSL itself defines
are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.targets import get_all_targets as get_xdsl_targets
from xdsl.transforms import get_all_passes as get_xdsl_passes
from xdsl.universe import Universe
from xdsl.utils.target import Target

from relex.extras import imported, parts

T = TypeVar("T")

TARGETS = {
    "llvm": "relex.lowering.llvm.targets:LlvmTarget",
    "asm": "relex.lowering.llvm.targets:AsmTarget",
    "obj": "relex.lowering.llvm.targets:ObjTarget",
    **parts("targets"),
}
"""Targets by name, as `module:class`."""


def get_all_targets() -> dict[str, Callable[[], type[Target]]]:
    """Return the targets of `relex-opt -t` by name, each imported on first use."""
    return {name: partial(imported, home) for name, home in TARGETS.items()}


def get_all_frontends() -> dict[str, Callable[[], type]]:
    """Return the frontends of `xdsl-opt -f`, one for each suffix of program files, each made on first use."""
    from relex.dialects.readers import known_suffixes

    return {suffix: partial(_frontend, suffix) for suffix in known_suffixes()}


def _frontend(suffix: str) -> type:
    from relex.tools.frontends import frontend

    return frontend(suffix)


def _without(names: Mapping[str, T], taken: Mapping[str, T]) -> dict[str, T]:
    return {name: factory for name, factory in names.items() if name not in taken}


def make_universe() -> Universe:
    """Return everything that relex has and xDSL lacks, or an empty universe and a warning if relex cannot be
    imported."""
    try:
        from relex.dialects.context import get_all_dialects
        from relex.dialects.upstream import versions
        from relex.lowering import PASSES as LOWERING_PASSES
        from relex.passes import PASSES
    except Exception as e:
        # An exception here would break tools unrelated to relex.
        warnings.warn(f"relex cannot be used: {type(e).__name__}: {e}", stacklevel=2)
        return Universe()
    return versions.universe(
        _without(get_all_frontends(), versions.xdsl_frontends()),
        all_dialects=_without(get_all_dialects(), get_xdsl_dialects()),
        all_passes=_without({**PASSES, **LOWERING_PASSES}, get_xdsl_passes()),
        all_targets=_without(get_all_targets(), get_xdsl_targets()),
    )


RELEX_UNIVERSE = make_universe()
