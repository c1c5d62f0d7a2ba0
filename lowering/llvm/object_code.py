"""The LLVM dialect to object code, by LLVM itself."""

from __future__ import annotations

from collections.abc import Mapping

import llvmlite.binding as llvm
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, Diagnostic, RelexError
from relex.dialects.machine import ObjectCode, Target
from relex.dialects.target import get_target
from relex.lowering.llvm.features import check_target, native_target, used_features
from relex.lowering.llvm.translate import translate

DEFAULT_LEVEL = 1
"""How hard LLVM optimizes, from 0 to 3 as in `clang -O2`; from 1 on it vectorizes the loops that are left. What level 2
does in addition takes a third longer, and no kernel is faster for it: relex has shaped the loops before."""


def compile_module(
    module: ModuleOp,
    *,
    opt_level: int = DEFAULT_LEVEL,
    embed_constants: bool = False,
    names: Mapping[str, str] | None = None,
) -> ObjectCode:
    """Compile a module of the LLVM dialect for the target that it names, or for the machine that this runs on.

    `opt_level` is 0 to 3; see `DEFAULT_LEVEL`. With `embed_constants` the code has every constant in it and needs no
    symbols but those of the C library. With `names`, only the functions that it has are seen from outside, by new
    names; other functions that the code calls keep theirs.

    Raises `CompileError` at an op that is not of the LLVM dialect, `UnknownNameError` for an unknown triple or cpu,
    `RelexError` for another level.
    """
    return _Compilation(module, opt_level, embed_constants, names).object_code()


def compile_to_assembly(module: ModuleOp, *, opt_level: int = DEFAULT_LEVEL, embed_constants: bool = True) -> str:
    """Like `compile_module`, but the text of the assembly program."""
    return _Compilation(module, opt_level, embed_constants).assembly()


class _Compilation:
    """A module in LLVM's memory, optimized, and the machine to emit code for."""

    def __init__(self, module: ModuleOp, opt_level: int, embed_constants: bool, names: Mapping[str, str] | None = None):
        if opt_level not in range(4):
            raise RelexError(f"expected an optimization level of 0 to 3, found {opt_level}")
        self._target = get_target(module) or Target.host()
        check_target(self._target)
        translation = translate(module, triple=self._target.triple, embed_constants=embed_constants)
        self._constants = translation.constants
        self._machine = native_target(self._target.triple).create_target_machine(
            cpu=self._target.cpu, features=self._target.features, opt=opt_level, reloc="pic", codemodel="default"
        )
        try:
            self._module = llvm.parse_assembly(translation.text)
            self._module.verify()
        except RuntimeError as e:
            raise CompileError(Diagnostic(f"LLVM refuses the module: {str(e).strip()}")) from e
        self._module.data_layout = str(self._machine.target_data)
        if names is not None:
            self._rename(names)
        options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
        builder = llvm.create_pass_builder(self._machine, options)
        builder.getModulePassManager().run(self._module, builder)

    def _rename(self, names: Mapping[str, str]) -> None:
        """Hide what has no new name, before LLVM removes what is hidden and not used."""
        for value in (*self._module.functions, *self._module.global_variables):
            if value.name in names:
                value.name = names[value.name]
            elif not value.is_declaration:
                value.linkage = llvm.Linkage.internal

    def object_code(self) -> ObjectCode:
        functions: list[str] = []
        imports: list[str] = []
        for function in self._module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                functions.append(function.name)
            elif function.is_declaration and not function.name.startswith("llvm."):
                imports.append(function.name)
        code = self._machine.emit_object(self._module)
        needs = used_features(self._target)
        return ObjectCode(code, tuple(functions), tuple(imports), self._constants, self._target, needs)

    def assembly(self) -> str:
        return self._machine.emit_assembly(self._module)
