"""The first difference of terms in the messages of proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from relex.dialects import parse_module
from relex.passes import RelexPass
from relex.reference import NotEquivalentError, check_pass
from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.equivalence.differences import explain
from relex.reference.proof.first_difference import LINES, first_difference, in_full
from relex.reference.proof.refinement import Refinement
from relex.reference.proof.terms import Terms
from relex.tools.opt import relex_opt

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
ADD, MULTIPLY, NEGATE = SymbolHead("arith.addf", F32), SymbolHead("arith.mulf", F32), SymbolHead("arith.negf", F32)
Made = Callable[[Terms], tuple[int, int]]


def elements(terms: Terms, name: str, size: int) -> list[int]:
    return terms.elements(name, (size,), F32).tolist()


def products(terms: Terms, a: str, b: str, size: int) -> list[int]:
    pairs = zip(elements(terms, a, size), elements(terms, b, size), strict=True)
    return [terms.apply(MULTIPLY, pair) for pair in pairs]


def total(terms: Terms, parts: list[int]) -> int:
    join = terms.make(SymbolHead(SUM, F32))
    result = parts[0]
    for part in parts[1:]:
        result = join(result, part)
    return result


def one_other_product(terms: Terms) -> tuple[int, int]:
    old = products(terms, "a", "b", 1000)
    return total(terms, old), total(terms, [*old[:-1], products(terms, "a", "c", 1000)[-1]])


def all_other_products(terms: Terms) -> tuple[int, int]:
    return total(terms, products(terms, "a", "b", 1000)), total(terms, products(terms, "a", "c", 1000))


def one_product_less(terms: Terms) -> tuple[int, int]:
    old = products(terms, "a", "b", 1000)
    return total(terms, old), total(terms, old[:500] + old[501:])


def another_type(terms: Terms) -> tuple[int, int]:
    x = elements(terms, "x", 1)
    return terms.apply(NEGATE, x), terms.apply(SymbolHead("arith.negf", F64), x)


def deep(terms: Terms) -> tuple[int, int]:
    a, b = elements(terms, "a", 2)
    for _ in range(30):
        a, b = terms.apply(NEGATE, [a]), terms.apply(NEGATE, [b])
    return a, b


def deep_and_wide(terms: Terms) -> tuple[int, int]:
    """The parts of the sums look the same but for what is deepest."""
    sums = [[terms.apply(NEGATE, [total(terms, products(terms, a, b, 40))]) for b in "xy"] for a in "ab"]
    return total(terms, sums[0]), total(terms, sums[1])


def another_op(terms: Terms) -> tuple[int, int]:
    x, y = elements(terms, "x", 1)[0], elements(terms, "y", 1)[0]
    return terms.apply(ADD, [x, y]), terms.apply(MULTIPLY, [x, y])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            one_other_product,
            "differs first in sum: arith.mulf(%b[999], %a[999]) before, arith.mulf(%c[999], %a[999]) after",
        ),
        (all_other_products, "differs first in sum: arith.mulf(%b[0], %a[0]) before, arith.mulf(%c[0], %a[0]) after"),
        (
            one_product_less,
            "is sum(arith.mulf(%a[500], %b[500]), arith.mulf(%a[0], %b[0]), 998 more) before and "
            "sum(arith.mulf(%a[0], %b[0]), arith.mulf(%a[1], %b[1]), 997 more) after",
        ),
        (
            another_type,
            "is arith.negf(%x[0]) of float32 before and arith.negf(%x[0]) of float64 after",
        ),
        (
            deep,
            "differs first in arith.negf > ... > arith.negf > arith.negf: "
            "arith.negf(arith.negf(arith.negf(arith.negf(%a[0])))) before, "
            "arith.negf(arith.negf(arith.negf(arith.negf(%a[1])))) after",
        ),
        (
            deep_and_wide,
            "differs first in sum > arith.negf > sum: arith.mulf(%a[0], %x[0]) before, arith.mulf(%b[0], %x[0]) after",
        ),
        (another_op, "is arith.addf(%x[0], %y[0]) before and arith.mulf(%x[0], %y[0]) after"),
    ],
)
def test_first_difference_is_short(make: Made, text: str):
    terms = Terms()
    before, after = make(terms)
    refinement = Refinement(terms)
    assert not refinement.holds(before, after)
    found = first_difference(refinement, before, after)
    assert str(found) == text
    assert found.is_whole == (make in (another_op, another_type))


def test_terms_in_full():
    """Each part stands once; what is too long ends with a line that says so."""
    terms = Terms()
    x, y = elements(terms, "x", 1)[0], elements(terms, "y", 1)[0]
    square = terms.apply(MULTIPLY, [x, x])
    before, after = terms.apply(ADD, [square, y]), terms.apply(ADD, [square, terms.apply(NEGATE, [y])])
    assert in_full(terms, before, after) == (
        "t0 = arith.mulf(%x[0], %x[0])",
        "t1 = arith.addf(%y[0], t0)",
        "before: t1",
        "t3 = arith.negf(%y[0])",
        "t4 = arith.addf(t0, t3)",
        "after: t4",
    )
    assert in_full(terms, x, y) == ("before: %x[0]", "after: %y[0]")
    lines = in_full(terms, *all_other_products(terms))
    assert len(lines) == LINES + 1
    assert lines[-1] == f"and more: only {LINES} lines are shown"


@dataclass(frozen=True)
class WrongWeightPass(RelexPass):
    """Multiplies by the first argument."""

    name = "wrong-weight"

    def apply(self, ctx: Context, op: ModuleOp):
        for dense in [inner for inner in op.walk() if inner.name == "relex.dense"]:
            dense.operands = [dense.operands[0], first_argument(dense)]


def first_argument(op: Operation) -> SSAValue:
    block = op.parent_block()
    assert block is not None
    return block.args[0]


PRODUCT = """
func.func @main(%x: tensor<2xNxf32>, %w: tensor<2xNxf32>, %a: tensor<2xNxf32>) -> tensor<2x2xf32> {
  %0 = relex.dense %a, %w : (tensor<2xNxf32>, tensor<2xNxf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
""".replace("xN", "x{size}")


@pytest.mark.parametrize("size", [3, 17, 200])
def test_the_note_of_a_long_product_is_short(size: int):
    with pytest.raises(NotEquivalentError) as e:
        check_pass(WrongWeightPass(), parse_module(PRODUCT.replace("{size}", str(size))), proof=True)
    first, more, *_ = e.value.diagnostics[0].notes
    assert first == (
        "for any arguments, result[0, 0] differs first in sum: arith.mulf{contract}(%w[0, 0], %a[0, 0]) before, "
        "arith.mulf{contract}(%x[0, 0], %a[0, 0]) after"
    )
    assert "--check-each=proof,terms" in more
    terms = e.value.difference.terms
    assert terms is not None
    assert sum("arith.mulf" in line for line in terms.in_full) == 2 * size
    notes = list(explain(e.value.difference, terms_in_full=True))
    assert notes[1 : len(terms.in_full) + 1] == [*terms.in_full]
    assert more not in notes


NEWLINE = "\n"


def test_terms_that_nest_deeply_are_compared_by_residues():
    """Each difference is an operand of the next one."""
    steps = [
        f"%{n + 1} = relex.subtract %{n}, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>" for n in range(400)
    ]
    text = f"""
    func.func @main(%y: tensor<2xf32>, %x: tensor<2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = relex.add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      {NEWLINE.join(steps)}
      func.return %400 : tensor<2xf32>
    }}
    """
    with pytest.raises(NotEquivalentError, match="changes what @main computes"):
        check_pass(WrongAddendPass(), parse_module(text), proof=True)


@dataclass(frozen=True)
class WrongAddendPass(RelexPass):
    """Adds the first argument."""

    name = "wrong-addend"

    def apply(self, ctx: Context, op: ModuleOp):
        for add in [inner for inner in op.walk() if inner.name == "relex.add"]:
            add.operands = [add.operands[0], first_argument(add)]


def test_the_tool_prints_terms_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "program.mlir"
    program.write_text(PRODUCT.replace("{size}", "40"))
    wrong = tmp_path / "wrong_weight.py"
    wrong.write_text(WRONG)
    command = [str(program), "--load-passes", str(wrong), "-p", "wrong-weight", "--dump-dir", str(tmp_path)]
    assert relex_opt.main([*command, "--check-each=proof"]) == 1
    first = capsys.readouterr().err
    assert "note: for both terms in full: --check-each=proof,terms" in first
    assert max(map(len, first.splitlines())) < 400
    assert relex_opt.main([*command, "--check-each=proof,terms"]) == 1
    whole = capsys.readouterr().err
    assert "note: t39 = arith.mulf{contract}(%w[0, 39], %a[0, 39])" in whole
    assert "for both terms in full" not in whole
    assert "--check-each=proof,terms,seed:0,samples:3" in whole
    assert relex_opt.main([*command, "--check-each=terms"]) == 1
    assert "expected --check-each=proof,terms, found 'terms' alone" in capsys.readouterr().err


WRONG = '''
from relex.passes import RelexPass


class WrongWeightPass(RelexPass):
    """Multiplies by the first argument."""

    name = "wrong-weight"

    def apply(self, ctx, op):
        for dense in [inner for inner in op.walk() if inner.name == "relex.dense"]:
            dense.operands = [dense.operands[0], dense.parent_block().args[0]]
'''
