"""Placeholders for operators whose fused kernel is cached.

A sketch stands for the loop function of an operator: it has its arguments and the pattern by which operators are fused,
but no loops. A function fused from sketches is looked up by the recipes of its operators. A sketch whose loops are
needed after all is found by the symbol in its body, which moves wherever the loops would have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from relex.dialects.dtypes import buffer_of
from relex.dialects.fingerprint import fingerprint, fingerprint_of_attributes
from relex.dialects.names import Names
from relex.dialects.relex import CallDpsPackedOp, CallTirOp, ConstantOp, Operator
from relex.dialects.relex.calls import PRIMITIVE_ATTR
from relex.dialects.relex.types import tensor_type
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.symbols import symbols_used
from relex.dialects.tir import CallLoopsOp, OpPattern, PrimFuncOp
from relex.dialects.tir.op_pattern import get_op_pattern, set_op_pattern
from relex.dialects.walks import walk
from relex.lowering.kernels.marks import RECIPE_ATTR, recipe_of
from relex.lowering.llvm.reserved import RESERVED

PREFIX = "relex.sketch."
"""The prefix of the symbol in a sketch, before the recipe of its operator."""


@dataclass(frozen=True)
class Outline:
    """The properties of an operator's loop function that fusion needs: its pattern, and whether it may be no more than
    a copy."""

    pattern: OpPattern
    is_copy: bool

    @classmethod
    def of(cls, function: PrimFuncOp) -> Outline | None:
        """Return the outline of a function that states its pattern."""
        pattern = get_op_pattern(function)
        stores = [op for op in walk(function) if isinstance(op, memref.StoreOp)]
        is_copy = all(isinstance(store.value.owner, memref.LoadOp) for store in stores)
        return None if pattern is None else cls(pattern, is_copy)

    def __str__(self) -> str:
        return f"{self.pattern.value} {self.is_copy}"

    @classmethod
    def parse(cls, text: str) -> Outline | None:
        """Parse an outline; None if the text is not one."""
        pattern, _, is_copy = text.partition(" ")
        return cls(OpPattern(pattern), is_copy == str(True)) if pattern in list(OpPattern) else None


@dataclass
class Sketches:
    """The operators of a program while it is lowered. `recall` returns the outline of an operator's loop function,
    given its recipe, if it may be a sketch."""

    recall: Callable[[str], Outline | None]
    members: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The recipes of the operators that each function was made from, by the recipe of the function."""
    outlines: dict[str, Outline] = field(default_factory=dict[str, Outline])
    """The outlines of operators that have been lowered."""
    _sketched: dict[str, Outline] = field(default_factory=dict[str, Outline])
    """The outlines of sketches, by name."""
    _operators: list[str | None] = field(default_factory=list[str | None])

    def sketch(self, module: ModuleOp) -> None:
        """Replace operators by calls of sketches."""
        names = Names.of_symbols(module, RESERVED)
        functions: dict[str, PrimFuncOp] = {}
        for op in [op for op in walk(module) if isinstance(op, Operator)]:
            recipe = _recipe(op)
            outline = self.recall(recipe) if recipe is not None else None
            if recipe is None or outline is None or self._depends_on_loops(op, outline):
                continue
            if recipe not in functions:
                functions[recipe] = _sketch(names.fresh(op.name.rpartition(".")[2]), op, outline.pattern, recipe)
                module.body.block.add_op(functions[recipe])
            name = functions[recipe].sym_name.data
            self._sketched[name] = outline
            call = CallTirOp(name, list(op.operands), list(map(tensor_type, op.result_types)))
            call.location = op.location
            Rewriter.replace_op(op, call)
        self._operators = [_recipe(op) if isinstance(op, Operator) else None for op in _calls(module, Operator)]

    def _depends_on_loops(self, op: Operator, outline: Outline) -> bool:
        """Return whether fusion looks at the loops of an operator, as it does for a product of copies."""
        if outline.pattern is not OpPattern.OUT_ELEMENTWISE_FUSABLE:
            return False
        owners = (value.owner for value in op.operands)
        return any(self._may_copy(o) for o in owners if isinstance(o, Operation) and not isinstance(o, ConstantOp))

    def _may_copy(self, op: Operation) -> bool:
        if isinstance(op, CallTirOp):
            outline = self._sketched.get(op.callee.root_reference.data)
        else:
            recipe = _recipe(op) if isinstance(op, Operator) else None
            outline = self.recall(recipe) if recipe is not None else None
        return outline is None or outline.is_copy

    def note_operators(self, module: ModuleOp) -> None:
        """State recipes on the loop functions that operators have become."""
        calls = [*_calls(module)]
        functions = {f.sym_name.data: f for f in module.ops if isinstance(f, PrimFuncOp)}
        if len(calls) != len(self._operators):
            return
        for call, recipe in zip(calls, self._operators, strict=True):
            if recipe is not None and isinstance(call, CallTirOp):
                functions[call.callee.root_reference.data].attributes[RECIPE_ATTR] = StringAttr(recipe)

    def note_groups(self, module: ModuleOp) -> None:
        """State recipes on the groups of calls that are to be fused."""
        recipes: dict[str, str] = {}
        for function in module.ops:
            if isinstance(function, PrimFuncOp) and (recipe := recipe_of(function)) is not None:
                recipes[function.sym_name.data] = recipe
                self.members[recipe] = frozenset((recipe,))
                if (outline := Outline.of(function)) is not None and not any(needed_sketches(function)):
                    self.outlines[recipe] = outline
        for group in module.ops:
            if isinstance(group, FuncOp) and PRIMITIVE_ATTR in group.attributes:
                name, called = group.sym_name.data, symbols_used(group)
                if called.keys() <= recipes.keys():
                    recipe = fingerprint([group], {**recipes, name: ""})[:32]
                    group.attributes[RECIPE_ATTR] = StringAttr(recipe)
                    self.members[recipe] = frozenset(recipes[callee] for callee in called)


def needed_sketches(function: Operation) -> Iterator[str]:
    """Yield the recipes of the sketches that a function contains."""
    return (name.removeprefix(PREFIX) for name in symbols_used(function) if name.startswith(PREFIX))


def _calls(module: ModuleOp, *others: type[Operation]) -> Iterator[Operation]:
    return (op for op in walk(module) if isinstance(op, (CallTirOp, CallDpsPackedOp, *others)))


def _recipe(op: Operation) -> str | None:
    """Return a digest of everything that determines the loops of an operator; None if sizes that are only known at run
    time do."""
    if any(map(has_unknown, (*op.operand_types, *op.result_types))):
        return None
    properties = sorted(op.properties.items())
    attributes = [*op.operand_types, *op.result_types, *(attr for _, attr in properties)]
    return fingerprint_of_attributes(f"{op.name} {[name for name, _ in properties]}", attributes)[:32]


def _sketch(name: str, op: Operator, pattern: OpPattern, recipe: str) -> PrimFuncOp:
    inputs, outputs = ([buffer_of(tensor_type(t)) for t in types] for types in (op.operand_types, op.result_types))
    function = PrimFuncOp(name, inputs, outputs, visibility="private")
    function.body.block.add_op(CallLoopsOp(f"{PREFIX}{recipe}", []))
    function.attributes[RECIPE_ATTR] = StringAttr(recipe)
    set_op_pattern(function, pattern)
    function.location = op.location
    return function
