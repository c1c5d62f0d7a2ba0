"""Kernels whose compiled code is cached: they are not lowered, scheduled and compiled again.

A group of operators is looked up right after `fuse-ops`, and a loop function that people wrote right after `fuse-tir`.
If it is known, a loop function without a body takes its place, so that passes have nothing to do. What its callers need
is stored with its code: how it packs constants, which arguments may share memory, and how much memory a call needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from relex.dialects.dtypes import buffer_of
from relex.dialects.fingerprint import fingerprint
from relex.dialects.function_arguments import PASSED_ATTR, SCHEDULED_ATTR
from relex.dialects.op_edits import index_constant
from relex.dialects.relex import PRIMITIVE_ATTR, CallOp, CallTirOp, Operator
from relex.dialects.relex.sliding_windows import SlidingWindows
from relex.dialects.relex.types import tensor_type
from relex.dialects.sizes import parse_requirement
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown, state_requirements
from relex.dialects.sizes.modules import ModuleSizes, keep_sizes
from relex.dialects.symbols import is_private, symbols_called, symbols_used
from relex.dialects.table import is_own
from relex.dialects.target.features import module_target
from relex.dialects.tir import AllocBufferOp, BlockOp, PrimFuncOp
from relex.dialects.tir.accesses import is_pure
from relex.dialects.walks import ancestors, walk
from relex.lowering.annotate_signatures import AnnotateSignaturesPass
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.kernels.alone import KernelGroup, constants_of
from relex.lowering.kernels.dynamic_groups import DynamicGroups
from relex.lowering.kernels.marks import RECIPE_ATTR, CompiledAs, recipe_of, set_body
from relex.lowering.legalizations.legalization_table import lowered_by
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.lowering.memory.in_place import pairs_in_place
from relex.lowering.memory.needs import MemoryNeeds
from relex.lowering.plan_memory import PlanMemoryPass
from relex.passes.analysis.constant_inputs import constant_of, known_calls
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.graph.carry_numbers import CarryNumbersPass
from relex.passes.graph.fuse_tir import replace_call
from relex.passes.graph.layout.reorderings import reorderings
from relex.passes.loops.annotate_finite import is_finite
from relex.passes.loops.inline_blocks import InlineBlocksPass
from relex.passes.loops.merge_loops import MergeLoopsPass
from relex.passes.loops.rewrite_layout import RewriteLayoutPass
from relex.passes.rewriting.memoize import function_text, parsed_function


@dataclass(frozen=True)
class LoopFunction:
    """The facts known about a loop function. `kernel` is the key of its code; it is empty if only variants of the
    function that work in place were compiled."""

    kernel: str = ""
    packing: bytes = b""
    """The text of a function of the same arguments that only packs constants; empty if there are none."""
    temporaries: tuple[str, ...] = ()
    in_place: tuple[tuple[int, int], ...] = ()
    requirements: tuple[str, ...] = ()
    """What it requires of dynamic sizes, for its temporaries too."""

    def __len__(self) -> int:
        return len(self.packing)


class NotKnownError(Exception):
    """Raised if functions were assumed to be known, but a fact that is needed about them is not. `recipes` are the
    recipes of these functions."""

    def __init__(self, recipes: Sequence[str]):
        super().__init__(*recipes)
        self.recipes = recipes


@dataclass(frozen=True)
class _Packing:
    """A function that packs constants, and one with the same arguments that does nothing else."""

    function: PrimFuncOp
    alone: PrimFuncOp
    buffers: Sequence[AllocBufferOp]
    """The buffers that the function packs constants into."""
    arguments: Sequence[BlockArgument]
    """The arguments of the function before constants are packed at compile time."""

    @classmethod
    def of(cls, function: PrimFuncOp, constants: Sequence[int]) -> _Packing | None:
        """Return the packing of the arguments that are constants; None if they are interleaved with other work."""
        copies = [copy for i in constants for copy in reorderings(function, function.args[i])]
        nests = {_outermost(copy.block, function): copy for copy in copies}
        if len(nests) < len(copies) or any([*blocks_in(nest)] != [copy.block] for nest, copy in nests.items()):
            return None
        buffers = [copy.buffer for copy in copies]
        block = Block(arg_types=function.function_type.inputs)
        values: dict[SSAValue, SSAValue] = dict(zip(function.args, block.args, strict=True))
        for op in function.body.block.ops if copies else ():
            if op in nests or op in buffers or (is_pure(op) and not op.regions):
                block.add_op(op.clone(values))
        alone = PrimFuncOp("packing", function.input_types, function.output_types, Region(block))
        return cls(function, alone, buffers, function.args)

    @property
    def is_done(self) -> bool:
        """True if all constants were packed at compile time."""
        return all(buffer.parent is None for buffer in self.buffers)

    def text(self) -> bytes:
        """Return the text of the function that packs constants. It uses the arguments that the function reads."""
        if not self.buffers:
            return b""
        block, left = self.alone.body.block, self.function.args
        for old, new in zip(self.arguments, block.args, strict=True):
            if old in left and new.uses:
                zero = index_constant(0)
                block.add_ops([zero, memref.DimOp(new, zero)])
        return function_text(self.alone).encode()


@dataclass
class LoopKernels:
    """The loop functions of a program while it is lowered.

    `recall` returns the facts known about a function, given its recipe; `resolve` also gets its code. `facts` say how
    functions are lowered. `compile_ahead` may compile groups of a module that are not known, and make them known.
    """

    facts: Sequence[str]
    recall: Callable[[str], LoopFunction | None]
    resolve: Callable[[str], CompiledAs | None]
    compile_ahead: Callable[[ModuleOp, Sequence[KernelGroup]], None] | None = None
    learned: dict[str, LoopFunction] = field(default_factory=dict[str, LoopFunction])
    _packing: list[tuple[str, _Packing | None]] = field(default_factory=list["tuple[str, _Packing | None]"])

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        """Look at the loop functions of a module before a pass. Raises `NotKnownError`."""
        for kind, step in _STEPS.items():
            if isinstance(p, kind):
                step(self, module)

    def look_up_groups(self, module: ModuleOp) -> None:
        """Replace groups of operators that are known by empty loop functions, and give the others a recipe."""
        dynamic = DynamicGroups()
        groups = self._groups(module, dynamic)
        if self.compile_ahead is not None:
            unknown = {group.recipe: group for group in groups if self.recall(group.recipe) is None}
            self.compile_ahead(module, [*unknown.values()])
        for group in groups:
            known = self.recall(group.recipe)
            if known is None:
                group.function.attributes[RECIPE_ATTR] = StringAttr(group.recipe)
                continue
            function = _without_body(group.function)
            function.attributes[RECIPE_ATTR] = StringAttr(group.recipe)
            CompiledAs("", (), in_place=known.in_place).mark(function)
            dynamic.call_instead(group.function, function)
            for call in group.calls:
                replace_call(call, group.function, function.sym_name.data)
            Rewriter.replace_op(group.function, function)

    def _groups(self, module: ModuleOp, dynamic: DynamicGroups) -> list[KernelGroup]:
        """Return the groups of a module that may be known."""
        calls: dict[str, list[CallOp]] = {}
        for op in walk(module):
            if isinstance(op, CallOp):
                calls.setdefault(op.callee.root_reference.data, []).append(op)
        uses, groups = symbols_called(module), list[KernelGroup]()
        for function in [f for f in module.ops if isinstance(f, FuncOp) and _is_of_operators(f)]:
            found = calls.get(function.sym_name.data, [])
            if found and uses[function.sym_name.data] == len(found) and dynamic.state(function, found):
                constants = constants_of(function, found)
                finite = _finite(function, constants, found)
                infinite = [i for i in constants if i not in finite] if _may_add_padding(function) else ()
                recipe = self._recipe_of(module, function, constants, finite)
                groups.append(KernelGroup(function, found, recipe, infinite))
        return groups

    def look_up(self, module: ModuleOp) -> None:
        """Empty the loop functions that people wrote and that are known, and give the others a recipe."""
        for known in known_calls(module):
            function = known.func
            if recipe_of(function) is not None or not _may_be_known(function):
                continue
            constants = sorted(known.constants)
            recipe = self._recipe_of(module, function, constants, _finite(function, constants, known.calls))
            function.attributes[RECIPE_ATTR] = StringAttr(recipe)
            if (found := self.recall(recipe)) is not None:
                set_body(function, Region(Block(arg_types=function.function_type.inputs)))
                CompiledAs("", (), in_place=found.in_place).mark(function)

    def _recipe_of(
        self, module: ModuleOp, function: FuncOp | PrimFuncOp, constants: Sequence[int], finite: Sequence[int]
    ) -> str:
        """Return a digest of what determines the code of a function: itself, the target, and which of its inputs are
        constants, and finite, in all calls."""
        described = fingerprint([function], {function.sym_name.data: ""})
        given = "\n".join((*self.facts, str(module_target(module)), described, str(constants), str(finite)))
        return sha256(given.encode()).hexdigest()[:32]

    def _expect_none(self, unknown: Iterable[str]) -> None:
        """Raise `NotKnownError` for the recipes of functions, if there are any."""
        if recipes := [*unknown]:
            raise NotKnownError(recipes)

    def state_packing(self, module: ModuleOp) -> None:
        """Let known functions pack constants, and note how others do it."""
        constants = {known.func: sorted(known.constants) for known in known_calls(module)}
        for recipe, function in _loop_functions(module):
            if CompiledAs.of(function) is None:
                self._packing.append((recipe, _Packing.of(function, constants.get(function, ()))))
            elif (found := self.recall(recipe)) is None:
                self._expect_none([recipe])
            elif found.packing:
                known = parsed_function(found.packing.decode())
                if known is not None and known.function_type == function.function_type:
                    set_body(function, known.clone().detach_region(0))
                else:
                    self._expect_none([recipe])

    def check_packing(self, module: ModuleOp) -> None:
        """Check that constants were packed as usual: they are not if many functions pack the same one."""
        known = [(recipe, f) for recipe, f in _loop_functions(module) if CompiledAs.of(f) is not None]
        self._expect_none(recipe for recipe, f in known if any(isinstance(op, AllocBufferOp) for op in f.body.ops))
        for _, function in known:
            set_body(function, Region(Block(arg_types=function.function_type.inputs)))
        for recipe, packing in self._packing:
            if packing is not None and packing.is_done:
                self.learned[recipe] = LoopFunction(packing=packing.text())
        for recipe, packing in self._packing:
            if packing is None or not packing.is_done:
                self.learned.pop(recipe, None)
        # The caller keeps this object alive longer than the functions.
        self._packing.clear()

    def find_requirements(self, module: ModuleOp) -> None:
        """Note what functions require of sizes, and state it of known ones, whose body no longer shows it."""
        sizes, kept = ModuleSizes(), dict[Operation, FunctionSizes]()
        for recipe, function in _loop_functions(module):
            if not any(map(has_unknown, function.function_type.inputs)):
                continue
            if CompiledAs.of(function) is None:
                if recipe in self.learned:
                    found = kept[function] = sizes.of(function)
                    requirements = tuple(map(str, found.requirements))
                    self.learned[recipe] = replace(self.learned[recipe], requirements=requirements)
            elif (known := self.recall(recipe)) is None:
                self._expect_none([recipe])
            else:
                state_requirements(function, list(map(parse_requirement, known.requirements)))
        keep_sizes(kept)

    def forget_sizes(self, module: ModuleOp) -> None:
        """Forget the sizes of functions, which may change from now on."""
        keep_sizes({})

    def find_pairs(self, module: ModuleOp) -> None:
        """Note which arguments of functions may share memory."""
        for recipe, function in _loop_functions(module):
            if CompiledAs.of(function) is None and recipe in self.learned:
                self.learned[recipe] = replace(self.learned[recipe], in_place=tuple(pairs_in_place(function)))

    def find_code(self, module: ModuleOp) -> None:
        """State the code of known functions."""
        known = [(recipe, f) for recipe, f in _loop_functions(module) if CompiledAs.of(f) is not None]
        codes = {recipe: self.resolve(recipe) for recipe, _ in known}
        self._expect_none(recipe for recipe, code in codes.items() if code is None)
        for recipe, function in known:
            if (code := codes[recipe]) is not None:
                code.mark(function)

    def take_recipes(self, module: ModuleOp) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Remove the recipes from a module at the core level. Return the recipes of functions that may be known from
        now on, each with the memory that a call needs, by the names of the functions."""
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        needs = MemoryNeeds(module)
        for recipe, function in _functions(module):
            del function.attributes[RECIPE_ATTR]
            function.attributes.pop(PASSED_ATTR, None)
            if (
                isinstance(function, func.FuncOp)
                and root_of(recipe) in self.learned
                and CompiledAs.of(function) is None
            ):
                name = function.sym_name.data
                found[name] = recipe, tuple(map(str, needs.of(name)))
        return found

    def learn(
        self, kernels: Mapping[str, str], recipes: Mapping[str, tuple[str, tuple[str, ...]]]
    ) -> dict[str, LoopFunction]:
        """Return the loop functions that are known from now on, by recipe, given the keys of the code of functions by
        name."""
        for name, (recipe, temporaries) in recipes.items():
            if name in kernels:
                known = self.learned.get(recipe, LoopFunction())
                self.learned[recipe] = replace(known, kernel=kernels[name], temporaries=temporaries)
        compiled = {root_of(recipe) for recipe, known in self.learned.items() if known.kernel}
        return {recipe: known for recipe, known in self.learned.items() if root_of(recipe) in compiled}


