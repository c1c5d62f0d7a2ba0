"""Kernels: private functions that are compiled on their own, at the core level and at the machine level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region

from relex.dialects.dtypes import dense_integers
from relex.dialects.fingerprint import fingerprint
from relex.dialects.function_arguments import NOINLINE, PARALLEL_ATTR, PASSTHROUGH_ATTR
from relex.dialects.symbols import erase_unused, is_private, symbol_of, symbols_used
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import reachable, walk

KEY_ATTR = "relex.kernel"
"""On a kernel and on its module: the key under which its code is to be kept."""

COMPILED_ATTR = "relex.compiled"
"""On a kernel whose code exists already, a `CompiledAs`: its body is ignored."""

ARGUMENTS_ATTR = "relex.arguments"
"""On the module of a kernel: the positions of the arguments that it takes, among the arguments of the original
function."""

RECIPE_ATTR = "relex.recipe"
"""On a loop function, and on what it is lowered to, while a program is compiled: a digest of the function before its
loops were scheduled, followed by which arguments have been merged."""


@dataclass(frozen=True)
class CompiledAs:
    """The symbol of a kernel's code, and the positions of the arguments that it takes. For a loop function, whose
    body no longer shows them, also the memory in bytes that a call needs, as texts of sizes of which the largest is
    enough, and the pairs of arguments that may share memory."""

    symbol: str
    arguments: tuple[int, ...]
    temporaries: tuple[str, ...] = ()
    in_place: tuple[tuple[int, int], ...] = ()

    def mark(self, function: Operation) -> None:
        """State that the code of a function exists."""
        lists = {"arguments": self.arguments, "in_place": [number for pair in self.in_place for number in pair]}
        stated: dict[str, Attribute] = {"symbol": StringAttr(self.symbol)}
        stated |= {name: DenseArrayBase.from_list(i64, numbers) for name, numbers in lists.items() if numbers}
        if self.temporaries:
            stated["temporaries"] = ArrayAttr(map(StringAttr, self.temporaries))
        function.attributes[COMPILED_ATTR] = DictionaryAttr(stated)

    @classmethod
    def of(cls, function: Operation) -> CompiledAs | None:
        """Return what a function states; None if its code does not exist."""
        stated = function.attributes.get(COMPILED_ATTR)
        if not isinstance(stated, DictionaryAttr) or not isinstance(symbol := stated.data.get("symbol"), StringAttr):
            return None

        arguments, pairs = (dense_integers(stated.data.get(name)) or () for name in ("arguments", "in_place"))
        told = stated.data.get("temporaries")
        temporaries = tuple(size.data for size in told) if isa(told, ArrayAttr[StringAttr]) else ()
        return cls(symbol.data, arguments, temporaries, tuple(zip(pairs[::2], pairs[1::2], strict=True)))


def recipe_of(function: Operation) -> str | None:
    """Return the recipe that a function states."""
    stated = function.attributes.get(RECIPE_ATTR)
    return stated.data if isinstance(stated, StringAttr) else None


def is_kernel(function: Operation) -> bool:
    """Return whether a function is private, has a body, and is not to be inlined."""
    passthrough = function.attributes.get(PASSTHROUGH_ATTR)
    return (
        isinstance(passthrough, ArrayAttr)
        and NOINLINE in passthrough
        and is_internal(function)
        and bool(function.regions[0].blocks)
    )


def is_internal(op: Operation) -> bool:
    """Return whether a function or global cannot be named from outside its module, at any level."""
    linkage = getattr(op.properties.get("linkage"), "linkage", None)
    return is_private(op) or (type(linkage) is StringAttr and linkage.data in ("internal", "private"))


Part = dict[str, Operation]
"""A kernel and all functions and globals that it refers to, by name. The kernel comes first."""


class Symbols:
    """The functions and globals of a module, and the references between them."""

    def __init__(self, module: ModuleOp):
        self.ops = {name: op for op in module.ops if (name := symbol_of(op)) is not None}
        self.used = {name: symbols_used(op) for name, op in self.ops.items()}
        """The number of references from each to others."""
        self.count = Counter[str]()
        for used in self.used.values():
            self.count.update(used)

    def part(self, name: str, may_move: Callable[[Operation], bool]) -> Part | None:
        """Return a function with everything that it refers to, if it is a kernel that can be moved to another module:
        `may_move` decides that for the others."""
        if name not in self.ops or not is_kernel(self.ops[name]):
            return None
        names = [*reachable(name, lambda name: filter(self.ops.__contains__, self.used[name]))]
        if any(name in self.used[other] for other in names):
            return None  # It is recursive.
        part = {name: self.ops[name] for name in names}
        return part if all(may_move(part[other]) for other in names[1:]) else None


def local_names(part: Part) -> dict[str, str]:
    """Return names for the private symbols of a kernel that say nothing about the program."""
    internal = [name for name, op in part.items() if is_internal(op) and not _is_declaration(op)]
    return {name: f"k{i}" for i, name in enumerate(internal)}


def mark_kernels(module: ModuleOp, find: Callable[[str], tuple[str, CompiledAs | None]]) -> dict[str, str]:
    """Mark the kernels of a module at the core level, and return the keys of their code by name.

    `find` takes the fingerprint of a kernel. It returns the key under which its code is to be kept, which is stated on
    the kernel, and the known code, if there is any. Then the body is removed, with the functions that only it calls.
    """
    symbols = Symbols(module)
    calls = Counter(
        op.callee.root_reference.data
        for op in walk(module)
        if isinstance(op, func.CallOp) and PARALLEL_ATTR not in op.attributes
    )
    called = [name for name in symbols.ops if symbols.count[name] == calls[name]]
    parts = [part for name in called if (part := symbols.part(name, _is_function)) is not None]
    # A kernel that another one calls is compiled with it.
    holders = Counter(name for part in parts for name in part)
    unneeded: list[Operation] = []
    keys: dict[str, str] = {}
    for part in parts:
        (name, function), *_ = part.items()
        if holders[name] > 1 or not isinstance(function, func.FuncOp) or function.function_type.outputs:
            continue
        if CompiledAs.of(function) is not None:
            continue
        key, known = find(fingerprint(part.values(), local_names(part)))
        keys[name] = key
        if known is None:
            function.attributes[KEY_ATTR] = StringAttr(key)
        else:
            known.mark(function)
            set_body(function, Region(Block([func.ReturnOp()], arg_types=function.body.blocks[0].arg_types)))
            unneeded += (op for op in part.values() if not _is_declaration(op))
    erase_unused(module, unneeded)
    return keys


def _is_function(op: Operation) -> bool:
    return isinstance(op, func.FuncOp) and (is_internal(op) or op.is_declaration)


def _is_declaration(op: Operation) -> bool:
    return isinstance(op, func.FuncOp) and op.is_declaration


def set_body(function: Operation, body: Region) -> None:
    """Replace the body of a function."""
    function.detach_region(function.regions[0]).drop_all_references()
    function.add_region(body)
