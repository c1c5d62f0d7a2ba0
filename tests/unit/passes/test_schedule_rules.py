"""The rules of the default schedule: which one applies to a block, and that results stay right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from programs import Array
from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

from relex.dialects import parse_module
from relex.dialects.target.processors import processor_of
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.dialects.tir.verification import is_guarded
from relex.lowering.relex_pipeline import RelexPipelinePass, pipeline
from relex.passes import CheckTirPass, JoinRowsPass, ScheduleCpuPass, run_pass
from relex.passes.analysis.loop_tree import loops_of
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rule_table import RULES, add_rule
from relex.passes.cpu.rules.look_ups import looks_up_bytes
from relex.passes.loops.schedule_cpu import Decision, schedule_function
from relex.runtime import build

AVX512 = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx2")
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2")


def skip_unless_runnable(target: Target) -> None:
    lacking = target.enabled - Target.host().enabled
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(sorted(lacking))}")


def reduction(operation: str, shape: str, axes: str, result: str) -> str:
    return f"""
    func.func @main(%a: tensor<{shape}>) -> tensor<{result}> {{
      %0 = relex.{operation} %a axis = {axes} : (tensor<{shape}>) -> tensor<{result}>
      func.return %0 : tensor<{result}>
    }}"""


def dense(m: int, k: int, n: int, kind: str = "f32") -> str:
    a, b, result = (f"tensor<{p}x{q}x{kind}>" for p, q in ((m, k), (n, k), (m, n)))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.dense %a, %b : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def dense_gelu(m: int, k: int, n: int) -> str:
    a, b, result = (f"tensor<{p}x{q}xf32>" for p, q in ((m, k), (n, k), (m, n)))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.dense %a, %b : ({a}, {b}) -> {result}
      %1 = relex.gelu %0 : ({result}) -> {result}
      func.return %1 : {result}
    }}"""


def matmul(m: int, k: int, n: int) -> str:
    a, b, result = (f"tensor<{p}x{q}xf64>" for p, q in ((m, k), (k, n), (m, n)))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.matmul %a, %b : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def permute(shape: str, axes: str, result: str) -> str:
    return f"""
    func.func @main(%a: tensor<{shape}>) -> tensor<{result}> {{
      %0 = relex.permute_dims %a axes = {axes} : (tensor<{shape}>) -> tensor<{result}>
      func.return %0 : tensor<{result}>
    }}"""


CONVOLUTION = """
func.func @main(%a: tensor<36x1x8x8xf32>, %b: tensor<8x1x3x3xf32>) -> tensor<36x8x8x8xf32> {
  %0 = relex.conv2d %a, %b padding = [1, 1, 1, 1]
      : (tensor<36x1x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<36x8x8x8xf32>
  func.return %0 : tensor<36x8x8x8xf32>
}
"""


