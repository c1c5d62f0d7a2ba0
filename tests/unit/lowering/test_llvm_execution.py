"""Core-level programs as native code: the results are NumPy's, and bit for bit the same as by MLIR's own conversion."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from native import (
    DTYPES,
    Array,
    call,
    compile_core,
    descriptor,
    elementwise,
)

from relex.dialects import parse_module
from relex.dialects.errors import RelexError, UnknownNameError
from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass
from relex.lowering.llvm.object_code import compile_module
from relex.runtime import build
from relex.runtime.linking import LoadedCode
from relex.runtime.loader import load

FLOATS = ["f32", "f64"]
INTEGERS = ["i8", "i32", "i64"]


def float_bits(array: Array) -> Array:
    return array.view(np.int32)


def cases() -> Iterator[tuple[str, str, list[str], str, Callable[..., Any] | None]]:
    """Name, op, operand types, result type and the NumPy function (None: compare with MLIR alone)."""
    float_functions: dict[str, Callable[..., Any]] = {
        "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "maximumf": np.maximum,
        "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin,
    }  # fmt: skip
    integer_functions: dict[str, Callable[..., Any]] = {
        "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
        "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum,
    }  # fmt: skip
    for kind in FLOATS:
        for op, function in float_functions.items():
            yield f"{op}_{kind}", f"arith.{op} %0, %1 : {kind}", [kind, kind], kind, function
        yield f"negf_{kind}", f"arith.negf %0 : {kind}", [kind], kind, np.negative
        for op, function in {"absf": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
                             "roundeven": np.rint}.items():  # fmt: skip
            yield f"{op}_{kind}", f"math.{op} %0 : {kind}", [kind], kind, function
        for op in ["exp", "exp2", "log", "log2", "sin", "cos", "tanh"]:
            yield f"{op}_{kind}", f"math.{op} %0 : {kind}", [kind], kind, None
        for op in ["copysign", "powf"]:
            yield f"{op}_{kind}", f"math.{op} %0, %1 : {kind}", [kind, kind], kind, None
        yield f"fma_{kind}", f"math.fma %0, %1, %2 : {kind}", [kind] * 3, kind, None
        for predicate in "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno false true".split():
            op = f"arith.cmpf {predicate}, %0, %1 : {kind}"
            yield f"cmpf_{predicate}_{kind}", op, [kind, kind], "i1", COMPARISONS.get(predicate)
        yield f"select_{kind}", f"arith.select %0, %1, %2 : {kind}", ["i1", kind, kind], kind, np.where
    for kind in INTEGERS:
        for op, function in integer_functions.items():
            yield f"{op}_{kind}", f"arith.{op} %0, %1 : {kind}", [kind, kind], kind, function
        for op in ["maxui", "minui"]:
            yield f"{op}_{kind}", f"arith.{op} %0, %1 : {kind}", [kind, kind], kind, None
        for predicate in "eq ne slt sle sgt sge ult ule ugt uge".split():
            op = f"arith.cmpi {predicate}, %0, %1 : {kind}"
            yield f"cmpi_{predicate}_{kind}", op, [kind, kind], "i1", COMPARISONS.get(predicate)
    for narrow, wide in [("i1", "i8"), ("i1", "i32"), ("i8", "i32"), ("i8", "i64"), ("i32", "i64")]:
        for op in ["extsi", "extui"]:
            yield f"{op}_{narrow}_{wide}", f"arith.{op} %0 : {narrow} to {wide}", [narrow], wide, None
        yield f"trunci_{wide}_{narrow}", f"arith.trunci %0 : {wide} to {narrow}", [wide], narrow, None
    for kind in ["i8", "i32", "i64"]:
        for real in FLOATS:
            yield f"sitofp_{kind}_{real}", f"arith.sitofp %0 : {kind} to {real}", [kind], real, DTYPES[real]
            yield f"uitofp_{kind}_{real}", f"arith.uitofp %0 : {kind} to {real}", [kind], real, None
        yield f"index_cast_{kind}", f"arith.index_cast %0 : {kind} to index", [kind], "index", np.int64
        yield f"index_uncast_{kind}", f"arith.index_cast %0 : index to {kind}", ["index"], kind, DTYPES[kind]
    yield "extf", "arith.extf %0 : f32 to f64", ["f32"], "f64", np.float64
    yield "truncate", "arith.truncf %0 : f64 to f32", ["f64"], "f32", np.float32
    yield "bitcast", "arith.bitcast %0 : f32 to i32", ["f32"], "i32", float_bits


COMPARISONS: dict[str, Callable[..., Any]] = {
    "oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less, "ole": np.less_equal,
    "une": np.not_equal, "eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal,
    "sgt": np.greater, "sge": np.greater_equal,
}  # fmt: skip
CASES = list(cases())


@pytest.fixture(scope="module")
def corpus() -> str:
    return "".join(elementwise(name, op, inputs, result) for name, op, inputs, result, _ in CASES)


@pytest.fixture(scope="module")
def native(corpus: str) -> LoadedCode:
    return compile_core(corpus)


def test_strided_arguments():
    code = compile_core("""
