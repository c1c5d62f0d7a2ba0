"""Take the sizes of results from the operand rather than from other tensors."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from relex.dialects.op_edits import replace_by
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.shape import ToShape
from relex.dialects.relex.size_properties import like_name, texts_of
from relex.dialects.sizes import Size, Sizes, named, names_in, parse_index, substitute
from relex.dialects.sizes.modules import ModuleSizes, has_unknown_sizes
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass


class LocalizeSizesPass(RelexPass):
    """
    Lets operators such as `relex.reshape`, whose result has sizes of other tensors, take sizes that are equal from
    their operand: then it shows which dimensions stay as they are, so that loops need no divisions by sizes to find an
    element. Tensors that no size is needed of are no operands any more.

    ```mlir
    func.func @main(%x: tensor<?x8xf32>) -> tensor<?x2x4xf32> {
      %y = relex.exp %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
      %z = relex.reshape %y like(%x) shape = [-1, 2, 4] sizes = ["like0_d0"]
          : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x2x4xf32>
      func.return %z : tensor<?x2x4xf32>
    }
    // localize-sizes
    func.func @main(%x: tensor<?x8xf32>) -> tensor<?x2x4xf32> {
      %y = relex.exp %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
      %z = relex.reshape %y shape = [-1, 2, 4] sizes = ["d0"] : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
      func.return %z : tensor<?x2x4xf32>
    }
    ```
    """

    name = "localize-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not has_unknown_sizes(op):
            return
        sizes = ModuleSizes()
        for function in [f for f in op.ops if isinstance(f, FuncOp) and f.body.blocks]:
            shaping = [inner for inner in walk(function) if isinstance(inner, ToShape) and inner.like]
            inside = sizes.inside(function) if shaping else {}
            for inner in shaping:
                _localize(inner, inside)


def _localize(op: ToShape, inside: dict[SSAValue, Sizes]) -> None:
    """Replace an operator if all sizes that it takes from other tensors are sizes of its operand."""
    own = {size: named(f"d{d}") for d, size in reversed([*enumerate(inside.get(op.operand, ()))])}
    known: dict[str, Size] = {
        like_name(i, d): own[size]
        for i, other in enumerate(op.like)
        for d, size in enumerate(inside.get(other, ()))
        if size in own
    }
    texts = texts_of(op.properties, "sizes", as_integers(op.shape).count(-1))
    found = [parse_index(text) if text else None for text in texts]
    used = {name for size in found if size is not None for name in names_in(size)}
    if any(name.startswith("like") and name not in known for name in used):
        return
    sizes = ["" if size is None else str(substitute(size, known)) for size in found]
    new = type(op)(op.operand, as_integers(op.shape), sizes)
    if new.result.type != op.result.type:
        # The operand has a size that is known, where users of the result expect a dynamic one.
        new.erase()
        return
    replace_by(op, new)
