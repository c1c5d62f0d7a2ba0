"""LLVM IR, object code and its loading: constants, targets, errors, resources."""

from __future__ import annotations

import ctypes
import gc
import io
import math
import re
import weakref

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target as OutputTarget

from relex.dialects import make_context, parse_module
from relex.dialects.errors import CompileError, RelexError, UnknownNameError
from relex.dialects.reserved import MATH
from relex.dialects.target.features import as_target, check_target, default_target, used_features
from relex.dialects.target.machine import EXTERNAL_CONSTANT_BYTES
from relex.dialects.target.target_attribute import Target, set_target
from relex.lowering.llvm.convert_math_to_libm import FUNCTIONS
from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass
from relex.lowering.llvm.object_code import compile_module, compile_to_assembly
from relex.lowering.llvm.targets import LlvmTarget
from relex.lowering.llvm.translate import translate
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import SetTargetPass
from relex.runtime import build
from relex.runtime.linking import LoadedCode
from relex.runtime.loader import load

X86 = "x86_64-unknown-linux-gnu"
ARM = "aarch64-unknown-linux-gnu"

ADD = """
llvm.func @add(%a: i64, %b: i64) -> i64 {
  %0 = llvm.add %a, %b : i64
  llvm.return %0 : i64
}
"""


def with_constant(values: np.ndarray[tuple[int], np.dtype[np.float32]], visibility: str = "private") -> ModuleOp:
    """A module with `@at(i)`, which reads element `i` of a constant."""
    kind = f"{len(values)}xf32"
    module = parse_module(f"""
"memref.global"() <{{sym_name = "table", sym_visibility = "{visibility}", type = memref<{kind}>, constant,
    initial_value = dense<"0x{values.tobytes().hex()}"> : tensor<{kind}>}}> : () -> ()
func.func @at(%i: index) -> f32 {{
  %t = memref.get_global @table : memref<{kind}>
  %x = memref.load %t[%i] : memref<{kind}>
  func.return %x : f32
}}""")
    return ConvertToLlvmPass()(module)


def read_all(code: LoadedCode, count: int) -> list[float]:
    entry = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(code.address("at"))
    return [entry(i) for i in range(count)]


def llvm_ir(text: str) -> str:
    return translate(parse_module(text)).text


# Constants


@pytest.mark.parametrize("embed", [True, False])
@pytest.mark.parametrize("count", [1, 5, 255, 256, 1000])
def test_constants(count: int, embed: bool):
    values = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    values[: min(count, 4)] = [np.inf, -0.0, -np.inf, 1e-45][:count]
    code = compile_module(with_constant(values), embed_constants=embed)
    external = 4 * count >= EXTERNAL_CONSTANT_BYTES and not embed
    assert code.constants == ({"table": values.tobytes()} if external else {})
    assert np.array(read_all(load(code), count), np.float32).tobytes() == values.tobytes()


def test_big_constants_are_never_text():
    values = np.arange(125_000, dtype=np.float32)
    module = with_constant(values)
    translation = translate(module)
    assert len(translation.text) < 1000
    assert translation.constants == {"table": values.tobytes()}
    assert read_all(load(compile_module(module)), 3) == [0.0, 1.0, 2.0]


# Translation


def test_blocks_are_put_in_order():
    text = llvm_ir("""
llvm.func @f(%c: i1) -> i64 {
  llvm.br ^second
^third:
  %y = llvm.add %x, %x : i64
  llvm.return %y : i64
^second:
  %x = llvm.mlir.constant(2) : i64
  llvm.cond_br %c, ^third, ^second
^unreachable:
  llvm.br ^third
}""")
    assert text.count("br ") == 2
    assert text.index("br label") < text.index("br i1") < text.index("ret i64")


def test_intrinsics_of_several_types_and_flags():
    text = llvm_ir("""
llvm.func @f(%a: f32, %b: f64, %v: vector<4xf32>) -> f64 {
  %0 = llvm.intr.exp(%a) {fastmathFlags = #llvm.fastmath<reassoc, nnan>} : (f32) -> f32
  %1 = llvm.intr.exp(%b) : (f64) -> f64
  %2 = llvm.intr.exp(%v) : (vector<4xf32>) -> vector<4xf32>
  %3 = llvm.intr.fma(%b, %1, %1) {fastmathFlags = #llvm.fastmath<nsz, afn, arcp>} : (f64, f64, f64) -> f64
  %4 = llvm.call_intrinsic "llvm.maximum.f64"(%3, %1) {fastmathFlags = #llvm.fastmath<nnan>} : (f64, f64) -> f64
  %5 = llvm.call_intrinsic "llvm.maximum.f64"(%4, %1) : (f64, f64) -> f64
  llvm.return %5 : f64
}""")
    assert 'call nnan reassoc float @"llvm.exp.f32"' in text
    assert 'call afn arcp nsz double @"llvm.fma.f64"' in text
    assert 'call nnan double @"llvm.maximum.f64"' in text
    assert text.count("declare") == 5


