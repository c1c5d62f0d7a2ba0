"""Proofs by residues: what is equal as terms has one residue, what is not has another."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from mistaken_passes import RIGHT
from test_proof import MLP, kinds
from wrong_rewrites import CASES
from xdsl.dialects.arith import AddfOp, MaximumfOp, MulfOp, NegfOp

from relex.dialects import parse_module
from relex.lowering import LegalizeOpsPass, RelexPipelinePass
from relex.reference import check_pass
from relex.reference.domains.symbols import SUM, SymbolHead, head_of
from relex.reference.equivalence.differences import NotEquivalentError
from relex.reference.equivalence.verdicts import Certainty
from relex.reference.proof import proof
from relex.reference.proof.field import P, Residues
from relex.reference.proof.identities import identities
from relex.reference.proof.refinement import Refinement
from relex.reference.proof.terms import EXACT_PRODUCT, Terms

F32 = np.dtype(np.float32)
HEADS = [
    head_of(AddfOp.name, F32),
    head_of(MulfOp.name, F32),
    head_of(MulfOp.name, F32, "contract"),
    SymbolHead(EXACT_PRODUCT, F32),
    head_of(MaximumfOp.name, F32),
    *[SymbolHead(SUM, F32, "", head_of(AddfOp.name, F32).function)] * 3,
]


@pytest.fixture
def by_residues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use residues for small functions, too."""
    monkeypatch.setattr(proof, "LARGE", -1)


@pytest.mark.parametrize("seed", range(5))
@np.errstate(all="ignore")
def test_single_residues_are_those_of_arrays(seed: int):
    random, residues = Random(seed), Residues(seed)
    pool: list[int] = [*residues.elements("x", (4,), F32).tolist(), residues.constant(np.float32(0.5))]
    negf = head_of(NegfOp.name, F32)
    for _ in range(200):
        head, operands = random.choice([*HEADS, negf]), random.choices(pool, k=2)
        operands = operands[:1] if head is negf else operands
        one = int(residues.make(head)(*operands))
        array = residues.make(head)(*(np.array([term, term], np.int64) for term in operands))
        assert array.tolist() == [one, one]
        pool.append(one)


@pytest.mark.parametrize("head", {head.name: head for head in HEADS}.values(), ids=str)
@np.errstate(all="ignore")
def test_repeated_steps_are_those_of_one_after_the_other(head: SymbolHead):
    residues = Residues(0)
    zeros = residues.constants(np.array([0, -0.0, 0, 1], np.float32))
    begin, *rows = [zeros, *residues.elements("x", (3, 4), F32)]
    rows = [np.where([True, False, True, False], zeros, row) for row in rows]
    make = residues.make(head)
    expected = begin
    for row in rows:
        expected = make(expected, row)
    assert residues.repeated(make, begin, np.array(rows)).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(5))
@np.errstate(all="ignore")
def test_residues_agree_with_terms(seed: int):
    """Terms of one residue are equal, and many equal terms have one residue."""
    random = Random(seed)
    terms, residues = Terms(identities()), Residues(seed)
    numbers = [np.float32(x) for x in (0, -0.0, 1, -1, 2, np.inf, -np.inf, np.nan)]
    pool = [*zip(*(x.elements("x", (4,), F32).tolist() for x in (terms, residues)), strict=True)]
    pool += [(terms.constant(x), residues.constant(x)) for x in numbers]
    negf = head_of(NegfOp.name, F32)
    for _ in range(400):
        head, (a, b) = random.choice([*HEADS, negf]), random.choices(pool, k=2)
        operands = [a] if head is negf else [a, b]
        if head.name == EXACT_PRODUCT and any(terms.value(term) is not None for term, _ in operands):
            continue  # Residues know more about these.
        old, new = (x.make(head)(*(o[i] for o in operands)) for i, x in enumerate((terms, residues)))
        pool.append((terms.settle(old), int(new)))
    refinement = Refinement(terms)
    by_residue: dict[int, set[int]] = {}
    for term, residue in pool:
        by_residue.setdefault(residue, set()).add(term)
    for same in by_residue.values():
        first = min(same)
        for other in same:
            is_equal = refinement.holds(first, other) or refinement.holds(other, first)
            assert is_equal, f"{terms.text(first, 9)} and {terms.text(other, 9)}"
    assert len({term for term, _ in pool}) <= len(by_residue) < len(pool)


def test_pipeline(by_residues: None):
    report = check_pass(RelexPipelinePass(to="core"), parse_module(MLP), proof=True)
    found = kinds(report)
    assert {p for p, kind in found.items() if kind is Certainty.CHECKED} == {"expand-math"}
    assert {found[p] for p in ("legalize-ops", "schedule-cpu", "plan-memory", "vectorize-loops")} == {Certainty.PROVED}
    doubts = [f.verdict.doubt for f in report.findings if f.verdict.doubt]
    assert doubts
    assert max(doubts) < proof.DOUBT
    assert str(next(f.verdict for f in report.findings if f.verdict.doubt)).startswith("proved, but for a probability")


def test_large():
    """Functions with many elements are proved by residues."""
    text = """
    func.func @main(%x: tensor<64x300xf32>, %w: tensor<40x300xf32>, %b: tensor<40xf32>) -> tensor<64x40xf32> {
      %0 = relex.dense %x, %w : (tensor<64x300xf32>, tensor<40x300xf32>) -> tensor<64x40xf32>
      %1 = relex.add %0, %b : (tensor<64x40xf32>, tensor<40xf32>) -> tensor<64x40xf32>
      func.return %1 : tensor<64x40xf32>
    }
    """
    (found,) = check_pass(LegalizeOpsPass(), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.PROVED
    assert 0 < found.verdict.doubt < proof.DOUBT


@pytest.mark.parametrize("name", CASES)
def test_wrong_rewrites(name: str, by_residues: None):
    """A wrong rewrite has other residues; its right form is proved, or checked."""
    with pytest.raises(NotEquivalentError):
        check_pass(CASES[name].wrong, CASES[name].module, proof=True)


SUMS = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.add %0, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


def test_rounding_is_not_proved(by_residues: None):
    """Sums that must keep their order are not proved in another one."""
    (found,) = check_pass(RIGHT["regroup"](), parse_module(SUMS), proof=True).findings
    assert found.verdict.kind is Certainty.CHECKED
    assert found.verdict.why.startswith("its residues differ for result[0]")


@np.errstate(over="ignore")
def test_sums():
    """A total is the sum of its parts, in any order and modulo P."""
    residues = Residues(3)
    rows = residues.elements("x", (2, 5000), F32)
    head = SymbolHead(SUM, F32)
    once = residues.fold(head, (), rows)
    halves = [residues.fold(head, (), rows[:, part]) for part in (slice(1234, None), slice(1234))]
    assert once.tolist() == residues.make(head)(*halves).tolist()
    expected = [sum(row) % P for row in rows.tolist()]
    assert [term % (1 << 61) for term in once.tolist()] == expected
