"""Kernels that are kept: what is compiled again, what is not, and that nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import count_calls
from operator_cases import CASES
from own_cache import own_kernels
from programs import Array, MakeOperator, operator_program
from test_compile_cache import shifted
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.passes import ModulePass

from relex.dialects import RelexError, parse_module
from relex.dialects.dtypes import tensor_operand_def
from relex.dialects.relex import ConstantOp, Conv2dOp, Operator, ReluOp
from relex.dialects.relex.sliding_windows import SlidingWindows
from relex.dialects.relex.types import SizedType
from relex.dialects.target.machine import ObjectCode
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import LegalizeOpsPass, te
from relex.lowering.kernels.loop_kernels import LoopFunction
from relex.lowering.kernels.marks import CompiledAs
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.te import Axis, PrimExpr, Tensor, compute, if_then_else, reduce_axis
from relex.lowering.te import sum as summed
from relex.passes import BindParamsPass
from relex.passes.analysis.padding import pads
from relex.passes.cpu import cost
from relex.passes.loops import schedule_cpu
from relex.passes.rewriting import memoize
from relex.runtime import build, cache_key, compilation, compile_cache, kernel_cache, load
from relex.runtime.builtin_code import SUFFIX
from relex.runtime.kernel_cache import ENTRY_SIZE, MEMORY, Kernel, Kernels, Text
from relex.runtime.sources import AnyProgram

X = np.linspace(-1, 1, 8 * 24, dtype=np.float32).reshape(8, 24)


def layers(widths: Sequence[int], seed: int = 0) -> ModuleOp:
    """Dense layers of these widths, each with its own constants."""
    rng = np.random.default_rng(seed)
    bb, before = BlockBuilder(), 24
    x = Var(f"x{seed}", (8, before), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for width in widths:
                weight = const(rng.random((width, before), np.float32) / before)
                y, before = bb.emit(op.exp(bb.emit(op.negative(bb.emit(op.dense(y, weight)))))), width
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the cache, which is on and empty."""
    # Other tests of this process may have added operators.
    monkeypatch.setattr(compilation, "entered_by_others", lambda: False)
    with own_kernels(tmp_path, monkeypatch) as files:
        yield files


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Tells how many kernels were compiled since it was asked last."""
    found: list[ModuleOp] = []
    compile_each = kernel_cache.compile_each

    def count(kernels: Sequence[ModuleOp]) -> Sequence[ObjectCode]:
        found.extend(kernels)
        return [*compile_each(kernels)]

    monkeypatch.setattr(kernel_cache, "compile_each", count)

    def since() -> int:
        number = len(found)
        found.clear()
        return number

    return since


def files(folder: Path) -> list[str]:
    """The files of a cache, but for relex's own code, which the first call of a process needs."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != SUFFIX) if folder.exists() else []


def test_a_kernel_is_compiled_once(folder: Path, compiled: Callable[[], int], tmp_path: Path):
    expected = build(layers([24, 16]), cache=False)
    assert files(folder) == []
    expected.save(tmp_path / "a")
    counts: list[int] = []
    for clear in (False, False, True):
        if clear:
            MEMORY.clear()
        program = build(layers([24, 16]))
        counts.append(compiled())
        np.testing.assert_array_equal(program["main"](X), expected["main"](X))
        program.save(tmp_path / "b")
        assert len((tmp_path / "b").read_bytes()) == len((tmp_path / "a").read_bytes())
        np.testing.assert_array_equal(load(tmp_path / "b")["main"](X), expected["main"](X))
    assert counts[0] > 0
    assert counts[1:] == [0, 0]
    assert len([name for name in files(folder) if name.endswith(".kernel")]) == counts[0]


TWICE = """
tir.prim_func @twice(%x: memref<64x64xf32>) outs(%y: memref<64x64xf32>) {
  tir.for %i, %j in (64, 64) {
    tir.block @y (%vi: spatial<64> = %i, %vj: spatial<64> = %j) {
      %0 = memref.load %x[%vi, %vj] : memref<64x64xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %y[%vi, %vj] : memref<64x64xf32>
    }
  }
}
"""


def test_a_loop_function_is_scheduled_once(monkeypatch: pytest.MonkeyPatch):
    """It is found again, with its own names: they are names of arguments."""
    scheduled: list[str] = []
    original = schedule_cpu.schedule_function

    def count(function: PrimFuncOp, processor: Processor) -> object:
        scheduled.append(function.sym_name.data)
        return original(function, processor)

    monkeypatch.setattr(schedule_cpu, "schedule_function", count)
    text = TWICE
    a = np.ones((64, 64), np.float32)
    for _ in range(2):
        assert build(text)["twice"](x=a).sum() == 2 * 64 * 64
        MEMORY.clear()
    assert scheduled == ["twice"]
    assert build(text.replace("%x", "%given").replace("@twice", "@again"))["again"](given=a).sum() == 2 * 64 * 64
    assert scheduled == ["twice"]


