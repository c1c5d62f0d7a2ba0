"""Core-level programs as native code, by relex and by MLIR, and arrays to run them on."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.passes import ModulePass
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf

from relex.dialects import parse_module
from relex.dialects.target.code_generators import code_generator, parsed_ir
from relex.dialects.target.target_attribute import Target
from relex.dialects.upstream.verifier import verify_module
from relex.lowering.convert_scf_while_to_cf import ConvertScfWhileToCfPass
from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass
from relex.lowering.llvm.llvm_request_c_wrappers import LlvmRequestCWrappersPass
from relex.lowering.llvm.object_code import ObjectCode, compile_module
from relex.lowering.scf_parallel_for_to_nested_fors import ScfParallelForToNestedForsPass
from relex.passes.driver.base import run_pass
from relex.runtime.linking import LoadedCode
from relex.runtime.loader import load

Array = npt.NDArray[Any]

needs_mlir = pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("mlir-opt-22", "mlir-translate-22")), reason="needs mlir-opt-22"
)


def compile_core(text: str, *passes: ModulePass) -> LoadedCode:
    """Native code for a core-level program, with C wrappers for all functions; `passes` run first."""
    module = LlvmRequestCWrappersPass()(parse_module(text))
    for p in (*passes, ScfParallelForToNestedForsPass(), ConvertScfWhileToCfPass(), ConvertScfToCf()):
        module = run_pass(p, module)
    module = ConvertToLlvmPass()(module)
    verify_module(module)
    return load(compile_module(module))


MLIR_PASSES = (
    "--convert-vector-to-llvm --expand-strided-metadata --lower-affine --arith-expand --convert-scf-to-cf"
    " --convert-math-to-llvm --convert-math-to-libm --convert-vector-to-llvm --convert-to-llvm"
    " --reconcile-unrealized-casts"
).split()


def compile_core_by_mlir(text: str, *passes: str) -> LoadedCode:
    """The same program by MLIR's conversions and translation, without optimizations, on which no result may depend."""
    options = ["--llvm-request-c-wrappers", *passes, *MLIR_PASSES]
    machine = subprocess.run(["mlir-opt-22", *options], input=text, capture_output=True, text=True, check=False)
    assert machine.returncode == 0, machine.stderr
    translate = ["mlir-translate-22", "--mlir-to-llvmir"]
    ir = subprocess.run(translate, input=machine.stdout, capture_output=True, text=True, check=True).stdout
    target = Target.host()
    native = code_generator(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=0, reloc="pic", codemodel="default"
    )
    with parsed_ir(ir) as module:
        module.triple = target.triple
        module.data_layout = str(native.target_data)
        functions = tuple(f.name for f in module.functions if f.name.startswith("_mlir_ciface_"))
        code = native.emit_object(module)
    return load(ObjectCode((code,), functions, (), {}, target))


def descriptor(array: Array) -> ctypes.Structure:
    """The memref descriptor of an array."""
    vector = ctypes.c_int64 * array.ndim
    fields = [("base", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    fields += [("sizes", vector), ("strides", vector)]
    struct: type[ctypes.Structure] = type("Descriptor", (ctypes.Structure,), {"_fields_": fields})
    strides = vector(*(stride // array.itemsize for stride in array.strides))
    return struct(array.ctypes.data, array.ctypes.data, 0, vector(*array.shape), strides)


def call(code: LoadedCode, function: str, *arguments: Array | int, result: Any = None) -> Any:
    """Call a function through its C wrapper; integers are passed as 64-bit ones."""
    descriptors = [descriptor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    types = [ctypes.c_int64 if isinstance(d, int) else ctypes.c_void_p for d in descriptors]
    entry = ctypes.CFUNCTYPE(result, *types)(code.address(f"_mlir_ciface_{function}"))
    return entry(*(d if isinstance(d, int) else ctypes.addressof(d) for d in descriptors))


DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "index": np.int64,
}  # fmt: skip


def elementwise(name: str, op: str, inputs: list[str], result: str) -> str:
    """A function that applies `op` (with operands %0, %1, ...) to every element."""
    arguments = "".join(f"%a{i}: memref<?x{kind}>, " for i, kind in enumerate(inputs))
    loads = "\n".join(f"    %{i} = memref.load %a{i}[%i] : memref<?x{kind}>" for i, kind in enumerate(inputs))
    return f"""
func.func @{name}({arguments}%out: memref<?x{result}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, %c0 : memref<?x{result}>
  scf.for %i = %c0 to %n step %c1 {{
{loads}
    %r = {op}
    memref.store %r, %out[%i] : memref<?x{result}>
  }}
  func.return
}}
"""


def samples(kind: str, salt: int) -> Array:
    """Numbers with all the special ones among them, in another order for every `salt`."""
    generator = np.random.default_rng(salt)
    dtype = DTYPES[kind]
    if dtype == np.bool_:
        return generator.integers(0, 2, 400).astype(np.bool_)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        special = np.array([0, 1, -1, 2, -2, 7, -7, info.max, info.min, info.min + 1], dtype)
        values = np.concatenate([np.repeat(special, 10), generator.integers(-100, 100, 300).astype(dtype)])
    else:
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.5], dtype)
        values = np.concatenate([np.repeat(special, 10), (generator.standard_normal(300) * 4).astype(dtype)])
    return generator.permutation(values)


def bits(array: Array) -> bytes:
    """The contents, with one NaN for all of them: which one an operation gives is nobody's promise."""
    if np.issubdtype(array.dtype, np.floating):
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


def run_case(code: LoadedCode, name: str, inputs: list[str], result: str) -> Array:
    arrays = [samples(kind, salt) for salt, kind in enumerate(inputs)]
    out = np.empty(len(arrays[0]), DTYPES[result])
    call(code, name, *arrays, out)
    return out


def agree(text: str, calls: list[list[Array | int]]) -> None:
    """Check that relex and MLIR make the same of a program, whose function @f writes to the last of its arguments."""
    ours, theirs = compile_core(text), compile_core_by_mlir(text)
    for arguments in calls:
        results: list[list[bytes]] = []
        for code in (ours, theirs):
            copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            call(code, "f", *copies)
            results.append([bits(a) for a in copies if isinstance(a, np.ndarray)])
        assert results[0] == results[1], arguments
