"""What a process does that compiles LLVM IR for another one.

Only LLVM is imported, so that it starts in a tenth of a second.
"""

from __future__ import annotations

from typing import Any

from relex.dialects.target.machine import Target
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, compile_source
from relex.lowering.support.worker_pool import Message


def answer(head: dict[str, Any], text: bytes) -> Message:
    """Compile LLVM IR."""
    emitted = compile_source(CompileJob(text.decode(), Target(**head["target"]), head["level"]))
    return {"functions": emitted.functions, "imports": emitted.imports}, emitted.code