def test_texts_that_nobody_would_ask_for_are_not_made(monkeypatch: pytest.MonkeyPatch):
    """The code of operators is found before loops are scheduled; the code of loops for any caller is not."""
    made: list[str] = []
    original = memoize.function_text

    def see(function: PrimFuncOp) -> str:
        made.append(function.sym_name.data)
        return original(function)

    monkeypatch.setattr(memoize, "function_text", see)
    build(layers([24, 16]))
    assert not made
    build(PROGRAMS["sizes that are known at run time"]())
    assert not made
    build(TWICE)
    assert made == ["twice"]


def code_of(program: AnyProgram, *, cache: bool | None = None) -> tuple[object, ...]:
    """The machine code of a program, its constants, and what its callers are told."""
    compiled = build(program, cache=cache)._program  # pyright: ignore[reportPrivateUsage]
    constants = {name: bytes(data) for name, data in compiled.code.constants.items()}
    return sorted(compiled.code.parts), constants, compiled.signatures


def residual(count: int, width: int = 32) -> ModuleOp:
    """Layers that are added to what they are applied to, in place but for the first."""
    rng = np.random.default_rng(0)
    bb, x = BlockBuilder(), Var("x", (width, width), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for _ in range(count):
                weight = const(rng.random((width, width), np.float32) / width)
                y = bb.emit(op.add(bb.emit(op.dense(bb.emit(op.exp(y)), weight)), y))
            y = bb.emit_output(bb.emit(op.sum(y, axis=[1])))
        bb.emit_func_output(y)
    return bb.get()


MANY_COPIES = "\n".join(
    f"""
func.func @dense{n}(%x: tensor<{n}x64xf32>) -> tensor<{n}x640xf32> {{
  %w = relex.constant dense<0.5> : tensor<640x64xf32>
  %y = relex.dense %x, %w : (tensor<{n}x64xf32>, tensor<640x64xf32>) -> tensor<{n}x640xf32>
  func.return %y : tensor<{n}x640xf32>
}}"""
    for n in (1, 64, 512)
)
"""Functions with the same constant, which each packs in its own way."""

PROGRAMS: dict[str, Callable[[], AnyProgram]] = {
    "constants are packed": lambda: layers([24, 16]),
    "in place": lambda: residual(3),
    "one constant, packed differently": lambda: MANY_COPIES,
    "two results": lambda: (
        """
    func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
      %0 = relex.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = relex.permute_dims %0 axes = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = relex.negative %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %2, %1 : tensor<64x64xf32>, tensor<64x64xf32>
    }"""
    ),
    "a product of a copy": lambda: (
        """
    func.func @main(%x: tensor<16x64xf32>, %y: tensor<64x96xf32>) -> tensor<16x96xf32> {
      %0 = relex.permute_dims %y axes = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
      %1 = relex.dense %x, %0 : (tensor<16x64xf32>, tensor<96x64xf32>) -> tensor<16x96xf32>
      func.return %1 : tensor<16x96xf32>
    }"""
    ),
    "operators that are fused with nothing": lambda: (
        """
    func.func @main(%x: tensor<4xf32>, %y: tensor<64x64xf32>) -> (tensor<4xf32>, tensor<64x64xf32>) {
      %0 = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = relex.exp %y : (tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %0, %1 : tensor<4xf32>, tensor<64x64xf32>
    }"""
    ),
    "sizes that are known at run time": lambda: (
        """
    func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %0 = relex.softmax %x : (tensor<?x64xf32>) -> tensor<?x64xf32>
      func.return %0 : tensor<?x64xf32>
    }"""
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_does_not_depend_on_the_cache(name: str):
    program = PROGRAMS[name]
    expected = code_of(program(), cache=False)
    assert [code_of(program()) == expected for _ in range(2)] == [True, True]
    MEMORY.clear()
    assert code_of(program()) == expected


def forgotten(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The functions and operators that were taken for known at first, and are not, each time that happens."""
    found: list[Sequence[str]] = []
    forget = Kernels.forget

    def see(self: Kernels, recipes: Sequence[str]) -> None:
        found.append(recipes)
        forget(self, recipes)

    monkeypatch.setattr(Kernels, "forget", see)
    return found


def test_a_function_that_was_only_needed_in_place(monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]):
    """It is compiled as it is when that is needed, and then known in both forms."""
    exp = """
      %1 = relex.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = relex.cumsum %1 axis = 0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %2 : tensor<64x64xf32>
    }"""
    programs = [
        f"""
    func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {{
      %0 = relex.cumsum %x axis = 0 : (tensor<64x64xf32>) -> tensor<64x64xf32> {exp}""",
        f"func.func @main(%0: tensor<64x64xf32>) -> tensor<64x64xf32> {{ {exp}",
    ]
    expected, forgot = [code_of(program, cache=False) for program in programs], forgotten(monkeypatch)
    assert code_of(programs[0]) == expected[0]
    assert not forgot
    assert code_of(programs[1]) == expected[1]
    assert len(forgot) == 1
    compiled()
    assert [code_of(program) for program in programs] == expected
    assert (len(forgot), compiled()) == (1, 0)


def test_constants_that_too_many_functions_pack(monkeypatch: pytest.MonkeyPatch):
    """A function that packs a constant in one program has it packed by nobody in another."""
    functions = MANY_COPIES.split("\n\n")
    forgot = forgotten(monkeypatch)
    monkeypatch.setattr(cost, "PACKED_BYTES_ALLOWED", 0)
    monkeypatch.setattr(cost, "MAX_PACKED_GROWTH", 1)
    for function in functions:
        build(function)
    assert not forgot
    assert code_of(MANY_COPIES) == code_of(MANY_COPIES, cache=False)
    assert forgot


def test_known_functions_are_visited_by_no_pass(monkeypatch: pytest.MonkeyPatch):
    """After fusion, nothing is left of their loops but what packs constants."""
    visited: dict[str, int] = {}
    apply_pass = compilation.apply_pass

    def count(p: ModulePass, context: Context, module: ModuleOp) -> None:
        functions = [f for f in module.ops if isinstance(f, PrimFuncOp)]
        visited[p.name] = max((sum(1 for _ in f.body.walk()) for f in functions), default=0)
        apply_pass(p, context, module)

    monkeypatch.setattr(compilation, "apply_pass", count)
    build(layers([24, 16]))
    before = dict(visited)
    MEMORY.clear()
    build(layers([24, 16]))
    names = list(visited)
    after_fusion = names[names.index("inline-blocks") :]
    assert {name for name in after_fusion if visited[name]} == {"rewrite-layout"}
    assert 0 < visited["rewrite-layout"] < before["rewrite-layout"] / 2


def emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that have become loop functions."""
    found: list[str] = []
    emit = te.emit_prim_func

    def see(name: str, *rest: Any, **options: Any) -> PrimFuncOp:
        found.append(name)
        return emit(name, *rest, **options)

    monkeypatch.setattr(te, "emit_prim_func", see)
    return found


def test_operators_of_known_functions_are_not_lowered(monkeypatch: pytest.MonkeyPatch):
    made = emitted(monkeypatch)
    build(layers([24, 16]))
    assert made
    made.clear()
    MEMORY.clear()
    build(layers([24, 16], seed=1))
    assert made == []


def print_work() -> None:
    """Print the calls of the first build of a few operators, and of builds of more and more known ones."""
    few, many = 4, 24
    programs = {count: layers([24] * count) for count in (few, 2 * few, many)}
    first = count_calls(lambda: build(programs[few], cache=False))
    for program in programs.values():
        build(program)
    print(first, *(count_calls(lambda p=program: build(p)) for program in programs.values()))


def test_work_for_known_operators_is_little_and_does_not_grow(tmp_path: Path):
    """In a new process: the first build depends on what others have kept."""
    code = "import sys; sys.path[:0] = sys.argv[1:]; from test_kernel_cache import *; print_work()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    process = subprocess.run([sys.executable, "-c", code, *sys.path], env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    first, of_4, of_8, of_24 = map(int, process.stdout.split())
    assert (of_24 - of_8) / 16 < 1.3 * (of_8 - of_4) / 4
    assert of_4 < first / 3


def test_groups_are_known_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    """Operators of a known group are lowered again in another one."""
    chain = """
    func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {{
      %0 = relex.{0} %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = relex.{1} %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %1 : tensor<64x64xf32>
    }}
    """
    first, second = chain.format("exp", "negative"), chain.format("negative", "exp")
    expected = code_of(second, cache=False)
    build(first)
    made, forgot = emitted(monkeypatch), forgotten(monkeypatch)
    assert code_of(second) == expected
    assert (len(made), len(forgot)) == (2, 0)
    made.clear()
    assert code_of(second) == expected
    assert made == []


def test_other_constants_and_names_are_the_same_kernels(compiled: Callable[[], int]):
    build(layers([24, 24, 24]))
    assert compiled() > 0
    build(layers([24, 24, 24, 24, 24], seed=1))
    assert compiled() == 0


def images_of(kind: Callable[[SSAValue, SSAValue], Operator], weights: Array) -> ModuleOp:
    """A convolution with constant weights."""
    types = [TensorType(f32, shape) for shape in ([1, 8, 16, 16], weights.shape)]
    block = Block(arg_types=types)
    y = kind(*block.args)
    block.args[1].name_hint = "w"
    block.add_ops([y, ReturnOp(y)])
    function = FuncOp("main", (types, y.result_types), Region(block))
    return BindParamsPass("main", {"w": weights})(ModuleOp([function]))


@irdl_op_definition
class OthersConv2dOp(Operator):
    """A convolution whose class does not tell."""

    name = "others.conv2d"

    data = tensor_operand_def()
    weight = tensor_operand_def()

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (n, _, *image), (channels, *_) = (operand.get_shape() for operand in operands)
        return SizedType(operands[0].element_type, (n, channels, *image))

    def evaluate(self, x: Array, w: Array) -> Array:
        raise NotImplementedError


def others_conv2d(op: Operator, x: Tensor, w: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    c, i, j = reduce_axis(channels), reduce_axis(3), reduce_axis(3)

    def padded(b: Axis, c: Axis, y: Axis, z: Axis) -> PrimExpr:
        is_inside = (y >= 1) & (y < height + 1) & (z >= 1) & (z < width + 1)
        return if_then_else(is_inside, x[b, c, y - 1, z - 1], 0)

    pad = compute((n, channels, height + 2, width + 2), padded, name="pad")
    return compute(
        (n, w.shape[0], height, width),
        lambda b, o, y, z: summed(pad[b, c, y + i, z + j] * w[o, c, i, j], axis=(c, i, j)),
        name="conv2d",
    )


@pytest.fixture
def others() -> Iterator[None]:
    LEGALIZATIONS.add(others_conv2d, OthersConv2dOp)
    yield
    del LEGALIZATIONS[OthersConv2dOp]


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("kind", [partial(Conv2dOp, padding=[1, 1]), OthersConv2dOp])
def test_kernels_for_finite_constants_serve_no_others(
    kind: Callable[[SSAValue, SSAValue], Operator], compiled: Callable[[], int]
):
    """Products of an infinity with padding are NaN; products of finite numbers with it need not be computed."""
    weights = np.ones((16, 8, 3, 3), np.float32)
    for _ in range(2):
        build(images_of(kind, weights))
    assert compiled() == 1
    weights[3, 2, 0, 0] = np.inf
    found = build(images_of(kind, weights))["main"](np.ones((1, 8, 16, 16), np.float32))
    assert np.isnan(found).sum() == 31  # The first row and the first column.
    assert compiled() == 1


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_of_own_operators_only_windows_pad(make: MakeOperator, operands: list[Array]):
    """Others have no sums of products of padding, which kernels for finite constants leave out."""
    module = parse_module(operator_program(make, operands))
    (op,) = (op for op in module.walk() if isinstance(op, Operator) and not isinstance(op, ConstantOp))
    blocks = [op for op in LegalizeOpsPass()(module).walk() if isinstance(op, BlockOp)]
    assert isinstance(op, SlidingWindows) or len(blocks) == 1 or not any(map(pads, blocks))


def test_a_layer_that_changes_costs_that_layer(compiled: Callable[[], int]):
    build(layers([24, 16]))
    all_layers = compiled()
    build(layers([24, 18]))
    assert 0 < compiled() < all_layers


def test_memory_keeps_what_was_used_last(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MEMORY, "limit", 2 * (10 + ENTRY_SIZE))
    for key in ("a", "b"):
        MEMORY.put(key, Text(bytes(10)))
    assert MEMORY.get("a") is not None
    MEMORY.put("c", Text(bytes(10)))
    assert [key for key in "abc" if MEMORY.get(key) is not None] == ["a", "c"]


def test_entries_without_code_take_memory_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MEMORY, "limit", 3 * ENTRY_SIZE)
    for number in range(5):
        MEMORY.put(f"{number}", LoopFunction())
    assert [n for n in range(5) if MEMORY.get(f"{n}") is not None] == [2, 3, 4]


def test_other_processes_find_them(folder: Path):
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\nfrom test_kernel_cache import build, layers\nbuild(layers([24, 16]))"
    )
    found: list[list[str]] = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, *sys.path], check=True)
        found.append(files(folder))
    assert found[0] == found[1] != []


def test_an_edited_pass_compiles_them_again(compiled: Callable[[], int]):
    build(layers([24]))
    first, file = compiled(), Path(schedule_cpu.__file__)
    status = file.stat()
    known = (cache_key._versions, cache_key._digest)  # pyright: ignore[reportPrivateUsage]
    try:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        for function in known:
            function.cache_clear()
        build(layers([24]))
    finally:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        for function in known:
            function.cache_clear()
    assert compiled() == first > 0
    build(layers([24]))
    assert compiled() == 0


def test_rules_of_others_compile_them_again(monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]):
    build(layers([24]))
    first = compiled()
    monkeypatch.setitem(LEGALIZATIONS, ReluOp, shifted)
    build(layers([24]))
    assert compiled() == first


def test_rules_that_no_file_tells_are_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch):
    rule = shifted

    def depends(op: Operator, x: Tensor) -> Tensor:
        return rule(op, x)

    monkeypatch.setitem(LEGALIZATIONS, ReluOp, depends)
    build(layers([24]))
    assert files(folder) == []


