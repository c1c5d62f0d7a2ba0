"""Programs that use tiles of AMX, as native code for any x86-64: instructions on tiles become calls of functions in
`software_tiles.c`, which follow the shapes that the code sets, and stop the process where a processor would."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.lowering.llvm.c_interface import call, declaration
from relex.lowering.relex_pipeline import RelexPipelinePass, passes_for
from relex.runtime import build
from relex.runtime.executable import Executable

HOST = Target.host()

TILES = Target(HOST.triple, HOST.cpu, f"{HOST.features},+amx-tile,+amx-int8,+amx-bf16")
"""This machine, with tiles."""

needs_software_tiles = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux" or not HOST.triple.startswith("x86_64"),
    reason="needs a C compiler, Linux's names of libraries, and an x86-64 processor",
)

PREFIX = "llvm.x86."


@cache
def library() -> Any:
    """The functions, which code that is loaded later finds."""
    folder = tempfile.mkdtemp(prefix="relex-tiles-")
    path = Path(folder) / "tiles.so"
    source = Path(__file__).with_suffix(".c")
    flags = "-O2 -Wall -Wextra -Werror -ffp-contract=off -shared -fPIC".split()
    subprocess.run(["cc", *flags, "-o", path, source, "-lm"], check=True)
    loaded = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    loaded.soft_tiles_count.restype = ctypes.c_long
    shutil.rmtree(folder)
    return loaded


def counts() -> list[int]:
    """How often tiles were configured and released so far, and the number of products."""
    return [library().soft_tiles_count(which) for which in range(3)]


def in_software(module: ModuleOp, precision: str = "f32") -> Executable:
    """Build a program for this machine with tiles, with functions in place of the instructions on tiles."""
    library()
    module = module.clone()
    set_target(module, TILES)
    lowered = RelexPipelinePass(passes=passes_for(precision))(module)
    declared: set[str] = set()
    for op in list(lowered.walk()):
        if not isinstance(op, llvm.CallIntrinsicOp) or not op.intrin.data.startswith((f"{PREFIX}t", f"{PREFIX}ldtile")):
            continue
        name = f"soft_{op.intrin.data.removeprefix(PREFIX)}"
        if name not in declared:
            declared.add(name)
            types = [operand.type for operand in op.args]
            made = declaration(name, types, llvm.LLVMVoidType())
            Rewriter.insert_op(made, InsertPoint.at_start(lowered.body.block))
        Rewriter.replace_op(op, call(SymbolRefAttr(name), list(op.args), llvm.LLVMVoidType()), [])
    set_target(lowered, HOST)
    return build(lowered)