_STEPS: dict[type[ModulePass], Callable[[LoopKernels, ModuleOp], None]] = {
    LegalizeOpsPass: LoopKernels.look_up_groups,
    InlineBlocksPass: LoopKernels.look_up,
    RewriteLayoutPass: LoopKernels.state_packing,
    MergeLoopsPass: LoopKernels.check_packing,
    AnnotateSignaturesPass: LoopKernels.find_requirements,
    CarryNumbersPass: LoopKernels.forget_sizes,
    PlanMemoryPass: LoopKernels.find_pairs,
    ConvertTirToScfPass: LoopKernels.find_code,
}
"""The step to run before each kind of pass."""


def _functions(module: ModuleOp) -> Iterator[tuple[str, Operation]]:
    """Yield the functions that have recipes."""
    return ((recipe, op) for op in list(module.ops) if (recipe := recipe_of(op)) is not None)


def _loop_functions(module: ModuleOp) -> Iterator[tuple[str, PrimFuncOp]]:
    return ((recipe, op) for recipe, op in _functions(module) if isinstance(op, PrimFuncOp))


def root_of(recipe: str) -> str:
    """Return the recipe of the function that a variant was made from."""
    return recipe.partition(" ")[0]


def _is_of_operators(group: FuncOp) -> bool:
    """Return whether a function is a group that holds only operators on tensors, and none whose result has a size that
    depends on elements."""
    if PRIMITIVE_ATTR not in group.attributes or not is_private(group) or len(group.body.blocks) != 1:
        return False
    *steps, last = group.body.block.ops
    return (
        isinstance(last, ReturnOp)
        and all(isinstance(step, Operator) and not step.COUNTS for step in steps)
        and all(isinstance(value.owner, Operator) for value in last.operands)
    )


