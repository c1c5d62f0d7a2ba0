"""
Writes `docs/operators.md`: every operator of the graph dialect, from its class.

Run it after a change of an operator: `.venv/bin/python tests/unit/support/operator_reference.py`. A test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count, groupby
from pathlib import Path
from textwrap import dedent, fill
from typing import Any

import numpy as np
from accuracy import load
from exact_functions import BOUNDS, COMPOSITIONS, OPERATORS, Exact
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import RelexError, parse_module
from relex.dialects.dtypes import ELEMENT_TYPES, FLOATS, INTEGERS, NUMBERS, SUB_BYTE
from relex.dialects.relex import Exactness, Operator, Relex, SeveralResults
from relex.dialects.relex.elementwise import Formula
from relex.dialects.relex.numpy_functions import NumPyFunctions
from relex.dialects.relex.properties import python_value
from relex.dialects.relex.types import SizedType, tensor_type
from relex.dialects.sizes import Sizes, gathering, named
from relex.dialects.sizes.requirements import Solver
from relex.frontend import op

PAGE = Path(__file__).parents[3] / "docs" / "operators.md"

INTRODUCTION = """\
# Operators

Every operator of the graph dialect, written from its class by `tests/unit/support/operator_reference.py`. In Python,
the functions below are in `relex.frontend.op`, for the [block builder](tour.md); classes in `relex.dialects.relex`
take the same arguments, for [passes](writing-a-pass.md). [Adding an operator](adding-an-op.md) makes one.

**Sizes** are as in the examples, with a letter for every size other than 1; any of them may be dynamic, `?`. A
letter that occurs twice is one size. Where it is dynamic, that is checked when the program is called, and so is every
condition after "where". A `?` never broadcasts.

**Types** are the accepted element types. All operands have one type, except where the example shows another.

