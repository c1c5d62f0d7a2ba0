"""The conversions to the LLVM dialect, as programs: what comes out, in which order passes may run, what is refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations

import pytest
from effort import count_calls
from xdsl.context import Context
from xdsl.dialects import llvm, test
from xdsl.dialects.builtin import FileLineColLoc, IndexType, MemRefType, ModuleOp, StringAttr, i64
from xdsl.transforms.reconcile_unrealized_casts import ReconcileUnrealizedCastsPass

from relex.dialects import make_context, parse_module
from relex.dialects.errors import CompileError, PassError
from relex.dialects.upstream.llvm import MISSING_OPS
from relex.lowering.conversion import Conversion, ConversionTable, TypeConverter, convert
from relex.lowering.llvm.convert_arith_to_llvm import ARITH_TO_LLVM, ConvertArithToLlvmPass
from relex.lowering.llvm.convert_cf_to_llvm import ConvertCfToLlvmPass
from relex.lowering.llvm.convert_func_to_llvm import ConvertFuncToLlvmPass
from relex.lowering.llvm.convert_math_to_llvm import ConvertMathToLlvmPass
from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass
from relex.lowering.llvm.finalize_memref_to_llvm import FinalizeMemrefToLlvmPass
from relex.lowering.llvm.types import LLVM_TYPES
from relex.passes.driver.base import RelexPass, run_pass

needs_mlir = pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("mlir-opt-22", "mlir-translate-22")), reason="needs mlir-opt-22"
)

PROGRAM = """
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xf32>, constant,
                    initial_value = dense<1.0> : tensor<4xf32>}> : () -> ()
func.func private @callee(%b: memref<?xf32>) -> (memref<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %d = memref.dim %b, %c0 : memref<?xf32>
  func.return %b, %d : memref<?xf32>, index
}
func.func @f(%n: index, %buffer: memref<?xf32> {llvm.noalias}) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %table = memref.get_global @table : memref<4xf32>
  cf.br ^head(%zero, %zero, %buffer : index, index, memref<?xf32>)
^head(%i: index, %sum: index, %b: memref<?xf32>):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit(%sum : index)
^body:
  %x = memref.load %b[%i] : memref<?xf32>
  %y = math.sqrt %x fastmath<nnan,ninf> : f32
  %w = memref.load %table[%i] : memref<4xf32>
  %z = arith.addf %y, %w fastmath<reassoc,contract,nsz> : f32
  %lt = arith.cmpf olt, %z, %w fastmath<nnan> : f32
  %s = arith.select %lt, %z, %w : f32
  %m = arith.minimumf %s, %z : f32
  memref.store %m, %b[%i] : memref<?xf32>
  %v = arith.fptosi %m : f32 to i32
  %u = arith.uitofp %v : i32 to f64
  %j = arith.addi %i, %one overflow<nsw,nuw> : index
  %r, %k = func.call @callee(%b) : (memref<?xf32>) -> (memref<?xf32>, index)
  cf.br ^head(%j, %k, %r : index, index, memref<?xf32>)
