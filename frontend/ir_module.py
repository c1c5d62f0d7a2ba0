"""Modules with the methods that TVM's modules have."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface

from relex.dialects.errors import PassError, expect_module
from relex.dialects.function_arguments import find_function
from relex.dialects.symbols import symbol_of
from relex.extras import find_part


class IRModule(ModuleOp):
    """
    A module with names that readers of TVM know: `mod["main"]`, `mod.functions`, `mod.show()`, `mod.script()`.

    It is a `ModuleOp`, so it can be given wherever a module can; what a pass makes of it is one, too. Modules that
    programs construct in Python, by `I.ir_module` or a `BlockBuilder`, are of this class. `IRModule.of` copies others.
    """

    @classmethod
    def of(cls, module: ModuleOp) -> IRModule:
        """Return a copy of any module. Raises `DTypeError` for anything else."""
        expect_module(module, "IRModule.of")
        return cls.taking(module.clone())

    @classmethod
    def taking(cls, module: ModuleOp) -> IRModule:
        """Return a module with the functions of another one, which loses them."""
        made = cls(module.detach_region(module.body), module.attributes, module.sym_name)
        made.location = module.location
        return made

    @property
    def functions(self) -> Mapping[str, Operation]:
        """The functions by name, in the order of the program."""
        symbols = (op for op in self.ops if op.has_trait(SymbolOpInterface))
        return {name: op for op in symbols if (name := symbol_of(op)) is not None}

    def __getitem__(self, name: str) -> Operation:
        """Return the function of that name. Raises `UnknownNameError` if there is none."""
        return find_function(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def script(self) -> str:
        """Return the module as TVMScript, with long constants left out. Raises `PassError` for a module that scripts
        cannot express, as below the level of loops."""
        return find_part("print-script")(self, elide=True)

    def show(self) -> None:
        """Print the module for reading: as TVMScript, or as MLIR text if scripts cannot express it. `relex.show` always
        prints MLIR."""
        from relex.tools.shell.display import show, show_script

        try:
            show_script(self.script())
        except PassError:
            show(self)