@pytest.mark.parametrize("variable", ["RELEX_CACHE=off", "RELEX_CACHE=0", "RELEX_VERIFY=1"])
def test_nothing_is_kept(folder: Path, variable: str, monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]):
    name, value = variable.split("=")
    monkeypatch.setenv(name, value)
    for cache in (None, False):
        build(layers([24]), cache=cache)
    assert files(folder) == []
    monkeypatch.delenv(name)
    build(layers([24]))
    assert compiled() > 0


def test_a_folder_that_is_named_has_all(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RELEX_CACHE", str(tmp_path / "named"))
    build(layers([24]))
    assert files(folder) == []
    assert {Path(name).suffix for name in files(tmp_path / "named")} == {".relex", ".kernel", ".loops"}


def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: Callable[[], int]):
    folder.mkdir()
    folder.chmod(0o777)
    with warnings.catch_warnings(action="error"):
        build(layers([24]))
    assert files(folder) == []
    assert compiled() > 0
    build(layers([24]))
    assert compiled() == 0


def test_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    with warnings.catch_warnings(action="error"):
        build(layers([24]))


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, chunks: object) -> None:
        raise RelexError(f"{path}: No space left on device")

    monkeypatch.setattr(compile_cache, "write_file", refuse)
    with warnings.catch_warnings(action="error"):
        build(layers([24]))
    assert files(folder) == []


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "shorter": lambda data: data[:-1],
    "empty": lambda data: b"",
    "changed": lambda data: data[:-1] + b"?",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files(folder: Path, damage: str, compiled: Callable[[], int]):
    expected = build(layers([24]))["main"](X)
    first = compiled()
    MEMORY.clear()
    for name in files(folder):
        path = folder / name
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    np.testing.assert_array_equal(build(layers([24]))["main"](X), expected)
    assert compiled() == first