^exit(%result: index):
  func.return %result : index
}
"""

PARTIAL_PASSES = [
    ConvertArithToLlvmPass(),
    ConvertCfToLlvmPass(),
    ConvertFuncToLlvmPass(),
    ConvertMathToLlvmPass(),
    FinalizeMemrefToLlvmPass(),
]


def to_llvm(text: str) -> ModuleOp:
    module = ConvertToLlvmPass()(parse_module(text))
    module.verify()
    return module


def machine_context() -> Context:
    context = make_context()
    for op in MISSING_OPS.values():
        context.load_op(op)
    return context


def mlir_opt(text: str, *options: str) -> str:
    result = subprocess.run(["mlir-opt-22", *options], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def other_ops(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op is not module and not op.name.startswith("llvm.")]


def test_nothing_but_llvm_is_left():
    assert other_ops(to_llvm(PROGRAM)) == []


def test_a_pass_leaves_its_input_alone():
    module = parse_module(PROGRAM)
    before = str(module)
    ConvertToLlvmPass()(module)
    assert str(module) == before


def test_partial_passes_in_any_order(some: Callable[..., list[tuple[RelexPass, ...]]]):
    for order in some(permutations(PARTIAL_PASSES), 5):
        module = parse_module(PROGRAM)
        for p in order:
            module = p(module)
            module.verify()
        module = run_pass(ReconcileUnrealizedCastsPass(), module)
        module.verify()
        assert other_ops(module) == [], [p.name for p in order]


def test_every_stage_parses_back_equal():
    module = parse_module(PROGRAM)
    for p in PARTIAL_PASSES:
        module = p(module)
        assert module.is_structurally_equivalent(parse_module(str(module), context=machine_context())), p.name
    module = to_llvm(PROGRAM)
    assert module.is_structurally_equivalent(parse_module(str(module), context=machine_context()))


@needs_mlir
def test_mlir_accepts_every_stage():
    module = parse_module(PROGRAM)
    for p in PARTIAL_PASSES:
        module = p(module)
        mlir_opt(str(module))
    machine = mlir_opt(str(to_llvm(PROGRAM)))
    translate = ["mlir-translate-22", "--mlir-to-llvmir"]
    assert "define" in subprocess.run(translate, input=machine, capture_output=True, text=True, check=True).stdout


SIGNATURES = """
func.func @scalars(%a: i1, %b: i8, %c: index, %d: f64) { func.return }
func.func @buffers(%a: memref<f32>, %b: memref<3x?xi1>, %c: memref<?xf64, strided<[?], offset: ?>>) { func.return }
func.func @one(%a: memref<2x2xindex>) -> memref<2x2xindex> { func.return %a : memref<2x2xindex> }
func.func @two(%a: memref<4xf32>, %b: index) -> (index, memref<4xf32>) { func.return %b, %a : index, memref<4xf32> }
func.func @scalar(%a: f32) -> f32 { func.return %a : f32 }
func.func private @outside(%a: memref<4xf32>, %b: i64) -> memref<4xf32>
func.func private @outside_scalar(%a: i64) -> f64
"""


def llvm_signatures(text: str) -> dict[str, str]:
    """The types of all functions, without the names of arguments."""
    found = re.findall(
        r"llvm\.func (?:internal |private )?@(\w+)\((.*?)\)(?: -> (.*?))?(?: attributes .*?)?(?: \{)?\n", text
    )
    signatures: dict[str, str] = {}
    for name, arguments, result in found:
        types = re.sub(r"%\w+: ", "", arguments)
        signatures[name] = f"({types}) -> {result or 'void'}".replace("!llvm.", "")
    return signatures


@needs_mlir
def test_calling_convention_is_that_of_mlir():
    ours = to_llvm(SIGNATURES.replace("{ func.return", "attributes {llvm.emit_c_interface} { func.return"))
    theirs = mlir_opt(SIGNATURES, "--llvm-request-c-wrappers", "--convert-func-to-llvm")
    found, expected = llvm_signatures(str(ours)), llvm_signatures(theirs)
    for name in found:
        assert found[name] == expected[name], name
    assert {"scalars", "buffers", "one", "two", "_mlir_ciface_two", "_mlir_ciface_one"} <= set(found)


def test_fields_of_a_descriptor_are_not_packed_and_unpacked():
    module = to_llvm("""
