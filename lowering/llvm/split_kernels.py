"""Move functions that are not inlined to separate modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.builtin import SymbolRefAttr as Symbol
from xdsl.ir import Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from relex.dialects.errors import fail
from relex.dialects.fingerprint import fingerprint
from relex.dialects.symbols import erase_unreachable
from relex.dialects.target.machine import EXTERNAL_CONSTANT_BYTES
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk
from relex.lowering.kernels.marks import ARGUMENTS_ATTR, KEY_ATTR, CompiledAs, Part, Symbols, is_internal, local_names
from relex.lowering.llvm.c_interface import call
from relex.passes.driver.base import RelexPass

PREFIX = "relex.k_"
"""The prefix of a kernel's symbol, before a digest of what it does."""


class SplitKernelsPass(RelexPass):
    """
    Moves each internal function that is not to be inlined, with all that it calls, to a separate module. Its symbol
    is a digest of what it does, so that equal functions become one, and it takes only the arguments that it uses.
    `build` runs this pass last, has LLVM compile the modules one by one, and links their code. Functions that refer to
    data that the program writes, or to large constants, stay where they are.

    ```mlir
    llvm.func internal @fill(%base: !llvm.ptr, %x: !llvm.ptr, %v: f32) attributes {passthrough = ["noinline"]} {
      llvm.store %v, %x : f32, !llvm.ptr
      llvm.return
    }
    llvm.func @main(%base: !llvm.ptr, %x: !llvm.ptr, %v: f32) {
      llvm.call @fill(%base, %x, %v) : (!llvm.ptr, !llvm.ptr, f32) -> ()
      llvm.return
    }
    // split-kernels
    llvm.func @main(%base: !llvm.ptr, %x: !llvm.ptr, %v: f32) {
      llvm.call @relex.k_8961d5da4fb4dcb0(%x, %v) : (!llvm.ptr, f32) -> ()
      llvm.return
    }
    llvm.func @relex.k_8961d5da4fb4dcb0(!llvm.ptr, f32)
    builtin.module attributes {relex.arguments = array<i64: 1, 2>} {
      llvm.func @relex.k_8961d5da4fb4dcb0(%x: !llvm.ptr, %v: f32) attributes {passthrough = ["noinline"]} {
        llvm.store %v, %x : f32, !llvm.ptr
        llvm.return
      }
    }
    ```
    """

    name = "split-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        calls = _calls(op, symbols)
        parts = {name: part for name in calls if (part := symbols.part(name, _may_move)) is not None}
        inner = {other for part in parts.values() for other in [*part][1:]}
        parts = {name: part for name, part in parts.items() if name not in inner}  # Others are compiled with these.
        holders, staying = Counter(name for part in parts.values() for name in part), _needed(symbols, parts)
        declared: set[str] = set()
        for name, part in parts.items():
            function = part[name]
            assert isinstance(function, llvm.FuncOp)
            key, known = function.attributes.pop(KEY_ATTR, None), CompiledAs.of(function)
            if known is None:
                _erase_dead(part)
            kernel = known or _compiled_as(part)
            for call_op in calls[name]:
                _redirect(call_op, kernel)
            if kernel.symbol in declared:
                continue
            declared.add(kernel.symbol)
            op.body.block.add_op(_declaration(function, kernel))
            if known is None:
                own = {other for other in part if holders[other] == 1 and other not in staying}
                new = _as_module(part, kernel, own)
                new.attributes |= op.attributes if key is None else {**op.attributes, KEY_ATTR: key}
                op.body.block.add_op(new)
        left = {inner: None for part in parts.values() for inner in part.values() if inner.parent_op() is op}
        erase_unreachable(op, filter(is_internal, left))
        for function in op.ops:
            if CompiledAs.of(function) is not None:
                fail(function, "expected a function whose code is elsewhere to be called, and nothing else")


def _calls(module: ModuleOp, symbols: Symbols) -> dict[str, list[llvm.CallOp]]:
    """Return the calls of each function that only calls refer to."""
    calls: dict[str, list[llvm.CallOp]] = {}
    for op in walk(module):
        if type(op) is llvm.CallOp and op.callee is not None:
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    return {name: found for name, found in calls.items() if symbols.count[name] == len(found)}


