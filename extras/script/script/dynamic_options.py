"""Sizes and positions of operators that are expressions of named sizes: `R.reshape(x, R.shape([n * 4]))`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.text import text_of
from relex.dialects.relex import MatchSizesOp, Operator
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.size_properties import EXPRESSION_PROPERTIES, names_of_sizes, parse_size, texts_of
from relex.dialects.relex.types import SizedType, tensor_type
from relex.dialects.sizes import Size, Sizes, name_of_size, named, names_in, substitute
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.walks import walk
from relex.frontend.named_sizes import NamedSizes
from relex.frontend.script.number_emitter import Size as NamedSize
from relex.frontend.script.parameters import Parameters
from relex.frontend.script.scope import Scope, arguments
from relex.frontend.script.writing import CANNOT

_EXTREMES = {"T.min": "min", "T.max": "max"}


class DynamicOptions(NamedSizes):
    """Reads options that may have names of sizes in a function."""

    def __init__(self, scope: Scope, parameters: Parameters):
        self._scope = scope
        self._parameters = parameters

    def size_source(self, name: str) -> tuple[SSAValue, int]:
        source = self._parameters.source(name)
        if source is None:
            raise ValueError(f"expected a size of a tensor, found '{name}'")
        return source

    def read(self, node: ast.expr) -> list[int | str] | None:
        """Return numbers, and texts in place of those that depend on sizes. None for anything but a list."""
        unit = self._scope.unit
        if unit.vocabulary.calls(node, "R.shape"):
            node = arguments(node, "R.shape", ("value",))["value"]
        return [self._number(part) for part in node.elts] if isinstance(node, ast.Tuple | ast.List) else None

    def _number(self, node: ast.expr) -> int | str:
        if isinstance(node, ast.Name) and isinstance(self._scope.names.get(node.id), NamedSize):
            return node.id if self._parameters.source(node.id) else -1
        tree = _WithNumbers(self._scope).visit(deepcopy(node))
        return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, int) else ast.unparse(tree)


class _WithNumbers(ast.NodeTransformer):
    """Puts numbers in place of constants, and plain names in place of TVM's names of functions."""

    def __init__(self, scope: Scope):
        self._scope = scope

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and self._is_constant(node):
            return ast.Constant(self._scope.unit.constants.integer(node, "a size"))
        if isinstance(node, ast.Call) and (name := _EXTREMES.get(self._scope.meaning(node.func) or "")):
            node = ast.Call(ast.Name(name), node.args, node.keywords)
        return self.generic_visit(node)

    def _is_constant(self, node: ast.expr) -> bool:
        names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
        return not any(name in self._scope.names for name in names) and self._scope.unit.constants.is_constant(node)


class SizeNames:
    """The sizes of the values of a graph function, by the names that its script has for them."""

    def __init__(self, function: FuncOp, names: Mapping[tuple[SSAValue, int], str]):
        self._function = function
        self._names = names
        self._found: Mapping[SSAValue, Sizes] | None = None
        self._scripts: dict[str, Size] = {}

    def of(self, value: SSAValue, op: Operation) -> SizedType:
        """Return the type of an operand. Fails if a size is known only in the middle of a run."""
        t = tensor_type(value.type)
        if t.has_static_shape():
            return SizedType(t.element_type, t.get_shape())
        if self._found is None:
            sizes = ModuleSizes()
            self._found = sizes.inside(self._function)
            for name, (argument, dimension) in sizes.of(self._function).sources.items():
                self._scripts[name] = named(self._names[self._function.args[argument], dimension])
            for match in (op for op in walk(self._function) if isinstance(op, MatchSizesOp)):
                for size, text in zip(self._found[match.result], match.texts, strict=True):
                    if text.isidentifier() and (late := name_of_size(size)) is not None:
                        self._scripts.setdefault(late, named(text))
        shape = self._found[value]
        if any(name not in self._scripts for size in shape for name in names_in(size)):
            fail(op, f"{CANNOT}: expected sizes that follow from sizes of arguments, or have names")
        return SizedType(t.element_type, [substitute(size, self._scripts) for size in shape])


def printed_options(op: Operator, sizes: SizeNames) -> dict[str, str]:
    """Return the options of an operator that depend on sizes, as a script has them."""
    names: Mapping[str, Size] | None = None
    result: dict[str, str] = {}
    for name, texts_name in EXPRESSION_PROPERTIES.items():
        if texts_name not in op.properties:
            continue
        names = names_of_sizes([sizes.of(value, op) for value in op.operands]) if names is None else names
        numbers = as_integers(op.properties[name])
        is_shape = name == "shape"
        texts = iter(texts_of(op.properties, texts_name, numbers.count(-1) if is_shape else len(numbers)))
        parts = [
            text_of(parse_size(text, names)) if (not is_shape or n == -1) and (text := next(texts)) else str(n)
            for n in numbers
        ]
        result[name] = f"[{', '.join(parts)}]".replace("min(", "T.min(").replace("max(", "T.max(")
    return result