func.func @f(%a: memref<?x?xf32>, %n: index) -> f32 {
  %c1 = arith.constant 1 : index
  %b = memref.alloc(%n) : memref<?xf32>
  %c = "memref.cast"(%b) : (memref<?xf32>) -> memref<4xf32>
  %d = memref.dim %a, %c1 : memref<?x?xf32>
  %x = memref.load %a[%d, %n] : memref<?x?xf32>
  %y = memref.load %c[%n] : memref<4xf32>
  %z = func.call @g(%c, %x) : (memref<4xf32>, f32) -> f32
  func.return %z : f32
}
func.func private @g(%a: memref<4xf32>, %x: f32) -> f32
""")
    assert not [op for op in module.walk() if isinstance(op, llvm.InsertValueOp | llvm.ExtractValueOp)]


def test_noalias_goes_to_the_aligned_pointer():
    arguments = '%x: memref<4xf32> {llvm.noalias, relex.name = "x"}, %n: i8 {llvm.signext}'
    module = to_llvm(f"func.func @f({arguments}) {{ func.return }}")
    assert "@f(%x_base: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}, %x_offset: i64" in str(module)
    assert "%n: i8 {llvm.signext})" in str(module)
    assert "relex.name" not in str(module)


def test_locations_and_names_are_kept():
    module = to_llvm("""func.func @f(%x: memref<4x4xf32>, %i: index) -> f32 {
  %value = memref.load %x[%i, %i] : memref<4x4xf32>
  %0 = memref.alloc(%i) : memref<?xf32>
  func.return %value : f32
}""")
    for op in module.walk():
        if op is not module:
            assert isinstance(op.location, FileLineColLoc), op.name
    load = next(op for op in module.walk() if isinstance(op, llvm.LoadOp))
    assert load.dereferenced_value.name_hint == "value"
    assert isinstance(load.location, FileLineColLoc)
    assert load.location.line.data == 2


REFUSED = {
    "bf16": ("%a: bf16", "%0 = arith.addf %a, %a : bf16", "found bf16"),
    "tensors": ("%a: tensor<4xf32>", "", "found 'tensor<4xf32>'"),
    "unranked": ("%a: memref<*xf32>", "", r"found 'memref<\*xf32>'"),
    "memory space": ("%a: memref<4xf32, 3>, %i: index", "%0 = memref.load %a[%i] : memref<4xf32, 3>", "default memory"),
    "layout": (
        "%a: memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>, %i: index",
        "%0 = memref.load %a[%i] : memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>",
        "expected a memref with strides",
    ),
    "dimension": (
        "%a: memref<4xf32>",
        "%c = arith.constant 1 : index\n  %0 = memref.dim %a, %c : memref<4xf32>",
        "expected a dimension below 1, found 1",
    ),
    "strided alloc": ("", "%0 = memref.alloc() : memref<4xf32, strided<[2]>>", "expected a memref of identity layout"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_converted_is_refused(case: str):
    arguments, line, message = REFUSED[case]
    module = parse_module(f"func.func @f({arguments}) {{\n  {line}\n  func.return\n}}")
    with pytest.raises(CompileError, match=message) as info:
        ConvertToLlvmPass()(module)
    assert "<string>:" in str(info.value)


HALF = "func.func @f(%a: f16, %b: f64) -> f16 {{ %0 = {} func.return %0 : f16 }}"


@pytest.mark.parametrize(
    ("cpu", "op", "message"),
    [
        ("x86-64", "arith.addf %a, %a : f16", "no 'f16c' instructions"),
        ("haswell", "arith.addf %a, %a : f16", None),
        ("haswell", "arith.truncf %b : f64 to f16", "no 'avx512fp16' instructions"),
        ("sapphirerapids", "arith.truncf %b : f64 to f16", None),
    ],
)
def test_half_precision_only_where_the_target_has_it(cpu: str, op: str, message: str | None):
    target = f'{{triple = "x86_64-unknown-linux-gnu", cpu = "{cpu}", features = ""}}'
    module = parse_module(f"builtin.module attributes {{relex.target = {target}}} {{ {HALF.format(op)} }}")
    if message is None:
        ConvertToLlvmPass()(module)
        return
    with pytest.raises(PassError, match=message):
        ConvertToLlvmPass()(module)


def test_tables_are_open():
    table = ConversionTable("test", ARITH_TO_LLVM)
    types = TypeConverter("test types")
    types.rule(IndexType)(lambda _: i64)

    @table.rule(test.TestOp)
    def double(op: test.TestOp, conversion: Conversion) -> None:
        if "double" in op.attributes:
            value = conversion.value(op.operands[0])
            conversion.replace(conversion.add(llvm.AddOp(value, value)).res)

    module = parse_module("""