**Meaning** is the method that defines what the operator computes, in NumPy: `evaluate` on whole arrays, or `formula` on
elements, where `f` has NumPy's functions. Compiled code agrees with it in every bit, in every number (a NaN may differ
in its bits), or up to rounding, as is said there; [how exact](#accuracy) functions of floats are, says a table.
"""

ACCURACY = """\
## Accuracy

The largest errors of functions of floats that `make accuracy` finds by comparing with 100 digits, in units in the last
place of the result; below the smallest normal number, in units of the smallest one. An exact result that is rounded
once is off by at most 0.5. The first number is for default compilation, the second for `strict`, where they
differ: the math functions of f32, and some of f64, are then the C library's. Each is the largest of vectors and
single elements, on a processor with AVX-512 and on one with AVX2.

Of f16 and bf16, all numbers are tried; of f32 and f64, some with each exponent, and many at both ends of the range and
where functions change. Zeros and their signs, infinities and NaN are as in NumPy or PyTorch. The bound is 4 units for
f32 and f64, and 1 for f16 and bf16, which are computed in f32 and rounded once, except where a note says why it is not.
For the interpreter it is the same, and 5 for f32, as NumPy's functions of f32 are less exact.
`tests/unit/project/test_accuracy.py` repeats a part.
"""

COMPOSED = """\
Functions of the front ends that are computed in several steps, by their names in `relex.frontend.compositions`:
"""

OTHERS = """\
## Other ops

These are no operators: they have no type rule, as their types are stated, and no meaning in NumPy.
"""

FILES = ["elementwise", "unary", "comparison", "linear", "reductions", "normalization", "convolution", "indexing"]

AGREEMENT = {
    Exactness.BITS: "in every bit",
    Exactness.NUMBERS: "in every number",
    Exactness.ROUNDED: "up to rounding",
}

WIDTH = 120

COMPUTED = tuple(t for t in ELEMENT_TYPES if t not in SUB_BYTE)
SETS = {
    ELEMENT_TYPES: "all, and integers of fewer than 8 bits",
    COMPUTED: "all",
    NUMBERS: "all but i1",
    FLOATS: "floats",
    INTEGERS: "integers",
}


def write_page() -> str:
    """What the page should say."""
    operators = sorted((kind for kind in Relex.operations if issubclass(kind, Operator)), key=_place)
    families = [(module, list(of)) for module, of in groupby(operators, lambda kind: kind.__module__)]
    others = [OTHERS, *(_entry(kind) for kind in Relex.operations if not issubclass(kind, Operator))]
    parts = [INTRODUCTION, *(_link(*family) for family in families), "", *(_family(*family) for family in families)]
    return "\n".join([*parts, *_accuracy(), *others])


def _accuracy() -> Iterator[str]:
    """The tables of errors, and notes."""
    yield ACCURACY
    yield from _errors(OPERATORS)
    yield COMPOSED
    yield from _errors(COMPOSITIONS)


def _errors(functions: Mapping[str, Exact]) -> Iterator[str]:
    types = list(BOUNDS)
    yield f"| function | {' | '.join(types)} |\n|---|{'---|' * len(types)}"
    for name, rows in sorted(load().items()):
        if name in functions:
            mark = "*" if functions[name].note else ""
            yield f"| `{name}`{mark} | {' | '.join(_of_modes(rows[t]) if t in rows else '' for t in types)} |"
    yield ""
    notes = [(name, exact) for name, exact in functions.items() if exact.note]
    yield _list([f"`{name}`: {exact.note}. The bound is {_bounds(exact)}." for name, exact in notes]) + "\n"


def _of_modes(errors: Mapping[str, float]) -> str:
    shown = [f"{errors[mode]:.2g}" if errors[mode] < 100 else f"{errors[mode]:.0f}" for mode in ("default", "strict")]
    return " / ".join(dict.fromkeys(shown))


def _bounds(exact: Exact) -> str:
    return ", ".join(f"{bound:g} for {element}" for element, bound in exact.bounds.items())


def _place(kind: type[Operator]) -> tuple[int, str, int]:
    """Operators are in the order of their definitions, files in this order, and others after them."""
    file = kind.__module__.rpartition(".")[2]
    return (FILES.index(file) if file in FILES else len(FILES)), file, _line(kind)


def _line(kind: type) -> int:
    """The line of a class; of one that `for_ranks` defines, the line of its base class."""
    try:
        return inspect.getsourcelines(kind)[1]
    except OSError:
        return _line(kind.__bases__[0])


def _title(module: str) -> str:
    return (import_module(module).__doc__ or "").partition(".")[0]


def _link(module: str, kinds: Sequence[type[Operator]]) -> str:
    names = ", ".join(f"[{_short(kind)}](#relex{_short(kind)})" for kind in kinds)
    return _filled(f"{_title(module)}: {names}")


def _family(module: str, kinds: Sequence[type[Operator]]) -> str:
    return "\n".join([f"## {_title(module)}\n", *(_operator(kind) for kind in kinds)])


def _short(kind: type[Operation]) -> str:
    return kind.name.partition(".")[2]


def _entry(kind: type[Operation]) -> str:
    """The name of an op, what its docstring says, and its examples."""
    return f"### {kind.name}\n\n{inspect.getdoc(kind)}\n"


def _operator(kind: type[Operator]) -> str:
    doc, _, example = (inspect.getdoc(kind) or "").partition("\n\n```mlir\n")
    example = example.removesuffix("```")
    examples = _examples(kind, example)
    facts = [f"Sizes: {_sizes(one)}" for one in examples] + [f"Types: {_types(examples[0])}"]
    return f"""\
### {kind.name}

`{_short(kind)}{_signature(kind)}`

{doc}

```mlir
{example}```

{_list(facts)}

Meaning (compiled code agrees {AGREEMENT[kind.EXACTNESS]}):{_meaning(kind)}
"""


def _list(items: Sequence[str]) -> str:
    return "\n".join(map(_filled, items))


def _filled(item: str) -> str:
    """An item of a list, broken into lines, but not inside of code."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), f"* {item}")
    return fill(whole, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False).replace("\0", " ")


def _signature(kind: type[Operator]) -> str:
    """The arguments and defaults, without types."""
    parameters = inspect.signature(getattr(op, _short(kind))).parameters.values()
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))


def _examples(kind: type[Operator], text: str) -> list[Operator]:
    """The operators in an example."""
    operands = dict(pair for line in _joined(text) for pair in _operand_types(line))
    defined = {name for names in re.findall(r"^(%.*?) = ", text, re.MULTILINE) for name in names.split(", ")}
    arguments = ", ".join(f"{name}: {t}" for name, t in operands.items() if name not in defined)
    module = parse_module(f"func.func @f({arguments}) {{\n{text}\nfunc.return\n}}")
    return [found for found in module.walk() if isinstance(found, kind)]


def _joined(text: str) -> list[str]:
    return re.sub(r"\n\s+", " ", text).splitlines()


def _operand_types(line: str) -> Iterator[tuple[str, str]]:
    """The operands of a line with their types."""
    match = re.fullmatch(r"[%\w, ]+ = [\w.]+ (.*) : \((.*)\) -> .*", line)
    assert match, line
    yield from zip(re.findall(r"%\w+", match[1]), filter(None, match[2].split(", ")), strict=True)