def test_attributes_of_functions_and_arguments():
    text = llvm_ir("""
llvm.func internal @f(%a: !llvm.ptr {llvm.noalias, llvm.align = 16 : i64, llvm.nocapture}, %b: i8 {llvm.signext})
    attributes {passthrough = ["noinline", "nounwind"]} {
  llvm.return
}""")
    assert re.search(
        r"define internal void @\"relex.f\"\(ptr captures\(none\) noalias align 16 .*, i8 signext .*\) noinline", text
    )


def test_a_function_is_not_compiled_into_its_wrapper_again():
    module = parse_module("""
llvm.func @f(%x: f32) -> f32 attributes {llvm.emit_c_interface} {
  %y = llvm.intr.sqrt(%x) : (f32) -> f32
  llvm.return %y : f32
}
llvm.func @_mlir_ciface_f(%x: f32) -> f32 {
  %y = llvm.call @f(%x) : (f32) -> f32
  llvm.return %y : f32
}""")
    set_target(module, Target("x86_64-unknown-linux-gnu", "haswell"))
    assert compile_to_assembly(module).count("sqrtss") == 1


WRONG = {
    "atomic": ("%0 = llvm.load %p atomic seq_cst {alignment = 4 : i64} : !llvm.ptr -> i32", "non-atomic"),
    "volatile": ("llvm.store volatile %p, %p : !llvm.ptr, !llvm.ptr", "non-volatile"),
    "unknown symbol": ("%0 = llvm.mlir.addressof @nowhere : !llvm.ptr", "cannot be translated to LLVM IR"),
    "unsupported type": ("%0 = llvm.load %p : !llvm.ptr -> bf16", "Type not supported: bf16"),
    "other dialect": ("%0 = arith.constant 1 : i32", r"found 'arith.constant'; run relex-pipeline\{to=llvm\} first"),
    "cast": (
        "%0 = builtin.unrealized_conversion_cast %p : !llvm.ptr to index",
        "found 'builtin.unrealized_conversion_cast'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_translated_is_refused_at_its_place(case: str):
    line, message = WRONG[case]
    text = f"llvm.func @f(%p: !llvm.ptr) {{\n  {line}\n  llvm.return\n}}"
    module = parse_module(text, "file.mlir", verify=False)
    with pytest.raises(CompileError, match=rf"file.mlir:2:\d+: error: .*{message}"):
        compile_module(module)


@pytest.mark.parametrize("attributes", ['passthrough = ["nonsense"]', "passthrough = [1 : i32]"])
def test_unknown_function_attributes(attributes: str):
    with pytest.raises(CompileError, match=r"file\.mlir:1:1"):
        translate(parse_module(f"llvm.func @f() attributes {{{attributes}}} {{ llvm.return }}", "file.mlir"))


def test_what_llvm_refuses():
    with pytest.raises(CompileError, match="LLVM refuses the module"):
        compile_module(parse_module("llvm.func @f(%a: i32) { llvm.return %a : i32 }", verify=False))


# Targets


def for_target(target: Target, text: str = ADD) -> ModuleOp:
    module = parse_module(text)
    set_target(module, target)
    return module


def emit(target: OutputTarget, module: ModuleOp) -> str:
    output = io.StringIO()
    target.emit(make_context(), module, output)
    return output.getvalue()


def test_code_for_the_target_of_the_module():
    vectors = """
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
  %1 = llvm.fadd %0, %0 : vector<16xf32>
  llvm.store %1, %p {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
  llvm.return
}"""
    assert "zmm" in compile_to_assembly(for_target(Target(X86, "x86-64-v4"), vectors))
    haswell = compile_to_assembly(for_target(Target(X86, "haswell"), vectors))
    assert "ymm" in haswell
    assert "zmm" not in haswell
    assert "xmm" in compile_to_assembly(for_target(Target(X86, "haswell", "-avx"), vectors))
    assert "fadd\tv0.4s" in compile_to_assembly(for_target(Target(ARM, "generic"), vectors))


@pytest.mark.parametrize("cpu", ["skylake-avx512", "sapphirerapids", "znver4"])
def test_loops_that_llvm_vectorizes_take_whole_registers(cpu: str):
    program = parse_module("""
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %y = relex.exp %x : (tensor<4096xf32>) -> tensor<4096xf32>
  func.return %y : tensor<4096xf32>
}""")
    set_target(program, Target(X86, cpu))
    assembly = compile_to_assembly(RelexPipelinePass()(program))
    assert "zmm" in assembly
    assert "ymm" not in assembly


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target("nonsense"), "no code generator for triple 'nonsense'"),
        (Target(""), "no code generator for triple ''"),
        (Target(X86, "nonsense"), f"unknown cpu 'nonsense' for triple '{X86}'"),
        (Target(X86, "", "+nonsense"), f"unknown feature '+nonsense' for triple '{X86}'"),
        (Target(ARM, "nonsense"), f"unknown cpu 'nonsense' for triple '{ARM}'"),
        (Target(ARM, "", "+neon,+nonsense"), f"unknown feature '+nonsense' for triple '{ARM}'"),
        # LLVM ends the process over these.
        (Target(X86, "pentium4"), f"LLVM makes no code for triple '{X86}', cpu 'pentium4'"),
        (Target(X86, "haswell", "-64bit"), f"LLVM makes no code for triple '{X86}', cpu 'haswell', features '-64bit'"),
        (Target("riscv64-linux-gnu", "generic-rv32"), "LLVM makes no code for triple 'riscv64-linux-gnu'"),
        (Target("amdgcn"), "LLVM makes no code for triple 'amdgcn'"),
    ],
)
def test_unknown_targets(target: Target, message: str):
    module = for_target(target)
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        compile_module(module)
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        compile_to_assembly(module)
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        emit(LlvmTarget(), module)