def _needed(symbols: Symbols, elsewhere: Container[str]) -> set[str]:
    """Return the names that are needed when some kernels are elsewhere."""
    pending = [name for name, op in symbols.ops.items() if not is_internal(op)]
    found = set[str]()
    while pending:
        name = pending.pop()
        if name not in found and name not in elsewhere and name in symbols.used:
            found.add(name)
            pending += symbols.used[name]
    return found


def _may_move(op: Operation) -> bool:
    """Return whether another module may have a copy of a function or global."""
    if not isinstance(op, llvm.GlobalOp):
        return isinstance(op, llvm.FuncOp) and (is_internal(op) or op.body.first_block is None)
    size = len(op.value.data.data) if isa(op.value, DenseIntOrFPElementsAttr) else 0
    return op.constant is not None and is_internal(op) and size < EXTERNAL_CONSTANT_BYTES


def _erase_dead(part: Part) -> None:
    """Erase what LLVM would erase, so that it does not count."""
    for op in [op for name in part for op in reversed([*walk(part[name])])]:
        if not any(result.uses for result in op.results) and is_trivially_dead(op):
            Rewriter.erase_op(op)


def _compiled_as(part: Part) -> CompiledAs:
    """Return the symbol of a kernel, and the arguments that it uses."""
    function, *_ = part.values()
    symbol = f"{PREFIX}{fingerprint(part.values(), local_names(part))[:16]}"
    return CompiledAs(symbol, tuple(i for i, value in enumerate(function.regions[0].blocks[0].args) if value.uses))


def _as_module(part: Part, kernel: CompiledAs, own: set[str]) -> ModuleOp:
    """Return a module of a kernel and all that it refers to. What is its own moves there."""
    names = local_names(part) | {next(iter(part)): kernel.symbol}
    for other in own:
        part[other].detach()
    ops = [op if other in own else op.clone() for other, op in part.items()]
    for op in ops:
        _rename(op, names)
    assert isinstance(ops[0], llvm.FuncOp)
    _export(ops[0], kernel)
    return ModuleOp(ops, {ARGUMENTS_ATTR: DenseArrayBase.from_list(i64, kernel.arguments)})


def _rename(function: Operation, names: Mapping[str, str]) -> None:
    """Rename a function or global, and those that it refers to."""
    for op in walk(function):
        for key, attr in op.properties.items():
            if type(attr) is Symbol and attr.root_reference.data in names:
                op.properties[key] = Symbol(names[attr.root_reference.data])
            elif key == "sym_name" and type(attr) is StringAttr:
                op.properties[key] = StringAttr(names.get(attr.data, attr.data))


def _export(function: llvm.FuncOp, kernel: CompiledAs) -> None:
    """Make a function one that other modules call, with the arguments that it uses."""
    old, attrs = function.function_type, function.arg_attrs
    function.sym_name, function.linkage = StringAttr(kernel.symbol), llvm.LinkageAttr("external")
    function.function_type = llvm.LLVMFunctionType([old.inputs.data[i] for i in kernel.arguments], old.output)
    if attrs is not None:
        function.arg_attrs = ArrayAttr([attrs.data[i] for i in kernel.arguments])
    if (block := function.body.first_block) is not None:
        for value in [value for value in block.args if value.index not in kernel.arguments]:
            block.erase_arg(value)


def _declaration(function: llvm.FuncOp, kernel: CompiledAs) -> llvm.FuncOp:
    # The text of a declaration has no attributes of arguments.
    properties = {name: attr for name, attr in function.properties.items() if name != "arg_attrs"}
    new = llvm.FuncOp.create(properties=properties, regions=[Region()])
    new.location = function.location
    _export(new, kernel)
    return new


def _redirect(old: llvm.CallOp, kernel: CompiledAs) -> None:
    """Replace a call by one of the kernel."""
    result = llvm.LLVMVoidType() if old.returned is None else old.returned.type
    given = old.args
    new = call(Symbol(kernel.symbol), [given[i] for i in kernel.arguments], result)
    new.location = old.location
    Rewriter.replace_op(old, new)