%i = arith.constant 4 : index
%j = "test.op"(%i) {double} : (index) -> index
%k = arith.addi %j, %i : index
%l = "test.op"(%k) : (index) -> index
""")
    convert(module, table, types)
    module.verify()
    assert [op.name for op in module.ops] == [
        "llvm.mlir.constant", "llvm.add", "llvm.add", "builtin.unrealized_conversion_cast", "test.op"
    ]  # fmt: skip
    # The rule of the new table is its own.
    assert test.TestOp not in ARITH_TO_LLVM


def test_descriptors_are_built_for_ops_that_are_not_converted():
    module = parse_module("""
func.func @f(%n: index) {
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?x4xf32>
  "test.op"(%a) : (memref<?x4xf32>) -> ()
  %b = "memref.cast"(%a) : (memref<?x4xf32>) -> memref<2x4xf32>
  "test.op"(%b) : (memref<2x4xf32>) -> ()
  func.return
}""")
    for p in (FinalizeMemrefToLlvmPass(), ConvertFuncToLlvmPass()):
        module = p(module)
        module.verify()
    assert not [op for op in module.walk() if op.name.startswith("memref.")]
    for op in module.walk():
        if isinstance(op, test.TestOp):
            assert isinstance(op.operands[0].type, MemRefType)


def test_casts_that_cancel_are_dropped():
    module = parse_module("""
%i = "test.op"() : () -> i64
%a = builtin.unrealized_conversion_cast %i : i64 to index
%b = arith.addi %a, %a : index
%c = builtin.unrealized_conversion_cast %b : index to i64
"test.op"(%c) : (i64) -> ()
""")
    convert(module, ARITH_TO_LLVM, LLVM_TYPES)
    assert [op.name for op in module.ops] == ["test.op", "llvm.add", "test.op"]


def straight_line(count: int) -> str:
    lines = [
        "func.func @f(%a: memref<64x64xf32>, %i: index) -> f32 {",
        "  %x0 = memref.load %a[%i, %i] : memref<64x64xf32>",
    ]
    lines += [f"  %x{k + 1} = arith.addf %x{k}, %x{k} : f32" for k in range(count)]
    return "\n".join([*lines, f"  func.return %x{count} : f32", "}"])


def test_work_is_linear_in_the_number_of_ops():
    def calls(count: int) -> int:
        module = parse_module(straight_line(count), verify=False)
        return count_calls(lambda: convert(module, ARITH_TO_LLVM, LLVM_TYPES))

    # Ten times the ops; a quadratic conversion would make a hundred times the calls.
    assert calls(5000) < 12 * calls(500)


def test_text_does_not_depend_on_the_process():
    script = (
        "import sys; from relex.dialects import parse_module\n"
        "from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass\n"
        "from relex.lowering.llvm.translate import translate\n"
        "module = ConvertToLlvmPass()(parse_module(sys.stdin.read()))\n"
        "print(module); print(translate(module).text)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=PROGRAM,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
    assert "contract nsz reassoc" in texts.pop()


def test_library_functions_are_declared_once():
    module = to_llvm("""
func.func @f(%n: index) {
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  memref.dealloc %b : memref<?xf32>
  func.return
}
""")
    names = [op.sym_name for op in module.ops if isinstance(op, llvm.FuncOp)]
    assert sorted(name.data for name in names) == ["f", "free", "malloc"]
    assert StringAttr("malloc") in names


def test_places_too_far_away_for_an_address():
    """`llvm.getelementptr` states indices of 32 bits; others are separate constants."""
    module = parse_module("""
    func.func @far(%x: memref<4x3000000000xi8>) -> i8 {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %0 = memref.load %x[%c1, %c2] : memref<4x3000000000xi8>
      func.return %0 : i8
    }
    """)
    text = str(run_pass(ConvertToLlvmPass(), module))
    assert re.search(r"llvm\.mlir\.constant\(3000000002\) : i64", text)
    assert "llvm.getelementptr inbounds %x[%" in text