def _finite(function: FuncOp | PrimFuncOp, constants: Sequence[int], calls: Sequence[CallOp | CallTirOp]) -> list[int]:
    """Return which of the constants among the inputs of a function are finite in all calls, if that may count."""
    if not _may_add_padding(function):
        return []
    return [i for i in constants if all(is_finite(constant_of(call.arguments[i])) for call in calls)]


def _may_add_padding(function: FuncOp | PrimFuncOp) -> bool:
    """Return whether a function may add up products of padding."""
    return isinstance(function, PrimFuncOp) or any(map(_may_pad, function.body.block.ops))


def _may_pad(step: Operation) -> bool:
    """Return whether the loops of an operator may add up products of padding. Loops of other packages may."""
    return isinstance(step, SlidingWindows) or (isinstance(step, Operator) and not is_own(lowered_by(step)))


def _without_body(group: FuncOp) -> PrimFuncOp:
    """Return a loop function with the arguments and results of a group that does nothing."""
    kind = group.function_type
    inputs, outputs = ([buffer_of(tensor_type(t)) for t in types.data] for types in (kind.inputs, kind.outputs))
    function = PrimFuncOp(group.sym_name.data, inputs, outputs, visibility="private", noalias=True)
    function.location = group.location
    return function


def _may_be_known(function: PrimFuncOp) -> bool:
    """Return whether a function and its target alone determine its code: with sizes that are only known at run time,
    its callers do, too."""
    if SCHEDULED_ATTR in function.attributes or any(map(has_unknown, function.function_type.inputs)):
        return False
    return not symbols_used(function)


def _outermost(block: BlockOp, function: PrimFuncOp) -> Operation:
    """Return the top-level op in the body of a function that contains a block."""
    return next(op for op in (block, *ancestors(block)) if op.parent_op() is function)
