"""Debug locations of LLVM, which survive its passes: they tell which op each instruction comes from."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from relex.dialects.target.llvm_binding import ir

LineOf = Callable[[Operation], int]
"""What gives an op the number that stands for a line; 0 if its place is unknown."""


class DebugLines:
    """The debug locations of a module. All are in one file, which need not exist."""

    def __init__(self, target: ir.Module, line_of: LineOf):
        self._target, self._line_of = target, line_of
        self._file = target.add_debug_info("DIFile", {"filename": "program", "directory": ""})
        producer: dict[str, object] = {"language": ir.DIToken("DW_LANG_C"), "file": self._file, "isOptimized": True}
        kinds: dict[str, object] = {"runtimeVersion": 0, "emissionKind": ir.DIToken("LineTablesOnly")}
        self._unit = target.add_debug_info("DICompileUnit", {**producer, **kinds}, is_distinct=True)
        self._type = target.add_debug_info("DISubroutineType", {"types": target.add_metadata([None])})
        target.add_named_metadata("llvm.dbg.cu", self._unit)
        i32 = ir.IntType(32)
        target.add_named_metadata("llvm.module.flags", [i32(2), "Debug Info Version", i32(3)])
        self._scope: ir.DIValue | None = None
        self._known: dict[int, ir.DIValue] = {}

    def enter(self, function: ir.Function) -> None:
        """Begin the body of a function."""
        described: dict[str, object] = {
            "name": function.name,
            "scope": self._file,
            "file": self._file,
            "line": 0,
            "type": self._type,
        }
        flags: dict[str, object] = {"spFlags": ir.DIToken("DISPFlagDefinition"), "unit": self._unit}
        self._scope = self._target.add_debug_info("DISubprogram", {**described, **flags}, is_distinct=True)
        function.set_metadata("dbg", self._scope)
        self._known.clear()

    def at(self, op: Operation) -> ir.DIValue:
        """Return the location of an op of the function."""
        line = self._line_of(op)
        if line not in self._known:
            place = {"line": line, "column": 0, "scope": self._scope}
            self._known[line] = self._target.add_debug_info("DILocation", place)
        return self._known[line]
