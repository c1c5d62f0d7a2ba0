"""What MLIR prints of the core and the machine level is read back as the same program."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from dynamic_programs import opened, program
from native import needs_mlir
from operator_cases import CASES
from programs import operator_program
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects import CompileError, parse_module
from relex.dialects.upstream.printer import ExactPrinter
from relex.lowering import RelexPipelinePass
from relex.lowering.llvm.object_code import compile_module

EXAMPLES = Path(__file__).parents[3] / "examples"
SPLIT = "\n// -----\n"
FORMS = {"pretty": (), "generic": ("--mlir-print-op-generic",), "locations": ("--mlir-print-debuginfo",)}


def mlir_opt(text: str, *options: str) -> str:
    command = ["mlir-opt-22", "--split-input-file", *options]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def printed(module: ModuleOp, *, generic: bool = False) -> str:
    stream = StringIO()
    ExactPrinter(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def differences(module: ModuleOp, other: ModuleOp) -> Iterator[str]:
    """In which ops two modules differ, but for the names of arguments, which MLIR does not keep."""
    ops, others = list(module.walk()), list(other.walk())
    if [op.name for op in ops] != [op.name for op in others]:
        yield "they have other ops"
    for a, b in zip(ops, others, strict=False):
        if said(a) != said(b):
            yield f"{said(a)} became {said(b)}"


def said(op: Operation) -> tuple[object, ...]:
    kept = {name: value for name, value in op.properties.items() if name != "arg_attrs"}
    return op.name, kept, op.attributes, [str(t) for t in op.result_types], len(op.operands)


def operators() -> Iterator[ModuleOp]:
    """Some of the operators, and a few on operands of any size."""
    for make, operands in CASES[::16]:
        yield parse_module(operator_program(make, operands))
    # Without convolutions, whose code for rows of any number is long.
    for make, operands in CASES[36::48]:
        yield parse_module(program(make, opened(make, operands)))


def network() -> ModuleOp:
    """An example, whose weights are arguments. `mlir-opt.mlir` of the lit tests has another."""
    return parse_module((EXAMPLES / "digits" / "mlp.mlir").read_text())


@pytest.fixture(scope="module", params=["core", "llvm"])
def modules(request: pytest.FixtureRequest) -> list[ModuleOp]:
    return [RelexPipelinePass(request.param)(module) for module in (*operators(), network())]


@needs_mlir
@pytest.mark.sampled
@pytest.mark.parametrize("form", ["pretty", "generic"])
def test_programs_come_back(form: str, modules: list[ModuleOp]):
    theirs = mlir_opt(SPLIT.join(map(printed, modules)), *FORMS[form])
    again = [parse_module(text) for text in theirs.split("// -----")]
    found = [line for pair in zip(modules, again, strict=True) for line in differences(*pair)]
    assert found == []
    back = SPLIT.join(printed(module, generic=form == "generic") for module in again)
    # MLIR's parser states for a global that it has the default; in the generic form nobody need.
    default = "unnamed_addr = 0 : i64, value"
    assert mlir_opt(back, *FORMS[form]) == theirs.replace(default, "value")


@needs_mlir
@pytest.mark.parametrize("form", FORMS)
def test_the_code_is_the_same(form: str):
    module = RelexPipelinePass("llvm")(parse_module(operator_program(*CASES[-1])))
    again = parse_module(mlir_opt(printed(module), *FORMS[form]))
    assert compile_module(again).code == compile_module(module).code


CORE = """
memref.global "private" constant @table : memref<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 0.1]]> {alignment = 64 : i64}
memref.global "private" @scalar : memref<f64> = dense<0x7FF8000000000001>
memref.global "public" @many : memref<3xi8> = dense<"0x01FF7F">
memref.global "private" @space : memref<4xi1> = uninitialized
func.func @f(%x: memref<8xf32>, %y: memref<?xf32>, %i: index, %v: f32) -> (f32, index, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %table = memref.get_global @table : memref<2x3xf32>
  %0 = memref.cast %x {tag = 1 : i64} : memref<8xf32> to memref<?xf32>
  memref.copy %0, %y : memref<?xf32> to memref<?xf32>
  %1 = memref.memory_space_cast %x : memref<8xf32> to memref<8xf32, 1>
  %2 = memref.rank %x : memref<8xf32>
  %3 = memref.extract_aligned_pointer_as_index %x : memref<8xf32> -> index
  %4 = memref.subview %x[%i] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2], offset: ?>>
  %5 = memref.reinterpret_cast %x to offset: [%i], sizes: [2, %i], strides: [%i, 1] : memref<8xf32> to memref<2x?xf32, strided<[?, 1], offset: ?>>
  %6 = memref.load %x[%i] {nontemporal = true} : memref<8xf32>
  memref.prefetch %x[%i], write, locality<3>, data : memref<8xf32>
  %7 = memref.alloca_scope -> (f32) {
    memref.alloca_scope.return %v : f32
  }
  memref.alloca_scope {
    memref.store %v, %x[%c0] : memref<8xf32>
  }
  scf.parallel (%a, %b) = (%c0, %c0) to (%c8, %i) step (%c1, %c1) {
    memref.store %v, %x[%a] : memref<8xf32>
  } {relex.tag}
  %8 = scf.parallel (%a) = (%c0) to (%c8) step (%c1) init (%v) -> f32 {
    %e = memref.load %x[%a] : memref<8xf32>
    scf.reduce (%e : f32) {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r fastmath<reassoc,contract> : f32
      scf.reduce.return %s : f32
    }
  }
  %9:2 = scf.while (%a = %v, %k = %i) : (f32, index) -> (f32, index) {
    %go = arith.cmpi slt, %k, %c8 : index
    scf.condition(%go) %a, %k : f32, index
  } do {
  ^bb0(%a: f32, %k: index):
    %k1 = arith.addi %k, %c1 overflow<nsw, nuw> : index
    scf.yield %a, %k1 : f32, index
  }
  %10 = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %v) -> (f32) {
    scf.yield %acc : f32
  } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  %11 = scf.index_switch %i -> f32
  case 2 {
    scf.yield %8 : f32
  }
  default {
    scf.yield %10 : f32
  }
  func.return %11, %3, %7 : f32, index, f32
}
"""  # noqa: E501

MACHINE = """
llvm.mlir.global private constant @w(dense<[1.0, 2.0]> : tensor<2xf32>) {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<2 x f32>
llvm.mlir.global internal unnamed_addr constant @u(1 : i32) : i32
llvm.func @ext(i32, ...) -> i32
llvm.func internal @hidden(%p: !llvm.ptr {llvm.noalias}) attributes {passthrough = ["noinline"]} {
  llvm.return
}
llvm.func @f(%p: !llvm.ptr, %i: i64, %x: f32, %v: vector<4xf32>, %m: vector<4xi1>) -> f32 {
  %0 = llvm.getelementptr inbounds %p[%i, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
  %1 = llvm.getelementptr %0[1] : (!llvm.ptr) -> !llvm.ptr, f32
  %2 = llvm.intr.exp(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  %3 = "llvm.intr.vector.reduce.fadd"(%2, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  llvm.intr.masked.store %v, %1, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  %4 = llvm.fcmp "olt" %x, %3 : f32
  %5 = llvm.trunc %i overflow<nsw> : i64 to i32
  %6 = llvm.call @ext(%5, %x) vararg(!llvm.func<i32 (i32, ...)>) : (i32, f32) -> i32
  %7 = llvm.mlir.addressof @hidden : !llvm.ptr
  llvm.call %7(%p) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.switch %5 : i32, ^a [
    3: ^b(%x : f32)
  ]
^a:
  llvm.cond_br %4, ^b(%3 : f32), ^c
^c:
  llvm.br ^a {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^b(%r: f32):
  llvm.return %r : f32
}
"""  # noqa: E501


@needs_mlir
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", [CORE, MACHINE], ids=["core", "machine"])
def test_ops_come_back(text: str, form: str):
    module = parse_module(mlir_opt(text, *FORMS[form]))
    assert mlir_opt(printed(module)) == mlir_opt(printed(module, generic=True)) == mlir_opt(text)


@needs_mlir
@pytest.mark.parametrize("form", FORMS)
def test_flags_of_comparisons_come_back(form: str):
    text = """
llvm.func @f(%x: f32) -> i1 {
  %0 = llvm.fcmp "olt" %x, %x {fastmathFlags = #llvm.fastmath<nnan>} : f32
  llvm.return %0 : i1
}
"""
    assert mlir_opt(printed(parse_module(mlir_opt(text, *FORMS[form])))) == mlir_opt(text)


@needs_mlir
def test_promises_about_addresses_that_have_no_place_are_left_out():
    text = """
llvm.func @f(%p: !llvm.ptr, %i: i64) {
  %0 = llvm.getelementptr inbounds|nuw %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %1 = llvm.getelementptr nusw|nuw %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.return
}
"""
    for form in FORMS.values():
        module = parse_module(mlir_opt(text, *form))
        found = [op.inbounds is not None for op in module.walk() if isinstance(op, llvm.GEPOp)]
        assert found == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memref.global @x : memref<?xf32> = uninitialized", r":1:20: .*a memref of known shape, found memref<\?xf32>"),
        ("memref.global @x : memref<2xf32>", "expected '=', found the end"),
        ("memref.global @x : memref<2xf32> = dense<[1.0]>", ":1:41: .*shape mismatch"),
        ("func.func @f() attributes {a = #llvm.loop_unroll<parts = 3>} {\n  func.return\n}", ":1:50: .*full"),
        (
            "#l = #llvm.loop_annotation<unroll = #llvm.fastmath<none>>\nfunc.func private @f()",
            ":1:37: .*expected llvm.loop_unroll, found #llvm.fastmath<none>",
        ),
        ("func.func private @f() loc(#loc3)", "undefined symbol alias '#loc3'"),
        ("func.func private @f() loc(#a)\n#a = loc(#b)\n#b = loc(#a)", "nests less deeply"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str):
    with pytest.raises(CompileError, match=message):
        parse_module(text)
