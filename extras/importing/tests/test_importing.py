"""An importer of a small format: a list of nodes, each with a name, a function and the names of its operands."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from relex.dialects.errors import CompileError, Diagnostic
from relex.dialects.sizes import Size, named
from relex.frontend import op
from relex.frontend.compositions.number_functions import OF_NUMBERS, square
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import GraphImporter, Missing
from relex.frontend.importing.site import Site
from relex.frontend.importing.values import Known, Value, refuse
from relex.runtime import build

Node = tuple[str, str, list[str]]


class NodeSite(Site):
    """A node while it is imported."""

    @property
    def title(self) -> str:
        return "node"


def centered(node: NodeSite, x: Operand) -> Operand:
    """Subtract the mean over the last dimension, whose size must be known."""
    count = node.closed(node.shape(x)[-1], "expected a fixed size of the last dimension, found {}")
    return op.subtract(x, op.divide(op.sum(x, axis=-1, keepdims=True), float(count)))


FUNCTIONS: dict[str, Any] = {
    **{name: lambda _, x, function=function: function(x) for name, function in OF_NUMBERS.items()},
    "square": lambda _, x: square(x),
    "add": lambda _, x, y: op.add(x, y),
    "pi": lambda _: Known(np.float32(np.pi)),
    "center": centered,
}


def read(nodes: list[Node], sizes: list[Size]) -> ModuleOp:
    """Import a model with one argument, `x`, whose result is its last node."""
    importer = GraphImporter(Builder("model.nodes"))
    values: dict[str, Value | Missing] = {"x": importer.builder.add_argument("x", f32, sizes)}
    for name, function, operands in nodes:
        values[name] = Missing()
        given = [values[operand] for operand in operands]
        if any(isinstance(value, Missing) for value in given):
            continue

        def problem(name: str, reason: str, attribute: str) -> None:
            importer.problems.append(Diagnostic(f"{name}: {reason}", importer.builder.file))

        with importer.importing(partial(problem, name)):
            if function not in FUNCTIONS:
                refuse(f"no import for '{function}'")
            values[name] = importer.builder.tensor(FUNCTIONS[function](NodeSite(importer.builder), *given))
    importer.expect_no_problems()
    last = values[nodes[-1][0]]
    assert isinstance(last, Value)
    return importer.finish([importer.builder.value(last)])


def test_a_model_is_imported_and_runs():
    nodes: list[Node] = [("c", "center", ["x"]), ("p", "pi", []), ("s", "square", ["p"]), ("y", "add", ["c", "s"])]
    module = read(nodes, [named("n"), 4])
    # What is known at import is folded.
    assert "relex.multiply" not in str(module)
    main = build(module)["main"]
    for rows in (0, 1, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 4), np.float32)
        expected = x - x.mean(-1, keepdims=True) + np.square(np.float32(np.pi))
        np.testing.assert_allclose(main(x), expected, rtol=1e-5, atol=1e-5)


def test_all_problems_are_reported_at_once():
    nodes: list[Node] = [
        ("a", "twist", ["x"]),
        # Nothing is said of what follows from an error.
        ("b", "square", ["a"]),
        ("c", "center", ["x"]),
        ("d", "add", ["x"]),
    ]
    with pytest.raises(CompileError) as error:
        read(nodes, [named("n")])
    messages = [diagnostic.message for diagnostic in error.value.diagnostics]
    assert messages[:2] == [
        "a: no import for 'twist'",
        "c: expected a fixed size of the last dimension, found n; fix the size with `shapes=`",
    ]
    assert messages[2].startswith("d: cannot be imported: TypeError")
    assert len(messages) == 3