func.func @f(%a: memref<?x?xf64, strided<[?, ?], offset: ?>>, %out: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %out, %c0 : memref<?x?xf64>
  %n = memref.dim %out, %c1 : memref<?x?xf64>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %x = memref.load %a[%i, %j] : memref<?x?xf64, strided<[?, ?], offset: ?>>
      memref.store %x, %out[%i, %j] : memref<?x?xf64>
    }
  }
  func.return
}""")
    whole = np.arange(60.0).reshape(6, 10)
    for view in [whole[1::2, ::3], whole[::-1, ::-1], whole.T]:
        out = np.empty(view.shape)
        call(code, "f", view, out)
        assert np.array_equal(out, view)


def test_allocation_copies_casts_and_globals():
    code = compile_core("""
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xf32>, constant,
                    initial_value = dense<[1.0, 0x7FC00000, 0xFF800000, -0.0]> : tensor<4xf32>}> : () -> ()
"memref.global"() <{sym_name = "flags", sym_visibility = "private", type = memref<3xi1>,
                    initial_value = dense<[true, false, true]> : tensor<3xi1>}> : () -> ()
"memref.global"() <{sym_name = "state", sym_visibility = "private", type = memref<i64>,
                    initial_value = dense<5> : tensor<i64>}> : () -> ()