@pytest.mark.parametrize(
    "triple",
    [
        "aarch64-linux-gnu",
        "arm64-apple-darwin",
        "armv7-linux-gnueabihf",
        "powerpc64le-linux-gnu",
        "riscv64-linux-gnu",
        "wasm32-unknown-unknown",
        "x86_64-pc-windows-msvc",
    ],
)
def test_other_targets_compile_in_silence(triple: str, capfd: pytest.CaptureFixture[str]):
    code = compile_module(for_target(Target(triple)))
    assert code.functions == ("add",)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_what_names_a_target():
    host = Target.host()
    assert as_target(None) is None
    assert as_target(host) == host
    assert as_target("llvm") == default_target()
    assert as_target("host") == host
    assert as_target(ARM) == Target(ARM)
    assert as_target(host.triple) == Target(host.triple)
    assert as_target(f"{X86}:haswell") == Target(X86, "haswell")
    assert as_target(f"{X86}::+avx2,+fma") == Target(X86, "", "+avx2,+fma")
    if host.triple.startswith("x86_64"):
        assert as_target("host:haswell:-fma") == Target(host.triple, "haswell", "-fma")
    with pytest.raises(UnknownNameError, match="no code generator for triple 'cuda'"):
        as_target("cuda")
    with pytest.raises(UnknownNameError, match=f"unknown cpu 'pentium9' for triple '{X86}'"):
        as_target(f"{X86}:pentium9")
    with pytest.raises(UnknownNameError, match=f"expected a triple without ':', found '{X86}:haswell'"):
        as_target(Target(f"{X86}:haswell"))
    for wrong in (3, object(), ["llvm"]):
        with pytest.raises(TypeError, match=f"expected target to be a Target, a text .* {type(wrong).__name__}$"):
            as_target(wrong)


X86_ONLY = pytest.mark.skipif(not Target.host().triple.startswith("x86_64"), reason="names processors of x86-64")


@X86_ONLY
def test_the_environment_names_the_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RELEX_CPU", raising=False)
    assert default_target() == Target.host()
    monkeypatch.setenv("RELEX_CPU", "x86-64-v2")
    assert default_target() == Target(Target.host().triple, "x86-64-v2")
    assert compile_module(parse_module(ADD)).target.cpu == "x86-64-v2"
    assert 'cpu = "x86-64-v2"' in str(SetTargetPass()(parse_module(ADD)))
    # Who names a target is not overruled.
    assert compile_module(for_target(Target(X86, "haswell"))).target.cpu == "haswell"
    monkeypatch.setenv("RELEX_CPU", "nonsense")
    with pytest.raises(RelexError, match="expected RELEX_CPU to name a processor, found 'nonsense'"):
        compile_module(parse_module(ADD))