def test_what_was_used_last_stays_in_memory():
    memory = kernel_cache._Memory(2 * ENTRY_SIZE + 10)  # pyright: ignore[reportPrivateUsage]
    for name in "abc":
        memory.put(name, Kernel(name, (), (), bytes(4)))
        memory.get("a")
    assert [memory.get(name) is not None for name in "abc"] == [True, False, True]


def test_what_a_mark_states_is_read_again():
    """All pairs of arguments that may be one memory, and all numbers, in their order."""
    mark = CompiledAs("kernel", (3, 0, 2), ("64", "128"), ((0, 2), (1, 4), (3, 5)))
    function = next(iter(parse_module("func.func private @f()").ops))
    assert CompiledAs.of(function) is None
    for stated in (mark, CompiledAs("kernel", (1,)), replace(mark, in_place=mark.in_place[:2])):
        stated.mark(function)
        assert CompiledAs.of(function) == stated


def test_parallel_kernels():
    text = """
    func.func @main(%x: tensor<512x1024xf32>) -> tensor<512xf32> {
      %0 = relex.exp %x : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
      %1 = relex.sum %0 axis = [1] : (tensor<512x1024xf32>) -> tensor<512xf32>
      func.return %1 : tensor<512xf32>
    }
    """
    x: Array = np.linspace(-1, 1, 512 * 1024, dtype=np.float32).reshape(512, 1024)
    results = [build(parse_module(text))["main"](x) for _ in range(2)]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.exp(x).sum(axis=1), rtol=1e-5)


def test_profiles_name_each_call():
    first, second = (build(layers([24, 24, 24])).profile(X) for _ in range(2))
    assert len(first.rows) == 3
    assert [row.function for row in first.rows] == [row.function for row in second.rows]
