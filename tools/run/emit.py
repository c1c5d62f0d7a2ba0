"""`--emit` of relex-run: the program at a level, as LLVM IR, as assembly or as object code."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.context import make_context
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.upstream.printer import as_text
from relex.lowering.llvm.targets import AsmTarget, LlvmTarget, ObjTarget
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.tools.shell.diagnostics import ToolError, write_bytes

LEVELS = ("graph", "loops", "core")
CODE = {"llvm": LlvmTarget(), "asm": AsmTarget(), "obj": ObjTarget()}


def emit(
    module: ModuleOp,
    form: str,
    file: str | None,
    *,
    target: Target | None,
    **options: Any,
) -> None:
    """Write the program in a form to a file, or print it. `options` are the options of `RelexPipelinePass`. Raises
    `ToolError` for object code on a terminal."""
    module, context = module.clone(), make_context()
    if target is not None:
        set_target(module, target)
    level = form if form in LEVELS else "llvm"
    RelexPipelinePass(level, **options).apply(context, module)  # pyright: ignore[reportArgumentType]
    if form in LEVELS:
        data = as_text(module, context).encode()
    elif form == "obj":
        if file is None and sys.stdout.isatty():
            raise ToolError("expected --output FILE.o with --emit obj: object code is not for a terminal")
        data = ObjTarget().emit_bytes(context, module)
    else:
        text = StringIO()
        CODE[form].emit(context, module, text)
        data = text.getvalue().encode()
    if file is not None:
        write_bytes(file, data)
    elif form == "obj":
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(data.decode())