func.func @f(%n: index, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %table = memref.get_global @table : memref<4xf32>
  %any = "memref.cast"(%table) : (memref<4xf32>) -> memref<?xf32>
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  %b = memref.alloc() : memref<4xf32>
  %s = memref.alloca(%n) {alignment = 32 : i64} : memref<?xf32>
  "memref.copy"(%any, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  "memref.copy"(%a, %s) : (memref<?xf32>, memref<?xf32>) -> ()
  %four = "memref.cast"(%s) : (memref<?xf32>) -> memref<4xf32>
  "memref.copy"(%four, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  %all = "memref.cast"(%b) : (memref<4xf32>) -> memref<?xf32>
  "memref.copy"(%all, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  memref.dealloc %a : memref<?xf32>
  memref.dealloc %b : memref<4xf32>
  func.return
}
func.func @flag(%i: index) -> i1 {
  %flags = memref.get_global @flags : memref<3xi1>
  %x = memref.load %flags[%i] : memref<3xi1>
  func.return %x : i1
}
func.func @count() -> i64 {
  %state = memref.get_global @state : memref<i64>
  %x = memref.load %state[] : memref<i64>
  %one = arith.constant 1 : i64
  %y = arith.addi %x, %one : i64
  memref.store %y, %state[] : memref<i64>
  func.return %y : i64
}""")
    out = np.zeros(4, np.float32)
    call(code, "f", 4, out)
    assert out.view(np.uint32).tolist() == [0x3F800000, 0x7FC00000, 0xFF800000, 0x80000000]
    assert [call(code, "flag", i, result=ctypes.c_bool) for i in range(3)] == [True, False, True]
    assert [call(code, "count", result=ctypes.c_int64) for _ in range(3)] == [6, 7, 8]


def test_alignment_and_empty_allocation():
    code = compile_core("""
func.func @address(%n: index) -> memref<?xi8> {
  %a = memref.alloc(%n) {alignment = 256 : i64} : memref<?xi8>
  func.return %a : memref<?xi8>
}
func.func @release(%a: memref<?xi8>) {
  memref.dealloc %a : memref<?xi8>
  func.return
}""")
    for size in [0, 1, 255, 1000]:
        result = descriptor(np.empty(0, np.int8))
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("_mlir_ciface_address"))
        entry(ctypes.addressof(result), size)
        found: Any = result
        assert found.aligned % 256 == 0
        assert found.aligned >= found.base
        assert (found.offset, list(found.sizes), list(found.strides)) == (0, [size], [1])
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("_mlir_ciface_release"))
        release(ctypes.addressof(result))


def test_several_results_and_calls():
    code = compile_core("""
func.func private @swap(%a: f64, %b: i32) -> (i32, f64) { func.return %b, %a : i32, f64 }
func.func @f(%out: memref<f64>, %n: index) -> i32 {
  %a = arith.constant 2.5 : f64
  %b = arith.index_cast %n : index to i32
  %c, %d = func.call @swap(%a, %b) : (f64, i32) -> (i32, f64)
  func.call @store(%out, %d) : (memref<f64>, f64) -> ()
  func.return %c : i32
}
func.func private @store(%out: memref<f64>, %x: f64) {
  memref.store %x, %out[] : memref<f64>
  func.return
}""")
    out = np.zeros((), np.float64)
    assert call(code, "f", out, 7, result=ctypes.c_int32) == 7
    assert out == 2.5


def test_branches_with_arguments():
    code = compile_core("""
func.func @f(%n: index, %buffer: memref<?xi64>) -> i64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %even = arith.constant 2 : index
  cf.br ^head(%zero, %zero, %buffer : index, index, memref<?xi64>)
^head(%i: index, %sum: index, %b: memref<?xi64>):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit(%sum : index)
^body:
  %r = arith.remui %i, %even : index
  %odd = arith.cmpi ne, %r, %zero : index
  %plus = arith.addi %sum, %i : index
  // Both ways lead to one block.
  cf.cond_br %odd, ^next(%plus : index), ^next(%sum : index)
^next(%s: index):
  %x = arith.index_cast %s : index to i64
  memref.store %x, %b[%i] : memref<?xi64>
  %j = arith.addi %i, %one : index
  cf.br ^head(%j, %s, %b : index, index, memref<?xi64>)
^exit(%result: index):
  %y = arith.index_cast %result : index to i64
  func.return %y : i64
}""")
    out = np.zeros(10, np.int64)
    assert call(code, "f", 10, out, result=ctypes.c_int64) == 25
    assert out.tolist() == [0, 1, 1, 4, 4, 9, 9, 16, 16, 25]


def test_unreachable_blocks():
    code = compile_core("""
func.func @f(%n: index) -> i64 {
  %c = arith.index_cast %n : index to i64
  func.return %c : i64
^unreachable(%v: index, %m: memref<4xf32>):
  %t = arith.addi %v, %n : index
  cf.br ^unreachable(%t, %m : index, memref<4xf32>)
^alone(%w: index):
  %d = arith.index_cast %w : index to i64
  func.return %d : i64
}""")
    assert call(code, "f", 6, result=ctypes.c_int64) == 6


def test_unknown_functions():
    code = compile_core("func.func private @p() { func.return }\nfunc.func @q() { func.return }")
    assert code.address("q") != 0
    with pytest.raises(UnknownNameError, match=r"unknown function 'p'; the code defines: _mlir_ciface_p, .*q"):
        code.address("p")


def test_missing_symbols():
    text = "func.func private @nowhere_to_be_found()\nfunc.func @f() { func.call @nowhere_to_be_found() : () -> ()\n"
    with pytest.raises(RelexError, match="nowhere_to_be_found"):
        compile_core(text + "func.return }")


def test_external_functions_are_called_through_descriptors():
    module = parse_module("""
func.func private @sum(%a: memref<?xf32>, %n: i64) -> f32 attributes {llvm.emit_c_interface}
func.func @f(%a: memref<?xf32>) -> f32 attributes {llvm.emit_c_interface} {
  %n = arith.constant 3 : i64
  %s = func.call @sum(%a, %n) : (memref<?xf32>, i64) -> f32
  func.return %s : f32
}""")
    machine = ConvertToLlvmPass()(module)
    machine.verify()
    code = compile_module(machine)
    with pytest.raises(RelexError, match="calls a function '_mlir_ciface_sum', which this process does not have"):
        load(code)

    @ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)
    def sum_of(struct: int, n: int) -> float:
        found = type(descriptor(array)).from_address(struct)
        values = (ctypes.c_float * n).from_address(found.aligned)
        return sum(values[i * found.strides[0]] for i in range(found.sizes[0]))

    array = np.array([1.5, 2.5, 3.0], np.float32)
    loaded = load(code, {"_mlir_ciface_sum": ctypes.cast(sum_of, ctypes.c_void_p).value or 0})
    assert call(loaded, "f", array, result=ctypes.c_float) == 7.0


def test_quotients_of_numbers_that_are_never_negative() -> None:
    """The divisor less one is added to the dividend, which may be the largest number."""
    text = """
    func.func @main(%n: index) -> (index, index) {
      %zero = arith.constant 0 : index
      %two = arith.constant 2 : index
      %x = arith.maxsi %n, %zero : index
      %up = arith.ceildivsi %x, %two : index
      %down = arith.floordivsi %x, %two : index
      func.return %up, %down : index, index
    }
    """
    main = build(text)["main"]
    assert [tuple(map(int, main(n))) for n in (2**63 - 1, 5, 0, -3)] == [(2**62, 2**62 - 1), (3, 2), (0, 0), (0, 0)]
