"""Leave out what nobody needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
from xdsl.utils.symbol_table import get_name_if_symbol

from relex.passes.base import RelexPass
from relex.passes.graph.canonicalization.dataflow import RemoveUnusedOutputs


@dataclass(frozen=True)
class RemoveUnusedPass(RelexPass):
    """
    Removes ops whose results nobody uses, results of dataflow blocks that nobody uses and with them whole blocks, and
    private functions that no public one needs. What has effects stays: allocations, `func.call`, library calls with
    `side_effects`.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0:2 = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
        %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        %2 = relex.call @group(%1) : (tensor<4xf32>) -> tensor<4xf32>
        relex.output %1, %2 : tensor<4xf32>, tensor<4xf32>
      }
      func.return %0#0 : tensor<4xf32>
    }
    func.func private @group(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
      func.return %x : tensor<4xf32>
    }
    // remove-unused
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relex.dataflow -> tensor<4xf32> {
        %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        relex.output %1 : tensor<4xf32>
      }
      func.return %0 : tensor<4xf32>
    }
    ```
    """

    name = "remove-unused"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # The applier erases unused ops by itself. Users come before what they use, so that one walk does nearly all.
        applier = GreedyRewritePatternApplier([RemoveUnusedOutputs()])
        PatternRewriteWalker(applier, walk_reverse=True).rewrite_module(op)
        _remove_symbols(op)


def _remove_symbols(module: ModuleOp) -> None:
    """Remove private functions, and other private symbols, that nothing leads to."""
    private = {get_name_if_symbol(op): op for op in module.ops if _is_private(op)}
    needed = [*_symbols_of(module), *(name for op in module.ops if not _is_private(op) for name in _symbols_inside(op))]
    for name in needed:
        if name in private:
            needed.extend(_symbols_inside(private.pop(name)))
    for op in private.values():
        op.detach()
        op.erase()


def _is_private(op: Operation) -> bool:
    return get_name_if_symbol(op) is not None and op.properties.get("sym_visibility") == StringAttr("private")


def _symbols_inside(op: Operation) -> Iterator[str]:
    """The symbols that an op and those inside of it refer to."""
    for inner in op.walk():
        yield from _symbols_of(inner)


def _symbols_of(op: Operation) -> Iterator[str]:
    """The symbols that an op refers to."""
    for attr in (*op.properties.values(), *op.attributes.values()):
        yield from _symbols_in(attr)


def _symbols_in(attr: Attribute) -> Iterator[str]:
    match attr:
        case SymbolRefAttr():
            yield attr.root_reference.data
        case ArrayAttr(data=parts):
            for part in parts:
                yield from _symbols_in(part)
        case DictionaryAttr(data=entries):
            for part in entries.values():
                yield from _symbols_in(part)
        case ParametrizedAttribute(parameters=parts):
            for part in parts:
                yield from _symbols_in(part)
        case _:
            return
