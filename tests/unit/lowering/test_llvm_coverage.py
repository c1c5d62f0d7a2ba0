"""No op is forgotten: each is converted, or refused with a reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from native import compile_core
from xdsl.dialects import arith, cf, func, llvm, math, memref, scf, vector
from xdsl.ir import Dialect

from relex.dialects import parse_module
from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, PassError
from relex.dialects.upstream.llvm import MISSING_OPS
from relex.lowering.llvm.convert_to_llvm import REFUSED, TO_LLVM, ConvertToLlvmPass
from relex.lowering.llvm.translate import translate

DIALECTS: list[Dialect] = [arith.Arith, cf.Cf, func.Func, math.Math, memref.MemRef, vector.Vector]


def test_every_op_is_converted_or_refused():
    converted = {op.name for op in TO_LLVM}
    ops = {op.name for dialect in DIALECTS for op in dialect.operations}
    assert converted & set(REFUSED) == set()
    assert ops == (converted & ops) | set(REFUSED)


REFUSED_PROGRAMS = {
    "memref.atomic_rmw": '%0 = "memref.atomic_rmw"(%f, %x, %i) <{kind = 0 : i64}> : (f32, memref<4xf32>, index) -> f32',
    "memref.dma_start": (
        '"memref.dma_start"(%x, %i, %x, %i, %i, %t, %i) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>}'
        " : (memref<4xf32>, index, memref<4xf32>, index, index, memref<1xi32>, index) -> ()"
    ),
    "memref.dma_wait": '"memref.dma_wait"(%t, %i, %i) {operandSegmentSizes = array<i32: 1, 1, 1>}'
    " : (memref<1xi32>, index, index) -> ()",
    "vector.print": '"vector.print"(%v) : (vector<4xf32>) -> ()',
}


def function(line: str) -> str:
    arguments = "%f: f32, %x: memref<4xf32>, %i: index, %t: memref<1xi32>, %v: vector<4xf32>"
    return f"func.func @f({arguments}) {{\n  {line}\n  func.return\n}}"


@pytest.mark.parametrize("name", REFUSED)
def test_refused_ops_say_why(name: str):
    with pytest.raises(PassError, match=rf"<string>:2:\d+: error: '{name}' op .*: {REFUSED[name]}"):
        ConvertToLlvmPass()(parse_module(function(REFUSED_PROGRAMS[name]), verify=False))


FORMS = {
    "comparison of vectors": ("%0 = arith.cmpf olt, %v, %v : vector<4xf32>", "expected numbers to compare"),
    "bitcast of buffers": (
        "%0 = arith.bitcast %x : memref<4xf32> to memref<4xi32>",
        "expected numbers or vectors, found memref<4xf32>",
    ),
    "two dimensions": (
        "%0 = arith.constant dense<1.0> : vector<2x2xf32>",
        "expected vectors of one dimension and a fixed length, found vector<2x2xf32>",
    ),
    "scalable": (
        "%0 = vector.broadcast %f : f32 to vector<[4]xf32>",
        "expected vectors of one dimension and a fixed length",
    ),
    "tensor constant": ("%0 = arith.constant dense<1.0> : tensor<4xf32>", "found 'tensor<4xf32>'"),
    "alignment": ("%0 = memref.assume_alignment %x, 3 : memref<4xf32>", "a power of two, found 3"),
    "memory space": (
        '%0 = "memref.memory_space_cast"(%x) : (memref<4xf32>) -> memref<4xf32, 1 : i32>',
        "expected a memref in the default memory space",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_refused_forms_say_why(name: str):
    line, message = FORMS[name]
    with pytest.raises(CompileError, match=message) as error:
        ConvertToLlvmPass()(parse_module(function(line), verify=False))
    assert "<string>:2:" in str(error.value)


# The translation

TRANSLATED = """
llvm.mlir.global internal constant @text("abc") {addr_space = 0 : i32} : !llvm.array<3 x i8>
llvm.func @callee(%a: i32) -> i32 {
  llvm.return %a : i32
}
llvm.func @f(%i: i32, %j: i64, %x: f32, %y: f64, %p: !llvm.ptr, %c: i1, %v: vector<4xf32>, %w: vector<4xf64>,
             %m: vector<4xi1>) -> f32 {
  %0 = llvm.add %i, %i overflow<nsw,nuw> : i32
  %1 = llvm.sub %0, %i : i32
  %2 = llvm.mul %1, %i : i32
  %3 = llvm.udiv %2, %i : i32
  %4 = llvm.sdiv %3, %i : i32
  %5 = llvm.urem %4, %i : i32
  %6 = llvm.srem %5, %i : i32
  %7 = llvm.and %6, %i : i32
  %8 = llvm.or %7, %i : i32
  %9 = llvm.xor %8, %i : i32
  %10 = llvm.shl %9, %i : i32
  %11 = llvm.lshr %10, %i : i32
  %12 = llvm.ashr %11, %i : i32
  %13 = llvm.trunc %j : i64 to i32
  %14 = llvm.zext %i : i32 to i64
  %15 = llvm.sext %i : i32 to i64
  %16 = llvm.icmp "ult" %14, %15 : i64
  %17 = llvm.getelementptr inbounds %p[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %18 = llvm.alloca %i x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %19 = llvm.inttoptr %j : i64 to !llvm.ptr
  %20 = llvm.ptrtoint %p : !llvm.ptr to i64
  %21 = llvm.load %17 {alignment = 4 : i64} : !llvm.ptr -> f32
  llvm.store %21, %18 : f32, !llvm.ptr
  %22 = llvm.mlir.undef : !llvm.struct<(i32, f32)>
  %23 = llvm.insertvalue %i, %22[0] : !llvm.struct<(i32, f32)>
  %24 = llvm.extractvalue %23[0] : !llvm.struct<(i32, f32)>
  %25 = llvm.insertelement %x, %v[%i : i32] : vector<4xf32>
  %26 = llvm.extractelement %25[%j : i64] : vector<4xf32>
  %27 = llvm.shufflevector %v, %25 [0, -1, 7] : vector<4xf32>
  %28 = llvm.mlir.addressof @text : !llvm.ptr
  %29 = llvm.call @callee(%24) : (i32) -> i32
  %30 = llvm.mlir.zero : !llvm.ptr
  %31 = llvm.fadd %x, %21 {fastmathFlags = #llvm.fastmath<reassoc, contract>} : f32
  %32 = llvm.fmul %31, %x {fastmathFlags = #llvm.fastmath<fast>} : f32
  %33 = llvm.fdiv %32, %x : f32
  %34 = llvm.fsub %33, %x : f32
  %35 = llvm.frem %34, %x : f32
  %36 = llvm.fcmp "ule" %35, %x {fastmathFlags = #llvm.fastmath<nnan, ninf>} : f32
  %37 = llvm.bitcast %x : f32 to i32
  %38 = llvm.sitofp %i : i32 to f32
  %39 = llvm.uitofp %i : i32 to f64
  %40 = llvm.fptosi %x : f32 to i32
  %41 = llvm.fptoui %y : f64 to i32
  %42 = llvm.fpext %x : f32 to f64
  %43 = llvm.fptrunc %y : f64 to f32
  %44 = llvm.intr.fabs(%x) : (f32) -> f32
  %45 = llvm.intr.fabs(%y) : (f64) -> f64
  %46 = llvm.intr.exp(%x) {fastmathFlags = #llvm.fastmath<afn, nnan>} : (f32) -> f32
  %47 = llvm.intr.exp(%w) : (vector<4xf64>) -> vector<4xf64>
  %48 = "llvm.intr.fma"(%x, %x, %x) <{fastmathFlags = #llvm.fastmath<nsz>}> : (f32, f32, f32) -> f32
  %49 = "llvm.intr.maxnum"(%x, %x) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32) -> f32
  %50 = "llvm.intr.maxnum"(%y, %y) <{fastmathFlags = #llvm.fastmath<none>}> : (f64, f64) -> f64
  %51 = llvm.fneg %x {fastmathFlags = #llvm.fastmath<nnan>} : f32
  llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.intr.masked.store %w, %p, %m {alignment = 8 : i32} : vector<4xf64>, vector<4xi1> into !llvm.ptr
  %52 = llvm.select %c, %x, %21 : i1, f32
  %53 = llvm.intr.stacksave : !llvm.ptr
  llvm.intr.stackrestore %53 : !llvm.ptr
  %54 = "llvm.intr.vector.reduce.fadd"(%x, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  %55 = "llvm.intr.vector.reduce.fmul"(%y, %w) <{fastmathFlags = #llvm.fastmath<none>}> : (f64, vector<4xf64>) -> f64
  %56 = llvm.call_intrinsic "llvm.maximum.f32"(%54, %x) {fastmathFlags = #llvm.fastmath<contract, afn>} : (f32, f32) -> f32
  llvm.cond_br %c, ^end(%56 : f32), ^end(%x : f32)
^end(%r: f32):
  llvm.switch %i : i32, ^out(%r : f32) [
    1: ^out(%x : f32),
    -2: ^never,
    3: ^out(%r : f32)
  ]
^never:
  llvm.unreachable
^out(%result: f32):
  llvm.return %result : f32
}
"""  # noqa: E501

SCRIPT = """
import sys
from relex.dialects import parse_module
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.lowering.llvm.translate import translate
module = parse_module(sys.stdin.read())
compile_to_assembly(module)
print(translate(module).text)
"""


def test_every_op_of_the_llvm_dialect_is_translated_alike_in_every_process():
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=TRANSLATED,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
    text = texts.pop()
    for line in (
        'call nsz float @"llvm.fma.f32"',
        'call afn nnan float @"llvm.exp.f32"',
        'call <4 x double> @"llvm.exp.v4f64"',
        'call afn contract float @"llvm.maximum.f32"',
        'call reassoc float @"llvm.vector.reduce.fadd.v4f32"',
        "fcmp ninf nnan ule float",
        "add nsw nuw i32",
    ):
        assert line in text


UNTRANSLATED = {"llvm.inline_asm"}
"""Text for one machine, which the test above could not compile on all of them."""


def test_every_op_of_the_llvm_dialect_is_tried():
    tried = {op.name for op in parse_module(TRANSLATED, context=make_context()).walk()}
    ops = {op.name for op in llvm.LLVM.operations} | set(MISSING_OPS)
    intrinsics = {name for name in ops if name.startswith("llvm.intr.")}
    # One of the intrinsics on one operand, one of those on two stands for all.
    assert ops - tried - intrinsics - UNTRANSLATED == {"llvm.mlir.constant", "llvm.br"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llvm.func @f(%x: bf16) {\n  llvm.return\n}", ":1:1: .*Type not supported: bf16"),
        (
            "llvm.func @f(%x: i64) {\n  %0 = llvm.mlir.undef : bf16\n  llvm.return\n}",
            ":2:8: .*Type not supported: bf16",
        ),
        (
            "llvm.func @f() {\n  %0 = llvm.mlir.undef : vector<2x2xf32>\n  llvm.return\n}",
            ":2:8: .*Multi-dimensional vectors not supported",
        ),
        (
            "llvm.func @f(%c: i1) {\n  %0 = llvm.mlir.undef : bf16\n  llvm.br ^a(%0 : bf16)\n"
            "^a(%1: bf16):\n  llvm.return\n}",
            ":1:1: .*Type not supported: bf16",
        ),
    ],
)
def test_types_that_llvm_ir_cannot_have_are_refused(text: str, message: str):
    with pytest.raises(CompileError, match=message):
        translate(parse_module(text))


# Functions that are called


def test_failed_assertions_say_so():
    script = """
from native import call, compile_core
code = compile_core('func.func @f(%n: index) { %z = arith.constant 3 : index'
                    ' %c = arith.cmpi slt, %n, %z : index cf.assert %c, "too big" func.return }')
call(code, "f", 2)
print("passed", flush=True)
call(code, "f", 3)
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode < 0
    assert result.stdout.splitlines()[0] == "passed"


def test_structured_ops_name_the_pass_that_removes_them():
    for op, name in ((scf.ParallelOp, "scf-parallel-for-to-nested-fors"), (scf.WhileOp, "convert-scf-while-to-cf")):
        line = {
            scf.ParallelOp: '"scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({\n'
            "^bb0(%j: index):\n  scf.reduce\n}) : (index, index, index) -> ()",
            scf.WhileOp: "scf.while () : () -> () {\n  %c = arith.constant true\n  scf.condition(%c)\n} do {\n"
            "  scf.yield\n}",
        }[op]
        with pytest.raises(PassError, match=f"run {name} first"):
            ConvertToLlvmPass()(parse_module(function(line)))
    compile_core(function(line))