def _sizes(example: Operator) -> str:
    """The type rule, with names for sizes: `[a, b], [c, b] -> [a, c]`."""
    letters = map(chr, count(ord("a")))
    names: list[str] = []

    def name(size: int) -> Any:
        if size == 1:
            return 1
        names.append(next(letters))
        return named(names[-1])

    operands = [_named(tensor_type(value.type), name) for value in example.operands]
    try:
        with gathering() as requirements:
            results = example.infer_results(operands, example.properties)
    except RelexError as e:
        return f"static ones only: {e}"
    solver = Solver()
    for one in names:
        solver.name(one)
    for requirement in requirements:
        assert solver.require(requirement)
    shapes = ", ".join(_shape(solver.solved(operand.get_shape())) for operand in operands)
    where = " and ".join(f"`{requirement}`" for requirement in dict.fromkeys(solver.left))
    made = ", ".join(_shape(solver.solved(result.get_shape())) for result in results)
    rule = f"`{shapes or '()'} -> {made}`{f', where {where}' if where else ''}"
    return f"{rule}{_with_properties(example)}"


def _named(t: TensorType, name: Any) -> SizedType:
    return SizedType(t.element_type, [name(size) for size in t.get_shape()])


def _shape(sizes: Sizes) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _with_properties(example: Operator) -> str:
    """The properties of an example, as arguments in Python."""
    given = {name: python_value(p) for name, p in example.properties.items() if name in example.options()}
    shown = ", ".join(f"{name}={value}" for name, value in given.items() if _is_stated(example, name))
    return f", for `{shown}`" if shown else ""


def _is_stated(example: Operator, name: str) -> bool:
    return example.properties[name] != example.with_defaults({}).get(name)


def _types(example: Operator) -> str:
    """The element types that an operator accepts, found by trying all: for each type in the example, those that may
    replace it."""
    types = [tensor_type(value.type).element_type for value in example.operands]
    if not types:
        return "the type of the result is given"
    groups = {
        t: [name for name, other in zip(example.operand_names(), types, strict=False) if other == t] for t in types
    }
    found = {t: _accepted(example, t) for t in groups}
    if len(groups) == 1:
        return found[types[0]]
    return "; ".join(f"{', '.join(f'`{name}`' for name in names)}: {found[t]}" for t, names in groups.items())


def _accepted(example: Operator, old: Attribute) -> str:
    results = {t: r for t in ELEMENT_TYPES if (r := _result_element(example, old, t)) is not None}
    accepted = SETS.get(tuple(results), ", ".join(map(str, results)))
    made = {str(t) for t in results.values()}
    is_own = len(made) == 1 and old == tensor_type(example.operands[0].type).element_type and len(results) > 1
    return f"{accepted}; the result is {made.pop()}" if is_own else accepted


def _result_element(example: Operator, old: Attribute, new: Attribute) -> Attribute | None:
    """The element type of the result with another type in place of one of an operator's operands; None if it is not
    accepted."""
    types = [tensor_type(value.type) for value in example.operands]
    values = [create_ssa_value(TensorType(new if t.element_type == old else t.element_type, t.shape)) for t in types]
    options = {name: python_value(p) for name, p in example.properties.items() if name in example.options()}
    try:
        return type(example)(*values, **options).result.type.element_type
    except RelexError:
        return None


def _meaning(kind: type[Operator]) -> str:
    if issubclass(kind, SeveralResults):
        return _code(kind.evaluate_results)
    if not issubclass(kind, Formula):
        return _code(kind.evaluate)
    if kind.formula is Formula.formula:
        return _function(kind)
    return _code(kind.formula) if kind.formula.__name__ == "formula" else _stated(kind)


def _stated(kind: type[Operator]) -> str:
    """The formula that the head of a class states."""
    (head,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(head, ast.ClassDef)
    (formula,) = (ast.unparse(keyword.value) for keyword in head.keywords if keyword.arg == "formula")
    return f"\n\n```python\n{formula}\n```"


def _function(kind: type[Operator]) -> str:
    """The call of a function of elements that has the operator's name."""
    function = getattr(NumPyFunctions(), _short(kind))
    if isinstance(function, np.ufunc):
        return f" `np.{function.__name__}({', '.join(kind.operand_names())})`"
    return _code(function)


def _code(method: Any) -> str:
    source = dedent(inspect.getsource(method))
    return f"\n\n```python\n{source}```"


def main() -> None:
    PAGE.write_text(write_page())


if __name__ == "__main__":
    main()
