"""What a process does that compiles groups of operators for another one."""

from __future__ import annotations

from typing import Any

from relex.dialects.parser import parse_module
from relex.lowering.support.worker_pool import Message
from relex.runtime.cache_key import compiler_key
from relex.runtime.compilation import compile_groups
from relex.runtime.gc_pause import UNCOLLECTED
from relex.runtime.kernel_cache import Kernels
from relex.runtime.kernel_workers import Collected


@UNCOLLECTED
def answer(head: dict[str, Any], text: bytes) -> Message:
    """Compile the groups of a module. Raises `ValueError` if this process would compile them in another way."""
    module = parse_module(text.decode(), verify=False)
    if compiler_key(module) != head["compiler"]:
        raise ValueError("expected the same compiler")
    cache = Collected(head["compiler"])
    compile_groups(module, Kernels(cache), head["strict"])
    return {}, cache.packed()
