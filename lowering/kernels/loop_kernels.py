"""Loop functions whose compiled code is cached: they are not scheduled, lowered and compiled again.

A loop function is looked up right after fusion. If it is known, its body is removed, so that loop passes have nothing
to do. What its callers need is stored with its code: how it packs constants, which arguments may share memory, and how
much memory a call needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relex.dialects.fingerprint import fingerprint
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.symbols import symbols_used
from relex.dialects.target.features import module_target
from relex.dialects.tir import AllocBufferOp, BlockOp, PrimFuncOp
from relex.dialects.tir.accesses import is_pure
from relex.dialects.walks import ancestors
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.kernels.marks import RECIPE_ATTR, CompiledAs, recipe_of, set_body
from relex.lowering.kernels.sketches import Sketches, needed_sketches
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.lowering.memory.in_place import pairs_in_place
from relex.lowering.memory.needs import MemoryNeeds
from relex.lowering.plan_memory import PlanMemoryPass
from relex.passes.analysis.constant_inputs import known_calls
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.graph.fuse_tir import FuseTirPass
from relex.passes.graph.layout.reorderings import reorderings
from relex.passes.loops.annotate_op_pattern import AnnotateOpPatternPass
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
    temporaries: tuple[int, ...] = ()
    in_place: tuple[tuple[int, int], ...] = ()

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
                zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
                block.add_ops([zero, memref.DimOp(new, zero)])
        return function_text(self.alone).encode()


@dataclass
class LoopKernels:
    """The loop functions of a program while it is lowered.

    `recall` returns the facts known about a function, given its recipe; `resolve` also gets its code. `facts` say how
    functions are lowered.
    """

    facts: Sequence[str]
    recall: Callable[[str], LoopFunction | None]
    resolve: Callable[[str], CompiledAs | None]
    sketches: Sketches
    learned: dict[str, LoopFunction] = field(default_factory=dict[str, LoopFunction])
    _roots: dict[str, str] = field(default_factory=dict[str, str])
    """The recipes of functions, by the recipe of their operators or by their fingerprint."""
    _fused: set[str] = field(default_factory=set[str])
    """The recipes that loop functions have right after fusion."""
    _stubs: set[str] = field(default_factory=set[str])
    _final: dict[str, LoopFunction] = field(default_factory=dict[str, LoopFunction])
    _packing: list[tuple[str, _Packing | None]] = field(default_factory=list["tuple[str, _Packing | None]"])

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        """Look at the loop functions of a module before a pass. Raises `NotKnownError`."""
        for kind, step in _STEPS.items():
            if isinstance(p, kind):
                step(self, module)

    def look_up(self, module: ModuleOp) -> None:
        """Empty the loop functions that are known, and give all of them a recipe."""
        facts = (*self.facts, str(module_target(module)))
        self._fused = {recipe for recipe, _ in _loop_functions(module)}
        for known in known_calls(module):
            function = known.func
            made_of = recipe_of(function)
            if not _may_be_known(function, is_made_of_operators=made_of is not None):
                continue
            described = made_of or fingerprint([function], {function.sym_name.data: ""})
            given = "\n".join((*facts, described, str(sorted(known.constants))))
            recipe = sha256(given.encode()).hexdigest()[:32]
            function.attributes[RECIPE_ATTR] = StringAttr(recipe)
            self._roots[described] = recipe
            if (found := self.recall(recipe)) is not None:
                self._stubs.add(recipe)
                set_body(function, Region(Block(arg_types=function.function_type.inputs)))
                CompiledAs("", (), in_place=found.in_place).mark(function)
        self._expect_none(name for function in module.ops for name in needed_sketches(function))

    def _expect_none(self, unknown: Iterable[str]) -> None:
        """Raise `NotKnownError` for the recipes of functions and sketches, if there are any, and for the recipes of the
        sketches in these functions."""
        recipes = [*unknown]
        made_of = {recipe: described for described, recipe in self._roots.items()}
        parts = (self.sketches.members.get(made_of.get(root_of(recipe), ""), frozenset[str]()) for recipe in recipes)
        if recipes:
            raise NotKnownError([*recipes, *(member for members in parts for member in members)])

    def outlines(self) -> dict[str, str]:
        """Return the texts to remember about operators: their outlines, if all functions made of them may be known."""
        known = {
            described for described, recipe in self._roots.items() if recipe in self._stubs or recipe in self._final
        }
        needed = {member for described in self._fused - known for member in self.sketches.members[described]}
        return {m: "" if m in needed else str(outline) for m, outline in self.sketches.outlines.items()}

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

    def take_recipes(self, module: ModuleOp) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Remove the recipes from a module at the core level. Return the recipes of functions that may be known from
        now on, each with the memory that a call needs, by the names of the functions."""
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        needs = MemoryNeeds(module)
        for recipe, function in _functions(module):
            del function.attributes[RECIPE_ATTR]
            if (
                isinstance(function, func.FuncOp)
                and root_of(recipe) in self.learned
                and CompiledAs.of(function) is None
            ):
                name = function.sym_name.data
                found[name] = recipe, tuple(size for size in needs.of(name) if isinstance(size, int))
        return found

    def learn(
        self, kernels: Mapping[str, str], recipes: Mapping[str, tuple[str, tuple[int, ...]]]
    ) -> dict[str, LoopFunction]:
        """Return the loop functions that are known from now on, by recipe, given the keys of the code of functions by
        name."""
        for name, (recipe, temporaries) in recipes.items():
            if name in kernels:
                known = self.learned.get(recipe, LoopFunction())
                self.learned[recipe] = replace(known, kernel=kernels[name], temporaries=temporaries)
        compiled = {root_of(recipe) for recipe, known in self.learned.items() if known.kernel}
        self._final = {recipe: known for recipe, known in self.learned.items() if root_of(recipe) in compiled}
        return self._final


_STEPS: dict[type[ModulePass], Callable[[LoopKernels, ModuleOp], None]] = {
    LegalizeOpsPass: lambda kernels, module: kernels.sketches.sketch(module),
    AnnotateOpPatternPass: lambda kernels, module: kernels.sketches.note_operators(module),
    FuseTirPass: lambda kernels, module: kernels.sketches.note_groups(module),
    InlineBlocksPass: LoopKernels.look_up,
    RewriteLayoutPass: LoopKernels.state_packing,
    MergeLoopsPass: LoopKernels.check_packing,
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


def _may_be_known(function: PrimFuncOp, *, is_made_of_operators: bool) -> bool:
    """Return whether a function and its target alone determine its code: with sizes that are only known at run time,
    its callers do, too."""
    if SCHEDULED_ATTR in function.attributes or any(map(has_unknown, function.function_type.inputs)):
        return False
    return is_made_of_operators or not symbols_used(function)


def _outermost(block: BlockOp, function: PrimFuncOp) -> Operation:
    """Return the top-level op in the body of a function that contains a block."""
    return next(op for op in (block, *ancestors(block)) if op.parent_op() is function)