def convolution(channels: int, size: int, outputs: int, groups: int, window: int, stride: int = 1) -> str:
    padding, places = window // 2, (size - 1) // stride + 1
    a, b = f"tensor<1x{channels}x{size}x{size}xf32>", f"tensor<{outputs}x{channels // groups}x{window}x{window}xf32>"
    result = f"tensor<1x{outputs}x{places}x{places}xf32>"
    properties = f"strides = [{stride}, {stride}] padding = [{padding}, {padding}] groups = {groups}"
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.conv2d %a, %b {properties} : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def pool(kind: str, size: int, stride: int) -> str:
    a, result = (f"tensor<1x3x{n}x{n}xf32>" for n in (size, (size - 1) // stride + 1))
    return f"""
    func.func @main(%a: {a}) -> {result} {{
      %0 = relex.{kind} %a pool_size = [3, 3] strides = [{stride}, {stride}] padding = [1, 1] : ({a}) -> {result}
      func.return %0 : {result}
    }}"""


def blocked_pool(padding: int) -> str:
    a, result = "tensor<1x2x15x15x16xf32>", f"tensor<1x2x{7 + padding}x{7 + padding}x16xf32>"
    properties = f"pool_size = [3, 3, 1] strides = [2, 2, 1] padding = [{padding}, {padding}, 0]"
    return f"""
    func.func @main(%a: {a}) -> {result} {{
      %0 = relex.max_pool3d %a {properties} : ({a}) -> {result}
      func.return %0 : {result}
    }}"""


def blocked_convolution(channels: int, width: int = 14, images: str = "1") -> str:
    a, b = f"tensor<{images}x{channels}x6x{width}xf32>", f"tensor<3x{channels}x1x1x1x32xf32>"
    result = f"tensor<{images}x3x6x{width}x32xf32>"
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.conv2d_blocked %a, %b : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


def blocked_depthwise(size: int, window: int) -> str:
    """A convolution of each of 64 channels in blocks, without padding, so that it is the only block."""
    places = size - window + 1
    a, b = f"tensor<1x2x{size}x{size}x32xf32>", f"tensor<2x1x{window}x{window}x1x32xf32>"
    result = f"tensor<1x2x{places}x{places}x32xf32>"
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.conv2d_blocked %a, %b depthwise : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""


OPEN_PRODUCT = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = relex.matmul %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = relex.relu %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}
"""


def concatenation(a: str, b: str, result: str) -> str:
    return f"""
    func.func @main(%a: tensor<{a}>, %b: tensor<{b}>) -> tensor<{result}> {{
      %0 = relex.exp %a : (tensor<{a}>) -> tensor<{a}>
      %1 = relex.concat %0, %b, %a axis = 1 : (tensor<{a}>, tensor<{b}>, tensor<{a}>) -> tensor<{result}>
      func.return %1 : tensor<{result}>
    }}"""


FLAGS = """
func.func @main(%a: tensor<999x3xi1>, %b: tensor<999x6xi1>) -> tensor<999x9xi1> {
  %0 = relex.bitwise_not %a : (tensor<999x3xi1>) -> tensor<999x3xi1>
  %1 = relex.concat %0, %b axis = 1 : (tensor<999x3xi1>, tensor<999x6xi1>) -> tensor<999x9xi1>
  func.return %1 : tensor<999x9xi1>
}
"""


def sum_and_relu(a: str, b: str) -> str:
    return f"""
    func.func @main(%a: tensor<{a}>, %b: tensor<{b}>) -> tensor<{a}> {{
      %0 = relex.add %a, %b : (tensor<{a}>, tensor<{b}>) -> tensor<{a}>
      %1 = relex.relu %0 : (tensor<{a}>) -> tensor<{a}>
      func.return %1 : tensor<{a}>
    }}"""


FLATTENED = """
func.func @main(%a: tensor<7x21x11xf32>) -> tensor<1617xf32> {
  %0 = relex.reshape %a shape = [1617] : (tensor<7x21x11xf32>) -> tensor<1617xf32>
  %1 = relex.relu %0 : (tensor<1617xf32>) -> tensor<1617xf32>
  func.return %1 : tensor<1617xf32>
}
"""


REPEATED = """
func.func @main(%a: tensor<30x70xf32>) -> tensor<60x210xf32> {
  %0 = relex.expand_dims %a axis = [0, 2] : (tensor<30x70xf32>) -> tensor<1x30x1x70xf32>
  %1 = relex.broadcast_to %0 shape = [2, 30, 3, 70] : (tensor<1x30x1x70xf32>) -> tensor<2x30x3x70xf32>
  %2 = relex.reshape %1 shape = [60, 210] : (tensor<2x30x3x70xf32>) -> tensor<60x210xf32>
  func.return %2 : tensor<60x210xf32>
}
"""

DOUBLED = """
func.func @main(%a: tensor<?x30x?xf32>) -> tensor<?x60x?xf32> {
  %0 = relex.expand_dims %a axis = [2, 4] : (tensor<?x30x?xf32>) -> tensor<?x30x1x?x1xf32>
  %1 = relex.broadcast_to %0 shape = [-1, -1, 2, -1, 2] : (tensor<?x30x1x?x1xf32>) -> tensor<?x30x2x?x2xf32>
  %2 = relex.reshape %1 shape = [-1, 60, -1] sizes = ["d0", "2 * d3"] : (tensor<?x30x2x?x2xf32>) -> tensor<?x60x?xf32>
  func.return %2 : tensor<?x60x?xf32>
}
"""

OPEN_POOL = """
func.func @main(%a: tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32> {
  %0 = relex.max_pool2d %a pool_size = [3, 3] strides = [2, 2] padding = [1, 1]
      : (tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  func.return %0 : tensor<?x3x?x?xf32>
}
"""

TRANSPOSED = """
func.func @main(%a: tensor<1x8x80x80xf32>, %w: tensor<8x1x2x2xf32>) -> tensor<1x1x160x160xf32> {
  %0 = relex.conv2d_transpose %a, %w strides = [2, 2]
      : (tensor<1x8x80x80xf32>, tensor<8x1x2x2xf32>) -> tensor<1x1x160x160xf32>
  %1 = relex.sigmoid %0 : (tensor<1x1x160x160xf32>) -> tensor<1x1x160x160xf32>
  func.return %1 : tensor<1x1x160x160xf32>
}
"""


def block_rows(layout: str, rows: int | str, terms: int, count: int) -> str:
    x, w, y = f"tensor<{rows}x{terms}xf32>", f"tensor<48x{count}xui8>", f"tensor<{rows}x48xf32>"
    return f"""
    func.func @main(%a: {x}, %b: {w}) -> {y} {{
      %0 = relex.dense_block_rows %a, %b layout = "{layout}" : ({x}, {w}) -> {y}
      func.return %0 : {y}
    }}"""


LOOK_UP = """
func.func @main(%a: tensor<7x45xui8>) -> tensor<7x45xui8> {
  %0 = relex.look_up %a table = [0, 1, 4, 9, 16, 25, 36, 49] : (tensor<7x45xui8>) -> tensor<7x45xui8>
  func.return %0 : tensor<7x45xui8>
}
"""

PRODUCTS = """
func.func @main(%a: tensor<48x32xi32>, %b: tensor<32x64xi32>) -> tensor<48x64xi8> {
  %0 = relex.matmul_packed %a, %b : (tensor<48x32xi32>, tensor<32x64xi32>) -> tensor<48x64xi32>
  %1 = relex.astype %0 dtype = i8 : (tensor<48x64xi32>) -> tensor<48x64xi8>
  %2 = relex.look_up %1 table = [0, 1, 4, 9, 16, 25, 36, 49] : (tensor<48x64xi8>) -> tensor<48x64xi8>
  func.return %2 : tensor<48x64xi8>
}
"""

PROGRAMS: dict[str, tuple[str, str | None, str | None]] = {
    "few rows": (dense(4, 784, 16), "dot-kernel", None),
    "terms that fill no vector": (dense(6, 1001, 9), "dot-kernel", None),
    "few rows of f64": (dense(3, 333, 64, "f64"), "dot-kernel", None),
    "few rows of i32": (dense(2, 333, 64, "i32"), "dot-kernel", "dot-kernel"),
    "one row": (dense(1, 784, 128), "dot-kernel", None),
    "few rows and a function of them": (dense_gelu(5, 127, 48), "dot-kernel", None),
    "some rows": (dense(16, 128, 64), "tiles", "tiles"),
    "a row and a large matrix": (matmul(1, 1022, 256), "terms-at-once", "terms-at-once"),
    "a row and a matrix of odd width": (matmul(1, 61, 257), "terms-at-once", "terms-at-once"),
    "some rows and a matrix of odd width": (matmul(5, 63, 257), "terms-at-once", "terms-at-once"),
    "a row and a small matrix": (matmul(1, 64, 128), "tiles", "tiles"),
    "one column": (dense(100, 784, 1), "dot-kernel", "tiles"),
    "prime rows and columns": (dense(7, 901, 31), "dot-kernel", None),
    "many rows": (dense(64, 128, 64), "tiles", "tiles"),
    "many rows of a large matrix": (dense(64, 256, 1024), "tiles", "tiles"),
    "narrow images": (CONVOLUTION, "tiles", "tiles"),
    "groups": (convolution(12, 5, 20, 2, 1), "tiles", "tiles"),
    "windows of groups": (convolution(12, 14, 24, 4, 3), "tiles", "tiles"),
    "a group for each channel": (convolution(5, 14, 5, 5, 3), "stencil", "stencil"),
    "a group for each channel, odd sizes": (convolution(3, 17, 3, 3, 5), "stencil", "stencil"),
    "a group for each channel, strides": (convolution(3, 23, 3, 3, 3, 2), "stencil", "stencil"),
    "a group for each channel of blocks": (blocked_depthwise(9, 3), "stencil", "stencil"),
    "a group for each channel of blocks, large windows": (blocked_depthwise(13, 7), "stencil", "stencil"),
    "several outputs for each channel": (convolution(3, 9, 12, 3, 3), "tiles", "tiles"),
    "few terms at a time": (convolution(3, 23, 3, 3, 1, 2), None, None),
    "maximum of windows": (pool("max_pool2d", 33, 2), "stencil", "stencil"),
    "maximum of windows of blocks": (blocked_pool(0), "stencil", "stencil"),
    "maximum of windows with padding": (pool("max_pool2d", 37, 2), "bordered-rows", "bordered-rows"),
    "maximum of windows of any size": (OPEN_POOL, "bordered-rows", "bordered-rows"),
    "padding around blocks": (blocked_pool(1), "short-rows", "short-rows"),
    "mean of windows": (pool("avg_pool2d", 17, 1), "stencil", "stencil"),
    "large windows": (convolution(3, 17, 3, 3, 7), "column-sums", "column-sums"),
    "columns that fill no panel": (matmul(40, 33, 61), "tiles", "tiles"),
    "maxima": (reduction("max", "9x4096xf32", "[1]", "9xf32"), "extremes", "extremes"),
    "minima of few terms": (reduction("min", "3x5x17xf32", "[1, 2]", "3xf32"), "extremes", "extremes"),
    "maximum of f64": (reduction("max", "1001xf64", "[0]", "f64"), "extremes", "extremes"),
    "maxima of i32": (reduction("max", "9x4096xi32", "[1]", "9xi32"), "dot-kernel", "dot-kernel"),
    "minimum": (reduction("min", "512x256xf64", "[0, 1]", "f64"), "partial-rows", "partial-rows"),
    "sums of columns": (reduction("sum", "33x101xf32", "[0]", "101xf32"), "column-sums", "column-sums"),
    "maxima of columns": (reduction("max", "17x3xf32", "[0]", "3xf32"), "column-sums", "column-sums"),
    "sums in the middle": (reduction("sum", "3x19x7xi64", "[1]", "3x7xi64"), "column-sums", "column-sums"),
    "few terms": (reduction("sum", "3x101xf32", "[0]", "101xf32"), None, None),
    "no terms": (reduction("sum", "0x101xf32", "[0]", "101xf32"), None, None),
    "channels": (reduction("mean", "3x5x7x17xf32", "[0, 2, 3]", "5xf32"), "partial-rows", None),
    "narrow channels": (reduction("mean", "9x3x7x5xf32", "[0, 2, 3]", "3xf32"), "partial-rows", None),
    "small images": (reduction("max", "3x40x7x7xf64", "[2, 3]", "3x40xf64"), "partial-rows", "partial-rows"),
    "largest of a small image": (reduction("max", "3x40x7x7xf32", "[2, 3]", "3x40xf32"), None, None),
    "largest of rows of a vector and a part": (
        reduction("max", "3x28x28xf32", "[1, 2]", "3xf32"),
        "extremes",
        "extremes",
    ),
    "largest of an image": (reduction("max", "3x56x56xf32", "[1, 2]", "3xf32"), "partial-rows", "partial-rows"),
    "all": (reduction("sum", "9x31xf64", "[0, 1]", "f64"), "partial-rows", None),
    "transpose": (permute("64x96xf32", "[1, 0]", "96x64xf32"), "transpose", "transpose"),
    "transpose of odd sizes": (permute("63x5x70xf64", "[2, 1, 0]", "70x5x63xf64"), "transpose", "transpose"),
    "transpose of rows": (permute("64x5x70xf32", "[1, 0, 2]", "5x64x70xf32"), None, None),
    "transpose of primes": (permute("67x131xf32", "[1, 0]", "131x67xf32"), "transpose", "transpose"),
    "transpose of few rows": (permute("3x2000xf32", "[1, 0]", "2000x3xf32"), None, None),
    "transpose of flags": (permute("64x96xi1", "[1, 0]", "96x64xi1"), "transpose", "transpose"),
    "small transpose": (permute("16x16xf32", "[1, 0]", "16x16xf32"), None, None),
    "concatenation": (
        concatenation("3x16x9x7xf32", "3x8x9x7xf32", "3x40x9x7xf32"),
        "split-at-conditions",
        "split-at-conditions",
    ),
    "concatenation of rows": (
        concatenation("31x32xf32", "31x128xf32", "31x192xf32"),
        "split-at-conditions",
        "split-at-conditions",
    ),
    "concatenation of primes": (concatenation("67x31xf32", "67x17xf32", "67x79xf32"), "bordered-rows", "bordered-rows"),
    "concatenation of flags": (FLAGS, "bordered-rows", "bordered-rows"),
    "repeated rows": (REPEATED, "split-at-divisors", "split-at-divisors"),
    "pixels of images of any size, doubled": (DOUBLED, "split-at-divisors", "split-at-divisors"),
    "small images and a number for each": (sum_and_relu("40x7x7xf32", "40x1x1xf32"), "joined-rows", "joined-rows"),
    "small images and a row": (sum_and_relu("40x7x7xf32", "7xf32"), "short-rows", "short-rows"),
    "rows of three": (sum_and_relu("400x3xf32", "3xf32"), None, None),
    "long rows": (sum_and_relu("40x70xf32", "40x70xf32"), "joined-rows", "joined-rows"),
    "a weight in blocks": (block_rows("Q8_0", 3, 256, 272), "unpacked-rows", None),
    "a weight in blocks, with data in another order": (
        block_rows("4_BITS_32_F16", 17, 256, 144),
        "unpacked-rows",
        "stencil",
    ),
    "bytes that are looked up": (LOOK_UP, "look-ups", "look-ups"),
    "products that are looked up": (PRODUCTS, "tiles", "tiles"),
    "few elements": (sum_and_relu("3x5xf32", "3x5xf32"), "joined-rows", "joined-rows"),
    # `join-dimensions` has made one loop of them.
    "rows of a number known at run time": (sum_and_relu("?x3x5xf32", "?x3x5xf32"), None, None),
    "flattened images": (FLATTENED, None, None),
    "one": (reduction("sum", "1x1xf32", "[0]", "1xf32"), None, None),
}
"""A program, the rule for its reduction, and the rule if the reduction is strict."""


SOME = {
    name
    for rule in {usual for _, usual, _ in PROGRAMS.values()}
    for name in [name for name, (_, usual, _) in PROGRAMS.items() if usual == rule][:2]
}
"""Two programs for each rule, which are also compiled for AVX2, and strictly."""

RUN = [name for i, name in enumerate(PROGRAMS) if name in SOME or i % 2 == 0]
"""The programs that are compiled: those, and every second other one."""


def chosen(text: str, *, strict: bool = False, target: Target = AVX512) -> str | None:
    """The rule for the first block of a program that any rule applies to."""
    return next((decision.rule for decision in decisions(text, strict=strict, target=target) if decision.rule), None)


def decisions(text: str, *, strict: bool = False, target: Target = AVX512) -> list[Decision]:
    """The decisions about all blocks of a program."""
    module = parse_module(text)
    set_target(module, target)
    for _, passes in pipeline("loops", strict=strict):
        for p in passes:
            if isinstance(p, ScheduleCpuPass):
                break
            module = run_pass(p, module)
    processor = processor_of(target)
    assert processor is not None
    functions = [op for op in module.ops if isinstance(op, PrimFuncOp)]
    return [decision for func in functions for decision in schedule_function(func, processor)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules(name: str) -> None:
    text, usual, strict = PROGRAMS[name]
    assert (chosen(text), chosen(text, strict=True)) == (usual, strict)


@pytest.mark.parametrize(
    ("text", "target", "summary"),
    [
        (
            convolution(5, 14, 5, 5, 3),
            AVX512,
            "9 terms of 5 and 4 rows at a time, in vectors of 8 and 4 and 2 elements",
        ),
        (convolution(5, 14, 5, 5, 3), AVX2, "9 terms of 2 rows at a time, in vectors of 8 and 4 and 2 elements"),
        (convolution(5, 33, 5, 5, 3), AVX512, "9 terms of 3 rows at a time, in vectors of 16 and 1 elements"),
        # Pools have no weights, and windows of 5x5 leave no registers for more rows.
        (pool("max_pool2d", 37, 1), AVX2, "9 terms of 4 and 1 rows at a time, in vectors of 8 and 4 and 1 elements"),
        (convolution(5, 33, 5, 5, 5), AVX512, "25 terms at a time, in vectors of 16 and 1 elements"),
        (blocked_depthwise(16, 3), AVX512, "3 terms of 7 rows at a time, in vectors of 16 elements"),
        (blocked_depthwise(19, 3), AVX2, "3 terms of 6 and 5 rows at a time, in vectors of 8 elements"),
        (blocked_depthwise(20, 7), AVX512, "7 terms of 4 and 2 rows at a time, in vectors of 16 elements"),
        (blocked_depthwise(7, 7), AVX512, "7 terms at a time, in vectors of 16 elements"),
        # Squares, even if they leave a rest; whole lines, if these evict each other; what divides short loops.
        (permute("1000x1000xf32", "[1, 0]", "1000x1000xf32"), AVX512, "blocks of 8 by 8"),
        (permute("1008x1004xf32", "[1, 0]", "1004x1008xf32"), AVX2, "blocks of 8 by 8"),
        (permute("1000x1000xf64", "[1, 0]", "1000x1000xf64"), AVX2, "blocks of 4 by 4"),
        (permute("1000x1000xi8", "[1, 0]", "1000x1000xi8"), AVX512, "blocks of 16 by 16"),
        (permute("512x512xf32", "[1, 0]", "512x512xf32"), AVX512, "blocks of 16 by 16"),
        (permute("512x512xf32", "[1, 0]", "512x512xf32"), AVX2, "blocks of 16 by 8"),
        (permute("1000x14xf32", "[1, 0]", "14x1000xf32"), AVX2, "blocks of 14 by 8"),
        (concatenation("3x16x9x7xf32", "3x8x9x7xf32", "3x40x9x7xf32"), AVX2, "5 of 8 iterations of @i11"),
        (REPEATED, AVX512, "loops of 2x30, 3x70 iterations"),
        (sum_and_relu("40x7x7xf32", "40x1x1xf32"), AVX512, "one loop of @i11, @i21"),
        (sum_and_relu("40x7x7xf32", "40x7x7xf32"), AVX512, "one loop of @i01, @i11, @i21"),
        (block_rows("Q8_0", 3, 256, 272), AVX512, "3 by 4, in vectors of 16 elements"),
        (block_rows("Q5_0", 17, 256, 176), AVX512, "6 and 5 by 4, in vectors of 8 elements"),
        (block_rows("Q8_0", "?", 256, 272), AVX512, "4 and 2 and 1 by 4, in vectors of 16 elements"),
        (block_rows("Q8_0", 3, 256, 272), AVX2, "2 and 1 by 4, in vectors of 8 elements"),
        (pool("max_pool2d", 37, 2), AVX512, "3 vectors of 16 elements"),
        (convolution(68, 14, 68, 2, 1), AVX512, "12 and 10 by 2 vectors of 16 elements"),
        # 3 vectors would be as fast, but 24 does not divide the columns, or a panel fills the first-level cache.
        (matmul(64, 256, 4096).replace("f64", "f32"), AVX2, "6 and 4 by 2 vectors of 8 elements"),
        (matmul(64, 1024, 192).replace("f64", "f32"), AVX2, "6 and 4 by 2 vectors of 8 elements"),
        (matmul(64, 64, 192).replace("f64", "f32"), AVX2, "4 by 3 vectors of 8 elements"),
        # Other tiles would leave a single row, but store each result by itself.
        (matmul(127, 253, 511), AVX2, "5 and 2 by 2 vectors of 4 elements"),
        (LOOK_UP, AVX512, "vectors of 63 bytes"),
        (LOOK_UP, AVX2, "vectors of 21 bytes"),
    ],
)
def test_summaries(text: str, target: Target, summary: str) -> None:
    assert summary in [decision.summary for decision in decisions(text, target=target)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_scheduled_loops_use_memory_rightly(name: str) -> None:
    module = parse_module(PROGRAMS[name][0])
    set_target(module, AVX512)
    CheckTirPass(undecided="error")(RelexPipelinePass("loops")(module))


def test_panels_are_packed_without_a_condition() -> None:
    """Those that columns do not fill have zeros, which only the reads depend on a condition for."""
    module = parse_module(matmul(40, 33, 61))
    set_target(module, AVX512)
    blocks = [op for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, BlockOp)]
    packing = {op.block_name.data: loops_of(op) for op in blocks if op.block_name.data.startswith("b_local")}
    assert [*packing] == ["b_local", "b_local_rest"]
    assert not any(is_guarded(op) for op in blocks if op.block_name.data in packing)
    assert [loop.extent for loop in packing["b_local"]] == [1, 33, 3, 16]
    assert [loop.extent for loop in packing["b_local_rest"]] == [1, 33, 16]
    (rest,) = [op for op in blocks if op.block_name.data == "b_local_rest"]
    assert [type(op) for op in rest.body.block.ops][-2:] == [scf.IfOp, memref.StoreOp]


def test_products_are_looked_up_for_all_columns_at_once() -> None:
    """To look up 8 bytes takes as long as 16."""
    module = parse_module(PRODUCTS)
    set_target(module, AVX2)
    blocks = [op for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, BlockOp)]
    vectors = {looks_up_bytes(op): loops_of(op)[-1].extent for op in blocks}
    assert vectors == {False: 8, True: 16}


def test_vectors_of_bytes_that_are_looked_up_are_powers_of_two() -> None:
    """Of 48 bytes, LLVM would look up one after the other."""
    module = parse_module(PRODUCTS.replace("x64x", "x48x"))
    set_target(module, AVX512)
    nests = [loops_of(op) for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, BlockOp)]
    columns = [[loop.extent for loop in nest][-2:] for nest in nests]
    assert columns == [[3, 16]] * len(nests)


def test_results_between_others_are_computed_in_whole_vectors() -> None:
    """A transposed convolution writes every second element of a row, and what follows it is computed of whole vectors,
    not of two elements each."""
    module = parse_module(TRANSPOSED)
    set_target(module, AVX512)
    blocks = [op for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, BlockOp)]
    (followers,) = [loops_of(op) for op in blocks if op.block_name.data.startswith("sigmoid")]
    assert [loop.extent for loop in followers][-4:] == [1, 2, 5, 16]
    assert not any(map(is_guarded, blocks))


@pytest.mark.parametrize(
    ("n", "width"), [(1536, 16), (48, 16), (1000, 8), (6, 1), pytest.param(7, 1, marks=pytest.mark.full)]
)
def test_what_follows_sums_of_few_rows_is_computed_in_vectors(n: int, width: int) -> None:
    """Of several tiles of sums, each of which has a few columns."""
    module = parse_module(dense_gelu(8, 128, n))
    set_target(module, AVX512)
    blocks = [op for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, BlockOp)]
    (gelu,) = [loops_of(op) for op in blocks if op.block_name.data == "gelu"]
    is_vector = gelu[-1].kind.data is LoopKind.VECTORIZED
    assert (gelu[-1].extent if is_vector else 1) == width


@pytest.mark.parametrize(
    ("text", "outer"),
    [
        (blocked_convolution(64), ["n", "y", "o"]),
        (blocked_convolution(2048), ["n", "o", "y"]),
        (blocked_convolution(2048, 140), ["n", "y", "o"]),  # Weights six times are less than the data three times.
        (blocked_convolution(2048, 140, "?"), ["n", "o", "y"]),
    ],
)
def test_rows_come_from_memory_once_if_weights_stay_in_the_cache_or_are_less(text: str, outer: list[str]) -> None:
    module = parse_module(text)
    set_target(module, AVX512)
    for p in RelexPipelinePass("loops").steps():
        module = module if isinstance(p, JoinRowsPass) else run_pass(p, module)
    labels = [loop.label.data for loop in module.walk() if isinstance(loop, ForOp) and loop.label]
    assert [label for label in labels if label in "noy"] == outer


def arguments(text: str) -> list[Array]:
    (function,) = parse_module(text).ops
    rng = np.random.default_rng(0)
    found: list[Array] = []
    for kind in function.regions[0].block.arg_types:
        *shape, dtype = str(kind).removeprefix("tensor<").removesuffix(">").split("x")
        values = rng.standard_normal(tuple(29 if size == "?" else int(size) for size in shape))
        by_name = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
        by_name |= {"ui8": np.uint8}
        if dtype == "ui8":
            values = abs(values) % 0.6  # Two such bytes are a float of 16 bits below 1.
        found.append((values if dtype.startswith("f") else 100 * values).astype(by_name[dtype]))
    return found


def do_nothing(schedule_cpu: ScheduleCpuPass, ctx: Context, op: ModuleOp) -> None:
    """In the place of the pass."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in RUN else pytest.mark.full) for n in PROGRAMS])
def test_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _, rule = PROGRAMS[name]
    arrays = arguments(text)
    scheduled = build(text)["main"](*arrays)
    # Where no rule applies, a strict compilation schedules nothing.
    exactly = build(text, strict=True)["main"](*arrays) if rule is not None and name in SOME else None
    is_narrow = name in SOME and not AVX2.enabled - Target.host().enabled
    narrow = build(text, target=AVX2)["main"](*arrays) if is_narrow else None
    monkeypatch.setattr(ScheduleCpuPass, "apply", do_nothing)
    plain = build(text, strict=True)["main"](*arrays)
    if exactly is not None:
        np.testing.assert_array_equal(exactly, plain)
    for found in (scheduled, narrow) if narrow is not None else (scheduled,):
        np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "few rows",
        "terms that fill no vector",
        "maxima",
        "minima of few terms",
        "maxima of columns",
        "maximum of windows with padding",
        "channels",
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_go_where_they_belong(name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAMS[name][0]
    arrays = arguments(text)
    arrays[0].flat[-1] = value
    found = build(text)["main"](*arrays)
    monkeypatch.setattr(ScheduleCpuPass, "apply", do_nothing)
    np.testing.assert_allclose(found, build(text)["main"](*arrays), rtol=1e-4, atol=1e-4)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("target", [AVX512, AVX2])
def test_floats_as_integers(operation: str, kind: str, target: Target) -> None:
    """One bit pattern of NaN is as good as another, whatever its sign; -0 is below 0."""
    skip_unless_runnable(target)
    dtype = np.float32 if kind == "f32" else np.float64
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, 1.5, -1.5], dtype)
    bits = values.view(np.int32 if kind == "f32" else np.int64)
    bits[:2] |= 1  # The last NaN before infinity is one as well.
    x = np.array([[a, b] for a in values for b in values], dtype).repeat(9, axis=1)
    text = reduction(operation, f"100x18x{kind}", "[1]", f"100x{kind}")
    found = build(text, target=target)["main"](x)
    expected = x.max(1) if operation == "max" else x.min(1)
    np.testing.assert_array_equal(found, expected)
    zeros = (x == 0).all(1)
    signs = np.signbit(x[zeros])
    np.testing.assert_array_equal(np.signbit(found[zeros]), signs.all(1) if operation == "max" else signs.any(1))


OPEN_DENSE = OPEN_PRODUCT.replace("matmul", "dense")
OPEN: dict[str, tuple[str, str, Callable[[Array, Array], Array]]] = {
    "product": (OPEN_PRODUCT, "tiles", lambda a, b: np.maximum(a @ b, 0)),
    "dense": (OPEN_DENSE, "tiles", lambda a, b: np.maximum(a @ b.T, 0)),
    "sums": (reduction("sum", "?x?xf32", "[0]", "?xf32"), "column-sums", lambda a, b: a.sum(0)),
    "transpose": (permute("?x?xf32", "[1, 0]", "?x?xf32"), "transpose", lambda a, b: a.T),
}
"""A program, the rule for it, and what it computes of one or two arrays."""


@pytest.mark.parametrize("name", OPEN)
def test_open_sizes(name: str) -> None:
    """Sizes that fill tiles, and others, whatever is known when the program is compiled."""
    text, rule, compute = OPEN[name]
    assert chosen(text) == chosen(text, strict=True) == rule
    main = build(text)["main"]
    for rows in (1, 3, 4, 17, 29):
        for columns in (1, 15, 16, 33, 64, 95):
            a, b = (
                np.arange(n * m, dtype=np.float32).reshape(n, m) % 7 - 3 for n, m in ((rows, columns), (columns, 37))
            )
            if text == OPEN_DENSE:
                for left, right in ((a, b.T), (b.T, a), (b, b)):
                    np.testing.assert_array_equal(main(left, right), compute(left, right))
                continue
            arrays = [a, b] if text == OPEN_PRODUCT else [a]
            np.testing.assert_array_equal(main(*arrays), compute(a, b))
            if text == OPEN_PRODUCT:
                np.testing.assert_array_equal(main(b.T, a.T), compute(b.T, a.T))


ROWS_OF_TWO_SIZES = """
func.func @main(%x: tensor<?x?x64xf32>, %w: tensor<64x80xf32>, %c: tensor<80xf32>) -> tensor<?x80xf32> {
  %0 = relex.reshape %x shape = [-1, 64] : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
  %1 = relex.matmul %0, %w : (tensor<?x64xf32>, tensor<64x80xf32>) -> tensor<?x80xf32>
  %2 = relex.add %1, %c : (tensor<?x80xf32>, tensor<80xf32>) -> tensor<?x80xf32>
  func.return %2 : tensor<?x80xf32>
}"""


def test_rows_that_are_a_product_of_open_sizes() -> None:
    """The sum is computed in the tiles of the product, since its rows are known to be the rows of the product."""
    module = parse_module(ROWS_OF_TWO_SIZES)
    set_target(module, AVX512)
    buffers = [op.buffer.type for op in RelexPipelinePass("loops")(module).walk() if isinstance(op, AllocBufferOp)]
    assert buffers
    assert all(DYNAMIC_INDEX not in buffer.get_shape() for buffer in buffers)
    rng = np.random.default_rng(0)
    w, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((64, 80), 80))
    main = build(ROWS_OF_TWO_SIZES)["main"]
    for outer in ((1, 1), (2, 7), (3, 11), (0, 4), (4, 0)):
        x = rng.standard_normal((*outer, 64)).astype(np.float32)
        np.testing.assert_allclose(main(x, w, c), x.reshape(-1, 64) @ w + c, rtol=1e-4, atol=1e-4)


FAR_ROWS = """
func.func @main(%a: tensor<?x1024xf32>, %b: tensor<1024x256xf32>) -> tensor<?x256xf32> {
  %0 = relex.matmul %a, %b : (tensor<?x1024xf32>, tensor<1024x256xf32>) -> tensor<?x256xf32>
  func.return %0 : tensor<?x256xf32>
}"""


def test_rows_of_any_number_that_evict_each_other_are_copied() -> None:
    """Rows that are a power of two apart share a set of the first-level cache; the copies have room between them."""
    module = parse_module(FAR_ROWS)
    set_target(module, AVX512)
    buffers = {
        op.buffer.name_hint: str(op.buffer.type)
        for op in RelexPipelinePass("loops")(module).walk()
        if isinstance(op, AllocBufferOp)
    }
    assert buffers["a_local"] == "memref<?x1040xf32>"
    rng = np.random.default_rng(0)
    b = rng.integers(-3, 4, (1024, 256)).astype(np.float32)
    main = build(FAR_ROWS)["main"]
    for rows in (0, 1, 5, 14, 33):
        a = rng.integers(-3, 4, (rows, 1024)).astype(np.float32)
        np.testing.assert_array_equal(main(a, b), a @ b)


def test_panels_of_open_sizes_are_packed_without_conditions() -> None:
    module = parse_module(OPEN_DENSE)
    set_target(module, AVX512)
    loops = RelexPipelinePass("loops")(module)
    sizes = {
        alloc.buffer.name_hint: str(alloc.buffer.type) for alloc in loops.walk() if isinstance(alloc, AllocBufferOp)
    }
    assert sizes["b_local"] == "memref<?x32xf32>"
    assert not [op for op in loops.walk() if isinstance(op, scf.IfOp)]


def test_a_rule_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(RULES)
    monkeypatch.setattr(RULES, "maps", [dict(RULES)])
    add_rule("mine", lambda block, processor: Plan("nothing", None), before="tiles")
    add_rule("last", lambda block, processor: Plan("nothing", None))
    at = names.index("tiles")
    assert list(RULES) == [*names[:at], "mine", *names[at:], "last"]
    assert chosen(dense(64, 64, 64)) == "mine"


@pytest.mark.parametrize(("window", "stride", "at_once"), [(1, 1, 4), (3, 4, 3), (3, 2, 1), (3, 1, 1)])
def test_taps_that_read_the_same_elements_stay_apart(window: int, stride: int, at_once: int) -> None:
    """LLVM would keep these elements in the registers of the tile, and the sums in memory."""
    module = parse_module(convolution(64, 56, 64, 1, window, stride))
    set_target(module, AVX2)
    text = str(RelexPipelinePass("core")(module))
    assert ("unroll = <count = " in text) == (at_once > 1)
    assert at_once == 1 or f"unroll = <count = {at_once} : i32>" in text


@pytest.mark.parametrize(("places", "heights"), [(5, "5"), (7, "4 and 3")])
def test_rows_in_pieces_of_a_cache_line_are_in_wide_tiles(places: int, heights: str) -> None:
    """In a tile of one vector, elements of rows would be loaded as often as they are multiplied."""
    a = f"tensor<1x32x{places + 2}x{places + 2}x16xf32>"
    b, result = "tensor<4x32x3x3x16x16xf32>", f"tensor<1x4x{places}x{places}x16xf32>"
    text = f"""
    func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %0 = relex.conv2d_blocked %a, %b : ({a}, {b}) -> {result}
      func.return %0 : {result}
    }}"""
    assert [found.summary for found in decisions(text, target=AVX2)] == [f"{heights} by 2 vectors of 8 elements"]


@pytest.mark.parametrize(
    ("rows", "target", "tile"),
    [(8, AVX512, "4 by 4"), (7, AVX512, "7 by 2"), (5, AVX2, "5 by 2"), (7, AVX2, "7 by 1")],
    ids=str,
)
def test_products_of_few_rows_pack_nothing(rows: int, target: Target, tile: str) -> None:
    """Whatever their number is, each product reads the weight as it is."""
    found = [decision for decision in decisions(dense(rows, 4096, 512), target=target) if decision.rule]
    assert [decision.rule for decision in found] == ["dot-kernel"]
    assert found[0].summary.startswith(tile)
