"""What a compiled program depends on, in one short text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.dialects.machine import Target
from relex.dialects.printer import ExactPrinter
from relex.dialects.sizes.analysis import SIZES
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.lower_call_tir import GRAPH_TO_BUFFERS
from relex.lowering.scalars import SCALARS
from relex.runtime.container import VERSION

_FLOORS = ("dialects", "passes", "lowering", "runtime")
_LONG = 256
"""From how many bytes on the contents of a constant are replaced by their digest."""


def cache_key(module: ModuleOp, *, strict: bool, target: Target | None) -> str | None:
    """The name of what a module is compiled to. None where rules that relex does not know well take part: what they do
    may change without a sign."""
    if any(not _is_known(rule) for rule in _open_rules()):
        return None
    host, wanted = Target.host(), target or Target("")
    facts = [VERSION, *_versions(), str(host), str(wanted), strict, _text(module)]
    return sha256(json.dumps(facts).encode()).hexdigest()


def _open_rules() -> Iterator[Any]:
    """What stands in the tables that others may add to."""
    yield from LEGALIZATIONS.values()
    yield from GRAPH_TO_BUFFERS.rules().values()
    yield from SIZES.rules()
    for scalar in SCALARS.values():
        yield from filter(None, (scalar.on_float, scalar.on_integer, scalar.on_bool))


def _is_known(rule: Any) -> bool:
    function = rule.func if isinstance(rule, partial) else rule
    return function.__module__.partition(".")[0] in ("relex", "xdsl")


@cache
def _versions() -> list[str]:
    """Of the compiler, and of what it stands on. A checkout of relex changes without a new version: its files count."""
    # It takes long to import, and most programs are not kept.
    from importlib.metadata import version

    digest = sha256()
    for floor in _FLOORS:
        spec = find_spec(f"relex.{floor}")
        for folder in spec.submodule_search_locations or () if spec is not None else ():
            for file in sorted(Path(folder).rglob("*.py")):
                status = file.stat()
                digest.update(f"{file}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return [*map(version, ("relex", "xdsl", "llvmlite")), digest.hexdigest()]


class _KeyPrinter(ExactPrinter):
    """Prints long constants by their digests: the text is for comparing."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isa(attribute, DenseIntOrFPElementsAttr) and len(attribute.data.data) >= _LONG:
            self.print_string(sha256(attribute.data.data).hexdigest())
            super().print_attribute(attribute.get_type())
        else:
            super().print_attribute(attribute)


def _text(module: ModuleOp) -> str:
    text = StringIO()
    _KeyPrinter(stream=text).print_op(module)
    return text.getvalue()
