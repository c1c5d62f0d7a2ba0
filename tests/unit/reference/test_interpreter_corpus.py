"""The interpreter computes what compiled code does, bit for bit, on the corpus of core-level programs."""

from __future__ import annotations

from typing import Any

import native
import numpy as np
import pytest
import test_llvm_corpus as corpus
import test_llvm_programs as programs
import test_llvm_vectors as vectors
from native import Array
from native import call as call_native
from xdsl.traits import SymbolTable

from relex.dialects import parse_module
from relex.dialects.upstream.verifier import verify_module

# It fills the table of steps.
from relex.reference.interpreter import api as api
from relex.reference.interpreter.checks import watching
from relex.reference.interpreter.memory import Buffer
from relex.reference.interpreter.program import Program


class Interpreted:
    """A program to interpret, in place of one that MLIR has compiled."""

    def __init__(self, text: str, *, checked: bool):
        module = parse_module(text)
        verify_module(module)
        self._program = Program(module, checked=checked)

    def call(self, function: str, *arguments: Array | int) -> None:
        op = SymbolTable.lookup_symbol(self._program.module, function)
        assert op is not None
        values = [Buffer(a) if isinstance(a, np.ndarray) else np.int64(a) for a in arguments]
        with np.errstate(all="ignore"), watching():
            self._program.function(op)(*values)


def call(code: Any, function: str, *arguments: Array | int) -> None:
    if isinstance(code, Interpreted):
        code.call(function, *arguments)
    else:
        call_native(code, function, *arguments)


@pytest.fixture(autouse=True, params=[False, True], ids=["plain", "checked"])
def instead_of_mlir(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared with MLIR's code elsewhere is compared with the interpreter here."""

    def interpreted(text: str) -> Interpreted:
        return Interpreted(text, checked=request.param)

    for module in (corpus, native):
        monkeypatch.setattr(module, "compile_core_by_mlir", interpreted)
        monkeypatch.setattr(module, "call", call)


def test_arith_on_vectors() -> None:
    cases = [case for case in corpus.arith_cases() if case.vector and case.inputs[0] in ("i8", "f32")]
    assert corpus.disagreements(cases, []) == []


@pytest.mark.parametrize(("kind", "length"), [("i8", 7), ("index", 4), ("f32", 1)])
def test_reductions(kind: str, length: int) -> None:
    vectors.test_reductions(kind, length)


@pytest.mark.parametrize("kind", ["i16", "index", "f32", "f64"])
def test_elements_of_vectors(kind: str) -> None:
    for name in vectors.ELEMENTS:
        vectors.test_elements_of_vectors(name, kind)


@pytest.mark.parametrize("kind", vectors.CONSTANTS)
def test_constant_vectors(kind: str) -> None:
    vectors.test_constant_vectors(kind)


@pytest.mark.parametrize("kind", ["i8", "index", "f64"])
def test_transfers_and_masks(kind: str) -> None:
    vectors.test_transfers_and_masks(kind)


@pytest.mark.parametrize("case", vectors.BITCASTS)
def test_bitcasts(case: tuple[str, str, str, str]) -> None:
    vectors.test_bitcasts(*case)


@pytest.mark.parametrize("name", programs.VIEWS)
def test_views(name: str) -> None:
    programs.test_views(name)
