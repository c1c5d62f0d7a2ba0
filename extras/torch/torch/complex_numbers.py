"""Complex numbers inside of a graph: pairs of tensors. None are arguments or results of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from relex.dialects.table import Table
from relex.frontend.graph_expressions import Expr, Operand
from relex.frontend.importing.values import Known, Tensor, refuse
from relex.frontend.torch.import_table import Import, find_import
from relex.frontend.torch.library import torch, tree
from relex.frontend.torch.node import TorchNode
from relex.frontend.torch.tensors import array_of

PARTS: Mapping[Any, Attribute] = {torch.complex64: f32, torch.complex128: f64}
"""The element types of the parts of complex numbers."""


@dataclass(frozen=True)
class Pair:
    """A tensor of complex numbers: their real and their imaginary parts."""

    real: Tensor
    imaginary: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        return self.real, self.imaginary


OF_PAIRS = Table[str, Import]("imports of ATen operators on complex numbers")
"""Functions by the name of an operator, `aten.mul`. They take pairs, and return one or a tensor."""

BY_PARTS = frozenset(
    "_reshape_copy _unsafe_view alias add cat clone constant_pad_nd detach expand flip index_select mean neg permute "
    "roll select slice squeeze sub sum t transpose unbind unfold unsqueeze view where".split()
)
"""Operators that do the same with both parts. Real operands of a sum are without an imaginary part."""


def of_pairs(*operators: str) -> Callable[[Import], Import]:
    """Return a decorator that adds an import for operators on complex numbers."""
    return OF_PAIRS.rule(*operators)


class PartNode(TorchNode):
    """A node as the imports of real operators see it: its result is one part of the complex numbers."""

    @property
    def result_type(self) -> Attribute:
        return part_type(self.results[0])

    @property
    def common_type(self) -> Attribute:
        return self.result_type


def part_type(value: Any) -> Attribute:
    """Return the element type of the parts of what torch knows as a complex tensor."""
    if value.dtype not in PARTS:
        refuse(f"elements of type {str(value.dtype).removeprefix('torch.')}")
    return PARTS[value.dtype]


def pair(node: TorchNode, real: Operand, imaginary: Operand) -> Pair:
    """Emit complex numbers."""
    return Pair(node.tensor(real), node.tensor(imaginary))


def known_pair(tensor: Any, name: str) -> Pair:
    """Return the numbers of a tensor that is known."""
    return Pair(Known(array_of(tensor.real), f"{name}.real"), Known(array_of(tensor.imag), f"{name}.imag"))


def takes_pairs(fx: Any, arguments: Sequence[Any]) -> bool:
    """Return whether a node is an operator on complex numbers: of some, or one that makes some of real numbers."""
    overload, result = str(fx.target), fx.meta.get("val")
    if not overload.startswith("aten."):
        return False
    is_made = isinstance(result, torch.Tensor) and result.is_complex() and overload.rpartition(".")[0] in OF_PAIRS
    return is_made or any(isinstance(value, Pair | complex) for value in tree.tree_leaves(arguments))


def as_pair(node: TorchNode, x: Any) -> Pair:
    """Return an operand as complex numbers of the type of the result."""
    if isinstance(x, Pair):
        return x
    if isinstance(x, Expr):
        real = node.typed(x)
        return pair(node, real, node.full(real.sizes, 0, real.element_type))
    return pair(node, *(node.typed(Known(np.array(float(part)))) for part in (x.real, x.imag)))


def import_pairs(fx: Any, builder: Any, arguments: Sequence[Any]) -> Any:
    """Import a node of which some arguments are complex."""
    overload = str(fx.target)
    name = overload.rpartition(".")[0]
    if function := OF_PAIRS.get(name):
        return function(PartNode(fx, builder), *arguments)
    function = find_import(overload)
    if function is None or {overload, name, overload.removesuffix(".default")}.isdisjoint(
        f"aten.{n}" for n in BY_PARTS
    ):
        refuse("an operator of complex numbers")
    node = PartNode(fx, builder)
    results = [function(node, *_parts(node, name, arguments, i)) for i in range(2)]
    if isinstance(results[0], list):
        return [pair(node, *parts) for parts in zip(*results, strict=True)]
    return pair(node, *results)


def _parts(node: TorchNode, name: str, arguments: Sequence[Any], place: int) -> list[Any]:
    """Return arguments with one of the parts of complex numbers. Operands of a sum, and tensors that are joined, are
    all complex."""
    if name in ("aten.add", "aten.sub"):
        arguments = [as_pair(node, arguments[0]), as_pair(node, arguments[1]), *arguments[2:]]
    elif name == "aten.where":
        arguments = [arguments[0], as_pair(node, arguments[1]), as_pair(node, arguments[2])]
    elif name == "aten.cat":
        arguments = [[as_pair(node, x) for x in arguments[0]], *arguments[1:]]
    if any(isinstance(value, complex) for value in tree.tree_leaves(arguments)):
        refuse("a complex number as an option")
    return [_part(argument, place) for argument in arguments]


def _part(argument: Any, place: int) -> Any:
    if isinstance(argument, list | tuple):
        return [_part(one, place) for one in cast(Sequence[Any], argument)]
    return argument.parts[place] if isinstance(argument, Pair) else argument