def test_features_that_code_may_use():
    host = Target.host()
    assert used_features(host) <= host.enabled
    if not host.triple.startswith("x86_64"):
        return
    assert "avx512f" in used_features(Target(X86, "x86-64-v4"))
    assert "fma" in used_features(Target(X86, "haswell"))
    assert not used_features(Target(X86, "haswell", "-fma")) & {"fma", "avx512f"}
    assert "sse2" in used_features(Target(X86))
    assert "avx" not in used_features(Target(X86))
    assert "prefetchi" not in used_features(Target(X86, "znver5"))


# Loading


def test_code_that_this_machine_cannot_run_is_refused():
    host = Target.host()
    other = ARM if host.triple.startswith("x86_64") else X86
    with pytest.raises(RelexError, match=f"code for '{other}' cannot run on"):
        load(compile_module(for_target(Target(other))))
    # No machine has the extensions of both makers.
    lacking = [flag[1:] for flag in host.features.split(",") if flag in ("-fma4", "-xop", "-amx-tile", "-avx512fp16")]
    if not host.triple.startswith("x86_64"):
        return
    assert lacking
    for feature in lacking:
        code = compile_module(for_target(Target(host.triple, "x86-64", f"+{feature}")))
        with pytest.raises(RelexError, match=f"needs what this machine lacks: .*{feature}"):
            load(code)


def test_unknown_level_of_optimization():
    with pytest.raises(RelexError, match="expected an optimization level of 0 to 3, found 4"):
        compile_module(parse_module(ADD), opt_level=4)


def test_code_and_constants_are_released():
    code = compile_module(with_constant(np.zeros(1000, np.float32)))
    loaded = load(code)
    alive = weakref.ref(loaded)
    del loaded
    gc.collect()
    assert alive() is None
    # Loading again and again does not fail.
    for _ in range(200):
        assert read_all(load(code), 1) == [0.0]


def test_big_constants_are_not_linked():
    values = np.zeros(100_000, np.float32)
    code = compile_module(with_constant(values))
    assert len(code.code) < 10_000
    (constant,) = load(code).constants
    assert constant.nbytes == values.nbytes


NAMED = """
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {{
  %0 = relex.call_tir @{name}(%x) : (tensor<3xf64>) -> tensor<3xf64>
  func.return %0 : tensor<3xf64>
}}
tir.prim_func {visibility} @{name}(%X: memref<3xf64>) outs(%Y: memref<3xf64>) {{
  tir.for %i in (3) {{
    tir.block @Y (%v: spatial<3> = %i) {{
      %x = memref.load %X[%v] : memref<3xf64>
      %e = math.exp2 %x : f64
      %y = math.erf %e : f64
      memref.store %y, %Y[%v] : memref<3xf64>
    }}
  }}
}}
"""


@pytest.mark.parametrize("name", ["exp2", "memcpy", "f.g", '".text"'])
def test_private_functions_may_be_named_as_those_of_the_c_library(name: str):
    x = np.array([0.0, -1.0, 0.5])
    found = build(NAMED.format(name=name, visibility="private"))["main"](x)
    np.testing.assert_allclose(found, [math.erf(2**v) for v in x], rtol=1e-15)


@pytest.mark.parametrize("visibility", ["", "private"])
def test_calls_of_the_c_library_are_no_calls_of_the_program(visibility: str):
    with pytest.raises(CompileError, match="calls 'erf' of the C library, expected no other function of that name"):
        build(NAMED.format(name="erf", visibility=visibility))


def test_reserved_names_are_those_that_conversions_call():
    assert set(FUNCTIONS.values()) <= MATH


@pytest.mark.parametrize("features", ["avx2", "+avx2 , -fma", "+avx2,,+fma", "+", "+a b"])
def test_features_that_cannot_be_read_are_refused(features: str):
    with pytest.raises(UnknownNameError, match="expected features such as"):
        check_target(Target("x86_64-unknown-linux-gnu", "", features))


@pytest.mark.parametrize("name", ["exp2", "memcpy"])
def test_public_functions_may_not(name: str):
    with pytest.raises(CompileError, match=rf"6:1: error: .* as one that compiled code calls, found '{name}'"):
        build(NAMED.format(name=name, visibility=""))
